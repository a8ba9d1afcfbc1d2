"""Strategies that are told the truth. They are bounds for the other strategies, not crawlers that anybody can use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

import numpy as np

from forager.registry import Maker
from forager.types import BEST, FIRST, NEVER, Evidence, Floats, Graph, Ids, Miss, ScoredLinks, Url, Visit, Waiting
from forager_lab.laboratory import WebGraph

NOWHERE = -1e6  # below any distance in a web that fits a laboratory


class Oracle:
    """Knows the label of each link's target: priority(v) = 1 if v is relevant, else 0. It sees one step ahead."""

    combine = FIRST

    def __init__(self, *, relevant: Collection[Url], final: Callable[[Url], Url]) -> None:
        self._relevant, self._final = frozenset(relevant), final

    def score(self, visit: Visit) -> ScoredLinks:
        hits = (self._final(url) in self._relevant for url in visit.links.targets)
        return ScoredLinks(np.fromiter(hits, np.float32, len(visit.links)))


class Lookahead:
    """Knows the whole link graph, and goes towards the nearest relevant page that is not yet fetched.

    d(v) = number of links from v to the nearest relevant page that is not yet fetched (0: v is one), m(v) = how many
    ways there are at that distance (for d = 0: how many such pages v links to);  priority(v) = -d(v) + m/(1+m). Pages
    that lead nowhere come last; links out of the web are never followed. d, m and all scores are computed again after
    each relevant page.
    """

    combine = BEST
    every = 1

    def __init__(self, *, relevant: Collection[Url], final: Callable[[Url], Url], graph: WebGraph) -> None:
        self._final, self._graph = final, graph
        self._wanted = np.array([url in frozenset(relevant) for url in graph.urls], bool)
        self._priority = self._look()

    def observe(self, outcome: Visit | Miss, evidence: Evidence) -> None:
        node = self._graph.index.get(outcome.page.url if isinstance(outcome, Visit) else outcome.url)
        if node is not None and self._wanted[node]:
            self._wanted[node] = False
            self._priority = self._look()

    def score(self, visit: Visit) -> ScoredLinks:
        nodes = self._graph.nodes(visit.links.targets, self._final)
        return ScoredLinks(self._of(nodes), state=nodes[:, None].astype(np.float32))

    def rescore(self, waiting: Waiting, graph: Graph) -> Iterator[Floats]:
        for batch in waiting:
            nodes = batch.state[:, 0] if batch.state.shape[1] else np.full(len(batch.ids), -1)
            yield self._of(nodes.astype(np.int32))

    def _of(self, nodes: Ids) -> Floats:
        return np.where(nodes >= 0, self._priority[nodes], np.float32(NEVER)).astype(np.float32)

    def _look(self) -> Floats:
        """Compute d and m in layers, backwards from the wanted pages."""
        layer = self._wanted.astype(np.float32)
        reached = self._wanted.copy()
        ways = self._graph.pull(layer)
        priority = np.where(reached, ways / (1 + ways), NOWHERE).astype(np.float32)
        distance = 0
        while layer.any():
            distance += 1
            layer = np.where(reached, 0, ways).astype(np.float32)
            new = layer > 0
            priority[new] = -distance + layer[new] / (1 + layer[new])
            reached |= new
            ways = self._graph.pull(layer)
        return priority


LAB_STRATEGIES: Mapping[str, Maker] = {"oracle": Oracle, "lookahead": Lookahead}
