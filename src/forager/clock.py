"""The clock of a crawl: `now` for delays, `utc` for records. On a recorded web it is virtual, and nothing sleeps."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


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

    async def beside(self, work: Callable[[T], R], given: T) -> R:
        """What `work` gives, without holding up the loop."""


class WallClock:
    """The real time. Work goes to a thread."""

    def now(self) -> float:
        return time.monotonic()

    def utc(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def spend(self, seconds: float) -> None:
        """Do nothing: the real time has already passed."""

    async def beside(self, work: Callable[[T], R], given: T) -> R:
        return await asyncio.to_thread(work, given)


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

    async def beside(self, work: Callable[[T], R], given: T) -> R:
        return work(given)
