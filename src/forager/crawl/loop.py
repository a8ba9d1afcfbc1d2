"""The only loop: acquire -> ask -> step -> release, until a budget or the frontier is used up.

Asking is done by tasks, at most `in_flight` at once, each with a lease on its lane; what they bring is taken in by the
step one after the other. On a recorded web the loop runs under a virtual clock: the same calls, no sleep, one fetch in
flight, the same order always.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from math import inf
from pathlib import Path
from typing import Protocol

from forager.clock import Clock, VirtualClock, WallClock
from forager.config import CrawlConfig
from forager.crawl.build import critic_of, fetcher_of, scope_of, seeds_of, strategy_of
from forager.crawl.stats import Tally
from forager.crawl.step import Reader, Step, Taken
from forager.crawl.sweep import Sweep
from forager.fetch.failures import backoff
from forager.frontier import Budgets, LaneFrontier
from forager.frontier.facts import Facts
from forager.types import (
    Answer,
    Candidate,
    Critic,
    Failure,
    Fetch,
    Fetcher,
    Learns,
    Miss,
    Reason,
    Rescores,
    Strategy,
    Trace,
    Url,
    Visit,
)
from forager.web.page import parse
from forager.web.scope import Scope
from forager.web.urls import UrlRules

HOPS = 5  # redirects followed for one link
LARGE = 1_000_000  # bytes of a body that is parsed beside the loop
COMMIT = 0.2  # seconds; what was taken in waits no longer to be committed, however slow the next answer is
IN_FLIGHT = 64  # requests at once on the network
TRIES = 16  # links that are scored again, while a sweep goes on, before one is asked for


class HostRules(Protocol):
    """What a host asks of us."""

    @property
    def delay(self) -> float | None:
        """Seconds between two requests, None if it does not say."""

    @property
    def problem(self) -> Failure | None:
        """Why the rules are not known, if they are not; then nothing is allowed."""

    def allows(self, url: Url) -> bool: ...


class Courtesy(Protocol):
    """Knows what hosts ask: robots.txt."""

    def known(self, url: Url) -> HostRules | None:
        """The rules for a URL if they need not be asked for now."""

    async def rules(self, url: Url) -> HostRules:
        """The same, asking the host if need be: under its lease."""


class Keeper(Protocol):
    """Where what was taken in goes, in groups. It also sows the crawl, after restoring what it has of it."""

    @property
    def pending(self) -> int:
        """How many were taken in and are not committed."""

    def keep(self, taken: Taken) -> None: ...
    def due(self, now: float) -> bool: ...
    def commit(self) -> None: ...


class Crawl:
    """As a library: `Crawl(config, critic=…, strategy=…).run()`, `await crawl.arun()`, `for visit in crawl`."""

    def __init__(
        self,
        config: CrawlConfig,
        *,
        critic: Critic | None = None,
        strategy: Strategy | None = None,
        fetcher: Fetcher | None = None,
        scope: Scope | None = None,
        clock: Clock | None = None,
        read: Reader | None = None,
        courtesy: Courtesy | None = None,
        keeper: Keeper | None = None,
        rest_until: float = float("-inf"),
        folder: Path | None = None,
    ) -> None:
        """`folder`: where what need not be in memory may lie while the crawl runs."""
        rules = UrlRules(config.urls.strip, config.urls.longest)
        self.seeds = seeds_of(config, rules)
        self.config, self.tally = config, Tally()
        self.critic = critic or critic_of(config)
        self.strategy = strategy or strategy_of(config, self.critic)
        self.scope = scope or scope_of(config, self.seeds)
        self._fetcher = fetcher or fetcher_of(config, rules)
        self._clock = clock or (WallClock() if config.fetch.replay is None else VirtualClock())
        self._in_flight = config.frontier.in_flight or (1 if isinstance(self._clock, VirtualClock) else IN_FLIGHT)
        self._read: Reader = read or (lambda answer: parse(answer, rules))
        self._courtesy, self._keeper = courtesy, keeper
        budgets = Budgets(config.frontier.pages_per_host, config.frontier.pages_per_site)
        self.frontier = LaneFrontier(self.strategy.combine, budgets=budgets, rest_until=rest_until)
        learns = isinstance(self.strategy, Learns)
        self.facts = Facts(self.strategy.combine, evidence=learns, folder=folder)
        self.step = Step(
            critic=self.critic,
            strategy=self.strategy,
            scope=self.scope,
            facts=self.facts,
            frontier=self.frontier,
            keep=keeper.keep if keeper else lambda taken: None,
        )
        self._every = self.strategy.every if isinstance(self.strategy, Rescores) else None
        self.attempts: Counter[int] = Counter()  # failures for the moment, by id
        self._tasks: dict[asyncio.Task[Visit | Miss | None], None] = {}
        self._stop = ""
        self._running = False
        self._sweep: Sweep | None = None
        self._sweeping: asyncio.Future[None] | None = None
        self._resting: asyncio.Future[None] | None = None  # while nothing is in flight
        if keeper is None:
            self.step.sow(self.seeds)

    # ---- ways to run it

    def run(self) -> Tally:
        return asyncio.run(self.arun())

    async def arun(self) -> Tally:
        async with aclosing(self.visits()) as visits:
            async for _ in visits:
                pass
        return self.tally

    def __iter__(self) -> Iterator[Visit]:
        loop, visits = asyncio.new_event_loop(), self.visits()
        try:
            while (visit := loop.run_until_complete(_next(visits))) is not None:
                yield visit
        finally:
            loop.run_until_complete(visits.aclose())
            loop.close()

    def stop(self, why: str) -> None:
        """Ask for nothing more; what is in flight is still taken in."""
        self._stop = self._stop or why
        if self._resting is not None:
            self._resting.cancel()

    @property
    def stopping(self) -> bool:
        return bool(self._stop)

    # ---- the loop

    async def visits(self) -> AsyncGenerator[Visit, None]:
        """Crawl until something stops it; yields each page as it is taken in."""
        self.tally.stopped, self._running = "", True
        start = self._clock.now()
        try:
            while True:
                due = self._launch(start)
                if not self._tasks:
                    if not await self._rest(start):
                        break
                    continue
                for visit in await self._landed(due):
                    yield visit
                    self.sweep_if_due()
                self._commit_if_due()
                if self._sweeping is not None and self._sweeping.done():
                    self._sweeping.result()  # raises what the strategy raised
                    self._sweeping = None
        finally:
            await self._land_all()
            self.tally.rejected = self.step.rejected
            if self._keeper:
                self._keeper.commit()

    def _launch(self, start: float) -> float | None:
        """Ask for the best that may be asked now, as many as may be in flight; if there is room for more, when a lane
        will have rested."""
        while len(self._tasks) < self._in_flight and not self._spent(start, len(self._tasks)):
            candidate = self._acquire(self._clock.now())
            if candidate is None:
                return self.frontier.next_due()
            self._tasks[asyncio.ensure_future(self._visit(candidate))] = None
        return None

    def _acquire(self, now: float) -> Candidate | None:
        """The best that may be asked. While a sweep goes on, one whose new score is lower waits again with that."""
        candidate = self.frontier.acquire(now)
        for _ in range(TRIES):
            if candidate is None or self._sweep is None:
                break
            ids, scores, links = self._sweep.score_now(candidate.id)
            if not len(ids) or scores[0] >= candidate.score:
                break
            self.frontier.retry(candidate, now)
            self.frontier.release(candidate, now, 0.0, page=False)
            self.step.swap(ids, scores, links)
            candidate = self.frontier.acquire(now)
        return candidate

    async def _rest(self, start: float) -> bool:
        """Nothing is in flight: wait until something may be asked, if ever it may."""
        self.tally.stopped = self._spent(start, 0)
        if self.tally.stopped:
            return False
        due = self.frontier.next_due()
        if due is None:
            self.tally.stopped = "nothing is left to fetch"
            return False
        if self._keeper and self._keeper.pending:
            self._keeper.commit()
        end = inf if self.config.stop.seconds is None else start + self.config.stop.seconds
        await self._sleep(min(due, end) - self._clock.now())
        return True

    async def _sleep(self, seconds: float) -> None:
        """Until then, or until the crawl is stopped."""
        self._resting = asyncio.ensure_future(self._clock.sleep(seconds))
        try:
            await self._resting
        except asyncio.CancelledError:
            if not self._stop:
                raise
        finally:
            self._resting = None

    async def _landed(self, due: float | None) -> list[Visit]:
        """Wait for the first tasks in flight to end, or until `due`; their pages, in order of launch."""
        timeout = None if due is None else max(0.0, due - self._clock.now())
        if self._keeper and self._keeper.pending:
            timeout = COMMIT if timeout is None else min(timeout, COMMIT)
        await asyncio.wait(self._tasks, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        ended = [task for task in self._tasks if task.done()]
        for task in ended:
            del self._tasks[task]
        outcomes = [task.result() for task in ended]
        return [outcome for outcome in outcomes if isinstance(outcome, Visit)]

    async def _land_all(self) -> None:
        """Give up what is in flight: its links wait again."""
        tasks, self._tasks, self._running = list(self._tasks), {}, False
        for task in tasks:
            task.cancel()
        if self._sweep is not None:
            self._sweep.stop()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._sweeping is not None:
            sweeping, self._sweeping = self._sweeping, None
            await sweeping  # a strategy's error is not lost

    def sweep_if_due(self) -> None:
        """After a page: sweeps come at fixed numbers of pages, so that a resumed crawl has them at the same ones. On
        the wall's clock they are made beside the loop, and skipped while one is."""
        if self._every is None or self.tally.pages % self._every:
            return
        if isinstance(self._clock, VirtualClock) or not self._running:
            self.step.sweep()
            self.tally.sweeps += 1
        elif self._sweep is None:
            assert isinstance(self.strategy, Rescores)
            self._sweep = Sweep(self.strategy, self.strategy.combine.policy, self.facts, self.frontier)
            self._sweeping = asyncio.ensure_future(self._sweep_beside(self._sweep))
        else:
            self.tally.sweeps_skipped += 1

    async def _sweep_beside(self, sweep: Sweep) -> None:
        ids, scores, links = await sweep.run()
        began = self._clock.now()
        self.step.swap(ids, scores, links)
        self._note_pause(began)
        self.tally.sweeps += 1
        self._sweep = None

    def _commit_if_due(self) -> None:
        if self._keeper and self._keeper.due(self._clock.now()):
            began = self._clock.now()
            self._keeper.commit()
            self._note_pause(began)

    def _note_pause(self, began: float) -> None:
        self.tally.longest_step = max(self.tally.longest_step, self._clock.now() - began)

    def _spent(self, start: float, in_flight: int) -> str:
        """Why nothing more may be asked, in words; "" if it may."""
        stop, tally = self.config.stop, self.tally
        if self._stop:
            return self._stop
        if stop.pages is not None and tally.pages + in_flight >= stop.pages:
            return f"the budget of {stop.pages} pages is used up"
        if stop.seconds is not None and self._clock.now() - start >= stop.seconds:
            return f"the budget of {stop.seconds:g} seconds is used up"
        if stop.bytes is not None and tally.bytes >= stop.bytes:
            return f"the budget of {stop.bytes} bytes is used up"
        return ""

    # ---- one link

    async def _visit(self, candidate: Candidate) -> Visit | Miss | None:
        """Ask for a link's target and take in what comes, under a lease on its lane."""
        outcome: Visit | Miss | None = None
        try:
            outcome = await self._ask(candidate)
        except asyncio.CancelledError:
            self.frontier.retry(candidate, self._clock.now())
            raise
        finally:
            self.tally.count(outcome)
            page = isinstance(outcome, Visit)
            self.frontier.release(candidate, self._clock.now(), self._delay(candidate), page=page)
        return outcome

    async def _ask(self, candidate: Candidate) -> Visit | Miss | None:
        id, url = candidate.id, self.facts.addresses[candidate.id]
        for _ in range(HOPS + 1):
            if self._courtesy and self._courtesy.known(url) is None:
                await self._courtesy.rules(url)
                self.frontier.retry(candidate, self._clock.now())  # the page follows when the lane has rested
                return None
            refusal = self._refusal(url)
            if refusal is not None:
                return self._failed(refusal, candidate, self._trace(candidate, id))
            answer = await self._fetch(url)
            trace = self._trace(candidate, id)
            if isinstance(answer, Fetch):
                return await self._take(answer, trace)
            if isinstance(answer, Failure):
                return self._failed(answer, candidate, trace)
            onward = self.step.redirect(answer, candidate, trace)
            if not isinstance(onward, str):
                return onward
            id, url = int(self.facts.intern([onward])[0]), onward
            await self._clock.sleep(self._delay(candidate))
        return self.step.miss(Failure(url, Reason.TOO_MANY_REDIRECTS, f"more than {HOPS}"), answer, trace)

    def _refusal(self, url: Url) -> Failure | None:
        """Why robots.txt keeps us out, if it does."""
        rules = self._courtesy.known(url) if self._courtesy else None
        if rules is None:
            return None
        if rules.problem is not None:
            told = f"robots.txt: {rules.problem.reason} {rules.problem.detail}".rstrip()
            return Failure(url, rules.problem.reason, told, rules.problem.retry_after)
        return None if rules.allows(url) else Failure(url, Reason.ROBOTS, "robots.txt does not allow it")

    async def _fetch(self, url: Url) -> Answer:
        answer = await self._fetcher.fetch(url)
        self.tally.requests += 1
        self._clock.spend(answer.seconds)
        return answer

    async def _take(self, answer: Fetch, trace: Trace) -> Visit | Miss:
        self.tally.bytes += len(answer.body)
        page = await self._clock.beside(self._read, answer) if len(answer.body) > LARGE else self._read(answer)
        if isinstance(page, Failure):
            return self.step.miss(page, answer, trace)
        began = self._clock.now()
        visit = self.step.visit(page, answer, trace)
        self._note_pause(began)
        return visit

    def _failed(self, failure: Failure, candidate: Candidate, trace: Trace) -> Miss | None:
        """A failure for the moment waits to be tried again; one for good is a miss."""
        self.attempts[candidate.id] += 1
        if failure.retry_after is None or self.attempts[candidate.id] > self.config.frontier.retries:
            return self.step.miss(failure, failure, trace)
        self.step.put_off(failure, trace)
        wait = max(failure.retry_after, backoff(failure.url, self.attempts[candidate.id]))
        self.frontier.retry(candidate, self._clock.now() + wait)
        return None

    def _trace(self, candidate: Candidate, answered: int) -> Trace:
        return self.facts.trace(candidate.id, answered, self.tally.requests - 1, candidate.score)

    def _delay(self, candidate: Candidate) -> float:
        rules = self._courtesy.known(self.facts.addresses[candidate.id]) if self._courtesy else None
        return max(self.config.frontier.delay, (rules.delay if rules else None) or 0.0)


async def _next(visits: AsyncGenerator[Visit, None]) -> Visit | None:
    return await anext(visits, None)
