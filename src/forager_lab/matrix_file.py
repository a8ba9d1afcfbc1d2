"""A matrix file: it names experiments. Each has a web with a topic (or several), and strategies to compare on it.

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

`left_out_weights = "left-out"` gives the strategy `default` weights that have not seen the web of an experiment, or,
for the webs in `by_topic`, its topic: see `left_out`. The folder is looked for in the folder of kept cells. With it,
`default:without=meaning` is `default` without a family of signals.

A web is `procedural[:hosts=60:…]`, or a folder. A folder is looked for in the folders given with --webs (else in those
of $FORAGER_WEBS), then beside the file.

    [[advice]]                    # a row of the first table of the page: see `overview`
    when = "pages on a topic"
    use = "default"
    work = "wikispeedia"          # the column with the figures that say so

`about`, `chosen`, `chosen_runs` and `curves` are for the page about one strategy: see `evidence`.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from forager.errors import ForagerError, unknown
from forager.tables import Table, read_table
from forager_lab.experiment import LevelGoal, PathGoal, Plan, TopicGoal
from forager_lab.left_out import LEARNT, UnseenWeights
from forager_lab.matrix import KEPT, MatrixResult, Note, Tell, run_matrix
from forager_lab.webs import FOLDERS, find_web, is_procedural, web_folders

PACKAGE = "none"  # instead of a folder: the weights of the package


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


class AdviceTable(Table, frozen=True):
    """The keys of an [[advice]]."""

    when: str  # what somebody wants
    use: str  # a strategy
    work: str  # the kind of work that is like it


class MatrixTable(Table, frozen=True):
    """The keys of a matrix file."""

    experiment: tuple[ExperimentTable, ...]
    strategies: tuple[str, ...] = ()
    critic: str = "naive-bayes"
    runs: int = 5
    pages: int | None = None  # to fetch in a run; None: 2R, or all in the path protocol
    seed: int = 0
    left_out_weights: str | None = None  # a folder; None: `default` has the weights of the package
    by_topic: tuple[str, ...] = ()  # webs of which only the topic is left out, not the web
    about: str = LEARNT  # the strategy that the page is about
    chosen: tuple[str, ...] = ()  # WEB or WEB:TOPIC: they were looked at when something was chosen
    chosen_runs: int = 0  # so many samples of these, the first
    curves: tuple[str, ...] = ()  # WEB:TOPIC, to be drawn
    advice: tuple[AdviceTable, ...] = ()  # what to use when


@dataclass(frozen=True)
class MatrixPlans:
    """The plans of a file by name, and the webs that were not found."""

    plans: Mapping[str, Plan]
    skipped: Mapping[str, str]  # by web, a line that says where it was looked for
    table: MatrixTable  # as it was read


@dataclass(frozen=True)
class MatrixLimits:
    """A part of a matrix, to be done first or alone."""

    runs: int | None = None  # at most so many of each experiment
    only: Sequence[str] = ()  # parts of the names of experiments

    def of(self, plans: Mapping[str, Plan]) -> dict[str, Plan]:
        """The plans that are within the limits."""
        for part in self.only:
            if not any(part in name for name in plans):
                raise unknown("experiment", part, plans)
        wanted = [name for name in plans if not self.only or any(part in name for part in self.only)]
        return {name: self._few(plans[name]) for name in wanted}

    def _few(self, plan: Plan) -> Plan:
        return plan if self.runs is None else replace(plan, runs=min(plan.runs, self.runs))

    def __str__(self) -> str:
        """As options of the command."""
        runs = [] if self.runs is None else [f"--runs {self.runs}"]
        return " ".join([*runs, *(f"--only {shlex.quote(part)}" for part in self.only)])


ALL = MatrixLimits()


def run_file(
    path: Path,
    *,
    webs: Sequence[Path] = (),
    kept: Path = KEPT,
    left_out: str | None = None,
    limits: MatrixLimits = ALL,
    jobs: int = 1,
    fresh: bool = False,
    tell: Tell = lambda progress: None,
    note: Note = lambda line: None,
) -> tuple[MatrixPlans, MatrixResult]:
    """Run the matrix of a file. `webs`, `kept` and `left_out`: see `read_matrix`; the others: `run_matrix`."""
    matrix = read_matrix(path, webs, kept=kept, left_out=left_out)
    for line in matrix.skipped.values():
        note(f"skipped: {line}")
    matrix = replace(matrix, plans=limits.of(matrix.plans))
    return matrix, run_matrix(matrix.plans, kept, jobs=jobs, fresh=fresh, tell=tell, note=note)


def read_matrix(
    path: Path, webs: Sequence[Path] = (), *, kept: Path = KEPT, left_out: str | None = None
) -> MatrixPlans:
    """Read a matrix file. `webs`: the folders in which to look for its webs, instead of those of $FORAGER_WEBS.

    `left_out`: the folder of weights instead of the one that the file names in the folder `kept`, or "none".
    """
    table = read_table(path, MatrixTable)
    weights = kept / table.left_out_weights if table.left_out_weights else None
    if left_out is not None:
        weights = None if left_out == PACKAGE else Path(left_out)
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
            if weights is not None:
                plan = replace(plan, left_out=UnseenWeights(weights, _unseen(experiment.web, goal, table.by_topic)))
            critic = "" if plan.critic == table.critic else f", critic {plan.critic}"
            plans[_unused(f"{_short(experiment.web)} · {_called(goal)}{critic}", plans)] = plan
    if not plans:
        raise ForagerError(f"{path}: nothing to do; " + ("; ".join(skipped.values()) or "it has no [[experiment]]"))
    return MatrixPlans(plans, skipped, table)


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


def _called(goal: TopicGoal | PathGoal) -> str:
    halved = isinstance(goal, TopicGoal) and goal.halved
    return ", ".join(filter(None, [goal.focus, "halved" if halved else "", poverty(goal)]))


def poverty(goal: TopicGoal | PathGoal | LevelGoal) -> str:
    """What makes the critic of a goal poor, in words; "" if nothing does."""
    if not isinstance(goal, TopicGoal):
        return ""
    few = [] if goal.examples is None else [f"{goal.examples} examples"]
    return ", ".join([*few, *([f"{goal.flipped:.0%} flipped".replace("%", " %")] if goal.flipped else [])])


def _unseen(web: str, goal: TopicGoal | PathGoal, by_topic: Sequence[str]) -> str:
    """What the weights of a row must not have seen, as their file is called."""
    name = _short(web).partition(":")[0]
    return f"{name}-{goal.focus}" if name in by_topic and isinstance(goal, TopicGoal) else name


def _unused(name: str, taken: Mapping[str, object]) -> str:
    """The name, with a number if another experiment has it."""
    names = [name, *(f"{name} ({number})" for number in range(2, len(taken) + 2))]
    return next(name for name in names if name not in taken)
