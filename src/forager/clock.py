"""The clock of a crawl: `now` for delays, `utc` for records. On a recorded web it is virtual, and nothing sleeps."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

from forager.apart import APART

T = TypeVar("T")
R = TypeVar("R")

ROUND = 0.02  # seconds of a round of the event loop after which those who compute much wait for the next
_WAITER = ThreadPoolExecutor(1, "beside")  # waits for the process that computes


class Clock(Protocol):
    """What a crawl needs of a clock."""

    def now(self) -> float:
        """Seconds since some moment. They never go back."""

    def utc(self) -> datetime:
        """The date and time."""

    async def sleep(self, seconds: float) -> None:
        """Wait for so many seconds."""

    def spend(self, seconds: float) -> None:
        """Count the seconds that an answer took."""

    def worked(self) -> float:
        """Seconds of the processor that this process has used so far."""

    async def beside(self, work: Callable[[T], R], given: T) -> R:
        """What `work` gives, without holding up the loop. `WorkerDiedError` if it takes its process down."""


class WallClock:
    """The real time. Work goes to a process, in which one comes after the other."""

    def now(self) -> float:
        return time.monotonic()

    def utc(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def spend(self, seconds: float) -> None:
        """Do nothing: the real time has already passed."""

    def worked(self) -> float:
        return time.process_time()

    async def beside(self, work: Callable[[T], R], given: T) -> R:
        return await asyncio.get_running_loop().run_in_executor(_WAITER, APART.do, work, given)


class VirtualClock:
    """A time that begins at a fixed moment and moves only when told to, so that the same crawl has the same times."""

    def __init__(self, epoch: datetime = datetime(2000, 1, 1, tzinfo=UTC)) -> None:
        self._epoch, self._elapsed = epoch, 0.0

    def now(self) -> float:
        return self._elapsed

    def utc(self) -> datetime:
        return self._epoch + timedelta(seconds=self._elapsed)

    async def sleep(self, seconds: float) -> None:
        self.spend(seconds)

    def spend(self, seconds: float) -> None:
        self._elapsed += max(0.0, seconds)

    def worked(self) -> float:
        return 0.0

    async def beside(self, work: Callable[[T], R], given: T) -> R:
        return work(given)


class LoopRound:
    """The round of the event loop that is going on. However many have much to compute at once, network and clock have
    their turn in between.

    `await turn()` before a piece of work. It waits if the round has already taken long.
    """

    def __init__(self) -> None:
        self._began: float | None = None  # None: nobody has computed in this round
        self._loop: asyncio.AbstractEventLoop | None = None

    async def turn(self) -> None:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._began = loop, None
        while self._began is not None and time.monotonic() - self._began > ROUND:
            await asyncio.sleep(0)
        if self._began is None:
            self._began = time.monotonic()
            loop.call_soon(self._end)

    def _end(self) -> None:
        self._began = None


LOOP_ROUND = LoopRound()
