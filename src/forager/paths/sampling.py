"""Labelled paths drawn from a ground, where nobody has shown any.

    a goal path   ends with a link (u,t) to a target t, drawn evenly among those that can be reached; u and the pages
                  before it are no targets, so that t is the first it meets
    a fail path   ends with a page drawn evenly among those that can be reached, are no targets and link to none

Starts are the pages with one of some labels; a path comes from one of them to its end by a shortest way that passes no
target. Without such labels a path may start anywhere: it goes back from its end to one of the pages that link to it,
again and again, until it has the length drawn for it, or has met all pages that there are. Either way each page before
is drawn evenly among those that will do.

No end is drawn again before all others were, so as many paths as wanted can be had. Milestones are the labels of the
ground; the last page has its outcome instead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from forager.errors import ForagerError
from forager.paths.graph import LinkGraph
from forager.paths.ground import Ground
from forager.paths.shown import Outcome, ShownPath, Step
from forager.types import Ids, Mask

GOALS, FAILS, LONGEST = 78, 44, 8

Way: TypeAlias = list[int]  # numbers of pages
Anchors: TypeAlias = Mapping[tuple[int, int], str]  # of the link from one page to another


def sample_paths(
    ground: Ground,
    *,
    goals: int = GOALS,
    fails: int = FAILS,
    longest: int = LONGEST,
    starts: Collection[str] = (),
    seed: int = 0,
) -> tuple[ShownPath, ...]:
    """So many paths of each outcome, of 2 to `longest` pages, from pages with one of the labels `starts`."""
    if longest < 2 or min(goals, fails) < 0:
        raise ForagerError(f"{goals} goal and {fails} fail paths of 2 to {longest} pages: no such paths can be drawn")
    ways = _Ways.of(ground, starts, longest)
    rng = np.random.default_rng(seed)
    drawn = [*ways.to_goals(goals, rng), *ways.to_fails(fails, rng)]
    anchors = _anchors(ground, drawn)
    outcomes = [Outcome.GOAL] * goals + [Outcome.FAIL] * fails
    ended = zip(drawn, outcomes, strict=True)
    return tuple(_shown(ground, number, way, outcome, anchors) for number, (way, outcome) in enumerate(ended, 1))


@dataclass(frozen=True, slots=True, eq=False)
class _Ways:
    """Ways back from the end of a path."""

    before: LinkGraph  # for each page those that link to it and are no targets
    depth: Ids | None  # links from a start, -1 where there is no way; None: paths start anywhere
    longest: int
    arrivals: Ids  # (n, 2) u and t
    dead_ends: Ids

    @classmethod
    def of(cls, ground: Ground, starts: Collection[str], longest: int) -> _Ways:
        graph, targets, sources = ground.graph, ground.targets, ground.graph.sources
        depth = depths(graph, _starts(ground, starts), targets, longest - 1) if starts else None
        inside, met = ~targets[sources], targets[graph.targets]
        away = ~targets
        away[sources[met]] = False
        if depth is None:
            away &= np.isin(np.arange(len(ground)), graph.targets[inside])
        else:
            inside &= (depth[sources] >= 0) & (depth[sources] <= longest - 2)
            away &= depth >= 1
        arrivals = np.stack([sources, graph.targets], axis=1)[inside & met]
        before = LinkGraph.of(len(graph), graph.targets[~targets[sources]], sources[~targets[sources]])
        return cls(before, depth, longest, arrivals, np.flatnonzero(away).astype(np.int32))

    def to_goals(self, count: int, rng: np.random.Generator) -> list[Way]:
        if count and not len(self.arrivals):
            raise ForagerError(
                "no target can be reached from the first pages: name other labels, or let paths be longer"
            )
        return [[*self._way(u, 1, rng), t] for u, t in _drawn(self.arrivals, count, rng).tolist()]

    def to_fails(self, count: int, rng: np.random.Generator) -> list[Way]:
        if count and not len(self.dead_ends):
            raise ForagerError("every page that can be reached links to a target: draw goal paths alone (fails = 0)")
        return [self._way(page, 0, rng) for page in _drawn(self.dead_ends, count, rng).tolist()]

    def _way(self, page: int, following: int, rng: np.random.Generator) -> Way:
        """From a first page to this one, with so many `following` it."""
        length = int(rng.integers(2, self.longest + 1)) - following
        way = [page]
        while len(way) < length if self.depth is None else self.depth[way[-1]] > 0:
            before = self._before(way)
            if not len(before):
                break
            way.append(int(rng.choice(before)))
        return way[::-1]

    def _before(self, way: Way) -> Ids:
        """The pages that a way may have come from; its last page is the one to go back from."""
        linking = self.before.targets[self.before.offsets[way[-1]] : self.before.offsets[way[-1] + 1]]
        fits = ~np.isin(linking, way) if self.depth is None else self.depth[linking] == self.depth[way[-1]] - 1
        chosen: Ids = linking[fits]
        return chosen


def depths(graph: LinkGraph, starts: Mask, targets: Mask, deepest: int) -> Ids:
    """Links on the shortest way from a start that passes no target; -1 for targets and what is farther."""
    depth = np.where(starts & ~targets, 0, -1).astype(np.int32)
    sources, ends = graph.sources, graph.targets
    for links in range(1, deepest + 1):
        depth[ends[(depth[sources] == links - 1) & (depth[ends] < 0) & ~targets[ends]]] = links
    return depth


def _starts(ground: Ground, labels: Collection[str]) -> Mask:
    starts = np.fromiter((label in labels for label in ground.labels), bool, len(ground))
    if not starts.any():
        known = sorted({label for label in ground.labels if label is not None})
        there = f"its labels are {', '.join(known)}" if known else "it has no labels"
        raise ForagerError(f"no page of the ground is labelled {' or '.join(labels)}, to start from: {there}")
    return starts


def _drawn(pool: Ids, count: int, rng: np.random.Generator) -> Ids:
    """So many rows of the pool, none again before all others."""
    rounds = -(-count // len(pool)) if len(pool) else 0
    return np.concatenate([pool[:0], *(rng.permutation(pool) for _ in range(rounds))])[:count]


# ---- what a path says -----------------------------------------------------------------------------------------------


def _anchors(ground: Ground, ways: Sequence[Way]) -> Anchors:
    """The text of each link gone along: of several to the same page the first that says anything."""
    wanted: defaultdict[int, set[int]] = defaultdict(set)
    for way in ways:
        for here, following in pairwise(way):
            wanted[here].add(following)
    anchors: dict[tuple[int, int], str] = {}
    for number, page in zip(wanted, ground.pages(wanted), strict=True):
        if page is None:
            continue
        for end, anchor in zip(ground.ends(page).tolist(), page.links.anchors, strict=True):
            if end in wanted[number] and not anchors.get((number, end)):
                anchors[number, end] = anchor
    return anchors


def _shown(ground: Ground, number: int, way: Way, outcome: Outcome, anchors: Anchors) -> ShownPath:
    came = [None, *(anchors.get(link) for link in pairwise(way))]
    labels = [*(ground.labels[page] for page in way[:-1]), None]
    steps = tuple(Step(ground.urls[page], *said) for page, *said in zip(way, came, labels, strict=True))
    return ShownPath(f"{outcome.value}-{number}", steps, outcome)
