"""Runs a matrix: several experiments, each with many cells. Every cell is crawled once and kept on disk.

Cells that were kept are read; the others are crawled by workers, which keep each cell as soon as it is done. So a run
that is killed loses only the cells it was crawling, and the same call goes on from there. If a cell fails, it is named,
and the others go on. Experiments that have a cell in common share it. What a file says is read by `matrix_file`.
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
from forager_lab.cells import CellFolder, KeptCell, Key, cell_key, code_fingerprint, web_content
from forager_lab.experiment import (
    Cell,
    Experiment,
    Plan,
    Survey,
    cells,
    check,
    crawl_cell,
    laboratory,
    survey,
)
from forager_lab.workers import Failed, work

KEPT = Path(".lab")
USUAL = 0.02  # seconds that a page takes with the slower strategies


# ---- the run --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CellTask:
    """A cell to crawl."""

    experiment: str
    plan: Plan
    cell: Cell
    key: Key
    pages: int  # that it will fetch at most

    def __str__(self) -> str:
        group = "" if self.cell.group is None else f" · {self.cell.group}"
        return f"{self.experiment}{group} · {self.cell.strategy} · run {self.cell.run}"


@dataclass(frozen=True)
class MatrixStatus:
    """How far a matrix is: told at the start and after each cell."""

    done: int  # with the cells kept from earlier
    total: int
    failed: int
    left: float  # seconds still needed, about
    last: str  # what was done last, and its result


@dataclass(frozen=True)
class MatrixResult:
    """What a matrix gave."""

    experiments: Mapping[str, Experiment]  # only with strategies of which every cell is there
    incomplete: Mapping[str, Sequence[str]]  # by experiment, the other strategies
    codes: Mapping[str, int]  # number of cells by the fingerprint of the code that made them
    crawled: int
    failed: Sequence[str]  # a line each


Tell: TypeAlias = Callable[[MatrixStatus], None]
Note: TypeAlias = Callable[[str], None]


def run_matrix(
    plans: Mapping[str, Plan],
    kept: Path = KEPT,
    *,
    jobs: int = 1,
    fresh: bool = False,
    tell: Tell = lambda progress: None,
    note: Note = lambda line: None,
) -> MatrixResult:
    """Crawl the missing cells and return all. `fresh`: cells that other code made count as missing.

    `tell` is called after each cell, `note` with each line that a user should read.
    """
    if jobs < 1:
        raise ForagerError("--jobs must be at least 1")
    folder, code = CellFolder(kept), code_fingerprint()
    surveys = {name: _survey(name, plan) for name, plan in plans.items()}
    for web in dict.fromkeys(plan.web for plan in plans.values()):
        for loss in laboratory(web).web.losses:
            note(f"{web}: {loss}")
    every = [task for name, plan in plans.items() for task in _tasks(name, plan, surveys[name])]
    tasks = list({folder.path(task.key): task for task in reversed(every)}.values())[::-1]  # the first of each cell
    there = _kept(folder, tasks, code, fresh, note)
    todo = [task for at, task in enumerate(tasks) if at not in there]
    for name in dict.fromkeys(task.experiment for task in todo):
        _check(name, plans[name], surveys[name])
    pace = Pace()
    for at, kept_cell in there.items():
        pace.learn(tasks[at], len(kept_cell.record.order), kept_cell.record.seconds)
    crawl = partial(crawl_and_keep, kept, code)
    failed = _crawl(todo, crawl, jobs, pace, len(there), tell)
    return _collected(folder, every, surveys, len(todo) - len(failed), failed)


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


def _tasks(name: str, plan: Plan, found: Survey) -> list[CellTask]:
    content = web_content(laboratory(plan.web).web)
    try:
        keys = {cell: cell_key(content, plan, cell) for cell in cells(plan, list(found.sizes))}
    except ForagerError as error:  # no weights for it
        raise ForagerError(f"{name}: {error}") from None
    return [CellTask(name, plan, cell, key, found.expected(plan, cell.group)) for cell, key in keys.items()]


# ---- cells kept from earlier ----------------------------------------------------------------------------------------


def _kept(folder: CellFolder, tasks: Sequence[CellTask], code: str, fresh: bool, note: Note) -> dict[int, KeptCell]:
    """The kept cells, by the index of their task."""
    found: dict[int, KeptCell] = {}
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


def _collected(
    folder: CellFolder, tasks: Sequence[CellTask], surveys: Mapping[str, Survey], crawled: int, failed: Sequence[str]
) -> MatrixResult:
    by_experiment: dict[str, list[CellTask]] = defaultdict(list)
    for task in tasks:
        by_experiment[task.experiment].append(task)
    experiments, incomplete, codes = {}, {}, dict[Path, str]()
    for name, its_tasks in by_experiment.items():
        found, plan = surveys[name], its_tasks[0].plan
        kept = {task.cell: folder.read(task.key) for task in its_tasks if folder.path(task.key).exists()}
        lost = {task.cell.strategy for task in its_tasks if kept.get(task.cell) is None}
        whole = {cell: each for cell, each in kept.items() if each is not None and cell.strategy not in lost}
        codes |= {folder.path(task.key): whole[task.cell].code for task in its_tasks if task.cell in whole}
        if lost:
            incomplete[name] = [strategy for strategy in plan.strategies if strategy in lost]
        if whole:
            plan = replace(plan, strategies=tuple(each for each in plan.strategies if each not in lost))
            records = {cell: each.record for cell, each in whole.items()}
            experiments[name] = Experiment(plan, found.web, found.relevant, found.sizes, records)
    return MatrixResult(experiments, incomplete, dict(sorted(Counter(codes.values()).items())), crawled, failed)


# ---- crawling -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CellCost:
    """What a crawl took."""

    pages: int
    seconds: float


def crawl_and_keep(folder: Path, code: str, task: CellTask) -> CellCost:
    """The work of a worker. A finished cell is on disk, even if the parent ends."""
    start = time.perf_counter()
    record = crawl_cell(task.plan, task.cell)
    CellFolder(folder).write(task.key, KeptCell(record, code))
    return CellCost(len(record.order), time.perf_counter() - start)


def _needs(task: CellTask) -> tuple[str, Plan, str | None, int]:
    return task.plan.web, task.plan, task.cell.group, task.cell.run


def _crawl(
    todo: Sequence[CellTask], crawl: Callable[[CellTask], CellCost], jobs: int, pace: Pace, before: int, tell: Tell
) -> list[str]:
    """Crawl the tasks and return a line for each cell that failed."""
    left, failed = list(todo), list[str]()
    tell(MatrixStatus(before, before + len(todo), 0, pace.expect(left, jobs), f"{before} cells kept from earlier"))
    for task, outcome in work(todo, crawl, jobs, _needs):
        left.remove(task)
        if isinstance(outcome, Failed):
            said = f"{task} failed: {outcome.why}"
            failed.append(said)
        else:
            said = f"{task}: {outcome.pages} pages, {outcome.seconds:.1f} s"
            pace.learn(task, outcome.pages, outcome.seconds)
        done = before + len(todo) - len(left) - len(failed)
        tell(MatrixStatus(done, before + len(todo), len(failed), pace.expect(left, jobs), said))
    return failed


class Pace:
    """Seconds per page, from finished cells: of the same web and strategy, else of the same web, else of all. Before
    anything is known a page takes USUAL."""

    def __init__(self) -> None:
        self._spent: dict[tuple[str, ...], tuple[int, float]] = {}

    def learn(self, task: CellTask, pages: int, seconds: float) -> None:
        """Note what a finished cell took."""
        for kind in self._kinds(task):
            before = self._spent.get(kind, (0, 0.0))
            self._spent[kind] = before[0] + pages, before[1] + seconds

    def expect(self, tasks: Iterable[CellTask], jobs: int) -> float:
        """Seconds that the tasks will take with this number of jobs."""
        return sum(task.pages * self._rate(task) for task in tasks) / jobs

    def _rate(self, task: CellTask) -> float:
        spent = (self._spent[kind] for kind in self._kinds(task) if kind in self._spent)
        pages, seconds = next(spent, (1, USUAL))
        return seconds / max(1, pages)

    @staticmethod
    def _kinds(task: CellTask) -> tuple[tuple[str, ...], ...]:
        return (task.plan.web, task.cell.strategy), (task.plan.web,), ()
