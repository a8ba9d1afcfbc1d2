"""What is stored of a crawl, and what comes back. A crawl is a sequence of records; all else follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TypeAlias

from forager.errors import ForagerError
from forager.store.damage import damaged_database
from forager.types import Answer, Floats, Ids

# passage: no page of the collection, but its links are followed; same: a page that has not changed since it was fetched
RecordOutcome: TypeAlias = Literal["page", "miss", "moved", "retry", "passage", "same"]


class StoreFull(ForagerError):  # noqa: N818 - it says what is the case
    """The disk is full. Nothing that was acknowledged is lost, and nothing of the failed group is on disk."""


class NewUrl(NamedTuple):
    """A URL that was found for the first time. A tuple, because a page may bring a hundred of them."""

    id: int  # one more than that of the URL before it
    text: str
    host: str
    score: float  # its first score


class Record(NamedTuple):
    """One answer that a crawl took in, with all that a resumed crawl must know of it. A tuple, because each page makes
    one, and a tuple takes a quarter of the time."""

    seq: int  # one more than that of the record before it; the first is 0
    asked: int  # url id
    answered: int  # url id, after redirects on the same host
    outcome: RecordOutcome
    reason: str
    detail: str
    status: int  # 0: there was no answer
    parent: int  # url id of the page whose link was followed, -1 for a seed
    depth: int
    score: float
    relevance: float  # nan: not judged
    raw: float  # the same before calibration
    topics: Floats | None
    critic: str  # its version
    label: str  # what the strategy takes the page for
    asked_at: datetime  # UTC
    seconds: float
    title: str
    answer: Answer | None
    why: Mapping[str, Any]  # JSON values, for the archive: judgement, parent, score, depth
    new_urls: Sequence[NewUrl] = ()
    links: bytes = b""  # stored as they are
    redirects: Sequence[tuple[int, int]] = ()
    rest: float = 0.0  # seconds that the host rests after a failure that may pass
    attempt: int = 0  # how often the link has failed so far, if that counts
    copy_of: int | None = None  # url id of a page with the same text
    sketch: bytes | None = None  # of the text, to recognise copies


@dataclass(frozen=True, slots=True, eq=False)
class Rejudged:
    """The parts of a record that change when its page is judged again."""

    seq: int
    relevance: float
    raw: float
    topics: Floats
    critic: str
    label: str
    links: bytes


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """A record as it comes back, without its answer and reasons. `Store` and `Catalogue` give those when asked."""

    seq: int
    asked: int
    answered: int
    outcome: RecordOutcome
    reason: str
    detail: str
    status: int
    parent: int
    depth: int
    score: float
    relevance: float
    raw: float
    topics: Floats | None
    critic: str
    label: str
    asked_at: datetime
    seconds: float
    title: str
    session: int  # -1: it was added outside of any session
    new_urls: range  # ids of the URLs first found here
    links: bytes
    redirects: tuple[tuple[int, int], ...]
    rest: float
    attempt: int
    copy_of: int | None
    sketch: bytes | None
    digest: str | None


class ReturnedUrl(NamedTuple):
    """A URL that waits again, although there was an answer."""

    id: int
    score: float
    why: str  # "retry", "seed" or "refresh"


@dataclass(frozen=True, slots=True, eq=False)
class UrlColumns:
    """Some URLs with consecutive ids."""

    first: int  # id of row 0
    texts: list[str]
    hosts: Ids  # numbers of hosts, from 0 in the order in which they were first found
    scores: Floats  # the first score of each


@dataclass(frozen=True, slots=True)
class CrawlSession:
    """One run of the program on a project. If it has no end, it is still running or was killed."""

    id: int
    config: str
    version: str
    began: datetime
    ended: datetime | None
    reason: str  # why it stopped


def stamp(moment: datetime) -> str:
    """A moment as text, in UTC, so that texts sort like times."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def moment(written: str) -> datetime:
    """The moment that `stamp` wrote."""
    try:
        return datetime.fromisoformat(written)
    except ValueError:
        raise damaged_database(None, f"{written!r} is no time") from None
