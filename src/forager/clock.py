"""One clock: `now` for delays, `utc` for records. A crawl of a recorded web has a virtual one and never sleeps."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Clock(Protocol):
    def now(self) -> float:
        """Seconds that only go forward."""

    def utc(self) -> datetime: ...
    async def sleep(self, seconds: float) -> None: ...
    def spend(self, seconds: float) -> None:
        """Account for time that an answer says it took."""

    async def beside(self, work: Callable[[T], R], given: T) -> R:
        """Do work that would hold up the loop."""


class WallClock:
    def now(self) -> float:
        return time.monotonic()

    def utc(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def spend(self, seconds: float) -> None:
        """Nothing: on the wall the time has passed already."""

    async def beside(self, work: Callable[[T], R], given: T) -> R:
        return await asyncio.to_thread(work, given)


class VirtualClock:
    """Starts at a fixed moment and moves only when told to: the same crawl has the same times."""

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
