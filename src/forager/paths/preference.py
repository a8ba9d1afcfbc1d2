"""Would a strategy have gone the same way? Paths that it was not shown are walked again, and its scores looked at.

At each page of a path all links are scored, with the state that travelled with the link by which the path came there:

    share = (links to other pages that score less + half of those that score the same) / links to other pages

1 where the link taken is the best of its page, .5 where it is as good as any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from forager.paths.ground import Ground
from forager.paths.shown import Outcome, ShownPath
from forager.types import Floats, Inlinks, Judgement, Known, Page, Ragged, Strategy, Trace, Visit

NO_STATE: Floats = np.empty((0, 0), np.float32)


@dataclass(frozen=True, slots=True)
class Preference:
    """Means over the steps of paths to a goal; nan where there was none with a choice."""

    share: float  # of the other links of the page that the one taken was preferred to
    first: float  # how often it was the best of all
    steps: int


def preference(strategy: Strategy, ground: Ground, paths: Iterable[ShownPath]) -> Preference:
    """How a strategy scores the links that paths to a goal have taken."""
    shares = [share for path in paths if path.outcome is Outcome.GOAL for share in _shares(strategy, ground, path)]
    if not shares:
        return Preference(float("nan"), float("nan"), 0)
    return Preference(float(np.mean(shares)), float(np.mean(np.equal(shares, 1.0))), len(shares))


def _shares(strategy: Strategy, ground: Ground, path: ShownPath) -> Iterator[float]:
    state = NO_STATE
    numbers = [ground.number(step.url) for step in path.steps]
    if min(numbers) < 0:
        return
    for depth, ((_, ahead), page) in enumerate(zip(pairwise(numbers), ground.pages(numbers[:-1]), strict=True)):
        taken = np.flatnonzero(ground.ends(page) == ahead) if page is not None else ()
        if page is None or not len(taken):  # not connected: what would travel on is not known
            return
        scored = strategy.score(visit_with(page, state, depth))
        best = taken[int(np.argmax(scored.scores[taken]))]
        others = np.delete(scored.scores, taken)
        if len(others):
            yield float((others < scored.scores[best]).mean() + (others == scored.scores[best]).mean() / 2)
        state = NO_STATE if scored.state is None else scored.state[best : best + 1]


def visit_with(page: Page, state: Floats, depth: int = 0) -> Visit:
    """A visit of which nothing is known but the page and what travelled with the link to it: no row, a seed."""
    links, rows = len(page.links), len(state)
    known = Known(np.full(links, np.nan, np.float32), np.zeros(links, np.int32), np.zeros(links, np.int32))
    inlinks = Inlinks(np.zeros(rows, np.int32), np.zeros(rows, np.float32), state, Ragged.of([()] * rows))
    judgement = Judgement(0.0, 0.0, np.empty(0, np.float32), "")
    return Visit(page, page.links, judgement, Trace(depth, depth, depth, depth, 0.0, inlinks), known)


def folds(
    paths: Sequence[ShownPath], count: int, by: Callable[[ShownPath], str], seed: int = 0
) -> Iterator[tuple[list[ShownPath], list[ShownPath]]]:
    """The paths in parts to learn from and to test with, each tested once. Those that are the same `by` something, such
    as their first page, are on the same side; unless that gives fewer parts than wanted."""
    names = [by(path) for path in paths]
    if len(set(names)) < count:
        names = [path.id for path in paths]
    distinct = list(dict.fromkeys(names))
    drawn = np.random.default_rng(seed).permutation(len(distinct)) % count
    fold = dict(zip(distinct, drawn.tolist(), strict=True))
    for number in range(count):
        test = [path for path, name in zip(paths, names, strict=True) if fold[name] == number]
        rest = [path for path, name in zip(paths, names, strict=True) if fold[name] != number]
        if test and any(path.outcome is Outcome.GOAL for path in rest):
            yield rest, test
