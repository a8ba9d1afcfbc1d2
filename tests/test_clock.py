"""The real clock lets work be done beside the loop, and those who compute on it take turns."""

from __future__ import annotations

import asyncio
import time

import pytest

from forager import clock
from forager.clock import LoopRound, WallClock


def test_work_beside_the_loop_lets_the_loop_go_on() -> None:
    async def run() -> None:
        working = asyncio.ensure_future(WallClock().beside(time.sleep, 0.5))
        rounds = 0
        while not working.done():
            await asyncio.sleep(0.01)
            rounds += 1
        assert rounds > 1

    asyncio.run(run())


def test_a_round_that_was_long_ends_before_more_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "ROUND", 0.0)
    order: list[str] = []

    async def compute(name: str, rounds: LoopRound) -> None:
        await rounds.turn()
        order.append(name)
        asyncio.get_running_loop().call_soon(order.append, f"loop after {name}")

    async def run() -> None:
        rounds = LoopRound()
        await asyncio.gather(*(compute(name, rounds) for name in "abc"))
        await asyncio.sleep(0)

    asyncio.run(run())
    assert order == [word for name in "abc" for word in (name, f"loop after {name}")]


def test_another_loop_begins_another_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "ROUND", 0.0)
    rounds = LoopRound()
    for _ in range(3):
        asyncio.run(rounds.turn())  # the loop ends before its round does
