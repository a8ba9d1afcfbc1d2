"""From the rows of a project's database to values, one after the other."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple, Self, TypeAlias

import numpy as np

from forager.errors import ForagerError
from forager.store import warc
from forager.store.records import CrawlSession, ReturnedUrl, Stored, UrlColumns, moment
from forager.store.schema import open_to_read
from forager.types import Fetch, Floats

LINKS = "links.bin"
VISIT_COLUMNS = (
    "seq, session, asked, answered, outcome, reason, detail, status, parent, depth, score,"
    " relevance, raw, topics, critic, label, asked_at, seconds, title,"
    " rest, attempt, copy_of, sketch, new_from, new_to, links_at, links_length, warc, warc_at, warc_length, digest"
)
_STORED_COLUMNS = (
    "seq, asked, answered, outcome, reason, detail, status, parent, depth, score, relevance, raw, topics, critic,"
    " label, asked_at, seconds, title, session, new_from, new_to, links_at, links_length,"
    " rest, attempt, copy_of, sketch, digest"
)
NAN = float("nan")

ReadAt: TypeAlias = Callable[[int, int], bytes]


class MissedUrl(NamedTuple):
    """A URL that was asked for and brought no page."""

    id: int
    score: float
    reason: str
    host: str


class ByteRange(NamedTuple):
    """Some bytes of a file."""

    at: int
    length: int


def read_records(db: sqlite3.Connection, links: ReadAt, after: int) -> Iterator[Stored]:
    """The records after `after` in order of seq, up to the last one that was there when the reading began."""
    last = db.execute("SELECT coalesce(max(seq), -1) FROM visit").fetchone()[0]
    redirects = _Redirects(db, after, last)
    rows = db.execute(f"SELECT {_STORED_COLUMNS} FROM visit WHERE seq > ? AND seq <= ? ORDER BY seq", (after, last))
    for row in rows:
        (seq, asked, answered, outcome, reason, detail, status, parent, depth, score, relevance, raw, topics) = row[:13]
        critic, label, asked_at, seconds, title, session, new_from, new_to, links_at, links_length = row[13:23]
        yield Stored(
            *(seq, asked, answered, outcome, reason, detail, status, parent, depth),
            *(number(score), number(relevance), number(raw), floats(topics), critic, label, moment(asked_at)),
            *(seconds, title, session, range(new_from, new_to), links(links_at, links_length), redirects.of(seq)),
            *row[23:],
        )


class _Redirects:
    """The redirects of each record, read along with the records: `of` must be called with growing numbers."""

    def __init__(self, db: sqlite3.Connection, after: int, last: int) -> None:
        sql = "SELECT seq, source, target FROM redirect WHERE seq > ? AND seq <= ? ORDER BY seq, rowid"
        self._groups = groupby(db.execute(sql, (after, last)), key=itemgetter(0))
        self._advance()

    def _advance(self) -> None:
        seq, rows = next(self._groups, (-1, ()))
        self._seq, self._pairs = seq, tuple((row[1], row[2]) for row in rows)

    def of(self, seq: int) -> tuple[tuple[int, int], ...]:
        if seq != self._seq:
            return ()
        found = self._pairs
        self._advance()
        return found


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
    """All URLs in order of id, so many at a time."""
    rows = db.execute("SELECT text, host, score FROM url ORDER BY id")
    first = 0
    while part := rows.fetchmany(chunk):
        texts, hosts, scores = zip(*part, strict=True)
        yield UrlColumns(first, list(texts), np.array(hosts, np.int32), np.array(scores, np.float32))
        first += len(part)


def read_hosts(db: sqlite3.Connection) -> list[str]:
    """Host names by number."""
    return [row[0] for row in db.execute("SELECT name FROM host ORDER BY id")]


def answer_at(db: sqlite3.Connection, folder: Path, seq: int) -> Fetch | None:
    """The answer of a record as it came. None if it had no body."""
    members = members_at(db, folder, seq)
    return None if members is None else warc.unpack(members)


def members_at(db: sqlite3.Connection, folder: Path, seq: int) -> bytes | None:
    """The bytes of a record in the archive. None if nothing of it was kept."""
    row = db.execute("SELECT warc, warc_at, warc_length FROM visit WHERE seq = ?", (seq,)).fetchone()
    if row is None:
        raise ForagerError(f"there is no record {seq} in {folder}")
    return None if row[0] is None else read_range(folder / warc.name(row[0]), ByteRange(row[1], row[2]))


def read_range(path: Path, wanted: ByteRange) -> bytes:
    """These bytes of a file. An error if it ends before them."""
    try:
        with path.open("rb") as file:
            file.seek(wanted.at)
            found = file.read(wanted.length)
    except OSError as error:
        raise ForagerError(f"{path} cannot be read: {error.strerror}; restore it from a copy") from error
    if len(found) < wanted.length:
        raise ForagerError(f"{path} ends before byte {wanted.at + wanted.length}: restore it from a copy")
    return found


def number(value: float | None) -> float:
    """The value, nan for null: SQLite stores nan as null."""
    return NAN if value is None else value


def floats(value: bytes | None) -> Floats | None:
    """The numbers in a blob."""
    return None if value is None else np.frombuffer(value, "<f4").astype(np.float32)


def read_sessions(db: sqlite3.Connection) -> list[CrawlSession]:
    """All sessions, oldest first."""
    rows = db.execute("SELECT id, config, version, began, ended, reason FROM session ORDER BY id")
    return [
        CrawlSession(id, config, version, moment(began), moment(ended) if ended else None, reason)
        for id, config, version, began, ended, reason in rows
    ]


class RecordedProject:
    """The records of a project, read-only; a crawl may be running at the same time."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._db = folder, open_to_read(folder)
        self.known = int(self._db.execute("SELECT coalesce(max(id), -1) + 1 FROM url").fetchone()[0])

    def records(self) -> Iterator[Stored]:
        """The records in order, without their links if the file with them is too short."""
        with (self._folder / LINKS).open("rb") as file:
            yield from read_records(self._db, lambda at, length: os.pread(file.fileno(), length, at), -1)

    def urls(self) -> Iterator[UrlColumns]:
        """All URLs in order of id."""
        return read_urls(self._db, 65_536)

    def returns(self) -> dict[int, list[ReturnedUrl]]:
        """The URLs that wait again, by the last record before that."""
        return read_returns(self._db)

    def answer_of(self, seq: int) -> Fetch | None:
        """The answer of a record as it came. None if it had no body."""
        return answer_at(self._db, self._folder, seq)

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
