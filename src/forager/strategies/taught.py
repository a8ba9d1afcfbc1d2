"""What strategies share that are taught before a crawl: the ways they learn from, and the check of what was kept.

Without shown paths all pages of the ground teach, by the links between them. With shown paths the pages on them teach:

    a step that was shown is a link, also where the page has none (a search box, an address typed in)
    the end of a path that arrived is a target
    a page that is not in the ground is unknown: it cuts the path in two
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from forager.errors import ForagerError
from forager.paths import Ground, LinkGraph, PathOutcome, ShownPath
from forager.types import Ids, Mask, Parts


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    graph: LinkGraph
    targets: Mask  # (n,)
    teachers: Ids  # the pages to learn from, rising
    shown: tuple[Ids, ...]  # the pages of each shown path, in order; none if nothing was shown

    @classmethod
    def of(cls, ground: Ground, shown: Sequence[ShownPath]) -> Ways:
        if not shown:
            return cls(ground.graph, ground.targets, np.arange(len(ground), dtype=np.int32), ())
        numbers = [np.array([ground.number(step.url) for step in path.steps], np.int32) for path in shown]
        arrived = [path.outcome is PathOutcome.GOAL for path in shown]
        goals = [int(steps[-1]) for steps, goal in zip(numbers, arrived, strict=True) if goal and steps[-1] >= 0]
        targets = ground.targets.copy()
        targets[goals] = True
        runs = tuple(run for steps in numbers for run in _runs(steps))
        if not runs:
            raise ForagerError("no page of the paths shown is in the web to learn on: show paths through that web")
        return cls(_with_steps(ground.graph, runs), targets, np.unique(np.concatenate(runs)), runs)


def _runs(steps: Ids) -> Iterator[Ids]:
    """The parts of a path between pages that are unknown."""
    for run in np.split(steps, np.flatnonzero(steps < 0)):
        if (known := run[run >= 0]).size:
            yield known


def _with_steps(graph: LinkGraph, runs: Sequence[Ids]) -> LinkGraph:
    before, after = (np.concatenate([run[cut] for run in runs]) for cut in (slice(None, -1), slice(1, None)))
    moved = before != after
    sources, targets = np.append(graph.sources, before[moved]), np.append(graph.targets, after[moved])
    return LinkGraph.of(len(graph), sources, targets)


def check_made(strategy: str, parts: Parts, made: str) -> None:
    """Refuse what was learnt on other features or with other settings: `made` says which are wanted."""
    kept = str(np.asarray(parts["made"]))
    if kept != made:
        raise ForagerError(
            f"{strategy}: this was taught with {kept}, wanted is {made}: set it alike, or teach it again"
        )
