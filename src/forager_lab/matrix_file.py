"""The file of a matrix: experiments, each a web with a topic (or several), and the strategies to compare on it.

    strategies = ["breadth-first", "best-first", "pagerank:hot=true"]   # for all that name none themselves
    runs = 5

    [[experiment]]
    web = "wikispeedia"
    topic = ["Music", "History"]

    [[experiment]]
    web = "webkb"
    target = "course"
    leave_out = "university"
    runs = 1

A web is `procedural[:hosts=60:…]`, or a folder: looked for in the folders of $FORAGER_WEBS (where that is not set, in
../shared/data), then beside the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from forager.config import Table, read_toml
from forager.errors import ForagerError, unknown
from forager_lab.experiment import PathGoal, Plan, TopicGoal
from forager_lab.webs.made import NAME as PROCEDURAL

WEBS = Path("..") / "shared" / "data"


class ExperimentTable(Table, frozen=True):
    web: str
    topic: str | tuple[str, ...] | None = None
    target: str | None = None
    leave_out: str | None = None
    strategies: tuple[str, ...] | None = None
    critic: str | None = None
    runs: int | None = None
    pages: int | None = None
    seed: int | None = None


class MatrixTable(Table, frozen=True):
    experiment: tuple[ExperimentTable, ...]
    strategies: tuple[str, ...] = ()
    critic: str = "naive-bayes"
    runs: int = 5
    pages: int | None = None  # to fetch in a run: 2R, or all there are
    seed: int = 0


@dataclass(frozen=True)
class Matrix:
    """The plans of a file, each with its name, and what cannot be had here."""

    plans: Mapping[str, Plan]
    skipped: Mapping[str, str]  # a web, with a line that says where it was looked for


def read_matrix(path: Path) -> Matrix:
    table = _convert(read_toml(path), path)
    plans: dict[str, Plan] = {}
    skipped: dict[str, str] = {}
    for number, experiment in enumerate(table.experiment, 1):
        where = f"{path}: experiment {number} ({experiment.web})"
        web = find_web(experiment.web, path.parent)
        if web is None:
            skipped[experiment.web] = _missing(experiment.web, path.parent)
            continue
        for goal in _goals(experiment, where):
            plan = _plan(table, experiment, web, goal, where)
            name = _unused(f"{_short(experiment.web)} · {goal.focus}", plans)
            plans[name] = plan
    if not plans:
        raise ForagerError(f"{path}: nothing to do; " + ("; ".join(skipped.values()) or "it has no [[experiment]]"))
    return Matrix(plans, skipped)


def _plan(table: MatrixTable, experiment: ExperimentTable, web: str, goal: TopicGoal | PathGoal, where: str) -> Plan:
    """What the experiment does not say the file says for all."""
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
        return [TopicGoal(name) for name in ([topic] if isinstance(topic, str) else topic)]
    if topic is None and target is not None and leave_out is not None:
        return [PathGoal(target, leave_out)]
    raise ForagerError(f"{where}: give either topic, or target with leave_out")


# ---- webs -----------------------------------------------------------------------------------------------------------


def find_web(name: str, beside: Path) -> str | None:
    """The web as `open_web` wants it; None if it is not here."""
    if name.partition(":")[0] == PROCEDURAL:
        return name
    return next((str(folder / name) for folder in _places(beside) if (folder / name).is_dir()), None)


def _places(beside: Path) -> list[Path]:
    chosen = os.environ.get("FORAGER_WEBS")
    return [*map(Path, chosen.split(os.pathsep) if chosen else [WEBS]), beside]


def _missing(name: str, beside: Path) -> str:
    return f"no web {name} in {', '.join(map(str, _places(beside)))}: set FORAGER_WEBS to the folder it is in"


def _short(web: str) -> str:
    return web if web.partition(":")[0] == PROCEDURAL else Path(web).name


def _unused(name: str, taken: Mapping[str, object]) -> str:
    """The name, numbered if another experiment has it."""
    names = [name, *(f"{name} ({number})" for number in range(2, len(taken) + 2))]
    return next(name for name in names if name not in taken)


# ---- reading --------------------------------------------------------------------------------------------------------


def _convert(tables: dict[str, Any], path: Path) -> MatrixTable:
    try:
        return msgspec.convert(tables, MatrixTable)
    except msgspec.ValidationError as error:
        text, _, place = str(error).partition(" - at `$")
        where = place.strip("`.")
        strange = re.search(r"unknown field `(.+)`", text)
        if strange is None:
            raise ForagerError(f"{path}: {where or 'the file'}: {text[:1].lower()}{text[1:]}") from None
        kind = ExperimentTable if where.startswith("experiment[") else MatrixTable
        keys = [field.encode_name for field in msgspec.structs.fields(kind)]
        raise ForagerError(f"{path}: {f'in {where}, ' if where else ''}{unknown('key', strange[1], keys)}") from None
