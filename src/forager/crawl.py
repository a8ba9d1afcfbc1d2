"""The only loop: acquire -> ask -> step -> release, until a budget or the frontier is used up.

On a recorded web it runs under a virtual clock: the same calls, no sleep, one fetch in flight, the same order always.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

from forager.clock import Clock, VirtualClock, WallClock
from forager.config import CrawlConfig
from forager.critics import make_critic
from forager.errors import ForagerError
from forager.fetch.replay import open_recording
from forager.frontier import Budgets, LaneFrontier
from forager.frontier.facts import Facts
from forager.page import parse
from forager.scope import Scope
from forager.step import Reader, Step
from forager.strategies import make_strategy
from forager.types import (
    Answer,
    Candidate,
    Critic,
    Failure,
    Fetch,
    Fetcher,
    Miss,
    Reason,
    Rescores,
    Strategy,
    Trace,
    Url,
    Visit,
)
from forager.urls import UrlRules

HOPS = 5  # redirects followed for one link


@dataclass(slots=True)
class Tally:
    """What a crawl has done so far."""

    pages: int = 0
    requests: int = 0
    relevance: float = 0.0  # summed over the pages, by the critic
    misses: Counter[Reason] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)  # links out of scope, by rule
    stopped: str = ""  # why, in words; "" while it runs

    @property
    def harvest(self) -> float:
        """Mean relevance of the pages, by the critic."""
        return self.relevance / self.pages if self.pages else 0.0


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
    ) -> None:
        rules = UrlRules(config.urls.strip, config.urls.longest)
        seeds = _seeds(config, rules)
        self.config, self.tally = config, Tally()
        self.critic = critic or _critic(config)
        self.strategy = strategy or _strategy(config, self.critic)
        self._fetcher = fetcher or _fetcher(config, rules)
        self._clock = clock or (WallClock() if config.fetch.replay is None else VirtualClock())
        budgets = Budgets(config.frontier.pages_per_host, config.frontier.pages_per_site)
        self._frontier = LaneFrontier(self.strategy.combine, budgets=budgets)
        self._facts = Facts(self.strategy.combine.largest)
        self._step = Step(
            read=read or (lambda answer: parse(answer, rules)),
            critic=self.critic,
            strategy=self.strategy,
            scope=scope or _scope(config, seeds),
            facts=self._facts,
            frontier=self._frontier,
        )
        self._attempts: Counter[int] = Counter()
        self._step.sow(seeds)

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

    async def visits(self) -> AsyncGenerator[Visit, None]:
        """Crawl until something stops it; yields each page as it is taken in."""
        start, swept = self._clock.now(), 0
        every = self.strategy.every if isinstance(self.strategy, Rescores) else None
        while not self._spent(start):
            candidate = self._frontier.acquire(self._clock.now())
            if candidate is None:
                due = self._frontier.next_due()
                if due is None:
                    self.tally.stopped = "nothing is left to fetch"
                    break
                await self._clock.sleep(due - self._clock.now())
                continue
            outcome = await self._visit(candidate)
            if isinstance(outcome, Visit):
                yield outcome
                if every is not None and self.tally.pages >= swept + every:
                    self._step.sweep()
                    swept = self.tally.pages
        self.tally.rejected = self._step.rejected

    def _spent(self, start: float) -> bool:
        stop, tally = self.config.stop, self.tally
        if stop.pages is not None and tally.pages >= stop.pages:
            tally.stopped = f"the budget of {stop.pages} pages is used up"
        elif stop.seconds is not None and self._clock.now() - start >= stop.seconds:
            tally.stopped = f"the budget of {stop.seconds:g} seconds is used up"
        return bool(tally.stopped)

    async def _visit(self, candidate: Candidate) -> Visit | Miss | None:
        outcome = await self._ask(candidate)
        if isinstance(outcome, Visit):
            self.tally.pages += 1
            self.tally.relevance += outcome.judgement.relevance
        elif isinstance(outcome, Miss):
            self.tally.misses[outcome.reason] += 1
        delay = self.config.frontier.delay
        self._frontier.release(candidate, self._clock.now(), delay, page=isinstance(outcome, Visit))
        return outcome

    async def _ask(self, candidate: Candidate) -> Visit | Miss | None:
        """Ask for a link's target, through redirects on its host, and take in what comes."""
        id, url = candidate.id, self._facts.addresses[candidate.id]
        for _ in range(HOPS + 1):
            answer = await self._fetch(url)
            trace = self._facts.trace(candidate.id, id, self.tally.requests - 1, candidate.score)
            if isinstance(answer, Fetch):
                return self._step.visit(answer, trace)
            if isinstance(answer, Failure):
                return self._failed(answer, candidate, trace)
            onward = self._step.redirect(answer, candidate, trace)
            if not isinstance(onward, str):
                return onward
            id, url = int(self._facts.intern([onward])[0]), onward
            await self._clock.sleep(self.config.frontier.delay)
        return self._step.miss(Failure(url, Reason.TOO_MANY_REDIRECTS, f"more than {HOPS}"), trace)

    async def _fetch(self, url: Url) -> Answer:
        answer = await self._fetcher.fetch(url)
        self.tally.requests += 1
        self._clock.spend(answer.seconds)
        return answer

    def _failed(self, failure: Failure, candidate: Candidate, trace: Trace) -> Miss | None:
        """A failure for the moment waits to be tried again; one for good is a miss."""
        self._attempts[candidate.id] += 1
        if failure.retry_after is None or self._attempts[candidate.id] > self.config.frontier.retries:
            return self._step.miss(failure, trace)
        self._frontier.retry(candidate, self._clock.now() + failure.retry_after)
        return None


async def _next(visits: AsyncGenerator[Visit, None]) -> Visit | None:
    return await anext(visits, None)


def _seeds(config: CrawlConfig, rules: UrlRules) -> list[Url]:
    if not config.seeds:
        raise ForagerError('no seeds: name at least one URL to start from, e.g. seeds = ["https://example.org/"]')
    seeds: list[Url] = []
    for text in config.seeds:
        url = rules.canonical(text)
        if url is None:
            raise ForagerError(f"seed {text!r} is not an http or https URL of at most {rules.longest} characters")
        seeds.append(url)
    return seeds


def _scope(config: CrawlConfig, seeds: list[Url]) -> Scope:
    scope = config.scope
    return Scope(scope.within, seeds, scope.include, scope.exclude, scope.schemes, scope.max_depth)


def _critic(config: CrawlConfig) -> Critic:
    if config.critic is None:
        raise ForagerError('no critic: name one, e.g. [critic] name = "predicate", options.keywords = ["…"]')
    return make_critic(config.critic.name, {"seed": config.seed}, config.critic.options)


def _strategy(config: CrawlConfig, critic: Critic) -> Strategy:
    given = {"seed": config.seed, "critic": critic, "classes": critic.classes, "focus": critic.focus}
    return make_strategy(config.strategy.name, given, config.strategy.options)


def _fetcher(config: CrawlConfig, rules: UrlRules) -> Fetcher:
    if config.fetch.replay is None:
        raise ForagerError('no web to crawl: name a recorded one, [fetch] replay = "FOLDER", or give a fetcher')
    return open_recording(Path(config.fetch.replay), rules).fetcher
