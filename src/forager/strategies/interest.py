"""Interest ratios from counts, and the counts of a graph that intelligent crawling needs.

I(C,E) = Pr(C and E) / (Pr(C) Pr(E)) says how much likelier C is where E is seen; z how many standard deviations the
count n_CE is from what chance would give, n_E draws with probability p = Pr(C).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.types import Graph, Mask, Ragged

Doubles: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interest:
    """log I(C,E) from counts."""

    p: float  # Pr(C)
    doubt: float
    significance: float

    def ratio(self, n: NDArray[Any], n_c: NDArray[Any]) -> Doubles:
        return np.log((n_c + self.doubt * self.p) / ((n + self.doubt) * self.p))

    def __call__(self, n: NDArray[Any], n_c: NDArray[Any]) -> Doubles:
        deviation = np.abs(n_c - n * self.p)
        return np.where(deviation < self.significance * np.sqrt(n * self.p * (1 - self.p)), 0, self.ratio(n, n_c))


def sums(values: Doubles, rows: Ragged) -> Doubles:
    """The sum over each row."""
    return tally(np.repeat(np.arange(len(rows)), rows.lengths), values, len(rows))


def neighbours(graph: Graph, good: Mask) -> tuple[Doubles, Doubles, Doubles]:
    """Of each id: the share of the links to it that are on good pages; links on those pages that were judged; the good
    ones of these."""
    count, targets = len(good), graph.targets
    sources = np.repeat(np.arange(count), np.diff(graph.offsets))
    share = tally(targets, good[sources], count) / np.maximum(np.bincount(targets, minlength=count), 1)
    judged, satisfied = (
        tally(targets, tally(sources, these[targets], count)[sources], count)
        for these in (~np.isnan(graph.relevance), good)
    )
    return share, judged, satisfied


def tally(at: NDArray[Any], values: NDArray[Any], count: int) -> Doubles:
    """The sum of the values at each of `count` places."""
    return np.asarray(np.bincount(at, values, count), np.float64)
