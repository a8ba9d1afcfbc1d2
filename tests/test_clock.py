"""The real clock lets work be done beside the loop."""

from __future__ import annotations

import asyncio
import sys
import threading

from forager.clock import WallClock


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
        clock = WallClock()
        return await asyncio.gather(*(clock.beside(work, number) for number in range(8)))

    assert asyncio.run(run()) == list(range(8))
    assert most == 1
    assert sys.getswitchinterval() == interval
