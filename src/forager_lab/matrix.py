"""A matrix: several experiments from one file, each with many cells. Every cell is crawled once and kept on disk.

The file names experiments. Each has a web with a topic (or several), and strategies to compare on it:

    strategies = ["breadth-first", "best-first", "pagerank:hot=true"]   # for all experiments that name none
    runs = 5

    [[experiment]]
    web = "wikispeedia"
    topic = ["Music", "History"]

    [[experiment]]
    web = "wikispeedia"
    topic = "IT"
    halved = true                 # half of the topic may teach
    strategies = ["memm", "crf"]

    [[experiment]]
    web = "webkb"
    target = "course"
    leave_out = "university"
    runs = 1

`examples = 5` and `flipped = 0.3` make the critic of a topic poor.

A web is `procedural[:hosts=60:…]`, or a folder. A folder is looked for in the folders given with --webs (else in those
of $FORAGER_WEBS), then beside the file.

Cells that were kept are read; the others are crawled by workers, which keep each cell as soon as it is done. So a run
that is killed loses only the cells it was crawling, and the same call goes on from there. If a cell fails, it is named,
and the others go on.
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
from forager.tables import Table, read_table
from forager_lab.cells import CellFolder, KeptCell, Key, cell_key, code_fingerprint, web_content
from forager_lab.experiment import (
    Cell,
    Experiment,
    PathGoal,
    Plan,
    Survey,
    TopicGoal,
    cells,
    check,
    crawl_cell,
    laboratory,
    survey,
)
from forager_lab.webs import FOLDERS, find_web, is_procedural, web_folders
from forager_lab.workers import Failed, work

KEPT = Path(".lab")


# ---- the file -------------------------------------------------------------------------------------------------------


class ExperimentTable(Table, frozen=True):
    """The keys of an [[experiment]]."""

    web: str
    topic: str | tuple[str, ...] | None = None
    target: str | None = None
    leave_out: str | None = None
    halved: bool = False  # these three go with a topic: see TopicGoal
    examples: int | None = None
    flipped: float | None = None
    strategies: tuple[str, ...] | None = None
    critic: str | None = None
    runs: int | None = None
    pages: int | None = None
    seed: int | None = None


class MatrixTable(Table, frozen=True):
    """The keys of a matrix file."""

    experiment: tuple[ExperimentTable, ...]
    strategies: tuple[str, ...] = ()
    critic: str = "naive-bayes"
    runs: int = 5
    pages: int | None = None  # to fetch in a run; None: 2R, or all in the path protocol
    seed: int = 0


@dataclass(frozen=True)
class MatrixPlans:
    """The plans of a file by name, and the webs that were not found."""

    plans: Mapping[str, Plan]
    skipped: Mapping[str, str]  # by web, a line that says where it was looked for


def read_matrix(path: Path, webs: Sequence[Path] = ()) -> MatrixPlans:
    """Read a matrix file. `webs`: the folders in which to look for its webs, instead of those of $FORAGER_WEBS."""
    table = read_table(path, MatrixTable)
    folders = [*web_folders(webs), path.parent]
    plans: dict[str, Plan] = {}
    skipped: dict[str, str] = {}
    for number, experiment in enumerate(table.experiment, 1):
        where = f"{path}: experiment {number} ({experiment.web})"
        web = find_web(experiment.web, folders)
        if web is None:
            skipped[experiment.web] = _missing(experiment.web, folders)
            continue
        for goal in _goals(experiment, where):
            plan = _plan(table, experiment, web, goal, where)
            name = _unused(f"{_short(experiment.web)} · {goal.focus}", plans)
            plans[name] = plan
    if not plans:
        raise ForagerError(f"{path}: nothing to do; " + ("; ".join(skipped.values()) or "it has no [[experiment]]"))
    return MatrixPlans(plans, skipped)


def _plan(table: MatrixTable, experiment: ExperimentTable, web: str, goal: TopicGoal | PathGoal, where: str) -> Plan:
    """Keys that the experiment does not have are taken from the top of the file."""
    strategies = table.strategies if experiment.strategies is None else experiment.strategies
    if not strategies:
        raise ForagerError(f"{where}: no strategies; name some there, or at the top of the file for all")
    try:
        return Plan(
            web,
            goal,
            tuple(dict.fromkeys(strategies)),
            table.critic if experiment.critic is None else experiment.critic,
            table.runs if experiment.runs is None else experiment.runs,
            table.pages if experiment.pages is None else experiment.pages,
            table.seed if experiment.seed is None else experiment.seed,
        )
    except ForagerError as error:
        raise ForagerError(f"{where}: {str(error).replace('--', '')}") from None


def _goals(experiment: ExperimentTable, where: str) -> list[TopicGoal | PathGoal]:
    topic, target, leave_out = experiment.topic, experiment.target, experiment.leave_out
    if topic and target is None and leave_out is None:
        names = [topic] if isinstance(topic, str) else topic
        return [
            TopicGoal(name, halved=experiment.halved, examples=experiment.examples, flipped=experiment.flipped)
            for name in names
        ]
    if topic is None and target is not None and leave_out is not None:
        return [PathGoal(target, leave_out)]
    raise ForagerError(f"{where}: give either topic, or target with leave_out")


def _missing(name: str, folders: Sequence[Path]) -> str:
    looked = ", ".join(map(str, folders))
    return f"no web {name} in {looked}: name the folder that holds it with --webs DIR, or set {FOLDERS}"


def _short(web: str) -> str:
    return web if is_procedural(web) else Path(web).name


def _unused(name: str, taken: Mapping[str, object]) -> str:
    """The name, with a number if another experiment has it."""
    names = [name, *(f"{name} ({number})" for number in range(2, len(taken) + 2))]
    return next(name for name in names if name not in taken)


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
    left: float | None  # seconds still needed; None before anything is known
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
    tasks = [task for name, plan in plans.items() for task in _tasks(name, plan, surveys[name])]
    there = _kept(folder, tasks, code, fresh, note)
    todo = [task for at, task in enumerate(tasks) if at not in there]
    for name in dict.fromkeys(task.experiment for task in todo):
        _check(name, plans[name], surveys[name])
    pace = Pace()
    for at, kept_cell in there.items():
        pace.learn(tasks[at], len(kept_cell.record.order), kept_cell.record.seconds)
    crawl = partial(crawl_and_keep, kept, code)
    failed = _crawl(todo, crawl, jobs, pace, len(there), tell)
    return _collected(folder, tasks, surveys, len(todo) - len(failed), failed)


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
    return [
        CellTask(name, plan, cell, cell_key(content, plan, cell), found.expected(plan, cell.group))
        for cell in cells(plan, list(found.sizes))
    ]


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
    return MatrixResult(experiments, incomplete, dict(sorted(codes.items())), crawled, failed)


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
    """Seconds per page, from finished cells: of the same web and strategy, else of the same web, else of all."""

    def __init__(self) -> None:
        self._spent: dict[tuple[str, ...], tuple[int, float]] = {}

    def learn(self, task: CellTask, pages: int, seconds: float) -> None:
        """Note what a finished cell took."""
        for kind in self._kinds(task):
            before = self._spent.get(kind, (0, 0.0))
            self._spent[kind] = before[0] + pages, before[1] + seconds

    def expect(self, tasks: Iterable[CellTask], jobs: int) -> float | None:
        """Seconds that the tasks will take with this number of jobs; None before anything is known."""
        return sum(task.pages * self._rate(task) for task in tasks) / jobs if self._spent else None

    def _rate(self, task: CellTask) -> float:
        pages, seconds = next(self._spent[kind] for kind in self._kinds(task) if kind in self._spent)
        return seconds / max(1, pages)

    @staticmethod
    def _kinds(task: CellTask) -> tuple[tuple[str, ...], ...]:
        return (task.plan.web, task.cell.strategy), (task.plan.web,), ()
