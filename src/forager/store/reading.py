"""From the rows of a project's database to values, one after the other. What is damaged is not passed on."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

import numpy as np

from forager.errors import ForagerError
from forager.store import warc
from forager.store.aside import LINKS
from forager.store.damage import DamagedError, UrlsChecksum, damaged_database, row_checksum
from forager.store.records import CrawlSession, ReturnedUrl, Stored, UrlColumns, moment
from forager.store.rows import VISIT_COLUMNS, ByteRange, VisitRow, visit_row
from forager.types import Fetch, Floats

NAN = float("nan")


LinksOf: TypeAlias = Callable[[VisitRow], bytes | None]  # the packed links of a page; None: they are lost


class MissedUrl(NamedTuple):
    """A URL that was asked for and brought no page."""

    id: int
    score: float
    reason: str
    host: str


def no_links(row: VisitRow) -> bytes:
    """For those who do not look at links."""
    return b""


def read_records(db: sqlite3.Connection, links: LinksOf, after: int, lost: Callable[[int], None]) -> Iterator[Stored]:
    """The records after `after` in order of seq, up to the last one that was there when the reading began. `lost` is
    told the seq of each that is damaged, and of each that is missing."""
    last = db.execute("SELECT coalesce(max(seq), -1) FROM visit").fetchone()[0]
    redirects = _Redirects(db, after, last)
    sql = f"SELECT {VISIT_COLUMNS} FROM visit WHERE seq > ? AND seq <= ? ORDER BY seq"
    expected = after + 1
    for values in db.execute(sql, (after, last)):
        for missing in range(expected, values[0]):
            lost(missing)
        expected = values[0] + 1
        pairs, row = redirects.of(values[0]), visit_row(values)
        found = None if row is None or pairs is None else _stored(row, links, pairs)
        if found is None:
            lost(values[0])
        else:
            yield found


def _stored(row: VisitRow, links: LinksOf, redirects: tuple[tuple[int, int], ...]) -> Stored | None:
    packed = links(row)
    if packed is None:
        return None
    return Stored(
        *(row.seq, row.asked, row.answered, row.outcome, row.reason, row.detail, row.status, row.parent, row.depth),
        *(number(row.score), number(row.relevance), number(row.raw), floats(row.topics), row.critic, row.label),
        *(moment(row.asked_at), row.seconds, row.title, row.session, range(row.new_from, row.new_to)),
        *(packed, redirects, row.rest, row.attempt),
        copy_of=row.copy_of,
        sketch=row.sketch,
        digest=row.digest,
    )


class _Redirects:
    """The redirects of each record, read along with the records: `of` must be called with growing numbers."""

    def __init__(self, db: sqlite3.Connection, after: int, last: int) -> None:
        sql = "SELECT seq, source, target, checksum FROM redirect WHERE seq > ? AND seq <= ? ORDER BY seq, rowid"
        self._groups = groupby(db.execute(sql, (after, last)), key=itemgetter(0))
        self._advance()

    def _advance(self) -> None:
        seq, rows = next(self._groups, (-1, ()))
        self._seq, self._rows = seq, tuple(rows)

    def of(self, seq: int) -> tuple[tuple[int, int], ...] | None:
        """None if one of them is damaged."""
        while -1 < self._seq < seq:
            self._advance()
        if seq != self._seq:
            return ()
        found = self._rows
        self._advance()
        whole = all(row_checksum(row[:3]) == row[3] for row in found)
        return tuple((row[1], row[2]) for row in found) if whole else None


# ---- URLs -----------------------------------------------------------------------------------------------------------


def read_returns(db: sqlite3.Connection) -> dict[int, list[ReturnedUrl]]:
    """The URLs that wait again, by the last record before that."""
    found: dict[int, list[ReturnedUrl]] = {}
    for after, id, score, why in db.execute("SELECT after, id, score, why FROM again ORDER BY rowid"):
        found.setdefault(after, []).append(ReturnedUrl(id, number(score), why))
    return found


def read_misses(db: sqlite3.Connection) -> Iterator[MissedUrl]:
    """The URLs whose last answer was no page, and which do not wait again yet."""
    waits = {url.id: after for after, urls in read_returns(db).items() for url in urls}
    rows = db.execute(
        "SELECT v.seq, v.asked, v.score, v.reason, h.name"
        " FROM visit v JOIN url u ON u.id = v.asked JOIN host h ON h.id = u.host WHERE v.outcome = 'miss'"
        " AND NOT EXISTS (SELECT 1 FROM visit w WHERE w.asked = v.asked AND w.seq > v.seq AND w.outcome <> 'retry')"
        " ORDER BY v.seq"
    )
    for seq, id, score, reason, host in rows:
        if waits.get(id, -1) < seq:
            yield MissedUrl(id, number(score), reason, host)


def read_urls(db: sqlite3.Connection, chunk: int) -> Iterator[UrlColumns]:
    """All URLs in order of id, so many at a time. Ids are given by this order, so that one damaged URL is an error."""
    seals = _Seals(db)
    rows = db.execute("SELECT id, text, host, score FROM url ORDER BY id")
    first = 0
    while part := rows.fetchmany(chunk):
        columns = _url_columns(db, first, part)
        seals.check(columns)
        yield columns
        first += len(part)
    seals.end(first)


def _url_columns(db: sqlite3.Connection, first: int, rows: list[tuple[Any, ...]]) -> UrlColumns:
    ids, texts, hosts, scores = zip(*rows, strict=True)
    try:
        found = UrlColumns(first, list(texts), np.array(hosts, np.int32), np.array(scores, np.float32))
    except (ValueError, TypeError, OverflowError):
        found = None
    if found is None or ids != tuple(range(first, first + len(ids))) or not all(type(text) is str for text in texts):
        raise damaged_urls(db, first, first + len(ids) - 1)
    return found


class _Seals:
    """The checksums of URLs, compared with the URLs as they are read."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db, self._at, self._sum = db, 0, UrlsChecksum()
        self._seals: list[tuple[int, int, int]] = db.execute("SELECT * FROM seal ORDER BY first").fetchall()
        if not all(isinstance(value, int) for seal in self._seals for value in seal):
            raise damaged_database(getattr(db, "path", None), "a checksum of URLs is no number")

    def check(self, urls: UrlColumns) -> None:
        """Compare the seals that end here."""
        end = urls.first + len(urls.texts)
        while self._at < len(self._seals) and self._seals[self._at][0] < end:
            first, last, checksum = self._seals[self._at]
            here = slice(max(first - urls.first, 0), last + 1 - urls.first)
            self._sum.add(urls.texts[here], urls.hosts[here], urls.scores[here])
            if last >= end:
                return
            if self._sum.value != checksum:
                raise damaged_urls(self._db, first, last)
            self._at, self._sum = self._at + 1, UrlsChecksum()

    def end(self, count: int) -> None:
        if self._at < len(self._seals):
            raise damaged_urls(self._db, count, self._seals[-1][1])


def damaged_urls(db: sqlite3.Connection, first: int, last: int) -> DamagedError:
    """The error for URLs that are not as they were written."""
    return damaged_database(getattr(db, "path", None), f"of the URLs {first} to {last} some are not as written")


def read_project(db: sqlite3.Connection) -> UUID:
    """The id of the project; no other project has it."""
    row = db.execute("SELECT id FROM project").fetchone()
    try:
        return UUID(row[0])
    except (ValueError, TypeError, AttributeError):
        raise damaged_database(getattr(db, "path", None), "the id of the project is no UUID") from None


def read_lengths(db: sqlite3.Connection) -> dict[str, int]:
    """The length of each flat file, as committed."""
    found = dict(db.execute("SELECT name, length FROM file"))
    for name, length in found.items():
        known = isinstance(name, str) and (name == LINKS or warc.number_of(name))
        if not known or not isinstance(length, int) or length < 0:
            raise damaged_database(getattr(db, "path", None), f"{length!r} is noted as the length of {name!r}")
    return found


def read_hosts(db: sqlite3.Connection) -> list[str]:
    """Host names by number."""
    return [row[0] for row in db.execute("SELECT name FROM host ORDER BY id")]


# ---- the archive ----------------------------------------------------------------------------------------------------


def answer_at(db: sqlite3.Connection, folder: Path, seq: int) -> Fetch | None:
    """The answer of a record as it came. None if it had no body. A `DamagedError` if it cannot be read any more."""
    members = members_at(db, folder, seq)
    try:
        return None if members is None else warc.unpack(members)
    except DamagedError as error:
        raise lost_answer(folder, seq, str(error)) from None


def members_at(db: sqlite3.Connection, folder: Path, seq: int) -> bytes | None:
    """The bytes of a record in the archive. None if nothing of it was kept."""
    found = db.execute(f"SELECT {VISIT_COLUMNS} FROM visit WHERE seq = ?", (seq,)).fetchone()
    if found is None:
        raise ForagerError(f"there is no record {seq} in {folder}")
    row = visit_row(found)
    if row is None:
        raise lost_answer(folder, seq, "its row is not as written")
    return None if row.warc is None or row.members is None else read_range(folder / warc.name(row.warc), row.members)


def lost_answer(folder: Path, seq: int, how: str) -> DamagedError:
    """The error for an answer that the archive does not have any more."""
    return DamagedError(f"record {seq} of {folder} is damaged ({how}): forager verify {folder} tells more")


def read_range(path: Path, wanted: ByteRange) -> bytes:
    """These bytes of a file. A `DamagedError` if it does not have them."""
    try:
        with path.open("rb") as file:
            file.seek(wanted.at)
            found = file.read(wanted.length)
    except (OSError, ValueError, OverflowError, MemoryError) as error:
        told = getattr(error, "strerror", None) or str(error)
        raise DamagedError(f"{path} cannot be read: {told}; restore it from a copy") from error
    if len(found) < wanted.length:
        raise DamagedError(f"{path} ends before byte {wanted.at + wanted.length}: restore it from a copy")
    return found


# ---- values ---------------------------------------------------------------------------------------------------------


def number(value: float | None) -> float:
    """The value, nan for null: SQLite stores nan as null."""
    return NAN if value is None else value


def floats(value: bytes | None) -> Floats | None:
    """The numbers in a blob."""
    return None if value is None else np.frombuffer(value, "<f4").astype(np.float32)


def read_sessions(db: sqlite3.Connection) -> list[CrawlSession]:
    """All sessions that can be read, oldest first."""
    rows = db.execute("SELECT id, config, version, began, ended, reason FROM session ORDER BY id")
    return [found for row in rows if (found := _session(*row)) is not None]


def _session(id: int, config: str, version: str, began: str, ended: str | None, reason: str) -> CrawlSession | None:
    try:
        return CrawlSession(id, config, version, moment(began), moment(ended) if ended else None, reason)
    except (ValueError, TypeError):
        return None
