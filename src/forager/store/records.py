"""What is stored of a crawl, and what comes back. A crawl is a sequence of records; everything else follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TypeAlias

from forager.errors import ForagerError
from forager.types import Answer, Floats, Ids

Outcome: TypeAlias = Literal["page", "miss", "moved", "retry"]


class StoreFull(ForagerError):  # noqa: N818 - says what is the case, as ForagerError's messages do
    """The disk takes no more. Nothing acknowledged is lost, nothing of the failed group is on disk."""


class NewUrl(NamedTuple):
    """A URL found for the first time. A tuple, because a page may bring a hundred of them."""

    id: int  # one more than that of the URL before it
    text: str
    host: str
    score: float  # as first given


class Record(NamedTuple):
    """One answer, as the step took it in, with all that a resumed crawl must know of it. A tuple, because one is made
    for every page, in a quarter of the time."""

    seq: int  # one more than that of the record before it; the first is 0
    asked: int  # url id
    answered: int  # url id, after redirects on the same host
    outcome: Outcome
    reason: str
    detail: str
    status: int  # 0: there was no answer
    parent: int  # url id of the page whose link was followed, -1 for a seed
    depth: int
    score: float
    relevance: float  # nan: not judged
    raw: float  # the same before calibration
    topics: Floats | None
    critic: str  # version
    label: str  # what the strategy took the page for
    asked_at: datetime  # UTC
    seconds: float
    title: str
    answer: Answer | None
    why: Mapping[str, Any]  # JSON values, for the archive: judgement, parent, score, depth
    new_urls: Sequence[NewUrl] = ()
    links: bytes = b""  # opaque here
    redirects: Sequence[tuple[int, int]] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Rejudged:
    """What is new of a record when its page has been judged again."""

    seq: int
    relevance: float
    raw: float
    topics: Floats
    critic: str
    label: str
    links: bytes


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """A record as it comes back: without answer and reasons, which `Store` and `Catalogue` give when asked."""

    seq: int
    asked: int
    answered: int
    outcome: Outcome
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
    session: int  # -1: outside of any
    new_urls: range  # ids of the URLs first found here
    links: bytes
    redirects: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class UrlColumns:
    """Some URLs with consecutive ids."""

    first: int  # id of row 0
    texts: list[str]
    hosts: Ids  # numbers of hosts, from 0 in the order in which they were first found
    scores: Floats  # as first given


@dataclass(frozen=True, slots=True)
class Session:
    """One run of the program on a project. One that was not ended runs still, or was killed."""

    id: int
    config: str
    version: str
    began: datetime
    ended: datetime | None
    reason: str  # why it stopped


def stamp(moment: datetime) -> str:
    """A moment as it is written: in UTC, so that texts sort as times do."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def moment(written: str) -> datetime:
    return datetime.fromisoformat(written)
