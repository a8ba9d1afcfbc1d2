"""Requests under way."""

from __future__ import annotations

import asyncio
import gc
from math import inf
from typing import Any

import pytest

from forager.clock import WallClock
from forager.crawl.flights import Flights
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
