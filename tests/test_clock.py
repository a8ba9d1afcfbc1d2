"""The real clock lets work be done beside the loop, and those who compute on it take turns."""

from __future__ import annotations

import asyncio
import sys
import threading

import pytest

from forager import clock
from forager.clock import LoopRound, WallClock


def test_work_beside_the_loop_is_done_one_after_the_other() -> None:
    """Threads that compute at once share one core with the loop, each as large a share."""
    at_once, most = 0, 0
    counting, interval = threading.Lock(), sys.getswitchinterval()

    def work(number: int) -> int:
        nonlocal at_once, most
        with counting:
            at_once += 1
            most = max(most, at_once)
        threading.Event().wait(0.01)
        with counting:
            at_once -= 1
        return number

    async def run() -> list[int]:
        wall = WallClock()
        return await asyncio.gather(*(wall.beside(work, number) for number in range(8)))

    assert asyncio.run(run()) == list(range(8))
    assert most == 1
    assert sys.getswitchinterval() == interval


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
