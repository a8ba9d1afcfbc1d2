"""Bodies that are being read share memory: its limit is kept, and nobody waits for ever."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from forager.fetch.body import BodyMemory, read_body


class Slowly:
    """A body in pieces, with a pause after each. Notes how much memory all bodies have taken."""

    def __init__(self, pieces: list[int], memory: BodyMemory, seen: list[int]) -> None:
        self._pieces, self._memory, self._seen = list(pieces), memory, seen

    async def readany(self) -> bytes:
        await asyncio.sleep(0)
        self._seen.append(self._memory.taken)
        return b"x" * self._pieces.pop(0) if self._pieces else b""


@given(st.lists(st.lists(st.integers(1, 40), max_size=6), min_size=1, max_size=8))
def test_the_limit_is_kept_but_for_the_oldest(bodies: list[list[int]]) -> None:
    seen: list[int] = []

    async def read_all() -> list[bytes]:
        memory = BodyMemory(100)

        async def one(pieces: list[int]) -> bytes:
            with memory.share() as share:
                return await read_body(Slowly(pieces, memory, seen), "", 1_000_000, share)

        read = await asyncio.wait_for(asyncio.gather(*map(one, bodies)), 10)
        assert memory.taken == 0
        assert not memory.readers
        return read

    assert [len(body) for body in asyncio.run(read_all())] == [sum(pieces) for pieces in bodies]
    assert max(seen) <= 100 + max(sum(pieces) for pieces in bodies)


def test_who_gives_up_gives_back() -> None:
    async def give_up() -> int:
        memory = BodyMemory(10)
        with memory.share() as first:
            await first.take(10)

            async def second() -> None:
                with memory.share() as share:
                    await share.take(5)

            waiting = asyncio.ensure_future(second())
            await asyncio.sleep(0)
            assert not waiting.done()
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            assert list(memory.readers) == [first]
        return memory.taken

    assert asyncio.run(give_up()) == 0
