"""Best-first, and from time to time the links of the best hubs: for topics with good lists of links.

Chakrabarti, van den Berg & Dom (1999): HITS weighted by relevance. Over the pages fetched, with R(u) the relevance of u
and w(u,v) the weight of its link to v (1 without the option `arc`):

    a(v) = R(v) * sum over u -> v of w(u,v) h(u)     where R(v) > rho, else 0
    h(u) = R(u) * sum over u -> v of w(u,v) a(v)

a and h are computed in turn, each divided by its sum, until h stays the same. Links between pages of one host are left
out, because there authors praise themselves; they count if all pages fetched are of one host, or with `within_hosts`.
The best hubs H are a share, `hubs`, of the pages with h > 0. The score of v is

    max over u -> v of R(u)      in [0, 1], as best-first, if A(v) = 0
    1 + A(v) / max A             in (1, 2], before all other links, if A(v) > 0

A(v) = sum over u in H, u -> v of w(u,v) h(u) is the authority that the best hubs would give v if it were relevant.

With `arc` (Chakrabarti et al. 1998) w(u,v) = 1 + the number of query words in the anchor or within 50 characters of it.
Of several links u -> v the one with the largest weight counts. The words of a leaf are treated as evenly spread over
its text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from forager.errors import ForagerError
from forager.learn.tfidf import Query
from forager.strategies.pagerank import PagePairs, page_pairs
from forager.types import BEST, Floats, Graph, Mask, ScoredLinks, Visit, Waiting

AROUND = 50  # characters on either side of an anchor
ROUNDS, TOLERANCE = 100, 1e-6  # the iteration ends after so many rounds, or when h changes by no more in sum


class Distiller:
    """Best-first, with the links of the best hubs first after each sweep."""

    combine = BEST

    def __init__(
        self,
        *,
        query: Query | None = None,
        rho: float = 0.5,
        hubs: float = 0.1,
        every: int = 50,
        within_hosts: bool = False,
        arc: bool = False,
    ) -> None:
        if not 0 < hubs <= 1:
            raise ForagerError(f"distiller: hubs is {hubs}; it is a share, above 0 and at most 1")
        if every < 1:
            raise ForagerError(f"distiller: every is {every}; a sweep needs at least 1 page before it")
        if arc and (query is None or not len(query.terms)):
            raise ForagerError(
                "distiller: `arc` needs query words, and there are none; give the critic keywords, or leave `arc` out"
            )
        self.rho, self.hubs, self.every, self.within_hosts = rho, hubs, every, within_hosts
        self._query = query if arc else None

    def score(self, visit: Visit) -> ScoredLinks:
        scores = np.full(len(visit.links), visit.judgement.relevance, np.float32)
        weights = arc_weights(visit, self._query) if self._query else None
        return ScoredLinks(scores, edge_weight=weights)

    def rescore(self, waiting: Waiting, graph: Graph) -> Iterator[Floats]:
        # The copy is made now, between two steps: the crawl goes on judging pages while the scores are computed.
        return self._sweep(waiting, replace(graph, relevance=graph.relevance.copy()))

    def _sweep(self, waiting: Waiting, graph: Graph) -> Iterator[Floats]:
        scores = self._scores(graph)
        for batch in waiting:
            yield np.where(batch.sources < 0, batch.scores, scores[batch.ids])  # URLs that no page led to keep theirs

    def _scores(self, graph: Graph) -> Floats:
        """The score of every URL seen."""
        links, relevance = page_pairs(graph), np.nan_to_num(graph.relevance).astype(np.float64)
        scores = np.zeros(len(relevance))
        np.maximum.at(scores, links.targets, relevance[links.sources])
        praise = links if self.within_hosts else between_hosts(links, graph)
        hub, _ = hits(praise, relevance, self.rho)
        cited = self._best(hub)[praise.sources]
        rise = np.bincount(praise.targets[cited], (praise.weights * hub[praise.sources])[cited], len(hub))
        risen = rise > 0
        scores[risen] = 1 + rise[risen] / rise.max(initial=0)
        return scores.astype(np.float32)

    def _best(self, hub: NDArray[np.float64]) -> Mask:
        """H. Of equal hubs those found earlier come first."""
        count = int(np.ceil(self.hubs * np.count_nonzero(hub)))
        best = np.zeros(len(hub), bool)
        best[np.argsort(-hub, kind="stable")[:count]] = True
        return best


def hits(
    links: PagePairs, relevance: NDArray[np.float64], rho: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """h and a of every page. All are 0 if no link leads to a page with R > rho."""
    count, good = len(relevance), relevance[links.targets] > rho
    ends = links.sources[good], links.targets[good]
    weights = csr_matrix((links.weights[good].astype(np.float64), ends), (count, count))
    hub, authority = np.ones(count), np.zeros(count)
    for _ in range(ROUNDS):
        before = hub
        authority = _shares(relevance * (weights.T @ hub))
        hub = _shares(relevance * (weights @ authority))
        if np.abs(hub - before).sum() <= TOLERANCE:
            break
    return hub, authority


def _shares(values: NDArray[np.float64]) -> NDArray[np.float64]:
    total = values.sum()
    return values / total if total > 0 else values


def between_hosts(links: PagePairs, graph: Graph) -> PagePairs:
    """The links from one host to another; all links if the pages fetched are of one host."""
    fetched = graph.hosts[~np.isnan(graph.relevance)]
    if len(np.unique(fetched)) <= 1:
        return links
    away = graph.hosts[links.sources] != graph.hosts[links.targets]
    return PagePairs(links.sources[away], links.targets[away], links.weights[away])


def arc_weights(visit: Visit, query: Query) -> Floats:
    """w(u,v) of each link of the visit: 1 + query words whose middle lies within AROUND characters of the anchor."""
    page, links = visit.page, visit.links
    lengths = np.fromiter((len(leaf) + 1 for leaf in page.leaves), np.int64, len(page.leaves))  # with a blank after it
    ends = np.concatenate(([0], np.cumsum(lengths)))
    matched = np.flatnonzero(np.isin(page.terms.values, query.terms))
    leaves = np.searchsorted(page.terms.offsets, matched, side="right") - 1
    nth = matched - page.terms.offsets[leaves] + 0.5
    middles = ends[leaves] + nth / page.terms.lengths[leaves] * lengths[leaves]
    begin = np.searchsorted(middles, ends[links.first_leaf] - AROUND)
    end = np.searchsorted(middles, ends[links.last_leaf + 1] + AROUND)
    return (1 + end - begin).astype(np.float32)
