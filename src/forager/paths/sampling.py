"""Draw labelled paths from a ground, if nobody has shown any.

    a goal path   ends with a link (u,t) to a target t, drawn evenly among all such links
    a fail path   ends with a page drawn evenly among those that are neither targets nor milestones and that link to no
                  target, except to a target that is on the path itself

Paths are drawn backwards from their ends.

*From starts*: if labels are given for first pages, a path comes to its end by a shortest way from a page with such a
label. The way passes no target.

*From anywhere*: without such labels a path goes back from its end to one of the pages that link to it, again and again.
It stops when it has the largest number of pages allowed, or when no page links to its first page, or when its first
page is a target: somebody who has found one target goes on from there. A page that only t itself links to, such as an
exercise of a course, is not on the way to t.

In both cases each earlier page is drawn evenly among those that are allowed. No page is on a path twice, and the first
target that a path meets ends it.

No end is drawn a second time before all other ends were drawn. So any number of paths can be drawn if there is at least
one. If every page is a milestone or links to a target, there are no fail paths.

Milestones are the labels of the ground. With `lists` some pages without a label are milestones too: at least `lists`
of their links, and at least three in ten, lead to pages with the same label. Such a page is then, for example, a
"student list", or a "goal list" if the pages are targets.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.errors import ForagerError
from forager.paths.graph import LinkGraph
from forager.paths.ground import Ground
from forager.paths.shown import PathOutcome, PathStep, ShownPath
from forager.types import Ids, Mask

GOALS, FAILS, LONGEST = 78, 44, 8
SHARE = 0.3  # of the links of a list that must lead to pages of one label

Way: TypeAlias = list[int]  # page numbers
Labels: TypeAlias = Sequence[str | None]
Anchors: TypeAlias = Mapping[tuple[int, int], str]  # anchor text of the link from one page to another
Indices: TypeAlias = NDArray[np.integer[Any]]


def sample_paths(
    ground: Ground,
    *,
    goals: int = GOALS,
    fails: int = FAILS,
    longest: int = LONGEST,
    starts: Collection[str] = (),
    lists: int = 0,
    seed: int = 0,
) -> tuple[ShownPath, ...]:
    """`goals` goal paths and `fails` fail paths of 2 to `longest` pages.

    If `starts` is given, paths begin on pages with one of these labels. There may be fewer fail paths than wanted, or
    none, if the ground has few or none.
    """
    if longest < 2 or min(goals, fails, lists) < 0:
        raise ForagerError(f"{goals} goal and {fails} fail paths of 2 to {longest} pages: there are no such paths")
    rng = np.random.default_rng(seed)
    labels = milestones(ground, lists)
    before = LinkGraph.of(len(ground), ground.graph.targets, ground.graph.sources)
    depth = depths(ground.graph, _starts(ground, starts), ground.targets, longest - 1) if starts else None
    ways = _Ways(ground, before, depth, longest, rng)
    arriving, away = ways.to_goals(goals), ways.to_fails(fails, labels)
    if len(arriving) < goals:
        raise ForagerError("no target can be reached: name other first pages, or longer paths")
    anchors = _anchors(ground, [*arriving, *away])
    ended = [*((way, PathOutcome.GOAL) for way in arriving), *((way, PathOutcome.FAIL) for way in away)]
    return tuple(_shown(ground, labels, at, way, outcome, anchors) for at, (way, outcome) in enumerate(ended, 1))


# ---- milestones and depths ------------------------------------------------------------------------------------------


def milestones(ground: Ground, lists: int = 0) -> Labels:
    """The milestone label of each page, or None. Targets have none."""
    labels = [None if target else label for label, target in zip(ground.labels, ground.targets.tolist(), strict=True)]
    if not lists:
        return labels
    kinds = ["goal" if target else label for label, target in zip(labels, ground.targets.tolist(), strict=True)]
    targets, bounds = ground.graph.targets.tolist(), ground.graph.offsets.tolist()
    found = []
    for label, kind, (start, end) in zip(labels, kinds, pairwise(bounds), strict=True):
        linked = Counter(kinds[page] for page in targets[start:end])
        del linked[None]
        most = linked.most_common(1) if kind is None else []
        is_list = most and most[0][1] >= max(lists, SHARE * (end - start))
        found.append(f"{most[0][0]} list" if is_list else label)
    return found


def depths(graph: LinkGraph, starts: Mask, targets: Mask, deepest: int) -> Ids:
    """Number of links on the shortest way from a start that passes no target; -1 for targets and pages farther away."""
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


# ---- ways -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Ways:
    """Draws ways backwards from the end of a path."""

    ground: Ground
    before: LinkGraph  # for each page the pages that link to it
    depth: Ids | None  # number of links from a start, -1: no way; None: paths may begin anywhere
    longest: int
    rng: np.random.Generator

    def to_goals(self, count: int) -> list[Way]:
        links = np.flatnonzero(self.ground.targets[self.ground.graph.targets])
        ends = np.stack([self.ground.graph.targets[links], self.ground.graph.sources[links]], axis=1)
        return self._drawn(ends, count, self._way)

    def to_fails(self, count: int, labels: Labels) -> list[Way]:
        plain = np.fromiter((label is None for label in labels), bool, len(labels))
        ends = np.flatnonzero(plain & ~self.ground.targets & (np.diff(self.before.offsets) > 0))
        return self._drawn(ends[:, None], count, self._away)

    def _drawn(self, ends: Indices, count: int, way_to: Callable[[Way], Way | None]) -> list[Way]:
        """`count` ways, or none if there is no way at all. No end is used again before all others were."""
        ways: list[Way] = []
        while len(ways) < count:
            drawn = self.rng.permutation(ends).tolist()
            found = [way for way in map(way_to, drawn) if way is not None]
            if not found:
                break
            ways.extend(found[: count - len(ways)])
        return ways

    def _away(self, end: Way) -> Way | None:
        """A way to a page that links to no target, except targets on the way itself; None if there is none."""
        links = _row(self.ground.graph, end[0])
        near = links[self.ground.targets[links]]
        way = self._way(end)
        return way if way is not None and np.isin(near, way).all() else None

    def _way(self, end: Way) -> Way | None:
        """A way to an end; None if there is none. The end is given backwards: its last page comes first."""
        way = end
        while before := self._before(way):
            way = [*way, int(self.rng.choice(before))]
        arrived = len(way) > 1 and (len(way) > len(end) or self._begins(way))
        return way[::-1] if arrived else None

    def _begins(self, way: Way) -> bool:
        """May a path begin with the first page of its end? Not if only other pages of the end link to it."""
        page = way[-1]
        if self.depth is not None:
            return bool(self.depth[page] == 0)
        linking = _row(self.before, page)
        return bool(self.ground.targets[page]) or not len(linking) or not np.isin(linking, way).all()

    def _before(self, way: Way) -> list[int]:
        """The pages that a way, given backwards, may have come from."""
        page = way[-1]
        linking = _row(self.before, page)
        if self.depth is not None:
            kept = (self.depth[linking] >= 0) & (self.depth[linking] == self.depth[page] - 1)
            ends = self.depth[page] + len(way) > self.longest
        else:
            kept = ~np.isin(linking, way)
            ends = len(way) == self.longest or (len(way) > 1 and self.ground.targets[page])
        return [] if ends else linking[kept].tolist()


def _row(graph: LinkGraph, page: int) -> Ids:
    return graph.targets[graph.offsets[page] : graph.offsets[page + 1]]


# ---- from ways to paths ---------------------------------------------------------------------------------------------


def _anchors(ground: Ground, ways: Sequence[Way]) -> Anchors:
    """The anchor text of each link on the ways. Of several links to the same page the first with a text counts."""
    wanted: defaultdict[int, set[int]] = defaultdict(set)
    for way in ways:
        for source, target in pairwise(way):
            wanted[source].add(target)
    anchors: dict[tuple[int, int], str] = {}
    for number, page in zip(wanted, ground.pages(wanted), strict=True):
        links = zip(ground.ends(page).tolist(), page.links.anchors, strict=True) if page else ()
        for end, anchor in links:
            if end in wanted[number] and not anchors.get((number, end)):
                anchors[number, end] = anchor
    return anchors


def _shown(ground: Ground, labels: Labels, number: int, way: Way, outcome: PathOutcome, anchors: Anchors) -> ShownPath:
    came = [None, *(anchors.get(link) for link in pairwise(way))]
    said = [*(labels[page] for page in way[:-1]), None]
    steps = tuple(map(PathStep, (ground.urls[page] for page in way), came, said))
    return ShownPath(f"{outcome.value}-{number}", steps, outcome)
