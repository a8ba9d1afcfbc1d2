"""Asking for one link, under a lease on its lane: robots.txt, the request, redirects, failures, and the page."""

from __future__ import annotations

import asyncio

from forager.clock import Clock
from forager.config import FrontierConfig
from forager.crawl.build import OpenWeb
from forager.crawl.state import CrawlState
from forager.crawl.step import Arrival, Reader, Step
from forager.fetch.failures import backoff
from forager.types import Answer, Candidate, Failure, Fetch, Miss, Reason, Trace, Url, Visit

HOPS = 5  # redirects followed for one link
LARGE = 1_000_000  # bytes of a body that is parsed beside the loop


class Asker:
    """Asks a web for links, and takes in what comes."""

    def __init__(
        self, web: OpenWeb, limits: FrontierConfig, clock: Clock, state: CrawlState, step: Step, read: Reader
    ) -> None:
        self._fetcher, self._courtesy, self._limits, self._clock = web.fetcher, web.courtesy, limits, clock
        self._facts, self._frontier, self._stats = state.facts, state.frontier, state.stats
        self._attempts, self._step, self._read = state.attempts, step, read

    async def visit(self, candidate: Candidate) -> Visit | Miss | None:
        """Ask for a link's target and take in what comes, under a lease on its lane."""
        outcome: Visit | Miss | None = None
        try:
            outcome = await self._ask(candidate)
        except asyncio.CancelledError:
            self._frontier.retry(candidate, self._clock.now())
            raise
        finally:
            page = isinstance(outcome, Visit)
            self._frontier.release(candidate, self._clock.now(), self._delay(candidate), page=page)
        return outcome

    async def _ask(self, candidate: Candidate) -> Visit | Miss | None:
        id, url = candidate.id, self._facts.addresses[candidate.id]
        for _ in range(HOPS + 1):
            if self._courtesy and self._courtesy.known(url) is None:
                await self._courtesy.rules(url)
                self._frontier.retry(candidate, self._clock.now())  # the page follows when the lane has rested
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
            onward = self._step.redirect(answer, candidate, trace)
            if not isinstance(onward, str):
                return onward
            id, url = int(self._facts.intern([onward])[0]), onward
            await self._clock.sleep(self._delay(candidate))
        return self._step.miss(Failure(url, Reason.TOO_MANY_REDIRECTS, f"more than {HOPS}"), answer, trace)

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
        self._stats.requests += 1
        self._clock.spend(answer.seconds)
        return answer

    async def _take(self, answer: Fetch, trace: Trace) -> Visit | Miss | None:
        self._stats.bytes += len(answer.body)
        page = await self._clock.beside(self._read, answer) if len(answer.body) > LARGE else self._read(answer)
        if isinstance(page, Failure):
            return self._step.miss(page, answer, trace)
        began, came = self._clock.now(), (answer, page)
        visit = self._step.take_in(Arrival(lambda: came, trace))
        self._stats.note_pause(self._clock.now() - began)
        return visit

    def _failed(self, failure: Failure, candidate: Candidate, trace: Trace) -> Miss | None:
        """A link whose failure may pass waits to be tried again; any other failure is a miss."""
        self._attempts[candidate.id] += 1
        if failure.retry_after is None or self._attempts[candidate.id] > self._limits.retries:
            return self._step.miss(failure, failure, trace)
        self._step.put_off(failure, trace)
        wait = max(failure.retry_after, backoff(failure.url, self._attempts[candidate.id]))
        self._frontier.retry(candidate, self._clock.now() + wait)
        return None

    def _trace(self, candidate: Candidate, answered: int) -> Trace:
        return self._facts.trace(candidate.id, answered, self._stats.requests - 1, candidate.score)

    def _delay(self, candidate: Candidate) -> float:
        rules = self._courtesy.known(self._facts.addresses[candidate.id]) if self._courtesy else None
        return max(self._limits.delay, (rules.delay if rules else None) or 0.0)
