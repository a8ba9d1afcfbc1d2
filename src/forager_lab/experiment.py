"""Strategies side by side. Every (trial, strategy) is a cell, crawled on its own: jobs change nothing but the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from forager.errors import ForagerError
from forager.registry import Spec
from forager_lab.laboratory import Laboratory, open_web
from forager_lab.level_trials import PAGES, level_trial
from forager_lab.level_trials import LevelGoal as LevelGoal
from forager_lab.protocol import (
    Record,
    Trial,
    crawl_trial,
    left_out,
    path_trial,
    reachable_targets,
    strategy_for,
    topic_trial,
)
from forager_lab.workers import Failed, work


@dataclass(frozen=True)
class TopicGoal:
    """Find the pages under a topic, anywhere in the web; `halved`: with half of them to be taught on; `far`: from pages
    that are far from it."""

    topic: str
    halved: bool = False
    far: bool = False

    @property
    def focus(self) -> str:
        return self.topic


@dataclass(frozen=True)
class PathGoal:
    """Find the pages of a label within each group of a column, having learnt on the other groups."""

    target: str
    leave_out: str

    @property
    def focus(self) -> str:
        return self.target


@dataclass(frozen=True)
class Plan:
    """What to compare, on what."""

    web: str
    goal: TopicGoal | PathGoal | LevelGoal
    strategies: tuple[str, ...]
    critic: str = "naive-bayes"
    runs: int = 5
    pages: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.runs < 1 or (self.pages is not None and self.pages < 1):
            raise ForagerError("--runs and --pages must be at least 1")
        if not self.strategies:
            raise ForagerError("--strategies names none; see `forager strategies`")


@dataclass(frozen=True)
class Cell:
    strategy: str
    run: int
    group: str | None  # left out, in the path protocol


def cells(plan: Plan, groups: Sequence[str | None]) -> list[Cell]:
    """Neighbours share a trial, so that a critic is trained once for all its strategies."""
    return [Cell(name, run, group) for run in range(plan.runs) for group in groups for name in plan.strategies]


@dataclass(frozen=True)
class Survey:
    """What there is to be found, before anything is crawled."""

    web: str
    relevant: Mapping[str | None, int]  # pages to be found, by group; one entry under None but in the path protocol
    sizes: Mapping[str | None, int]  # pages of each group

    def expected(self, plan: Plan, group: str | None) -> int:
        """The pages that a crawl of the plan will fetch at most."""
        if plan.pages is not None:
            return plan.pages
        if isinstance(plan.goal, LevelGoal):
            return PAGES
        return self.sizes[group] if isinstance(plan.goal, PathGoal) else 2 * self.relevant[group]


@dataclass(frozen=True)
class Experiment:
    """A plan carried out."""

    plan: Plan
    web: str
    relevant: Mapping[str | None, int]
    sizes: Mapping[str | None, int]
    records: Mapping[Cell, Record]


def conduct(plan: Plan, jobs: int = 1, tell: Callable[[int, int], None] = lambda done, of: None) -> Experiment:
    """Crawl every cell of the plan; `tell` hears how many are done."""
    found = survey(plan)
    todo = cells(plan, list(found.sizes))
    check(plan, found)
    records: dict[Cell, Record] = {}
    for cell, record in work(todo, partial(crawl_cell, plan), jobs, lambda cell: (cell.group, cell.run)):
        if isinstance(record, Failed):
            raise RuntimeError(f"{cell} failed: {record.why}\n{record.trace}")
        records[cell] = record
        tell(len(records), len(todo))
    return Experiment(plan, found.web, found.relevant, found.sizes, {cell: records[cell] for cell in todo})


def survey(plan: Plan) -> Survey:
    """Open the web and count; wrong names of topics, labels and columns are found here."""
    lab = laboratory(plan.web)
    sizes = _sizes(plan, lab)
    return Survey(lab.web.name, {group: _relevant(plan, lab, group) for group in sizes}, sizes)


def _sizes(plan: Plan, lab: Laboratory) -> dict[str | None, int]:
    if not isinstance(plan.goal, PathGoal):
        return {None: len(lab.web.truth.labels)}
    pages = Counter(lab.web.groups(plan.goal.leave_out).values())
    return {group: pages[group] for group in left_out(lab, plan.goal.leave_out)}


def _relevant(plan: Plan, lab: Laboratory, group: str | None) -> int:
    if not isinstance(plan.goal, PathGoal) or group is None:
        return len(lab.web.truth.relevant(plan.goal.focus))
    return len(reachable_targets(lab, plan.goal.target, plan.goal.leave_out, group))


def check(plan: Plan, found: Survey) -> None:
    """Find wrong names and parameters before hours are spent, not after."""
    trial = trial_of(plan, next(iter(found.sizes)), 0)
    for name in plan.strategies:
        strategy_for(laboratory(plan.web), trial, Spec.parse(name))


def crawl_cell(plan: Plan, cell: Cell) -> Record:
    lab = laboratory(plan.web)
    record = crawl_trial(lab, trial_of(plan, cell.group, cell.run), Spec.parse(cell.strategy))
    lab.cache.write()
    return record


def laboratory(web: str) -> Laboratory:
    """The web of that name, opened once in a process."""
    return _laboratory(web)


@lru_cache(maxsize=8)
def _laboratory(web: str) -> Laboratory:
    return Laboratory(open_web(web))


@lru_cache(maxsize=4)
def trial_of(plan: Plan, group: str | None, run: int) -> Trial:
    lab, goal, critic = laboratory(plan.web), plan.goal, Spec.parse(plan.critic)
    if isinstance(goal, LevelGoal):
        return level_trial(lab, goal, critic, run=run, seed=plan.seed, pages=plan.pages)
    if isinstance(goal, TopicGoal):
        return topic_trial(
            lab, goal.topic, critic, run=run, seed=plan.seed, pages=plan.pages, halved=goal.halved, far=goal.far
        )
    return path_trial(lab, goal.target, goal.leave_out, str(group), critic, run=run, seed=plan.seed, pages=plan.pages)
