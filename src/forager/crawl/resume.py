"""Resuming: the records of a crawl are played back into an empty state, through the same step that made them.

A crawl in memory is a function of its records in their order. So a crawl that was killed goes on as if it had not been.
Judgements and scores come from the records. Pages are read again only for a strategy that learns, and only those after
its last checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from math import inf
from pathlib import Path
from typing import Protocol

import numpy as np

from forager.clock import Clock
from forager.config import CrawlConfig
from forager.crawl.build import link_limits_of, rules_of, scope_of, seeds_of
from forager.crawl.health import MAY_PASS
from forager.crawl.keeper import FORECASTER, LastCheckpoint, StoreKeeper
from forager.crawl.loop import Crawl
from forager.crawl.state import CrawlState
from forager.crawl.step import Arrival, Reader, Step
from forager.errors import ForagerError
from forager.store import NewUrl, ReturnedUrl, Store, Stored, UrlColumns
from forager.store.journal import UNFINISHED, judgement_of, learnt_of, likeness_of, unpack_links
from forager.types import (
    FIRST_OF_ALL,
    Candidate,
    Critic,
    Fetch,
    Fetcher,
    Inlinks,
    Miss,
    Page,
    Parts,
    Persists,
    Ragged,
    Reason,
    Redirect,
    ScoredLinks,
    Strategy,
    Trace,
    Url,
)
from forager.watch import CrawlLog
from forager.web.page import parse
from forager.web.scope import Scope

SLICE = 65_536  # URLs whose texts are in memory at once


def resume(
    config: CrawlConfig,
    store: Store,
    *,
    critic: Critic,
    strategy: Strategy,
    clock: Clock,
    fetcher: Fetcher | None = None,
    folder: Path | None = None,
    log: CrawlLog | None = None,
) -> Crawl:
    """The crawl of a store: a new one if the store is empty, else the one that was stopped, ready to go on."""
    rules = rules_of(config)
    strategy, checkpoint = with_checkpoint(strategy, store)
    rest_until = clock.now() + config.frontier.delay if store.last_seq >= 0 else float("-inf")
    state = CrawlState.empty(strategy, config.frontier, rest_until=rest_until, folder=folder)
    seeds = seeds_of(config, rules)
    scope = scope_of(config, seeds)
    step = Step(state, critic=critic, strategy=strategy, scope=scope, limits=link_limits_of(config))
    last = LastCheckpoint()
    learnt = checkpoint[0] if checkpoint else -1
    for record in Playback(store, state, step, partial(parse, rules=rules), clock, learnt):
        if checkpoint and record.seq == checkpoint[0]:
            state.frontier.reorder(checkpoint[1]["waiting"], checkpoint[1]["scores"])
            last = LastCheckpoint(record.seq, state.stats.pages)
            if FORECASTER in checkpoint[1]:  # those of earlier versions have none
                state.forecaster.recall(checkpoint[1][FORECASTER])
    _sow_new(store, state, step, seeds)
    drop_out_of_scope(state, scope)
    keeper = StoreKeeper(store, state, strategy, clock, last)
    return Crawl(
        config,
        critic=critic,
        strategy=strategy,
        scope=scope,
        fetcher=fetcher,
        clock=clock,
        state=state,
        keeper=keeper,
        log=log,
    )


def with_checkpoint(strategy: Strategy, store: Store) -> tuple[Strategy, tuple[int, Parts] | None]:
    """The strategy as its last checkpoint left it, with that checkpoint; or as it is."""
    checkpoint = store.last_checkpoint() if isinstance(strategy, Persists) else None
    if checkpoint and isinstance(strategy, Persists):
        return strategy.from_parts(learnt_of(checkpoint[1])), checkpoint
    return strategy, None


# ---- playing back


class RecordedCrawl(Protocol):
    """What a store has of a crawl. `Store` is one; `RecordedProject` is one that cannot write."""

    @property
    def known(self) -> int:
        """How many URLs there are."""

    def records(self) -> Iterator[Stored]: ...
    def urls(self) -> Iterator[UrlColumns]: ...
    def returns(self) -> dict[int, list[ReturnedUrl]]: ...
    def answer_of(self, seq: int) -> Fetch | None: ...
    def holds(self, seq: int, *, whole: bool = False) -> bool:
        """Whether the answer of a record can be read; if it must be `whole`, also whether its body was kept."""


@dataclass(frozen=True, eq=False)
class Playback:
    """Takes in every record of a crawl again, in order.

    Records up to `learnt` are not shown to the strategy. `anew`: pages are scored again by the step's own strategy,
    instead of with what is stored; `judged_anew`: they are also judged again by its critic.
    """

    recorded: RecordedCrawl
    state: CrawlState
    step: Step
    read: Reader
    clock: Clock
    learnt: int = -1
    anew: bool = False
    judged_anew: bool = False

    def __iter__(self) -> Iterator[Stored]:
        """Yields each record when it has been taken in."""
        state, step = self.state, self.step
        urls, returns, last = _stored_urls(self.recorded), self.recorded.returns(), -1
        for record in self.recorded.records():
            step.ask_again(returns.get(last, ()))
            last = record.seq
            if self._is_lost(record):
                continue  # its URLs are known with the next record, and it waits itself
            _know(state, step, urls, record.new_urls.start)  # seeds that were added before it
            trace = self._trace(record)
            _know(state, step, urls, record.new_urls.stop)
            state.stats.requests += record.reason != Reason.ROBOTS
            self._recall(record)
            if record.outcome != "retry":
                state.frontier.drop(np.array([record.asked, record.answered], np.int32))
                self._take_in(record, trace)
                if record.seq > self.learnt:
                    state.forecaster.look_if_due(state.frontier)
            if record.detail == UNFINISHED:  # until the last part is on record, all of it is asked for again
                step.ask_again([ReturnedUrl(record.asked, record.score, "listing")])
            yield record
        _know(state, step, urls, self.recorded.known)
        step.ask_again(returns.get(last, ()))

    def _is_lost(self, record: Stored) -> bool:
        """Whether somebody has to look at a page that the archive has lost."""
        looks = record.outcome == "page" and (self.anew or (self.step.learns and record.seq > self.learnt))
        return looks and not self.recorded.holds(record.seq)

    def _recall(self, record: Stored) -> None:
        """What the record says of its host. One that was given up gets another chance."""
        host = int(self.state.facts.addresses.hosts[record.asked])
        self.state.health.recall(host, record.asked, record.attempt, answered=record.status > 0)
        if 0 < record.rest < inf:
            ago = (self.clock.utc() - record.asked_at).total_seconds()
            self.state.frontier.rest(host, self.clock.now() + min(record.rest - ago, record.rest))

    def _take_in(self, record: Stored, trace: Trace) -> None:
        names, learnt = self.state.facts.addresses, record.seq <= self.learnt
        if record.outcome == "page":
            new = not self.state.facts.judged(record.answered)
            if new:
                self.state.frontier.count_page(record.asked)
            self.step.take_in(self._arrival(record, trace, learnt))
            if new and self.step.due_to_rescore and not learnt:
                self.step.sweep()
        elif record.outcome == "same":
            self.state.stats.revisits["same"] += 1
        elif record.outcome == "passage":
            if record.detail != UNFINISHED:
                self.state.frontier.count_page(record.asked)
            self.step.take_in(self._passage(record, trace))
        elif record.redirects:
            target = record.redirects[0][1]
            moved = Redirect(names[record.answered], names[target])
            candidate = Candidate(record.asked, int(names.hosts[record.asked]), record.score)
            self.step.moved(moved, np.array([target], np.int32), candidate, trace, learnt=learnt)
        else:
            miss = Miss(names[record.answered], trace, Reason(record.reason), record.detail)
            self.step.tell(miss, learnt=learnt)
            copy = likeness_of(record)
            if copy:
                self.step.saw(record.answered, record.parent, copy)

    def _arrival(self, record: Stored, trace: Trace, learnt: bool) -> Arrival:
        ids, scored = unpack_links(record.links)
        read = partial(self._archived, record.seq)
        judgement = None if self.judged_anew else judgement_of(record)
        return Arrival(
            *(read, trace, ids, judgement, None if self.anew else scored, learnt),
            likeness=likeness_of(record),
            parent=record.parent,
            brought=record.new_urls,
        )

    def _passage(self, record: Stored, trace: Trace) -> Arrival:
        """What is no page is not judged again, and scored again only if the archive has it."""
        ids, stored = unpack_links(record.links)
        scored: ScoredLinks | None = stored
        if self.anew:
            scored = None if self.recorded.holds(record.seq, whole=True) else ScoredLinks(stored.scores)
        read = partial(self._archived, record.seq)
        return Arrival(
            *(read, trace, ids, judgement_of(record), scored),
            passing=Reason(record.reason),
            likeness=likeness_of(record),
            parent=record.parent,
            brought=record.new_urls,
        )

    def _trace(self, record: Stored) -> Trace:
        """The trace as the strategy saw it; without its inlinks if no strategy looks at it."""
        if self.anew or self.step.learns:
            trace = self.state.facts.trace(record.asked, record.answered, record.seq, record.score)
            return replace(trace, depth=record.depth)
        return Trace(record.answered, record.asked, record.seq, record.depth, record.score, _NO_INLINKS)

    def _archived(self, seq: int) -> tuple[Fetch, Page]:
        """An answer from the archive, with its page."""
        answer = self.recorded.answer_of(seq)
        page = self.read(answer) if answer else None
        if answer is None or not isinstance(page, Page):
            raise ForagerError(f"record {seq} cannot be read again from the archive: restore it from a copy")
        return answer, page


def _know(state: CrawlState, step: Step, urls: Iterator[tuple[Url, float]], upto: int) -> None:
    """Give out ids up to this one, as they were given. A URL with the score of a seed is one."""
    new = list(islice(urls, upto - len(state.facts.addresses)))
    state.facts.intern([url for url, _ in new])
    seeds = [url for url, score in new if score == FIRST_OF_ALL]
    if seeds:
        step.sow(seeds)


def _stored_urls(recorded: RecordedCrawl) -> Iterator[tuple[Url, float]]:
    for chunk in recorded.urls():
        yield from zip(map(Url, chunk.texts), chunk.scores.tolist(), strict=True)


_NO_INLINKS = Inlinks(np.empty(0, np.int32), np.empty(0, np.float32), np.empty((0, 0), np.float32), Ragged.of([]))


# ---- what changed between two sessions


def _sow_new(store: Store, state: CrawlState, step: Step, seeds: list[Url]) -> None:
    """Seeds that the project does not know yet are stored before anything is asked. Those that failed for a reason that
    may have passed are asked again."""
    names = state.facts.addresses
    known = len(names)
    step.sow(seeds)
    store.add_urls([NewUrl(id, names[id], names.host(id), FIRST_OF_ALL) for id in range(known, len(names))])
    if not MAY_PASS.isdisjoint(state.stats.misses):
        ids = set(names.find(seeds).tolist())
        missed = [miss for miss in store.misses() if miss.id in ids and miss.reason in MAY_PASS]
        again = [ReturnedUrl(miss.id, FIRST_OF_ALL, "seed") for miss in missed]
        store.ask_again(again)
        step.ask_again(again)


def drop_out_of_scope(state: CrawlState, scope: Scope) -> None:
    """The scope may be narrower than before: what waits outside of it is not asked for."""
    names, waiting = state.facts.addresses, state.frontier.waiting
    waiting = waiting[~state.facts.comes_first(waiting)]
    for start in range(0, len(waiting), SLICE):
        ids = waiting[start : start + SLICE]
        admitted = np.zeros(len(ids), bool)
        admitted[scope.admit([names[id] for id in ids.tolist()], 0).rows] = True
        state.frontier.drop(ids[~admitted])
