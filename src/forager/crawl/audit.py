"""Is every URL accounted for? A check that needs nothing but the records of a crawl.

The invariant: every URL in scope that was ever found is waiting (or leased, which after a kill is the same), or was
fetched, or was missed for a reason, or is merged into another URL that is one of these. A URL that the strategy never
wants to follow (a score of -inf) does not wait; it is accounted for, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat

import numpy as np

from forager.clock import Clock, WallClock
from forager.crawl.resume import Playback, RecordedCrawl
from forager.crawl.state import CrawlState
from forager.crawl.step import Step
from forager.errors import ForagerError
from forager.store import Finding, RecordedProject, Stored
from forager.store.verify import Inspected
from forager.types import BEST, Combine, Failure, Fetch, Judgement, Page, ScoredLinks, Url, Visit
from forager.web.scope import Scope

ANSWERED = ("page", "miss", "passage", "same")  # outcomes after which a URL need not wait


def lost_urls(recorded: RecordedCrawl, clock: Clock) -> list[Url]:
    """The URLs that a resumed crawl would neither ask for nor know anything of."""
    strategy = OnRecord()
    state = CrawlState.empty(strategy)
    step = Step(state, critic=OnRecord(), strategy=strategy, scope=Scope())
    answered = _answered(Playback(recorded, state, step, _unread, clock), recorded.known)
    done = np.zeros(recorded.known, np.bool_)
    done[state.frontier.done] = True
    merged = state.facts.is_merged(np.arange(recorded.known, dtype=np.int32))
    return [state.facts.addresses[id] for id in np.flatnonzero(done & ~answered & ~merged).tolist()]


def accounted_for(project: Inspected) -> Iterator[Finding | None]:
    """The check for `forager verify`."""
    with RecordedProject(project.folder) as recorded:
        lost = lost_urls(recorded, WallClock())
        for url in lost:
            yield Finding(f"{url} is neither waiting nor answered", f"forager seeds add {project.folder} {url}")
        yield from repeat(None, recorded.known - len(lost))


def _answered(records: Iterable[Stored], known: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    answered = np.zeros(known, np.bool_)
    for record in records:
        if record.outcome in ANSWERED:
            answered[[record.asked, record.answered]] = True
    return answered


class OnRecord:
    """Critic and strategy of a crawl that is only read: all that they said is on record."""

    classes, focus, version = (), (), ""

    def __init__(self, combine: Combine = BEST) -> None:
        self.combine = combine

    def fit(self, pages: Iterable[Page], labels: Iterable[str]) -> None:
        """There is nothing to learn."""

    def judge(self, pages: object) -> list[Judgement]:
        raise ForagerError("a page without a judgement is on record")

    def score(self, visit: Visit) -> ScoredLinks:
        raise ForagerError("a page without scores is on record")


def _unread(fetch: Fetch) -> Page | Failure:
    raise ForagerError(f"{fetch.url} need not be read")
