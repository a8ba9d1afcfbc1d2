"""Bodies that are being read share a room: it is kept to, and nobody waits for ever."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from forager.fetch.body import read_body
from forager.fetch.room import Room


class Slowly:
    """A body in pieces, with a pause after each; notes how much all have taken."""

    def __init__(self, pieces: list[int], room: Room, seen: list[int]) -> None:
        self._pieces, self._room, self._seen = list(pieces), room, seen

    async def readany(self) -> bytes:
        await asyncio.sleep(0)
        self._seen.append(self._room.taken)
        return b"x" * self._pieces.pop(0) if self._pieces else b""


@given(st.lists(st.lists(st.integers(1, 40), max_size=6), min_size=1, max_size=8))
def test_the_room_is_kept_to_but_for_the_oldest(bodies: list[list[int]]) -> None:
    seen: list[int] = []

    async def read_all() -> list[bytes]:
        room = Room(100)

        async def one(pieces: list[int]) -> bytes:
            with room.share() as share:
                return await read_body(Slowly(pieces, room, seen), "", 1_000_000, share)

        read = await asyncio.wait_for(asyncio.gather(*map(one, bodies)), 10)
        assert room.taken == 0
        assert not room.readers
        return read

    assert [len(body) for body in asyncio.run(read_all())] == [sum(pieces) for pieces in bodies]
    assert max(seen) <= 100 + max(sum(pieces) for pieces in bodies)


def test_who_gives_up_gives_back() -> None:
    async def give_up() -> int:
        room = Room(10)
        with room.share() as first:
            await first.take(10)

            async def second() -> None:
                with room.share() as share:
                    await share.take(5)

            waiting = asyncio.ensure_future(second())
            await asyncio.sleep(0)
            assert not waiting.done()
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            assert list(room.readers) == [first]
        return room.taken

    assert asyncio.run(give_up()) == 0
