"""Requests under way: how many there may be, and which have ended."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from math import inf
from typing import Any, NamedTuple

from forager.clock import Clock
from forager.types import Miss, Visit

SILENT = 1.0  # seconds; a request that takes longer makes room for another
IN_ALL = 4  # times as many requests as there is room for, with those that made room
PATIENT = 5.0  # seconds; a stranger that is silent for longer may be crowded out by others
CROWDED_OUT = "crowded out"
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

    def __len__(self) -> int:
        return len(self._tasks)

    def launch(self, visit: Coroutine[Any, Any, Visit | Miss | None], *, stranger: bool) -> None:
        """Begin a request."""
        self._tasks[asyncio.ensure_future(visit)] = Flight(self._clock.now(), stranger)

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
            del self._tasks[task]
            if not task.cancelled():
                task.exception()  # it is looked at: if several have failed, asyncio would print all but the first
        outcomes = [task.result() for task in ended]
        return [outcome for outcome in outcomes if isinstance(outcome, Visit)]

    async def give_up(self) -> None:
        """End all requests: their links wait again."""
        tasks, self._tasks = list(self._tasks), {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
