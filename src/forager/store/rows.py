"""The rows of `visit`: from a record to what SQLite stores, with a checksum, and back."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from forager.store.damage import UrlsChecksum, piece_checksum, real, row_checksum
from forager.store.records import Record, RecordOutcome, Rejudged, stamp
from forager.store.warc import ArchivedAnswer
from forager.types import Floats


class ByteRange(NamedTuple):
    """Some bytes of a file."""

    at: int
    length: int


class VisitRow(NamedTuple):
    """The columns of `visit` that its checksum is made of, in this order. A later step that adds a column leaves this
    list as it is, or makes the checksums of all rows again."""

    seq: int
    session: int
    asked: int
    answered: int
    outcome: RecordOutcome
    reason: str
    detail: str
    status: int
    parent: int
    depth: int
    score: float | None
    relevance: float | None
    raw: float | None
    topics: bytes | None
    critic: str
    label: str
    asked_at: str
    seconds: float
    title: str
    rest: float
    attempt: int
    copy_of: int | None
    sketch: bytes | None
    new_from: int
    new_to: int
    links_at: int
    links_length: int
    warc: int | None
    warc_at: int | None
    warc_length: int | None
    digest: str | None
    links_checksum: int | None  # null: from before there were any

    @property
    def members(self) -> ByteRange | None:
        """The place of the answer in its WARC file. None: nothing was kept."""
        if self.warc is None or self.warc_at is None or self.warc_length is None:
            return None
        return ByteRange(self.warc_at, self.warc_length)


SEALED_COLUMNS = ", ".join(VisitRow._fields)
VISIT_COLUMNS = f"{SEALED_COLUMNS}, checksum"
INSERT_VISIT = f"INSERT INTO visit ({VISIT_COLUMNS}) VALUES ({', '.join('?' * (len(VisitRow._fields) + 1))})"
_JUDGED = ("relevance", "raw", "topics", "critic", "label", "links_at", "links_length", "links_checksum")
REJUDGE = f"UPDATE visit SET {', '.join(f'{name} = ?' for name in (*_JUDGED, 'checksum'))} WHERE seq = ?"


def visit_row(values: Sequence[Any]) -> VisitRow | None:
    """The row with these values of VISIT_COLUMNS. None if it is damaged."""
    sealed = values[:-1]
    return VisitRow._make(sealed) if row_checksum(sealed) == values[-1] else None


def row_of(
    record: Record, session: int, new: tuple[int, int], links_at: int, archived: ArchivedAnswer | None
) -> tuple[Any, ...]:
    """The values of VISIT_COLUMNS for a record."""
    r = record
    sealed = (
        *(r.seq, session, r.asked, r.answered, r.outcome, r.reason, r.detail, r.status, r.parent, r.depth),
        *(real(r.score), real(r.relevance), real(r.raw), _bytes(r.topics), r.critic, r.label, stamp(r.asked_at)),
        *(real(r.seconds), r.title, real(r.rest), r.attempt, r.copy_of, r.sketch, *new, links_at, len(r.links)),
        *((None,) * 4 if archived is None else (archived.file, archived.at, archived.length, archived.digest)),
        piece_checksum(r.links),
    )
    return (*sealed, row_checksum(sealed))


def rejudged_row(row: VisitRow, new: Rejudged, links_at: int) -> tuple[Any, ...]:
    """What REJUDGE wants for a row that is judged again."""
    row = row._replace(
        relevance=real(new.relevance),
        raw=real(new.raw),
        topics=_bytes(new.topics),
        critic=new.critic,
        label=new.label,
        links_at=links_at,
        links_length=len(new.links),
        links_checksum=piece_checksum(new.links),
    )
    return (*(getattr(row, name) for name in _JUDGED), row_checksum(row), row.seq)


def seal_of(urls: Sequence[tuple[int, int, str, float]]) -> tuple[int, int, int]:
    """The first id, the last id and the checksum of the URLs of a group, each (id, host, text, score)."""
    found, count = UrlsChecksum(), len(urls)
    hosts = np.fromiter(map(itemgetter(1), urls), np.int32, count)
    scores = np.fromiter(map(itemgetter(3), urls), np.float32, count)
    found.add([url[2] for url in urls], hosts, scores)
    return urls[0][0], urls[-1][0], found.value


def _bytes(topics: Floats | None) -> bytes | None:
    return None if topics is None else np.asarray(topics, "<f4").tobytes()
