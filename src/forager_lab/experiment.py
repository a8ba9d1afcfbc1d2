"""An experiment: several strategies on one web. Each crawl is a cell: one strategy in one trial.

Cells do not depend on one another, so the number of jobs changes only the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from forager.errors import ForagerError
from forager.registry import Spec
from forager_lab.laboratory import Laboratory
from forager_lab.left_out import UnseenWeights, strategy_spec
from forager_lab.level_trials import PAGES, level_trial
from forager_lab.level_trials import LevelGoal as LevelGoal
from forager_lab.protocol import (
    CrawlRecord,
    Trial,
    crawl_trial,
    left_out,
    path_trial,
    reachable_targets,
    strategy_for,
    topic_trial,
)
from forager_lab.webs import open_web
from forager_lab.workers import Failed, work


@dataclass(frozen=True)
class TopicGoal:
    """Find the pages under a topic, anywhere in the web.

    `halved`: half of them may be taught on before the crawl; `far`: start far from the topic. A poor critic learns from
    so many `examples`, and a share of its sample has the wrong label: `flipped`.
    """

    topic: str
    halved: bool = False
    far: bool = False
    examples: int | None = None
    flipped: float | None = None

    @property
    def focus(self) -> str:
        return self.topic


@dataclass(frozen=True)
class PathGoal:
    """Find the pages of a label within each group of a column, after learning from the other groups."""

    target: str
    leave_out: str

    @property
    def focus(self) -> str:
        return self.target


@dataclass(frozen=True)
class Plan:
    """What to compare, on which web, for which goal."""

    web: str
    goal: TopicGoal | PathGoal | LevelGoal
    strategies: tuple[str, ...]
    critic: str = "naive-bayes"
    runs: int = 5
    pages: int | None = None
    seed: int = 0
    left_out: UnseenWeights | None = None  # the weights of the default strategy; None: those of the package

    def __post_init__(self) -> None:
        if self.runs < 1 or (self.pages is not None and self.pages < 1):
            raise ForagerError("--runs and --pages must be at least 1")
        if not self.strategies:
            raise ForagerError("--strategies names none; see `forager strategies`")


@dataclass(frozen=True)
class Cell:
    """One crawl of an experiment."""

    strategy: str
    run: int
    group: str | None  # the group left out, in the path protocol


def cells(plan: Plan, groups: Sequence[str | None]) -> list[Cell]:
    """All cells of a plan. Neighbours share a trial, so that its critic is trained once for all strategies."""
    return [Cell(name, run, group) for run in range(plan.runs) for group in groups for name in plan.strategies]


@dataclass(frozen=True)
class Survey:
    """How many pages there are to find, counted before anything is crawled."""

    web: str
    relevant: Mapping[str | None, int]  # pages to find, by group; in the topic protocol the only group is None
    sizes: Mapping[str | None, int]  # pages of each group

    def expected(self, plan: Plan, group: str | None) -> int:
        """The largest number of pages that a crawl of the plan will fetch."""
        if plan.pages is not None:
            return plan.pages
        if isinstance(plan.goal, LevelGoal):
            return PAGES
        return self.sizes[group] if isinstance(plan.goal, PathGoal) else 2 * self.relevant[group]


@dataclass(frozen=True)
class Experiment:
    """A plan and what its crawls fetched."""

    plan: Plan
    web: str
    relevant: Mapping[str | None, int]
    sizes: Mapping[str | None, int]
    records: Mapping[Cell, CrawlRecord]


def conduct(plan: Plan, jobs: int = 1, tell: Callable[[int, int], None] = lambda done, of: None) -> Experiment:
    """Crawl every cell of the plan. `tell` is called with the number of finished cells and of all cells."""
    found = survey(plan)
    todo = cells(plan, list(found.sizes))
    check(plan, found)
    records: dict[Cell, CrawlRecord] = {}
    for cell, record in work(todo, partial(crawl_cell, plan), jobs, lambda cell: (cell.group, cell.run)):
        if isinstance(record, Failed):
            raise RuntimeError(f"{cell} failed: {record.why}\n{record.trace}")
        records[cell] = record
        tell(len(records), len(todo))
    return Experiment(plan, found.web, found.relevant, found.sizes, {cell: records[cell] for cell in todo})


def survey(plan: Plan) -> Survey:
    """Open the web and count. Wrong names of topics, labels and columns are found here."""
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
    """Find wrong names and parameters before the first crawl."""
    trial = trial_of(plan, next(iter(found.sizes)), 0)
    for name in plan.strategies:
        strategy_for(laboratory(plan.web), trial, strategy_spec(name, plan.left_out))


def crawl_cell(plan: Plan, cell: Cell) -> CrawlRecord:
    """Crawl one cell."""
    lab = laboratory(plan.web)
    record = crawl_trial(lab, trial_of(plan, cell.group, cell.run), strategy_spec(cell.strategy, plan.left_out))
    lab.cache.write()
    return record


def laboratory(web: str) -> Laboratory:
    """The web of that name, opened once in each process."""
    return _laboratory(web)


@lru_cache(maxsize=8)
def _laboratory(web: str) -> Laboratory:
    return Laboratory(open_web(web))


@lru_cache(maxsize=4)
def trial_of(plan: Plan, group: str | None, run: int) -> Trial:
    """The trial of a run; the last few are kept, because to train a critic takes long."""
    lab, goal, critic = laboratory(plan.web), plan.goal, Spec.parse(plan.critic)
    if isinstance(goal, LevelGoal):
        return level_trial(lab, goal, critic, run=run, seed=plan.seed, pages=plan.pages)
    if isinstance(goal, TopicGoal):
        return topic_trial(
            lab,
            goal.topic,
            critic,
            run=run,
            seed=plan.seed,
            pages=plan.pages,
            halved=goal.halved,
            far=goal.far,
            examples=goal.examples,
            flipped=goal.flipped or 0.0,
        )
    return path_trial(lab, goal.target, goal.leave_out, str(group), critic, run=run, seed=plan.seed, pages=plan.pages)
