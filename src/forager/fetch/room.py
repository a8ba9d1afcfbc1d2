"""Room in memory for the bodies that are being read, all together."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self


class Room:
    """At most `size` bytes, but for one reader: who would go beyond waits, unless it is the one that began first. So
    somebody always goes on, and a slow step or many large bodies slow the reading down instead of filling the memory.
    """

    def __init__(self, size: int) -> None:
        self.size, self.taken = size, 0
        self.readers: dict[Share, None] = {}  # in the order in which they began
        self.freed = asyncio.Event()

    def share(self) -> Share:
        """`with room.share() as share: await share.take(n)`; what was taken is given back at the end."""
        return Share(self)


class Share:
    __slots__ = ("_held", "_room")

    def __init__(self, room: Room) -> None:
        self._room, self._held = room, 0

    def __enter__(self) -> Self:
        self._room.readers[self] = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del self._room.readers[self]
        self._room.taken -= self._held
        self._room.freed.set()

    def fits(self, count: int) -> bool:
        return self._room.taken + count <= self._room.size or next(iter(self._room.readers)) is self

    def took(self, count: int) -> bool:
        """Take so many bytes now, if they fit."""
        if not self.fits(count):
            return False
        self._held += count
        self._room.taken += count
        return True

    async def take(self, count: int) -> None:
        while not self.took(count):
            self._room.freed.clear()
            await self._room.freed.wait()
