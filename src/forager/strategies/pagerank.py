"""Links to pages of high PageRank in what was seen so far: for important pages, whatever their topic.

Cho, Garcia-Molina & Page (1998). Over the N URLs seen, with F_i the number of pages that i links to:

    P(j) = (1 - a)/N + a * sum over i -> j of P(i)/F_i,      a = .9

A URL that has no links, or was not fetched, spreads its rank over all URLs. Every sweep computes P anew from the whole
graph. The score is r(j) = N P(j): 1 for the average URL, whatever N.

Between two sweeps the score of a link (u,v) is an estimate from the last ranks. With n(v) the number of other pages
that link to v, and m the mean of r(i)/F_i over all links i -> j:

    r^(v) = (1 - a) + a * (r(u)/F_u + n(v) m)

Here r(u) = 1 if the last sweep did not know u, and m = r(u)/F_u before the first sweep. With the option `hot` the score
is [hot] + log2(1 + r)/32: hot links go first (backlink.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from forager.errors import ForagerError
from forager.learn.tfidf import Query
from forager.strategies.backlink import HOT_COMBINE, HotLinks, hot_first
from forager.types import LATEST, Combine, Floats, Graph, Ids, ScoredLinks, Visit, Waiting

TOLERANCE = 1e-8  # in the sum of |P - P of the round before|


class PagePairs(NamedTuple):
    """The links of a graph, each pair of pages once."""

    sources: Ids  # (e,) ascending
    targets: Ids  # (e,) ascending within a source
    weights: Floats  # (e,)


@dataclass(frozen=True, slots=True, eq=False)
class PageRanks:
    """The ranks that one sweep has found."""

    relative: Floats  # (N,) r(i) = N P(i)
    mean_flow: float  # mean of r(i)/F_i over the links; nan: there were none

    @classmethod
    def of(cls, graph: Graph, damping: float) -> Self:
        links, count = page_pairs(graph), len(graph.relevance)
        relative = count * page_rank(links, count, damping)
        fetched = np.unique(links.sources)  # each gives r(i) away, over F_i links
        mean = relative[fetched].sum() / len(links.sources) if len(fetched) else np.nan
        return cls(relative.astype(np.float32), float(mean))


class PageRank:
    """Links by the rank of their targets; hot links first if `hot`."""

    def __init__(self, *, query: Query | None = None, damping: float = 0.9, every: int = 50, hot: bool = False) -> None:
        if not 0 <= damping < 1:
            raise ForagerError(f"pagerank: damping is {damping}; it must be at least 0 and below 1")
        if every < 1:
            raise ForagerError(f"pagerank: every is {every}; a sweep needs at least 1 page before it")
        self.damping, self.every = damping, every
        self._hot = HotLinks(query, "pagerank") if hot else None
        self.combine: Combine = HOT_COMBINE if hot else LATEST
        self._last = PageRanks(np.empty(0, np.float32), np.nan)  # a sweep, in whatever thread, replaces it as a whole

    def score(self, visit: Visit) -> ScoredLinks:
        estimate = self._estimate(visit, self._last)
        return self._hot.score(visit, estimate) if self._hot else ScoredLinks(estimate)

    def _estimate(self, visit: Visit, last: PageRanks) -> Floats:
        """r^(v) of each link."""
        a, own = self.damping, visit.trace.id
        rank = last.relative[own] if own < len(last.relative) else 1.0
        flow = rank / max(1, len(set(visit.links.targets)))
        mean = flow if np.isnan(last.mean_flow) else last.mean_flow
        return ((1 - a) + a * (flow + visit.known.inlinks * mean)).astype(np.float32)

    def rescore(self, waiting: Waiting, graph: Graph) -> Iterator[Floats]:
        last = self._last = PageRanks.of(graph, self.damping)
        for batch in waiting:
            ranks = last.relative[batch.ids]
            scores = hot_first(batch.state, ranks) if self._hot else ranks
            yield np.where(batch.sources < 0, batch.scores, scores)  # a URL that no page led to keeps its score


def page_rank(links: PagePairs, count: int, damping: float, tolerance: float = TOLERANCE) -> NDArray[np.float64]:
    """P of `count` pages, by power iteration: each round multiplies the error by at most a, whatever the graph."""
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


def page_pairs(graph: Graph) -> PagePairs:
    """Every pair (u,v) with a link u -> v once, with the largest weight of such a link."""
    pages = len(graph.relevance)
    links = csr_matrix((graph.weights, graph.targets, graph.offsets), (pages, pages), copy=True)
    links.sort_indices()
    sources = np.repeat(np.arange(pages, dtype=np.int32), np.diff(graph.offsets))
    targets = links.indices.astype(np.int32)
    first = np.ones(len(targets), bool)
    first[1:] = (sources[1:] != sources[:-1]) | (targets[1:] != targets[:-1])
    at = np.flatnonzero(first)
    return PagePairs(sources[at], targets[at], np.maximum.reduceat(links.data, at))
