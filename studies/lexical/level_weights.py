"""The weights of a link's levels, by trying them all: the search of the thesis.

Links that were followed, each with its three levels and with the level of the page it led to, make a queue ordered by

    a context + b content + c page,        ties in order of discovery

The best weights are those with the smallest

    sum over k of level_k / k              level_k: that of the page behind the k-th link

among all with a, b = 1/s, 2/s, …, a + b <= 1 and c = 1 - a - b; s is 1000 in the thesis. Weights that order the queue
alike are as good as each other; of all the best, the ones nearest to their mean are given (ours).

Half a million queues need not be sorted. With weights in units of 1/s all is in whole numbers, and the order of the
queue depends on nothing but the sign of (a,b,c) . d for each difference d of two links' levels. There are few of those,
so that few sets of weights have signs of their own, and only these are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.errors import ForagerError
from forager.learn.chains.rows import Reals
from forager.strategies.lexical.links import FEATURES
from forager.types import Ids, Page, Visit

STEPS = 1000  # s
CHUNK = 1 << 20  # links sorted at a time
CLOSE = 1e-9  # sums that differ by less are equal: the same fractions may have been added in another order

Integers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Followed:
    """Links in order of discovery."""

    levels: Ids  # (m, 3) context, content, page
    reached: Ids  # (m,) the level of the page behind each

    @classmethod
    def of(cls, visits: Iterable[Visit], level_of: Callable[[Page], int]) -> Followed:
        """The links by which a crawl has come to its pages. Its strategy was `lexical`, with all three features."""
        found = sorted(
            (visit.trace.asked, *visit.trace.inlinks.state[0, : len(FEATURES)].tolist(), level_of(visit.page))
            for visit in visits
            if len(visit.trace.inlinks.state)
        )
        table = np.array(found, np.int32).reshape(-1, len(FEATURES) + 2)
        return cls(table[:, 1:-1], table[:, -1])

    @classmethod
    def together(cls, crawls: Sequence[Followed]) -> Followed:
        """Of several crawls, one after the other."""
        return cls(np.concatenate([one.levels for one in crawls]), np.concatenate([one.reached for one in crawls]))


@dataclass(frozen=True, slots=True)
class Weights:
    a: float  # context
    b: float  # content
    c: float  # page
    order_score: float  # the sum above
    equals: int  # how many weights have that sum, these among them


def search(followed: Followed, steps: int = STEPS) -> Weights:
    """The best weights in steps of 1/s."""
    _check(followed, steps)
    weights = all_weights(steps)
    _, first, kinds = np.unique(_signs(weights, followed.levels), return_index=True, return_inverse=True)
    sums = order_scores(followed, weights[first])
    equals = weights[sums[kinds] <= sums.min() + CLOSE]
    from_mean = ((equals - equals.mean(axis=0)) ** 2).sum(axis=1)
    a, b, c = (equals[from_mean.argmin()] / steps).tolist()
    return Weights(a, b, c, float(sums.min()), len(equals))


def all_weights(steps: int) -> Integers:
    """(w, 3) in units of 1/s; a rises, and b for each a."""
    a, b = (axis.ravel() for axis in np.meshgrid(np.arange(1, steps), np.arange(1, steps), indexing="ij"))
    kept = a + b <= steps
    return np.column_stack((a, b, steps - a - b))[kept].astype(np.int64)


def order_scores(followed: Followed, weights: Integers) -> Reals:
    """(w,) the sum that each of (w, 3) weights has."""
    count = len(followed.reached)
    reached, places, numbers = followed.reached.astype(np.float64), np.arange(1, count + 1), np.arange(count)
    sums = [np.zeros(0)]
    for some in np.array_split(weights, len(weights) * count // CHUNK + 1):
        queue = np.sort(some @ followed.levels.T.astype(np.int64) * count + numbers, axis=1) % count
        sums.append((reached[queue] / places).sum(axis=1))
    return np.concatenate(sums)


def _signs(weights: Integers, levels: Ids) -> NDArray[np.uint64]:
    """(w,) the same number for weights that order all links alike, and for no others."""
    a, b, c = weights.T.astype(np.int32)
    differences = _differences(levels)
    numbers = np.random.default_rng(0).integers(1 << 63, size=(len(differences), 2), dtype=np.uint64)
    hashed = np.zeros(len(weights), np.uint64)
    for (x, y, z), (behind, level) in zip(differences.tolist(), numbers, strict=True):
        ahead = a * x + b * y + c * z
        hashed += np.where(ahead > 0, behind, np.where(ahead == 0, level, np.uint64(0)))  # wraps around
    return hashed


def _differences(levels: Ids) -> Integers:
    """Between any two links, each direction once."""
    distinct = np.unique(levels, axis=0).astype(np.int64)
    one, other = np.triu_indices(len(distinct), 1)  # rows rise, so that the first number that is not 0 is positive
    apart = distinct[other] - distinct[one]
    return np.unique(apart // np.gcd.reduce(apart, axis=1)[:, None], axis=0)


def _check(followed: Followed, steps: int) -> None:
    if len(followed.reached) < 2:
        raise ForagerError(f"{len(followed.reached)} followed links teach no weights: crawl further")
    if followed.levels.min() < 1:
        raise ForagerError('some levels were not looked at: crawl with features = "content,context,page"')
    if steps < 2:
        raise ForagerError(f"weights in {steps} steps: give 2 or more")
