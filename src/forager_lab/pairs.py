"""Strategies against each other: which differences are real, and how far their crawls went to the same pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from forager_lab import metrics
from forager_lab.bootstrap import Pair, compare
from forager_lab.experiment import Cell, Experiment
from forager_lab.metrics import Figure


def pairwise(rows: Sequence[Mapping[str, Any]], *, seed: int = 0) -> list[dict[str, Any]]:
    """Every pair of strategies by every measure: the paired difference, both half widths, and a verdict.

    Topic protocol: harvest, over runs. Path protocol: over the groups left out and the runs within them.
    """
    return [
        _plain(measure, at, pair)
        for measure, at, larger_is_better, values in _measures(rows)
        for pair in compare(values, larger_is_better=larger_is_better, seed=seed)
    ]


Values = dict[str, list[Sequence[Figure]]]  # for each strategy a row a topic or group, a value a run


def _measures(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, bool, Values]]:
    if not any("groups" in row for row in rows):
        for place in rows[0]["harvest_runs"]:
            yield "harvest", place, True, {row["strategy"]: [row["harvest_runs"][place]] for row in rows}
        return
    groups = {row["strategy"]: list(row["groups"].values()) for row in rows}
    for goal in rows[0]["pages_to"]:
        yield "pages_to", goal, False, {
            name: [group["pages_to_runs"][goal] for group in given] for name, given in groups.items()
        }  # fmt: skip
    yield "recall", "10pct", True, {
        name: [group["recall_at_10pct_runs"] for group in given] for name, given in groups.items()
    }  # fmt: skip


def _plain(measure: str, at: str, pair: Pair) -> dict[str, Any]:
    found = pair.difference
    return {
        "measure": measure,
        "at": at,
        "first": pair.first,
        "second": pair.second,
        "difference": found.mean if found else None,
        "ci": found.bootstrap if found else None,
        "student_ci": found.student if found else None,
        "p": found.p if found else None,
        "verdict": str(pair.verdict),
    }


def overlaps(experiment: Experiment) -> dict[str, Any]:
    """Matrices over the strategies, means over the trials: URLs shared, after R pages and at the end."""
    names = experiment.plan.strategies
    trials = list(dict.fromkeys((cell.run, cell.group) for cell in experiment.records))
    found: dict[str, Any] = {"strategies": list(names)}
    for place in ("R", "end"):
        matrices = []
        for run, group in trials:
            pages = experiment.relevant[group] if place == "R" else None
            orders = [experiment.records[Cell(name, run, group)].order[:pages] for name in names]
            matrices.append(metrics.overlap(orders))
        union, smaller = np.mean(matrices, axis=0)
        found[place] = {"of_union": union.tolist(), "of_smaller": smaller.tolist()}
    return found


def against(pairs: Sequence[Mapping[str, Any]], baseline: str, measure: str, at: str) -> list[dict[str, Any]]:
    """Those of the pairs that compare a strategy, `name`, with the baseline; signs are of name minus baseline."""
    found = []
    for pair in pairs:
        if (pair["measure"], pair["at"]) != (measure, at) or baseline not in (pair["first"], pair["second"]):
            continue
        if pair["second"] == baseline:
            found.append({**pair, "name": pair["first"]})
        else:
            turned = {"better": "worse", "worse": "better"}.get(pair["verdict"], pair["verdict"])
            minus = None if pair["difference"] is None else -pair["difference"]
            found.append({**pair, "name": pair["second"], "difference": minus, "verdict": turned})
    return found
