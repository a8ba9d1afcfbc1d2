"""A short soak: all kinds of faults, an outage and kills. `make soak` is the long one. And the checks can fail."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from bench.soak import SoakPlan, soak
from bench.soaked import Kill, Sample, differences, flat, repeated, slope

from forager_lab.webs.server.faults import Fault, FaultPlan
from forager_lab.webs.server.log import LoggedRequest

SHORT = SoakPlan(pages=800, kills=3, tries=1, errors=0.0, outages=((0.4, 2.0, True),))


def test_nothing_is_lost_nothing_comes_twice_and_nobody_is_harmed(tmp_path: Path) -> None:
    lines = soak(SHORT, tmp_path)
    told = "\n".join(f"{line.what}: {line.found}" for line in lines)
    assert [line for line in lines if line.wrong and not line.what.startswith("flat")] == [], told
    assert {"lost", "twice", "impolite"} <= {line.what.partition(":")[0] for line in lines}


def ended(outcome: str, reason: str = "", seq: int = 0) -> Any:
    return SimpleNamespace(outcome=outcome, reason=reason, seq=seq)


def test_what_is_missing_wrong_or_too_much_is_told() -> None:
    should = {"a": "page", "b": "not-found", "c": "moved", "d": "moved", "e": "page", "f": "page", "g": "not-found"}
    became = {"a": ended("page"), "b": ended("miss", "not-found"), "c": ended("moved"), "d": ended("miss", "duplicate")}
    became |= {"f": ended("miss", "timeout"), "g": ended("miss", "timeout"), "h": ended("page")}
    assert [told.split()[0] for told in differences(should, became)] == ["e", "f", "g", "h"]


@pytest.mark.parametrize(
    ("kills", "slow", "wrong"),
    [
        ([], (), True),
        ([Kill(3.0, 6, 0, [])], (), False),  # it was killed before the answer was acknowledged
        ([Kill(3.0, 7, 0, [])], (), True),
        ([Kill(1.0, 6, 0, []), Kill(9.0, 6, 0, [])], (), True),
        ([], ("http://a.test/x",), False),
    ],
)
def test_a_good_answer_that_is_asked_for_again_is_told(kills: list[Kill], slow: tuple[str], wrong: bool) -> None:
    requests = [LoggedRequest(at, at, 1, "a.test", "/x", 200) for at in (2.0, 5.0)]
    told, explained = repeated(requests, {}, kills, {"http://a.test/x": ended("page", seq=7)}, slow)
    assert (bool(told), explained) == (wrong, not wrong)


def test_a_bad_answer_may_be_asked_for_again() -> None:
    faults = {"share": 1 / len(Fault), "tries": 1}  # the first request for every URL goes wrong
    cut = next(f"/{n}" for n in range(100) if FaultPlan(**faults).fault(f"a.test/{n}") is Fault.CUT)  # type: ignore[arg-type]
    requests = [LoggedRequest(at, at, 1, "a.test", cut, 200) for at in (2.0, 5.0)]
    assert repeated(requests, faults, [], {}, ()) == ([], 0)
    requests.append(requests[-1]._replace(arrived=9.0))
    assert len(repeated(requests, faults, [], {}, ())[0]) == 1


def samples(ms: float, rise: float, memory: int) -> list[Sample]:
    """100 steps of 1,000 pages; some requests bring none, and each of them takes 1 ms."""
    found, chance = [Sample(1, 0, 0, 0.0, 0)], np.random.default_rng(1)
    for step in range(1, 101):
        others = step + int(chance.integers(50))
        used = 1_000 * (ms + rise * step / 100) + others + chance.normal(0.0, 20.0)
        last = found[-1]
        found.append(
            Sample(1, 1_000 * step, last.requests + 1_000 + others, last.cpu + used / 1e3, memory * step * 1_000)
        )
    return found


def test_rising_time_and_memory_are_told() -> None:
    assert [bool(line.wrong) for line in flat(samples(4.0, 0.0, 1_000))] == [False, False]
    assert [bool(line.wrong) for line in flat(samples(4.0, 1.0, 1_000))] == [True, False]
    assert [bool(line.wrong) for line in flat(samples(4.0, 0.0, 9_000))] == [False, True]


def test_the_interval_of_a_slope_covers_it_about_as_often_as_it_says() -> None:
    chance, at = np.random.default_rng(2), np.arange(40.0)
    lines = [slope(3 * at + chance.normal(0.0, 5.0, 40), [at, np.ones(40)]) for _ in range(400)]
    assert 0.92 < np.mean([line.low < 3 < line.high for line in lines]) < 0.98
