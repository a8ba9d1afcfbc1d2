"""Requests under way: how many there may be, which have ended, and which link is worth one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from math import ceil, inf
from typing import Any, NamedTuple

import numpy as np

from forager.clock import Clock
from forager.config import CrawlConfig
from forager.crawl.state import CrawlState
from forager.types import NEVER, Miss, Visit

SILENT = 1.0  # seconds; a request that takes longer makes room for another
IN_ALL = 4  # times as many requests as there is room for, with those that made room
PATIENT = 5.0  # seconds; a stranger that is silent for longer may be crowded out by others
CROWDED_OUT = "crowded out"
LATEST = 0.05  # what the latest request counts for in how long one usually takes
FRESH = 0.125  # of a lane's round: a floor that is older is computed again,
ASKED, SHARE = 8, 64  # and so is one by which so many links were judged, more of them if there are many lanes
AHEAD = 8  # rounds of a lane that are looked ahead
SOONEST = 0.005  # seconds; a shorter time is not worth waking up for
MANY = 256  # requests over which the work for each is taken
STRANGERS = 0.75  # of all requests may go to hosts that did not answer last time; the rest is for those that did


class Flight(NamedTuple):
    """A request that is under way."""

    began: float
    stranger: bool  # its host did not answer last time


class Flights:
    """At most `most` requests at once. One that has taken longer than a second does not count, so that silent hosts do
    not keep others from being asked; but there are never more than four times as many."""

    def __init__(self, most: int, clock: Clock) -> None:
        self.most, self._clock = most, clock
        self._tasks: dict[asyncio.Task[Visit | Miss | None], Flight] = {}  # the oldest first
        self.usual: float | None = None  # seconds that a request keeps others out; None: none has ended
        self.launched, self.ended = -inf, 0  # when the last one began; how many have ended

    def __len__(self) -> int:
        return len(self._tasks)

    def launch(self, visit: Coroutine[Any, Any, Visit | Miss | None], *, stranger: bool) -> None:
        """Begin a request."""
        self.launched = self._clock.now()
        self._tasks[asyncio.ensure_future(visit)] = Flight(self.launched, stranger)

    def settle(self) -> None:
        """Note that the request of the current task has its answer: what is still to do is our own affair, and may take
        as long as it does."""
        task = asyncio.current_task()
        if task in self._tasks:
            self._tasks[task] = self._tasks[task]._replace(stranger=False)

    def full_until(self, now: float) -> float | None:
        """None if one more may begin now; else when it may, inf if not before a request ends."""
        if len(self._tasks) < self.most:
            return None
        if len(self._tasks) >= IN_ALL * self.most:
            return inf
        # They are in order of time: if the oldest of the newest ones is young, there are as many young ones as may be.
        at = list(self._tasks.values())[-self.most].began + SILENT
        return at if at > now else None

    def strangers_fit(self) -> bool:
        """Whether one more host may be asked that did not answer last time, or was never asked."""
        if len(self._tasks) < self.most:
            return True
        strangers = sum(flight.stranger for flight in self._tasks.values())
        return strangers < STRANGERS * IN_ALL * self.most

    def crowd_out(self, now: float) -> bool:
        """End the request to the stranger that has been silent for longest, if that is long enough."""
        for task, flight in self._tasks.items():
            if now - flight.began < PATIENT:
                return False
            if flight.stranger:
                self._tasks[task] = flight._replace(stranger=False)  # it does not count any more
                task.cancel(CROWDED_OUT)
                return True
        return False

    async def landed(self, until: float, stopped: asyncio.Future[None] | None) -> list[Visit]:
        """Wait for the first requests to end, at most until then, or until `stopped` is done. Their pages, in order of
        launch."""
        timeout = None if until == inf else max(0.0, until - self._clock.now())
        told = () if stopped is None or stopped.done() else (stopped,)
        await asyncio.wait((*self._tasks, *told), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        ended = [task for task in self._tasks if task.done()]
        for task in ended:
            self._note(self._clock.now() - self._tasks.pop(task).began)
            if not task.cancelled():
                task.exception()  # it is looked at: if several have failed, asyncio would print all but the first
        outcomes = [task.result() for task in ended]
        return [outcome for outcome in outcomes if isinstance(outcome, Visit)]

    def _note(self, took: float) -> None:
        took = min(took, SILENT)
        self.ended += 1
        self.usual = took if self.usual is None else self.usual + LATEST * (took - self.usual)

    async def give_up(self) -> None:
        """End all requests: their links wait again."""
        tasks, self._tasks = list(self._tasks), {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Choosiness:
    """What a link must be worth to be asked for now. Without it a lane that is free is asked for the best that it has,
    however poor, while better links wait on lanes that rest.

        tau = a + max(delay, factor * a)         a round of a lane: a request, which usually takes a, and the rest after
        n = min(lanes, most * tau / a, tau / e)  requests that could be made in a round; e: processor time for each
        k = m * min(n / (1 + c), b)              the least that is made of them in the next m rounds; c: how choosy; b:
                                                 so many will bring the pages that are left to fetch

    A link is asked for if it would be among these k requests if no lane had to rest: if its score is not below the k-th
    best of the first m links of each lane that may be asked within (1 + c) * tau. Because no lane has more than m of
    them, n / (1 + c) lanes at least are in use: the crawl takes about 1 + c times as long, at most. If nothing was
    asked for a horizon of (1 + c) * tau, any link will do.
    """

    def __init__(self, config: CrawlConfig, flights: Flights, state: CrawlState, clock: Clock) -> None:
        self._limits, self._pages = config.frontier, config.stop.pages
        self._flights, self._frontier, self._stats, self._clock = flights, state.frontier, state.stats, clock
        self._floor, self._since, self._judged, self._enough = NEVER, -inf, 0, ASKED
        self._worked, self._landed = clock.worked(), 0
        self._until = -inf  # what may be asked before is not worth it

    def floor(self, now: float) -> float:
        """The least score of a link that is asked for now; NEVER: any will do."""
        if not self._limits.choosy or self._flights.most == 1:
            return NEVER
        usual = self._flights.usual
        if usual is None:
            self._worked = self._clock.worked()  # what was done before the first request does not count
            return NEVER
        turn = self._round(usual)
        if now - self._flights.launched > (1 + self._limits.choosy) * turn:
            return NEVER
        self._judged += 1
        if self._judged > self._enough or now - self._since > FRESH * turn:
            self._floor, self._since, self._judged = self._kth(now, usual, turn), now, 0
        return self._floor

    def wait(self, now: float) -> float:
        """No link was worth it: when to try again."""
        self._judged = self._enough  # the floor is computed again then
        turn = self._round(self._flights.usual or 0.0)
        self._until = min(self._frontier.next_rested(), now + max(SOONEST, FRESH * turn))
        return self._until

    def put_off(self, due: float | None) -> float | None:
        """When something may be asked that may be worth it, if something may be asked then."""
        return None if due is None else max(due, self._until)

    def _round(self, usual: float) -> float:
        return usual + max(self._limits.delay, self._limits.delay_factor * usual)

    def _kth(self, now: float, usual: float, turn: float) -> float:
        choosy, most = self._limits.choosy, self._flights.most
        lanes = self._frontier.soon(now, (1 + choosy) * turn)
        self._enough = max(ASKED, len(lanes) // SHARE)
        could = min(len(lanes), most * turn / max(usual, SOONEST), turn / self._work())
        k = ceil(AHEAD * max(1.0, min(could / (1 + choosy), self._worth())))
        scores = self._frontier.best(lanes, k, AHEAD)
        return NEVER if k >= len(scores) else float(np.partition(scores, len(scores) - k)[len(scores) - k])

    def _worth(self) -> float:
        """How many requests the pages that are left to fetch will take, about."""
        pages, requests = max(1, self._stats.pages), self._stats.requests
        left = inf if self._pages is None else self._pages - self._stats.pages
        return left * max(1.0, requests / pages) - len(self._flights)

    def _work(self) -> float:
        """Seconds of the processor for a request."""
        worked, landed = self._clock.worked() - self._worked, self._flights.ended - self._landed
        if landed >= MANY:  # half of it is forgotten, because pages differ from part to part of a web
            self._worked, self._landed = self._worked + worked / 2, self._landed + landed // 2
        return max(1e-6, worked / max(1, landed))
