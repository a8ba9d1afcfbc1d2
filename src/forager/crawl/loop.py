"""The only loop: acquire -> ask -> step -> release, until a budget or the frontier is used up.

Tasks ask, at most `in_flight` at once, each with a lease on its lane (`forager.crawl.asking`). The step takes in what
they bring, one answer after the other. On a recorded web the loop runs under a virtual clock: the same calls, no sleep,
one fetch in flight, always the same order.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from functools import partial
from math import inf

import numpy as np

from forager.clock import Clock, VirtualClock
from forager.config import CrawlConfig
from forager.crawl.asking import Asker, LaneErrands
from forager.crawl.build import (
    OpenWeb,
    clock_of,
    critic_of,
    link_limits_of,
    open_web,
    rules_of,
    scope_of,
    seeds_of,
    strategy_of,
)
from forager.crawl.flights import Choosiness, Flights
from forager.crawl.keeper import Keeper
from forager.crawl.revisits import Revisits
from forager.crawl.state import CrawlState
from forager.crawl.stats import CrawlStats
from forager.crawl.step import Reader, Step
from forager.crawl.sweeping import SweepsBeside
from forager.store import SeenPage
from forager.types import NEVER, Answer, Critic, Fetch, Fetcher, Strategy, Url, Visit
from forager.watch import CrawlFigures, CrawlLog
from forager.web.page import parse
from forager.web.scope import Scope
from forager.web.urls import host

COMMIT = 0.2  # seconds; what was taken in waits no longer than this to be committed, however slow the next answer is
IN_FLIGHT = 64  # requests at once on the network
SITEMAPS = 50  # of a host that are read
SLOW = 0.05  # seconds; a commit that takes longer is noted
SHORTLY = 0.5  # seconds after which it is tried again whether silent hosts have to give way
SHORT_REST = 60.0  # seconds; for so long it is always waited, however little patience there is
GRACE = 5.0  # seconds that requests have to end when the crawl is stopped


class Crawl:
    """A crawl in memory, of the live web or of a recorded one.

    What is not given is made from the configuration. A crawl that is to be kept, stopped and resumed is a `Project`.

    >>> from forager import Crawl, CrawlConfig
    >>> from forager.config import FetchConfig, StopConfig
    >>> from forager.critics import Predicate
    >>> config = CrawlConfig(
    ...     seeds=["https://example.org/birds"],
    ...     stop=StopConfig(pages=200),
    ...     fetch=FetchConfig(contact="you@example.org"),
    ... )
    >>> for visit in Crawl(config, critic=Predicate(keywords=["owl", "nest"])):  # doctest: +SKIP
    ...     print(f"{visit.judgement.relevance:.2f}", visit.page.url)

    `crawl.run()` goes to the end and gives the figures; `await crawl.arun()` does so inside an event loop.
    """

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
        state: CrawlState | None = None,
        keeper: Keeper | None = None,
        log: CrawlLog | None = None,
    ) -> None:
        """A `fetcher` of your own is asked without robots.txt. With a `state` the crawl goes on from there; without
        one it begins with the seeds."""
        self.seeds = seeds_of(config, rules_of(config))
        self.config = config
        self.log = log or CrawlLog()
        self.critic = critic or critic_of(config)
        self.strategy = strategy or strategy_of(config, self.critic)
        self.scope = scope or scope_of(config, self.seeds)
        self.state = state or CrawlState.empty(self.strategy, config.frontier)
        self.facts, self.frontier, self.stats = self.state.facts, self.state.frontier, self.state.stats
        keep = keeper.keep if keeper else None
        limits = link_limits_of(config)
        self.step = Step(
            self.state, critic=self.critic, strategy=self.strategy, scope=self.scope, limits=limits, keep=keep
        )
        if state is None:
            self.step.sow(self.seeds)
        self._fetcher, self._keeper = fetcher, keeper
        self._clock = clock or clock_of(config)
        in_flight = config.frontier.in_flight or (1 if isinstance(self._clock, VirtualClock) else IN_FLIGHT)
        self._flights = Flights(in_flight, self._clock)
        self._choosiness = Choosiness(config, self._flights, self.state, self._clock)
        self._read: Reader = read or partial(parse, rules=rules_of(config))
        self._stop = ""
        self._stopped: asyncio.Future[None] | None = None  # done when `stop` is called; None: it does not run
        self._stopping_since: float | None = None
        self._running = False
        self._sweeps = SweepsBeside(self.state, self.step, self.strategy.combine.policy, self._clock, self.log)
        self._revisits = Revisits((), self.state, lambda seq: None)
        self._resting: asyncio.Future[None] | None = None  # while nothing is in flight
        self._rests_until: float | None = None

    def revisit(self, pages: Iterable[SeenPage], recall: Callable[[int], Fetch | None]) -> None:
        """Let the crawl ask for these pages again, before anything else. They do not count against the budget of pages.
        `recall` gives the answer of a record. For before it runs."""
        self._revisits = Revisits(pages, self.state, recall)

    # ---- ways to run it

    def run(self) -> CrawlStats:
        return asyncio.run(self.arun())

    async def arun(self) -> CrawlStats:
        async with aclosing(self.visits()) as visits:
            async for _ in visits:
                pass
        return self.stats

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
        if self._stopped is not None and not self._stopped.done():
            self._stopped.set_result(None)
        if self._resting is not None:
            self._resting.cancel()

    def checkpoint(self) -> None:
        """Save what the strategy knows now. A crawl that is kept nowhere saves nothing."""
        if self._keeper:
            self._keeper.checkpoint(now=True)

    @property
    def stopping(self) -> bool:
        return bool(self._stop)

    @property
    def waiting_for(self) -> str:
        """What the crawl waits for, in words; "" while it goes on."""
        network, now = self.state.health.network, self._clock.now()
        if network.down_since is not None:
            long, soon = now - network.down_since, max(0.0, network.probe_at - now)
            return f"nobody has answered for {long:.0f} s ({network.reason}); the next try is in {soon:.0f} s"
        if self._rests_until is not None and self._rests_until > now:
            return f"all hosts rest, for {self._rests_until - now:.0f} s more"
        return ""

    def figures(self) -> CrawlFigures:
        """The crawl in numbers, for whoever watches it. Any thread may ask."""
        return self.stats.figures(len(self.frontier), self.facts.addresses.host_count, len(self._flights))

    # ---- the loop

    async def visits(self) -> AsyncGenerator[Visit, None]:
        """Crawl until something stops it; yields each page as it is taken in."""
        async with self._open_web() as web:
            given = (self.config.frontier, self._clock, self.state, self.step, self._read, self.log)
            more = (self._sow_sitemaps, self._revisits, self._flights.settle)
            asker = Asker(web, *given, *more, copies=self.config.store.duplicates == "all")
            async with aclosing(self._visits(asker)) as visits:
                async for visit in visits:
                    yield visit

    def _sow_sitemaps(self, urls: Sequence[Url]) -> None:
        """Let the sitemaps that a host names wait with the seeds, if sitemaps of that host are wanted."""
        wanted = self.config.scope.sitemaps
        if not urls or wanted == "none":
            return
        allowed = [urls[row] for row in self.scope.admit(urls, 0).rows]
        if wanted == "seeds":
            hosts = {host(seed) for seed in self.seeds}
            allowed = [url for url in allowed if host(url) in hosts]
        known = self.facts.addresses.find(allowed) >= 0
        new = [url for url, is_known in zip(allowed, known, strict=True) if not is_known][:SITEMAPS]
        if new:
            first = len(self.facts.addresses)
            self.step.sow(new)
            if self._keeper:
                self._keeper.keep_seeds(first)

    def _open_web(self) -> AbstractAsyncContextManager[OpenWeb]:
        if self._fetcher is not None:
            return nullcontext(OpenWeb(self._fetcher))
        keep = self._keeper.keep_aside if self._keeper else _forget
        return open_web(
            self.config, self._clock, LaneErrands(self.state, self._clock, self.config.frontier.delay, keep)
        )

    async def _visits(self, asker: Asker) -> AsyncGenerator[Visit, None]:
        self.stats.stopped, self._running = "", True
        self._stopping_since, self._stopped = None, asyncio.get_running_loop().create_future()
        self.state.forecaster.look(self.frontier)
        start = self._clock.now()
        try:
            while True:
                due = self._launch(asker, start)
                if not len(self._flights):
                    if not await self._rest(start):
                        break
                    continue
                for visit in await self._landed(due, start):
                    yield visit
                    self._sweep_if_due()
                self.state.forecaster.look_if_due(self.frontier)
                self._commit_if_due()
                self._sweeps.check()
                if self._stopping_since is not None and self._clock.now() - self._stopping_since >= GRACE:
                    await self._flights.give_up()
        finally:
            await self._land_all()
            if self._keeper:
                self._keeper.commit()

    def _launch(self, asker: Asker, start: float) -> float:
        """Ask for the best that may be asked now, as many as may be in flight; when it should be tried again."""
        while not self._spent(start, len(self._flights)):
            now = self._clock.now()
            due = self._full_until(now)
            due = self._launch_one(asker, now) if due is None else due
            if due is not None:
                return due
        if self._stopping_since is None and self._spent(start, 0):
            self._stopping_since = self._clock.now()
        return inf

    def _launch_one(self, asker: Asker, now: float) -> float | None:
        """Ask for a page that is due again, or for the best link. If nothing may be asked now: when to try again."""
        page = self._revisits.take(now)
        if page is not None:
            known = self.frontier.is_known(self._revisits.lane(page))
            self._flights.launch(asker.revisit(page), stranger=not known)
            return None
        if self._enough(len(self._flights)):
            return self._revisits.next_due()
        strangers = self._flights.strangers_fit()
        floor = self._choosiness.floor(now) if strangers else NEVER
        candidate = self._sweeps.acquire(now, strangers, floor)
        if candidate is not None:
            self._flights.launch(asker.visit(candidate), stranger=not self.frontier.is_known(candidate.lane))
            return None
        if not strangers and self.frontier.next_due() == now and self._flights.crowd_out(now):
            return None
        if floor > NEVER:
            return min(self._choosiness.wait(now), self._revisits.next_due())
        due = self.frontier.next_due() if strangers else now + SHORTLY
        return min(inf if due is None else due, self._revisits.next_due())

    def _full_until(self, now: float) -> float | None:
        """None if one more may be asked now; else when it may. While the network is down, one request at a time tries
        whether it is up."""
        network = self.state.health.network
        if network.down_since is None:
            return self._flights.full_until(now)
        if len(self._flights):
            return inf
        return network.probe_at if network.probe_at > now else None

    async def _rest(self, start: float) -> bool:
        """Nothing is in flight: wait until something may be asked, if ever it may."""
        self.stats.stopped = self._spent(start, 0)
        if self.stats.stopped:
            return False
        due, patience = self._next_try(), max(self.config.frontier.patience, SHORT_REST)
        if due is None or due - self._clock.now() > patience:
            rest = "" if due is None else f"all hosts rest, for {due - self._clock.now():.0f} s more; their links wait"
            self.stats.stopped = rest or self._why_nothing_is_left()
            return False
        if self._keeper and self._keeper.pending:
            self._commit(self._keeper)
        end = inf if self.config.stop.seconds is None else start + self.config.stop.seconds
        self._rests_until = due
        await self._sleep(min(due, end) - self._clock.now())
        self._rests_until = None
        return True

    def _next_try(self) -> float | None:
        """When something may be asked; None: never."""
        due = None if self._enough(0) else self._choosiness.put_off(self.frontier.next_due())
        if self._revisits:
            due = min(inf if due is None else due, self._revisits.next_due())
        network = self.state.health.network
        return due if due is None or network.down_since is None else max(due, network.probe_at)

    def _why_nothing_is_left(self) -> str:
        waiting = self.frontier.waiting
        if not len(waiting):
            return "nothing is left to fetch"
        hosts, silent = self.facts.addresses.hosts[waiting], self.state.health.given_up
        lost = int(np.isin(hosts, silent).sum())
        if lost == len(waiting):
            told = f"nothing is left to fetch but {lost} links on {len(silent)} hosts that do not answer"
            return f"{told}; they wait, and the next crawl asks again"
        return f"the budgets of hosts and sites are used up; {len(waiting)} links wait"

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

    async def _landed(self, due: float, start: float) -> list[Visit]:
        """Wait for the first requests in flight to end, or until something else is due; their pages."""
        ends = [due]
        if self._keeper and self._keeper.pending:
            ends.append(self._clock.now() + COMMIT)
        if self._stopping_since is not None:
            ends.append(self._stopping_since + GRACE)
        elif self.config.stop.seconds is not None:
            ends.append(start + self.config.stop.seconds)
        return await self._flights.landed(min(ends), self._stopped)

    async def _land_all(self) -> None:
        """Give up what is in flight: its links wait again."""
        self._running = False
        self._sweeps.stop()
        await self._flights.give_up()
        await self._sweeps.ended()

    def _sweep_if_due(self) -> None:
        """After a page. On the wall's clock a sweep runs beside the loop."""
        strategy = self.step.due_to_rescore
        if strategy is None:
            return
        if isinstance(self._clock, VirtualClock) or not self._running:
            self.step.sweep()
        else:
            self._sweeps.begin(strategy)

    def _commit_if_due(self) -> None:
        if self._keeper and self._keeper.due(self._clock.now()):
            self._commit(self._keeper)

    def _commit(self, keeper: Keeper) -> None:
        began = self._clock.now()
        keeper.commit()
        keeper.checkpoint()
        took = self._clock.now() - began
        self.stats.commits += 1
        self.stats.note_pause(took)
        if took > SLOW:
            self.log.warning("slow commit", seconds=took)

    def _spent(self, start: float, in_flight: int) -> str:
        """Why nothing more may be asked, in words; "" if it may."""
        stop, stats = self.config.stop, self.stats
        if self._stop:
            return self._stop
        if stop.seconds is not None and self._clock.now() - start >= stop.seconds:
            return f"the budget of {stop.seconds:g} seconds is used up"
        if stop.bytes is not None and stats.bytes >= stop.bytes:
            return f"the budget of {stop.bytes} bytes is used up"
        if self.state.health.spent(self._clock.now()):
            return f"nobody has answered for a long time ({self.state.health.network.reason}); all links wait"
        return "" if self._revisits else self._enough(in_flight)

    def _enough(self, in_flight: int) -> str:
        """Why no more pages may be asked for, in words; "" if they may."""
        stop = self.config.stop
        if stop.pages is not None and self.stats.pages + in_flight >= stop.pages:
            return f"the budget of {stop.pages} pages is used up"
        return self.state.forecaster.too_little(stop.least_yield)


def _forget(answer: Answer) -> None:
    """A crawl that is kept nowhere has no archive."""


async def _next(visits: AsyncGenerator[Visit, None]) -> Visit | None:
    return await anext(visits, None)
