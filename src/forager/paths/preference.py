"""Would a strategy have gone the same way? Paths that it was not shown are walked again, and its scores looked at.

At each page of a path all links are scored, with the state that travelled with the link by which the path came there.
Over the pages of all paths, those that failed included,

    share = how often a link that was taken on the way to a goal scores more than one that was not; half where equal
    first = how often it is the best of its page, alone

share is what counts for a frontier, where the links of all pages wait together: 1 is perfect, .5 is chance.
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
    """nan where there was nothing to choose from."""

    share: float
    first: float
    steps: int  # links taken that were looked at


def preference(strategy: Strategy, ground: Ground, paths: Iterable[ShownPath]) -> Preference:
    """How a strategy scores the links that paths to a goal have taken."""
    steps = [(path.outcome, *step) for path in paths for step in _steps(strategy, ground, path)]
    taken = np.array([best for outcome, best, _ in steps if outcome is Outcome.GOAL], np.float32)
    first = [bool((others < best).all()) for outcome, best, others in steps if outcome is Outcome.GOAL and len(others)]
    passed = [np.append(others, [best] * (outcome is Outcome.FAIL)) for outcome, best, others in steps]
    rest = np.sort(np.concatenate(passed)) if passed else np.empty(0, np.float32)
    if not (len(taken) and len(rest)):
        return Preference(float("nan"), float("nan"), 0)
    less, most = np.searchsorted(rest, taken), np.searchsorted(rest, taken, side="right")
    return Preference(float((less + most).mean() / 2 / len(rest)), float(np.mean(first)) if first else 0.0, len(taken))


def _steps(strategy: Strategy, ground: Ground, path: ShownPath) -> Iterator[tuple[float, Floats]]:
    """For each page of a path the score of the link taken, and those of all links to other pages."""
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
        yield float(scored.scores[best]), np.delete(scored.scores, taken)
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
