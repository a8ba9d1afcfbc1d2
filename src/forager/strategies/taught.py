"""What strategies share that are taught before a crawl: what they learn from, and checks when they are used.

*What they learn from.* Without shown paths they learn from all pages of the ground and the links between them. With
shown paths they learn from the pages on the paths:

    two pages in a row on a path are a link, even where the page has none (a search box, an address typed in)
    the end of a path to a goal is a target
    a page that is not in the ground is unknown: it cuts the path in two
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TypeVar

import numpy as np

from forager.errors import ForagerError
from forager.paths import Ground, LinkGraph, PathOutcome, ShownPath
from forager.types import NEVER, Ids, Mask, Parts, ScoredLinks, Visit

S = TypeVar("S")


@dataclass(frozen=True, slots=True, eq=False)
class TrainingMaterial:
    """The links, targets and pages that a strategy learns from."""

    graph: LinkGraph
    targets: Mask  # (n,) of the pages of the ground
    pages: Ids  # the pages to learn from, ascending
    shown: tuple[Ids, ...]  # the pages of each shown path, in order; empty if nothing was shown

    @classmethod
    def of(cls, ground: Ground, shown: Sequence[ShownPath]) -> TrainingMaterial:
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
    """The parts of a path between unknown pages."""
    for run in np.split(steps, np.flatnonzero(steps < 0)):
        if (known := run[run >= 0]).size:
            yield known


def _with_steps(graph: LinkGraph, runs: Sequence[Ids]) -> LinkGraph:
    """The graph with a link for each step of the runs."""
    before, after = (np.concatenate([run[cut] for run in runs]) for cut in (slice(None, -1), slice(1, None)))
    moved = before != after
    sources, targets = np.append(graph.sources, before[moved]), np.append(graph.targets, after[moved])
    return LinkGraph.of(len(graph), sources, targets)


def check_made(strategy: str, parts: Parts, made: str) -> None:
    """Refuse saved parts that were learnt with other features or settings than `made`, those of this strategy."""
    kept = str(np.asarray(parts["made"]))
    if kept != made:
        raise ForagerError(
            f"{strategy}: this was taught with {kept}, the settings ask for {made}: use the same, or teach it again"
        )


def only_unmet(score: Callable[[S, Visit], ScoredLinks]) -> Callable[[S, Visit], ScoredLinks]:
    """A `score` for links to pages that have not been judged. All other links get NEVER and carry no state.

    Within a site half of the links lead to pages that were judged before. They cannot be followed again, so scoring
    them is a waste. Only for strategies that score each link for itself and want nothing else kept.
    """

    @wraps(score)
    def scored(self: S, visit: Visit) -> ScoredLinks:
        count, unmet = len(visit.links), np.isnan(visit.known.relevance).nonzero()[0]
        if len(unmet) == count:
            return score(self, visit)
        some = score(self, visit.take(unmet.tolist()))
        scores = np.full(count, NEVER, np.float32)
        scores[unmet] = some.scores
        state = None
        if some.state is not None:
            state = np.zeros((count, some.state.shape[1]), np.float32)
            state[unmet] = some.state
        return ScoredLinks(scores, state=state, label=some.label)

    return scored
