"""Bodies that are being read share memory: its limit is kept, nobody waits for ever, and who stalls is sent away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.clock import VirtualClock
from forager.fetch.body import BodyMemory, MemoryShare, StalledError, read_body
from forager.fetch.connection import Limits
from forager.types import Answer, Reason, Url
from tests.fetch.wire import Act, Wire, ask, drip, failed, fetched, fetcher, page, raw


class Slowly:
    """A body in pieces, with a pause after each. Notes how much memory all bodies have taken."""

    def __init__(self, pieces: list[int], memory: BodyMemory, seen: list[int]) -> None:
        self._pieces, self._memory, self._seen = list(pieces), memory, seen

    async def readany(self) -> bytes:
        await asyncio.sleep(0)
        self._seen.append(self._memory.taken)
        return b"x" * self._pieces.pop(0) if self._pieces else b""

    def set_exception(self, exc: BaseException) -> None:
        raise AssertionError(exc)


@given(st.lists(st.lists(st.integers(1, 40), max_size=6), min_size=1, max_size=8))
def test_the_limit_is_kept_but_for_one_that_may_pass(bodies: list[list[int]]) -> None:
    seen: list[int] = []

    async def read_all() -> list[bytes]:
        memory = BodyMemory(100)

        async def one(pieces: list[int]) -> bytes:
            with memory.share(f"h{len(pieces)}") as share:
                return await read_body(Slowly(pieces, memory, seen), "", 1_000_000, share)

        read = await asyncio.wait_for(asyncio.gather(*map(one, bodies)), 10)
        assert memory.taken == 0
        assert not memory.readers
        assert not memory.waiting
        assert not memory.by_host
        assert memory.passing is None
        return read

    assert [len(body) for body in asyncio.run(read_all())] == [sum(pieces) for pieces in bodies]
    assert max(seen) <= 100 + max(sum(pieces) for pieces in bodies)


Deed = Callable[[BodyMemory], Awaitable[None]]


def with_memory(size: int, deed: Deed, patience: float = 2.0) -> None:
    """Do something with a memory; in the end all of it is free."""

    async def run() -> None:
        memory = BodyMemory(size, VirtualClock(), rate=10, grace=10.0, patience=patience)
        await asyncio.wait_for(deed(memory), 20)
        assert (memory.taken, memory.passing, len(memory.readers), len(memory.by_host)) == (0, None, 0, 0)

    asyncio.run(run())


async def waits(share: MemoryShare, count: int) -> asyncio.Task[None]:
    task = asyncio.ensure_future(share.take(count))
    await asyncio.sleep(0.01)
    assert not task.done()
    return task


def test_who_gives_up_gives_back() -> None:
    async def deed(memory: BodyMemory) -> None:
        with memory.share("a") as first, memory.share("b") as second, memory.share("c") as third:
            await first.take(20)
            await second.take(90)  # the one that may pass
            waiting = await waits(third, 20)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            assert not memory.waiting
            assert memory.taken == 110

    with_memory(100, deed)


def test_they_pass_one_after_the_other_in_the_order_in_which_they_came() -> None:
    async def deed(memory: BodyMemory) -> None:
        shares = [memory.share(host).__enter__() for host in "abcd"]
        await shares[0].take(90)
        waiting = [await waits(share, 90) for share in shares[1:]]
        for share, task in zip(shares, waiting, strict=False):
            share.__exit__(None, None, None)
            await asyncio.sleep(0.01)
            assert task.done()
        shares[-1].__exit__(None, None, None)

    with_memory(100, deed)


def test_no_host_holds_more_than_its_share_and_small_bodies_do_not_wait_for_large_ones() -> None:
    async def deed(memory: BodyMemory) -> None:
        with memory.share("big") as one, memory.share("big") as two, memory.share("small") as small:
            assert one.took(30_000)
            assert two.took(30_000)
            assert not two.took(10_000)  # a quarter of all is enough
            rest = [memory.share(f"h{n}").__enter__() for n in range(3)]
            assert [share.took(64_000) for share in rest] == [True, True, False]
            assert rest[2].took(3_000)
            assert small.took(1_000)  # a quarter is for bodies of at most 1/256
            assert not small.took(1)
            for share in rest:
                share.__exit__(None, None, None)

    with_memory(256_000, deed)


# ---- who does not come on -------------------------------------------------------------------------------------------


class Silent:
    """A body that brings some bytes, and then nothing until it is told of an error."""

    def __init__(self, size: int) -> None:
        self._left, self._told = [b"x" * size], asyncio.Event()
        self._error: BaseException | None = None

    async def readany(self) -> bytes:
        if self._left:
            return self._left.pop()
        await self._told.wait()
        assert self._error
        raise self._error

    def set_exception(self, exc: BaseException) -> None:
        self._error = exc
        self._told.set()


async def read(memory: BodyMemory, host: str, source: Silent) -> bytes:
    with memory.share(host) as share:
        return await read_body(source, "", 1_000_000, share)


def test_who_stalls_is_sent_away_when_others_wait_and_not_before() -> None:
    async def deed(memory: BodyMemory) -> None:
        clock = memory.clock
        stalled = [asyncio.ensure_future(read(memory, f"h{n}", Silent(20))) for n in range(3)]
        await asyncio.sleep(0.01)
        clock.spend(100)  # nobody waits, so they may stall
        with memory.share("a") as first, memory.share("b") as second:
            await first.take(50)  # may pass
            task = await waits(second, 50)
            told = await asyncio.gather(*stalled, return_exceptions=True)
            assert [type(error) for error in told] == [StalledError] * 3
            assert str(told[0]) == "body: stalled while memory was short"
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    with_memory(100, deed, patience=0.05)


def test_who_comes_on_is_not_sent_away() -> None:
    async def deed(memory: BodyMemory) -> None:
        reading = asyncio.ensure_future(read(memory, "a", Silent(20)))
        await asyncio.sleep(0.01)
        memory.clock.spend(0.04)
        with memory.share("b") as first, memory.share("c") as second:
            await first.take(90)
            task = await waits(second, 50)
            await asyncio.sleep(0.2)
            assert not reading.done()  # its clock says that it is not yet late
            memory.clock.spend(0.02)
            assert isinstance(*await asyncio.gather(reading, return_exceptions=True), StalledError)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    with_memory(100, deed, patience=0.05)


def test_the_least_rate() -> None:
    async def deed(memory: BodyMemory) -> None:
        with memory.share() as share:
            for _ in range(20):
                memory.clock.spend(5)
                share.receive(50)  # 10 a second
            memory.clock.spend(500)
            share.receive(100)  # after a silence it comes in time; how long that may be is another limit
            memory.clock.spend(10)
            share.receive(99)
            memory.clock.spend(0.5)
            share.receive(1)
            memory.clock.spend(10.5)
            with pytest.raises(StalledError, match="fewer than 100 bytes in 10 seconds"):
                share.receive(99)

    with_memory(100, deed)


def test_waiting_for_memory_is_not_the_fault_of_who_waits() -> None:
    async def deed(memory: BodyMemory) -> None:
        with memory.share("b") as second:
            with memory.share("a") as first:
                await first.take(90)
                task = await waits(second, 50)
                memory.clock.spend(500)
            await task
            second.receive(1)

    with_memory(100, deed)


# ---- over the wire --------------------------------------------------------------------------------------------------

HALF = raw("HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 900000", b"x" * 100_000)


def test_stalled_bodies_do_not_hold_up_the_others() -> None:
    """Sixteen hosts send a tenth of their page and fall silent. They hold more than all the memory there is."""
    stall: Act = drip(HALF, b"", 5)
    limits = Limits(read=60, total=60, memory=1_000_000, patience=0.3)

    async def run() -> tuple[list[Answer], list[Answer]]:
        async with (
            Wire({"/stall": stall, "/large": page(b"y" * 200_000), "/small": page(b"z" * 2_000)}) as wire,
            fetcher(limits=limits, resolve={"*.test": f"127.0.0.1:{wire.port}"}) as client,
        ):
            stalled = [asyncio.ensure_future(client.fetch(Url(f"http://s{n}.test/stall"))) for n in range(16)]
            await asyncio.sleep(0.1)
            good = [Url(f"http://g{n}.test/{'large' if n % 4 else 'small'}") for n in range(20)]
            answers = await asyncio.gather(*map(client.fetch, good))
            ended = [task.result() for task in stalled if task.done()]
            for task in stalled:
                task.cancel()
            return answers, ended

    good, ended = asyncio.run(asyncio.wait_for(run(), 40))
    for answer in good:
        fetched(answer)
    assert ended  # others may have waited themselves, and nobody waits any more
    for answer in ended:
        failure = failed(answer, Reason.TIMEOUT)
        assert (failure.detail, failure.status) == ("body: stalled while memory was short", 200)
        assert failure.retry_after is not None


def test_a_drip_ends_although_it_never_falls_silent() -> None:
    drops = drip(raw("HTTP/1.1 200 OK\nContent-Type: text/html"), b"x")
    limits = Limits(read=60, total=60, rate=10_000, grace=0.3)
    failure = failed(ask(drops, limits=limits), Reason.TIMEOUT)
    assert failure.detail == "body: fewer than 3,000 bytes in 0.3 seconds"
    assert failure.retry_after is not None


def test_the_memory_of_a_body_is_held_as_long_as_somebody_has_it() -> None:
    async def run() -> list[int]:
        memory = BodyMemory(1_000_000)
        with memory.share("a.test") as share:
            assert share.took(200_000)
            held = share.hold()
        taken = [memory.taken]
        del held
        await asyncio.sleep(0)
        return [*taken, memory.taken]

    assert asyncio.run(run()) == [200_000, 0]


def test_whoever_keeps_many_bodies_gets_them_one_after_the_other() -> None:
    async def run() -> int:
        memory, kept = BodyMemory(100_000, patience=0.01), list[object]()
        for _ in range(4):
            with memory.share("a.test") as share:
                await share.take(90_000)
                kept.append(share.hold())
        return len(kept)

    assert asyncio.run(asyncio.wait_for(run(), 20)) == 4
