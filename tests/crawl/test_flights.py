"""Requests under way."""

from __future__ import annotations

import asyncio
import gc
from math import inf
from typing import Any

import pytest

from forager.clock import VirtualClock, WallClock
from forager.crawl.flights import CROWDED_OUT, PATIENT, Flights
from forager.errors import ForagerError


def test_if_several_fail_at_once_the_first_is_raised_and_the_others_are_not_printed() -> None:
    async def fail() -> None:
        raise ForagerError("the disk is full")

    async def work() -> list[dict[str, Any]]:
        told: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
        flights = Flights(3, WallClock())
        for _ in range(3):
            flights.launch(fail(), stranger=False)
        with pytest.raises(ForagerError, match="full"):
            await flights.landed(inf, None)
        assert len(flights) == 0
        del flights
        gc.collect()
        return told

    assert asyncio.run(work()) == []


def test_only_a_host_that_has_not_answered_is_crowded_out() -> None:
    """The first has its answer, and is busy with it. The second is silent."""

    async def run() -> list[str]:
        clock = VirtualClock()
        flights, ended = Flights(2, clock), list[str]()

        async def visit(name: str, *, answered: bool) -> None:
            if answered:
                flights.settle()
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError as error:
                ended.append(name if error.args == (CROWDED_OUT,) else "")

        flights.launch(visit("slow page", answered=True), stranger=True)
        flights.launch(visit("silence", answered=False), stranger=True)
        await asyncio.sleep(0)
        clock.spend(PATIENT)
        assert flights.crowd_out(clock.now())
        assert not flights.crowd_out(clock.now())  # nobody else is silent
        await asyncio.sleep(0)
        given_up = list(ended)
        await flights.give_up()
        return given_up

    assert asyncio.run(run()) == ["silence"]
