"""PageRank: a link is as good as the rank of its target in what has been seen of the web.

Cho, Garcia-Molina & Page (1998). Over the N URLs seen, with F_i the number of pages that i links to:

    P(j) = (1 - a)/N + a * sum over i -> j of P(i)/F_i,      a = .9

What has no links, or was not fetched, spreads its rank over all. P is computed anew in every sweep, from the whole
graph. The score is r(j) = N P(j): 1 for the average URL, whatever N.

Between two sweeps a link (u,v) is scored by an estimate from the last ranks, with n(v) other pages seen to link to v
and m the mean of r(i)/F_i over all links i -> j:

    r^(v) = (1 - a) + a * (r(u)/F_u + n(v) m)

where r(u) = 1 if the last sweep did not know u, and m = r(u)/F_u before the first sweep. With `hot` the score is
[hot] + log2(1 + r)/32, links that are hot by hot.py first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from forager.errors import ForagerError
from forager.learn.tfidf import Query
from forager.strategies.hot import COMBINE, Hot, queued
from forager.strategies.pairs import Pairs, pairs
from forager.types import LATEST, Combine, Floats, Graph, ScoredLinks, Visit, Waiting

TOLERANCE = 1e-8  # in the sum of |P - P of the round before|


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """What one sweep has found."""

    relative: Floats  # (N,) r(i) = N P(i)
    mean_flow: float  # mean of r(i)/F_i over the links; nan: there were none

    @classmethod
    def of(cls, graph: Graph, damping: float) -> Self:
        links, count = pairs(graph), len(graph.relevance)
        relative = count * page_rank(links, count, damping)
        fetched = np.unique(links.sources)  # each gives r(i) away, over F_i links
        mean = relative[fetched].sum() / len(links.sources) if len(fetched) else np.nan
        return cls(relative.astype(np.float32), float(mean))


class PageRank:
    def __init__(self, *, query: Query | None = None, damping: float = 0.9, every: int = 50, hot: bool = False) -> None:
        if not 0 <= damping < 1:
            raise ForagerError(f"pagerank: damping is {damping}; it must be at least 0 and below 1")
        if every < 1:
            raise ForagerError(f"pagerank: every is {every}; a sweep needs at least 1 page before it")
        self.damping, self.every = damping, every
        self._hot = Hot(query, "pagerank") if hot else None
        self.combine: Combine = COMBINE if hot else LATEST
        self._last = Ranks(np.empty(0, np.float32), np.nan)  # replaced whole by a sweep, in whatever thread

    def score(self, visit: Visit) -> ScoredLinks:
        estimate = self._estimate(visit, self._last)
        return self._hot.score(visit, estimate) if self._hot else ScoredLinks(estimate)

    def _estimate(self, visit: Visit, last: Ranks) -> Floats:
        a, own = self.damping, visit.trace.id
        rank = last.relative[own] if own < len(last.relative) else 1.0
        flow = rank / max(1, len(set(visit.links.targets)))
        mean = flow if np.isnan(last.mean_flow) else last.mean_flow
        return ((1 - a) + a * (flow + visit.known.inlinks * mean)).astype(np.float32)

    def rescore(self, waiting: Waiting, graph: Graph) -> Iterator[Floats]:
        last = self._last = Ranks.of(graph, self.damping)
        for batch in waiting:
            ranks = last.relative[batch.ids]
            scores = queued(batch.state, ranks) if self._hot else ranks
            yield np.where(batch.sources < 0, batch.scores, scores)  # what no page led to keeps its place


def page_rank(links: Pairs, count: int, damping: float, tolerance: float = TOLERANCE) -> NDArray[np.float64]:
    """P over `count` pages, by power iteration: each round brings it nearer by the factor a, whatever the graph."""
    if not count:
        return np.empty(0)
    degree = np.bincount(links.sources, minlength=count)  # F_i
    flow = csr_matrix((1 / degree[links.sources], (links.targets, links.sources)), (count, count))
    dangling = degree == 0
    rank = np.full(count, 1 / count)
    change = np.inf
    while change > tolerance:
        before = rank
        rank = (1 - damping) / count + damping * (flow @ before + before[dangling].sum() / count)
        change = np.abs(rank - before).sum()
    return rank
