"""Quality is a test: every strategy must stay above a stored floor on small runs of the laboratory.

A floor is what was measured less a margin: twice the spread that other samples give, and at least LEAST. A strategy
that falls below it has become worse than luck explains. Print the lines of floors.toml, for some strategies or for all:

    python -m tests.lab.test_floors [shark pagerank:hot=true …]

A name with parameters that stands in floors.toml is tried as well.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import floor, sqrt
from pathlib import Path

import numpy as np
import pytest

from forager.strategies import STRATEGIES
from forager_lab import experiment
from forager_lab.experiment import Cell, PathGoal, Plan, TopicGoal, crawl_cell
from forager_lab.oracles import LAB_STRATEGIES
from forager_lab.rivals import RIVALS
from tests.shared import WEBS, needs

FILE = Path(__file__).with_name("floors.toml")
LEAST = 0.03  # margin
SAMPLES = 4  # runs from which the margin is found; as many critics as a process keeps at hand


@dataclass(frozen=True)
class Small:
    """A small run. All strategies crawl the same web with the same critic, which is trained once."""

    plan: Plan
    runs: int = 1
    group: str | None = None

    def worth(self, strategy: str, run: int) -> float:
        """Topics: harvest at the end. Paths: the mean along the crawl of the share of targets found."""
        record = crawl_cell(fitting(self.plan, strategy), Cell(strategy, run, self.group))
        if self.group is None:
            return float(record.relevant.mean())
        return float((np.cumsum(record.relevant) / self.targets).mean())

    @cached_property
    def targets(self) -> int:
        return experiment.survey(self.plan).relevant[self.group]

    def measured(self, strategy: str) -> float:
        return float(np.mean([self.worth(strategy, run) for run in range(self.runs)]))


def is_taught(strategy: str) -> bool:
    return hasattr(STRATEGIES.get(strategy.partition(":")[0]), "taught")


def fitting(plan: Plan, strategy: str) -> Plan:
    """The plan that the strategy needs: halved if it is taught beforehand, with its own critic if it is lexical."""
    if is_taught(strategy) and isinstance(plan.goal, TopicGoal):
        return replace(plan, goal=replace(plan.goal, halved=True))
    return replace(plan, critic="lexical:above=all") if strategy.startswith("lexical") else plan


ONE = ("breadth-first",)  # a plan must name a strategy; which one is tried is said by the cell
PROCEDURAL = Small(Plan("procedural:hosts=20:links=20:seed=7", TopicGoal("Science"), ONE, pages=143), runs=2)
WIKISPEEDIA = Small(Plan(str(WEBS / "wikispeedia"), TopicGoal("Music"), ONE, pages=97))
WEBKB = Small(Plan(str(WEBS / "webkb"), PathGoal("course", "university"), ONE, pages=300), group="cornell")
SMALL = {"procedural": PROCEDURAL, "wikispeedia": WIKISPEEDIA, "webkb": WEBKB}

FLOORS: dict[str, dict[str, float]] = tomllib.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
REGISTERED = [*STRATEGIES, *LAB_STRATEGIES]
QUICK = [name for name in REGISTERED if not is_taught(name) and name != "lexical"]  # enough without a large web
VARIANTS = dict.fromkeys(name for floors in FLOORS.values() for name in floors if ":" in name)
every_strategy = pytest.mark.parametrize("strategy", [*REGISTERED, *VARIANTS])
with_rivals = pytest.mark.parametrize("strategy", [*REGISTERED, *RIVALS, *VARIANTS])
quick_strategies = pytest.mark.parametrize("strategy", [*QUICK, *VARIANTS])


pytestmark = pytest.mark.usefixtures("own_cache")


def check(web: str, strategy: str) -> None:
    least = FLOORS.get(web, {}).get(strategy)
    if least is None:
        pytest.fail(f"{FILE.name} has no floor for it; add under [{web}]:  {line(strategy, SMALL[web])}", pytrace=False)
    worth = SMALL[web].measured(strategy)
    assert worth >= least, f"{strategy} on {web}: {worth:.3f}, its floor is {least}"


@with_rivals
def test_on_a_procedural_web(strategy: str) -> None:
    check("procedural", strategy)


@needs("wikispeedia")
@quick_strategies
def test_on_a_topic_of_wikispeedia(strategy: str) -> None:
    check("wikispeedia", strategy)


@needs("webkb")
@every_strategy
def test_on_a_university_of_webkb(strategy: str) -> None:
    check("webkb", strategy)


def test_every_floor_belongs_to_a_web_and_a_strategy() -> None:
    assert set(FLOORS) <= set(SMALL)
    named = {name.partition(":")[0] for floors in FLOORS.values() for name in floors}
    assert named <= {*REGISTERED, *RIVALS}


def test_floors_tell_strategies_apart() -> None:
    """A floor that breadth-first would pass guards nothing: on some web best-first and the bounds must be above it."""
    plain = FLOORS["procedural"]["breadth-first"] + LEAST
    assert all(FLOORS["procedural"][name] > plain for name in ("best-first", "oracle", "lookahead"))


# ---- measuring ------------------------------------------------------------------------------------------------------


def line(strategy: str, small: Small) -> str:
    """The line of floors.toml for what is measured now."""
    worths = [small.worth(strategy, run) for run in range(SAMPLES)]
    margin = max(LEAST, 2 * float(np.std(worths, ddof=1)) / sqrt(small.runs))
    measured = float(np.mean(worths[: small.runs]))
    least = floor(100 * max(0.0, measured - margin)) / 100
    return f'"{strategy}" = {least:.2f}  # {measured:.3f} measured'


def propose(strategies: Sequence[str]) -> None:
    for web, small in SMALL.items():
        if web == "procedural" or (WEBS / web).is_dir():
            print(f"[{web}]")
            for strategy in strategies:
                print(line(strategy, small), flush=True)
            print()


if __name__ == "__main__":
    propose(sys.argv[1:] or [*REGISTERED, *VARIANTS])
