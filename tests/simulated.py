"""Simulated time for the real loop: many requests at once, no waiting, always the same order.

The event loop's own clock moves only when nothing can be done, and then at once to the next timer. A crawl that would
wait for ever is an error, and so is one that does not wait at all.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any, TypeVar

from forager.clock import VirtualClock

T = TypeVar("T")
MOST = 100_000  # rounds of the loop


class _Selector(selectors.DefaultSelector):
    def __init__(self, loop: SimulatedLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[Any]:
        self._loop.rounds += 1
        if self._loop.rounds > self._loop.most:
            raise RuntimeError(f"{self._loop.most} rounds, and only {self._loop.seconds} s have passed")
        events = super().select(0)
        if not events and timeout is None:
            raise RuntimeError("nothing will ever happen")
        if not events and timeout:
            self._loop.seconds += timeout
        return events


class SimulatedLoop(asyncio.SelectorEventLoop):
    def __init__(self, most: int) -> None:
        self.seconds, self.rounds, self.most = 0.0, 0, most
        super().__init__(_Selector(self))

    def time(self) -> float:
        return self.seconds


class LoopClock(VirtualClock):
    """The time of the event loop that runs."""

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def utc(self) -> datetime:
        return datetime(2000, 1, 1, tzinfo=UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def spend(self, seconds: float) -> None:
        """The fetcher has slept for so long."""


def simulate(work: Coroutine[Any, Any, T], most: int = MOST) -> tuple[T, SimulatedLoop]:
    """What the work gives, and the loop in which it ran, for at most so many rounds."""
    loop = SimulatedLoop(most)
    try:
        return loop.run_until_complete(work), loop
    finally:
        loop.close()
