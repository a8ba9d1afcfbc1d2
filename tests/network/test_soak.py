"""A short soak: all kinds of faults, an outage and kills. `make soak` is the long one."""

from __future__ import annotations

from pathlib import Path

from bench.soak import SoakPlan, soak

SHORT = SoakPlan(pages=800, kills=3, tries=1, errors=0.0, outages=((0.4, 2.0, True),))


def test_nothing_is_lost_nothing_comes_twice_and_nobody_is_harmed(tmp_path: Path) -> None:
    lines = soak(SHORT, tmp_path)
    told = "\n".join(f"{line.what}: {line.found}" for line in lines)
    assert [line for line in lines if line.wrong and not line.what.startswith("flat")] == [], told
    assert {"lost", "twice", "impolite"} <= {line.what.partition(":")[0] for line in lines}
