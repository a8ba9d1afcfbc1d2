"""Asking for one link, under a lease on its lane: robots.txt, the request, and what becomes of the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf

from forager.apart import WorkerDiedError
from forager.clock import LOOP_ROUND, Clock
from forager.config import FrontierConfig
from forager.crawl.build import Ask, HostRules, OpenWeb
from forager.crawl.flights import CROWDED_OUT
from forager.crawl.health import Setback
from forager.crawl.revisits import NOT_MODIFIED, Revisits, is_same, validators
from forager.crawl.screening import compared, likeness, parts_of, screen, unchanged, without_body
from forager.crawl.state import CrawlState
from forager.crawl.step import Arrival, Reader, Step
from forager.fetch.failures import backoff
from forager.store import SeenPage
from forager.types import (
    FIRST_OF_ALL,
    Answer,
    Candidate,
    Failure,
    Fetch,
    FetchesAgain,
    Likeness,
    Locates,
    Miss,
    Page,
    Reason,
    Redirect,
    Trace,
    Url,
    Visit,
)
from forager.watch import CrawlLog
from forager.web.urls import host

LARGE, MANY_TAGS = 250_000, 2_500  # bytes and tags of a body that is parsed beside the loop
SMALL = 50_000  # bytes of a body that takes a few milliseconds
PART = 1_000  # links of a listing that are taken in together
PER_ADDRESS = 4  # requests at once to an IP address


def _is_large(body: bytes) -> bool:
    """Whether to parse a body might hold up the loop. Nested tags take longer than others, so they are counted."""
    return len(body) > LARGE or body.count(b"<") > MANY_TAGS


@dataclass(slots=True)
class _Turn:
    """One lease, and how it should end."""

    candidate: Candidate
    rest: float = 0.0  # seconds, of the lane afterwards; 0 if nothing was asked
    answered: bool | None = None  # whether the lane has answered; None: it was not asked
    passage: bool = False  # its answer is no page of the collection, but counts as one against the budgets
    page: SeenPage | None = None  # that is asked for again; None: the lease is for a link
    before: Fetch | None = None  # the page as it was
    again: bool = False  # it was not asked, or in vain


class LaneErrands:
    """Asks for what is no link, each host under a lease on its lane, and keeps what comes in the archive."""

    def __init__(self, state: CrawlState, clock: Clock, delay: float, keep: Callable[[Answer], None]) -> None:
        self._frontier, self._names = state.frontier, state.facts.addresses
        self._clock, self._delay, self.keep = clock, delay, keep

    async def elsewhere(self, url: Url, ask: Ask) -> Answer | None:
        """Ask another host than the one that is leased. None: it may not be asked now."""
        lane = self._names.host_number(host(url))
        if not self._frontier.borrow(lane, self._clock.now()):
            return None
        try:
            return await ask(url)
        finally:
            self._frontier.give_back(lane, self._clock.now(), self._delay)


class Asker:
    """Asks a web for links, and takes in what comes."""

    def __init__(
        self,
        web: OpenWeb,
        limits: FrontierConfig,
        clock: Clock,
        state: CrawlState,
        step: Step,
        read: Reader,
        log: CrawlLog,
        sow: Callable[[Sequence[Url]], None],
        revisits: Revisits,
        settle: Callable[[], None],
        *,
        copies: bool,
    ) -> None:
        """`sow` is told of sitemaps; `settle` that the request under way has its answer. `copies`: pages are kept also
        if they are copies of others."""
        self._web, self._limits, self._clock, self._log = web, limits, clock, log
        self._facts, self._frontier, self._stats, self._health = state.facts, state.frontier, state.stats, state.health
        self._step, self._read, self._sow, self._revisits, self._settle = step, read, sow, revisits, settle
        self._twins, self._copies = state.twins, copies

    async def visit(self, candidate: Candidate) -> Visit | Miss | None:
        """Ask for a link's target and take in what comes, under a lease on its lane."""
        outcome: Visit | Miss | None = None
        turn = _Turn(candidate)
        try:
            outcome = await self._ask(turn, self._facts.addresses[candidate.id])
        except asyncio.CancelledError as ended:
            if ended.args != (CROWDED_OUT,):
                self._frontier.retry(candidate, self._clock.now())
                turn.rest = max(turn.rest, self._limits.delay)
                raise
            outcome = self._crowded_out(turn)
        finally:
            page = isinstance(outcome, Visit) or turn.passage
            self._frontier.release(candidate, self._clock.now(), turn.rest, page=page, answered=turn.answered)
        return outcome

    async def revisit(self, page: SeenPage) -> None:
        """Ask for a page that we have, on a lane that was borrowed, and take in what has changed."""
        turn = _Turn(Candidate(page.id, self._revisits.lane(page), page.score), page=page)
        try:
            await self._ask(turn, Url(page.url))
        except asyncio.CancelledError as ended:
            if ended.args != (CROWDED_OUT,):
                turn.rest, turn.again = max(turn.rest, self._limits.delay), True
                raise
            self._crowded_out(turn)
        finally:
            self._revisits.end(page, self._clock.now(), turn.rest, again=turn.again)

    def _wait(self, turn: _Turn, until: float) -> None:
        """What was to be asked is asked later."""
        turn.again = True
        if turn.page is None:
            self._frontier.retry(turn.candidate, until)
        else:
            turn.rest = max(turn.rest, until - self._clock.now())

    async def _ask(self, turn: _Turn, url: Url) -> Visit | Miss | None:
        if turn.page is None and turn.candidate.score < FIRST_OF_ALL and self._step.is_trap(url):
            trap = Failure(url, Reason.TRAP, "one of too many URLs that bring the same")
            return self._missed(trap, trap, self._trace(turn))
        if not self._frontier.is_known(turn.candidate.lane):  # of these, many may come at once
            await LOOP_ROUND.turn()
        address = await self._locate(turn, url)
        if isinstance(address, Failure):
            return self._failed(turn, address, self._trace(turn))
        if not self._fits(turn, address):
            self._wait(turn, self._clock.now())
            return None
        rules = self._web.courtesy.known(url) if self._web.courtesy else None
        if self._web.courtesy and (rules is None or rules.problem is not None):
            return await self._read_rules(turn, url)
        if rules is not None and not await self._allows(rules, url):
            refusal = Failure(url, Reason.ROBOTS, "robots.txt does not allow it")
            return self._missed(refusal, refusal, self._trace(turn))
        answer = await self._fetch(turn, url, rules)
        trace = self._trace(turn)
        if isinstance(answer, Failure):
            return self._failed(turn, answer, trace)
        self._heard(turn)
        self._settle()
        if isinstance(answer, Redirect):
            return self._step.redirect(answer, turn.candidate, trace)
        return await self._take(turn, answer, trace)

    def _crowded_out(self, turn: _Turn) -> Miss | None:
        url = self._facts.addresses[turn.candidate.id]
        detail = "head: silent while others waited"
        return self._failed(
            turn, Failure(url, Reason.TIMEOUT, detail, backoff(url, 1), reached=True), self._trace(turn)
        )

    async def _locate(self, turn: _Turn, url: Url) -> str | Failure:
        """The address of a host that was never asked; "" if it does not matter, or is known."""
        fetcher = self._web.fetcher
        if self._frontier.is_settled(turn.candidate.lane) or not isinstance(fetcher, Locates):
            return ""
        return await fetcher.locate(url)

    def _fits(self, turn: _Turn, address: str) -> bool:
        """Whether the address may be asked now. Many hosts may lie at one."""
        if not address:
            return True
        most, delay = self._limits.per_address or PER_ADDRESS, self._limits.delay
        return self._frontier.settle(turn.candidate.lane, address, self._clock.now(), most=most, gap=delay / most)

    async def _read_rules(self, turn: _Turn, url: Url) -> Miss | None:
        """Ask for robots.txt. The page follows when the lane has rested."""
        assert self._web.courtesy is not None
        began = self._clock.now()
        rules = await self._web.courtesy.rules(url)
        turn.rest = self._pause(self._clock.now() - began, rules)
        if rules is not None and rules.problem is not None:
            told = f"robots.txt: {rules.problem.reason} {rules.problem.detail}".rstrip()
            return self._failed(turn, replace(rules.problem, url=url, detail=told), self._trace(turn), robots=True)
        if rules is not None:
            self._heard(turn)
            self._sow(rules.sitemaps)
        self._wait(turn, self._clock.now())
        return None

    async def _allows(self, rules: HostRules, url: Url) -> bool:
        return rules.allows(url) if rules.is_quick(url) else await self._clock.beside(rules.allows, url)

    async def _fetch(self, turn: _Turn, url: Url, rules: HostRules | None) -> Answer:
        answer = await self._fetch_again(turn, url) if turn.page else await self._web.fetcher.fetch(url)
        self._stats.requests += 1
        self._clock.spend(answer.seconds)
        turn.rest = self._pause(answer.seconds, rules)
        return answer

    async def _fetch_again(self, turn: _Turn, url: Url) -> Answer:
        assert turn.page is not None
        turn.before, fetcher = self._revisits.known(turn.page), self._web.fetcher
        if isinstance(fetcher, FetchesAgain):
            return await fetcher.fetch_again(url, *validators(turn.before))
        return await fetcher.fetch(url)

    def _pause(self, seconds: float, rules: HostRules | None) -> float:
        """How long a host rests that took so many seconds to answer."""
        asked = (rules.delay if rules else None) or 0.0
        slow = min(self._limits.delay_factor * seconds, self._web.longest_delay)
        return max(self._limits.delay, asked, slow)

    def _heard(self, turn: _Turn) -> None:
        turn.answered = True
        if self._health.network.down_since is not None:
            self._log.info("network up", seconds=self._clock.now() - self._health.network.down_since)
        self._health.answered(turn.candidate.lane)

    async def _take(self, turn: _Turn, answer: Fetch, trace: Trace) -> Visit | Miss | None:
        self._stats.bytes += len(answer.body)
        if answer.status == NOT_MODIFIED:
            self._step.same(answer, trace)
            return None
        if len(answer.body) > SMALL:
            await LOOP_ROUND.turn()
        page = await self._parse(answer)
        if isinstance(page, Failure):
            return self._missed(page, answer, trace)
        if self._web.renderer is not None and self._web.renderer.wants(answer, page):
            shown = await self._web.renderer.render(answer)
            if isinstance(shown, Redirect):
                moved = replace(shown, exchange=answer.exchange)
                return self._step.redirect(moved, turn.candidate, trace)
            answer, page = await self._rendered(answer, page, shown)
        return await self._take_in(turn, answer, page, trace)

    async def _take_in(self, turn: _Turn, answer: Fetch, page: Page, trace: Trace) -> Visit | Miss | None:
        """Take in a page for what it is."""
        if turn.before is not None and await self._is_same(answer, page, turn.before):
            self._step.same(unchanged(answer), trace)
            return None
        self._stats.rejected.update({f"{what} of a page": count for what, count in page.left_out.items()})
        seen = screen(answer, page, self._web.agent, self._clock.utc(), declared=self._step.limits.declared)
        if seen.onward is not None:
            moved = Redirect(answer.url, seen.onward, answer.status, answer.seconds, answer.exchange)
            return self._step.redirect(moved, turn.candidate, trace)
        kept = without_body(answer, seen.passing, seen.detail) if seen.passing is Reason.NOINDEX else None
        if kept is not None and (not seen.follows or turn.page is not None):
            return self._missed(kept, kept, trace)
        turn.passage = seen.passing is not None
        if page.is_listing:
            await self._take_listing(answer, page, trace)
            return None
        arrival = Arrival(lambda: (answer, page), trace, passing=seen.passing, kept=kept)
        arrival = arrival if seen.follows else replace(arrival, links=page.links.take(()))
        if seen.passing or turn.page or (self._copies and not self._step.limits.traps):
            return self._take_page(arrival)
        came = (replace(answer, exchange=None, held=None), page, trace.id)
        like = await self._clock.beside(likeness, came) if len(answer.body) > LARGE else likeness(came)
        return self._take_new(turn, arrival, like)

    def _take_new(self, turn: _Turn, arrival: Arrival, like: Likeness) -> Visit | Miss | None:
        """A page that we may have under another URL."""
        answer, trace, like = arrival.answer, arrival.trace, compared(like, self._twins)
        if like.copy_of is None or self._copies:
            return self._take_page(replace(arrival, likeness=like))
        detail = f"{'a copy of' if like.exact else 'nearly'} {self._facts.addresses[like.copy_of]}"
        kept = without_body(answer, Reason.DUPLICATE, detail)
        if like.exact:  # all its links are known, but for those that lead further into a mirror
            return self._step.miss(kept, kept, trace, like)
        turn.passage = True
        return self._take_page(replace(arrival, passing=Reason.DUPLICATE, kept=kept, likeness=like))

    async def _parse(self, answer: Fetch) -> Page | Failure:
        large = _is_large(answer.body if answer.rendered is None else answer.rendered)
        if not large:
            return self._read(answer)
        try:
            return await self._clock.beside(self._read, replace(answer, exchange=None, held=None))
        except WorkerDiedError as died:
            return Failure(answer.url, Reason.UNREADABLE, str(died), seconds=answer.seconds)

    async def _rendered(self, answer: Fetch, page: Page, shown: Fetch | Failure) -> tuple[Fetch, Page]:
        """The page as the browser shows it. If that is no page, it stays as it came."""
        if isinstance(shown, Failure):
            self._stats.rejected["not rendered"] += 1
            self._log.info("not rendered", url=answer.url, detail=shown.detail)
            return answer, page
        both = replace(answer, rendered=shown.body)
        found = await self._parse(both)
        return (answer, page) if isinstance(found, Failure) else (both, found)

    async def _is_same(self, answer: Fetch, page: Page, before: Fetch) -> bool:
        same = (answer.body, answer.rendered) == (before.body, before.rendered)
        was = page if same else await self._parse(before)
        return isinstance(was, Page) and is_same(page, was)

    def _take_page(self, arrival: Arrival) -> Visit | None:
        began, new = self._clock.now(), not self._facts.judged(arrival.trace.id)
        visit = self._step.take_in(arrival)
        self._stats.note_pause(self._clock.now() - began)
        return visit if new and not arrival.passing else None

    async def _take_listing(self, answer: Fetch, page: Page, trace: Trace) -> None:
        """A sitemap may have 50,000 links: they are taken in part by part, so that others have their turn."""
        parts = parts_of(page.links, PART)
        for part, links in enumerate(parts):
            some, last = replace(page, links=links), part + 1 == len(parts)
            kept = without_body(answer, Reason.LISTING, f"part {part + 1}") if part else None
            self._take_page(
                Arrival(
                    lambda came=(answer, some): came,  # type: ignore[misc]
                    trace,
                    passing=Reason.LISTING,
                    kept=kept,
                    unfinished=not last,
                    likeness=Likeness(b"", b"") if last else None,  # listings that name listings may be a trap, too
                )
            )
            await LOOP_ROUND.turn()

    def _failed(self, turn: _Turn, failure: Failure, trace: Trace, *, robots: bool = False) -> Miss | None:
        """A failure that may pass: its host rests if the failure is the host's, and the link waits. Any other failure,
        and one too many of a link, is a miss."""
        if failure.retry_after is None:
            self._heard(turn)
            return self._missed(failure, failure, trace)
        candidate, now = turn.candidate, self._clock.now()
        was_up = self._health.network.down_since is None
        setback = self._health.setback(failure, candidate.lane, None if robots else candidate.id, now)
        turn.rest, turn.answered = max(turn.rest, setback.rest), failure.status > 0
        self._tell(failure, setback, was_up)
        if setback.final and turn.page is not None:
            return None  # that it cannot be had now does not mean that it has gone
        if setback.final:
            return self._missed(failure, failure, trace)
        self._step.put_off(failure, trace, setback)
        self._wait(turn, now + setback.wait)
        return None

    def _missed(self, failure: Failure, answer: Answer, trace: Trace) -> Miss:
        self._log.debug("miss", url=failure.url, reason=failure.reason, detail=failure.detail)
        return self._step.miss(failure, answer, trace)

    def _tell(self, failure: Failure, setback: Setback, was_up: bool) -> None:
        facts = {"reason": failure.reason, "detail": failure.detail}
        self._log.debug("put off", url=failure.url, attempt=setback.attempt, seconds=setback.wait, **facts)
        if self._health.network.down_since is not None:
            if was_up:
                self._log.warning("network down", **facts)
        elif setback.rest == inf:
            self._log.warning("host given up", host=host(failure.url), **facts)
        elif setback.rest > 0:
            self._log.warning("host rests", host=host(failure.url), seconds=setback.rest, **facts)

    def _trace(self, turn: _Turn) -> Trace:
        id = turn.candidate.id
        return self._facts.trace(id, id, self._stats.requests - 1, turn.candidate.score)
