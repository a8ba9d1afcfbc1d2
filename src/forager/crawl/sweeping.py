"""Sweeps beside the loop, at most one at a time."""

from __future__ import annotations

import asyncio

from forager.clock import Clock
from forager.crawl.state import CrawlState
from forager.crawl.step import Step
from forager.crawl.sweep import Sweep, swept
from forager.types import Candidate, Policy, Rescores
from forager.watch import CrawlLog

TRIES = 16  # links that are scored again, while a sweep goes on, before one is asked for


class SweepsBeside:
    """Begins sweeps, and puts in what they find when they end. One that is due meanwhile is skipped."""

    def __init__(self, state: CrawlState, step: Step, policy: Policy, clock: Clock, log: CrawlLog) -> None:
        self._facts, self._frontier, self._stats = state.facts, state.frontier, state.stats
        self._step, self._policy, self._clock, self._log = step, policy, clock, log
        self._sweep: Sweep | None = None
        self._running: asyncio.Future[None] | None = None

    def begin(self, strategy: Rescores) -> None:
        """Begin a sweep, unless one goes on."""
        if self._sweep is None:
            ids = swept(strategy, self._frontier, self._stats.pages)
            self._sweep = Sweep(strategy, self._policy, self._facts, self._frontier, ids)
            self._running = asyncio.ensure_future(self._run(self._sweep))
        else:
            self._stats.sweeps_skipped += 1

    async def _run(self, sweep: Sweep) -> None:
        start = self._clock.now()
        ids, scores, links = await sweep.run()
        began = self._clock.now()
        self._step.swap(ids, scores, links)
        self._stats.note_pause(self._clock.now() - began)
        self._log.info("sweep", links=len(ids), seconds=self._clock.now() - start)
        self._stats.sweeps += 1
        self._sweep = None

    def acquire(self, now: float, strangers: bool, floor: float) -> Candidate | None:
        """The best that may be asked, if it is not below the floor. While a sweep goes on, one whose new score is lower
        waits again with that."""
        candidate = self._frontier.acquire(now, strangers=strangers, floor=floor)
        for _ in range(TRIES):
            if candidate is None or self._sweep is None:
                break
            ids, scores, links = self._sweep.score_now(candidate.id)
            if not len(ids) or scores[0] >= candidate.score:
                break
            self._frontier.retry(candidate, now)
            self._frontier.release(candidate, now, 0.0, page=False)
            self._step.swap(ids, scores, links)
            candidate = self._frontier.acquire(now, strangers=strangers, floor=floor)
        return candidate

    def check(self) -> None:
        """Raise what the strategy raised in a sweep that has ended."""
        if self._running is not None and self._running.done():
            running, self._running = self._running, None
            running.result()

    def stop(self) -> None:
        """Let the sweep end soon, without effect."""
        if self._sweep is not None:
            self._sweep.stop()

    async def ended(self) -> None:
        """Wait for the end of the sweep. Raises what the strategy raised."""
        if self._running is not None:
            running, self._running = self._running, None
            await running
