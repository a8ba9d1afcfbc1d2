"""Requests under way, on a clock that is moved by hand."""

from __future__ import annotations

import asyncio

from forager.clock import VirtualClock
from forager.crawl.flights import CROWDED_OUT, PATIENT, Flights


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
