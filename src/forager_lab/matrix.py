"""A matrix of topics x strategies x runs: every cell crawled once, kept, and all put together.

The cells kept from earlier are read, the missing ones are crawled by workers that share one queue over all experiments
and keep each cell the moment it is done. So a run that is killed loses only what was under way, and the same call goes
on from there. A cell that fails is named, and the others go on.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from forager.errors import ForagerError
from forager_lab.cells import Cells, Kept, Key, cell_key, code_fingerprint, web_content
from forager_lab.experiment import Cell, Experiment, Plan, Survey, cells, check, crawl_cell, laboratory, survey
from forager_lab.workers import Failed, work

KEPT = Path(".lab")


@dataclass(frozen=True)
class Task:
    """A cell to be crawled."""

    experiment: str
    plan: Plan
    cell: Cell
    key: Key
    pages: int  # it will fetch at most

    def __str__(self) -> str:
        group = "" if self.cell.group is None else f" · {self.cell.group}"
        return f"{self.experiment}{group} · {self.cell.strategy} · run {self.cell.run}"


@dataclass(frozen=True)
class Progress:
    """How far a matrix is, at the start and after each cell."""

    done: int  # those kept from earlier included
    total: int
    failed: int
    left: float | None  # seconds; None before there is anything to go by
    last: str  # what was done, and how it went


@dataclass(frozen=True)
class Done:
    """A matrix carried out, as far as it went."""

    experiments: Mapping[str, Experiment]  # with those strategies of which every cell is there
    incomplete: Mapping[str, Sequence[str]]  # the other strategies, by experiment
    codes: Mapping[str, int]  # fingerprints of the code that made the cells, with their number
    crawled: int
    failed: Sequence[str]  # a line each


Tell: TypeAlias = Callable[[Progress], None]
Note: TypeAlias = Callable[[str], None]


def run_matrix(
    plans: Mapping[str, Plan],
    kept: Path = KEPT,
    *,
    jobs: int = 1,
    fresh: bool = False,
    tell: Tell = lambda progress: None,
    note: Note = lambda line: None,
) -> Done:
    """Crawl what is missing and return everything. `fresh`: what was made by other code is missing too.

    `tell` hears of each cell, `note` what a user should know, in a line.
    """
    if jobs < 1:
        raise ForagerError("--jobs must be at least 1")
    folder, code = Cells(kept), code_fingerprint()
    surveys = {name: _survey(name, plan) for name, plan in plans.items()}
    for web in dict.fromkeys(plan.web for plan in plans.values()):
        for loss in laboratory(web).web.losses:
            note(f"{web}: {loss}")
    tasks = [task for name, plan in plans.items() for task in _tasks(name, plan, surveys[name])]
    there = _there(folder, tasks, code, fresh, note)
    todo = [task for at, task in enumerate(tasks) if at not in there]
    for name in dict.fromkeys(task.experiment for task in todo):
        _check(name, plans[name], surveys[name])
    pace = Pace()
    for at, kept_cell in there.items():
        pace.learn(tasks[at], len(kept_cell.record.order), kept_cell.record.seconds)
    crawl = partial(crawl_and_keep, kept, code)
    failed = _crawl(todo, crawl, jobs, pace, len(there), tell)
    return _gathered(folder, tasks, surveys, len(todo) - len(failed), failed)


def _survey(name: str, plan: Plan) -> Survey:
    try:
        return survey(plan)
    except ForagerError as error:
        raise ForagerError(f"{name}: {error}") from None


def _check(name: str, plan: Plan, found: Survey) -> None:
    try:
        check(plan, found)
    except ForagerError as error:
        raise ForagerError(f"{name}: {error}") from None


def _tasks(name: str, plan: Plan, found: Survey) -> list[Task]:
    content = web_content(laboratory(plan.web).web)
    return [
        Task(name, plan, cell, cell_key(content, plan, cell), found.expected(plan, cell.group))
        for cell in cells(plan, list(found.sizes))
    ]


# ---- what is there --------------------------------------------------------------------------------------------------


def _there(folder: Cells, tasks: Sequence[Task], code: str, fresh: bool, note: Note) -> dict[int, Kept]:
    """The cells that need not be crawled, by the place of their task."""
    found: dict[int, Kept] = {}
    for at, task in enumerate(tasks):
        try:
            kept = folder.read(task.key)
        except ForagerError as error:
            note(f"{error}; crawled again: {task}")
            continue
        if kept is not None:
            found[at] = kept
    others = Counter(kept.code for kept in found.values() if kept.code != code)
    if not others:
        return found
    told = f"{others.total()} of {len(found)} kept cells were made by other code ({', '.join(sorted(others))})"
    if not fresh:
        note(f"{told}: used as they are; --fresh crawls them again")
        return found
    note(f"{told}: crawled again")
    return {at: kept for at, kept in found.items() if kept.code == code}


def _gathered(
    folder: Cells, tasks: Sequence[Task], surveys: Mapping[str, Survey], crawled: int, failed: Sequence[str]
) -> Done:
    by_experiment: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        by_experiment[task.experiment].append(task)
    experiments, incomplete, codes = {}, {}, Counter[str]()
    for name, its_tasks in by_experiment.items():
        found, plan = surveys[name], its_tasks[0].plan
        kept = {task.cell: folder.read(task.key) for task in its_tasks if folder.path(task.key).exists()}
        lost = {task.cell.strategy for task in its_tasks if kept.get(task.cell) is None}
        whole = {cell: each for cell, each in kept.items() if each is not None and cell.strategy not in lost}
        codes.update(each.code for each in whole.values())
        if lost:
            incomplete[name] = [strategy for strategy in plan.strategies if strategy in lost]
        if whole:
            plan = replace(plan, strategies=tuple(each for each in plan.strategies if each not in lost))
            records = {cell: each.record for cell, each in whole.items()}
            experiments[name] = Experiment(plan, found.web, found.relevant, found.sizes, records)
    return Done(experiments, incomplete, dict(sorted(codes.items())), crawled, failed)


# ---- crawling -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spent:
    pages: int
    seconds: float


def crawl_and_keep(folder: Path, code: str, task: Task) -> Spent:
    """Done by a worker: what is finished is on disk, whatever becomes of the parent."""
    start = time.perf_counter()
    record = crawl_cell(task.plan, task.cell)
    Cells(folder).write(task.key, Kept(record, code))
    return Spent(len(record.order), time.perf_counter() - start)


def _needs(task: Task) -> tuple[str, Plan, str | None, int]:
    return task.plan.web, task.plan, task.cell.group, task.cell.run


def _crawl(
    todo: Sequence[Task], crawl: Callable[[Task], Spent], jobs: int, pace: Pace, before: int, tell: Tell
) -> list[str]:
    """Returns a line for each cell that failed."""
    left, failed = list(todo), list[str]()
    tell(Progress(before, before + len(todo), 0, pace.expect(left, jobs), f"{before} cells kept from earlier"))
    for task, outcome in work(todo, crawl, jobs, _needs):
        left.remove(task)
        if isinstance(outcome, Failed):
            said = f"{task} failed: {outcome.why}"
            failed.append(said)
        else:
            said = f"{task}: {outcome.pages} pages, {outcome.seconds:.1f} s"
            pace.learn(task, outcome.pages, outcome.seconds)
        done = before + len(todo) - len(left) - len(failed)
        tell(Progress(done, before + len(todo), len(failed), pace.expect(left, jobs), said))
    return failed


class Pace:
    """Seconds a page, from finished cells: those of the same web and strategy, else of the same web, else of all."""

    def __init__(self) -> None:
        self._spent: dict[tuple[str, ...], tuple[int, float]] = {}

    def learn(self, task: Task, pages: int, seconds: float) -> None:
        for kind in self._kinds(task):
            before = self._spent.get(kind, (0, 0.0))
            self._spent[kind] = before[0] + pages, before[1] + seconds

    def expect(self, tasks: Iterable[Task], jobs: int) -> float | None:
        """Seconds that the tasks will take, so many at once; None before anything is known."""
        return sum(task.pages * self._rate(task) for task in tasks) / jobs if self._spent else None

    def _rate(self, task: Task) -> float:
        pages, seconds = next(self._spent[kind] for kind in self._kinds(task) if kind in self._spent)
        return seconds / max(1, pages)

    @staticmethod
    def _kinds(task: Task) -> tuple[tuple[str, ...], ...]:
        return (task.plan.web, task.cell.strategy), (task.plan.web,), ()
