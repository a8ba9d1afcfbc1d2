"""Thirty-line sketches of five methods. They show that the shared types have room for all that these methods need.

Each sketch has the shape of its method: what travels with a link, what it learns from, what it scores again. The rest
is left out. The methods themselves live in forager.strategies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from forager.types import (
    BEST,
    FIRST,
    LATEST,
    NEVER,
    Combine,
    Evidence,
    Floats,
    Graph,
    Ids,
    Miss,
    Parts,
    Policy,
    Ragged,
    ScoredLinks,
    Visit,
    Waiting,
)
from forager.web.text import mix, term


def share(terms: NDArray[np.uint32], query: NDArray[np.uint32]) -> float:
    """The share of the words of a text that are in the query, in place of a similarity."""
    return float(np.isin(terms, query).mean()) if len(terms) else 0.0


class Shark:
    """state = (inherited score, depth left). A link found again takes the better score and the larger depth."""

    combine = Combine(Policy.BEST, largest=(1,))

    def __init__(self, *, words: Sequence[str] = ("bird",), delta: float = 0.5, depth: int = 3) -> None:
        self.query = np.array([term(word) for word in words], np.uint32)
        self.delta, self.depth = delta, depth

    def score(self, visit: Visit) -> ScoredLinks:
        page, links, parents = visit.page, visit.links, visit.trace.inlinks
        similar = share(page.terms.values, self.query)
        inherited, depth = parents.state[0] if len(parents.sources) else (1.0, self.depth)
        passed_on = self.delta * (similar if similar > 0 else float(inherited))
        left = self.depth if similar > 0 else float(depth) - 1
        spans = zip(links.first_leaf.tolist(), links.last_leaf.tolist(), strict=True)
        anchors = np.array([share(page.terms.span(first, last), self.query) for first, last in spans], np.float32)
        scores = 0.5 * passed_on + 0.5 * anchors if left > 0 else np.full(len(links), NEVER)
        state = np.tile(np.array([passed_on, left], np.float32), (len(links), 1))
        return ScoredLinks(np.asarray(scores, np.float32), state=state)


class Apprentice:
    """clue = <t,d>. It learns from every (u,v) with both ends known; rescore = clue . w."""

    combine = FIRST
    every = 3
    size = 1 << 12

    def __init__(self, *, d_max: int = 2) -> None:
        self.d_max = d_max
        self.counts = np.ones((2, self.size), np.float64)  # low and high, Laplace
        self.instances = 0

    def observe(self, outcome: Visit | Miss, evidence: Evidence) -> None:
        rows = np.repeat(np.arange(len(evidence.clues)), evidence.clues.lengths)
        high = (evidence.relevance[rows] >= 0.2).astype(int)
        np.add.at(self.counts, (high, evidence.clues.values % self.size), 1)
        self.instances += len(evidence.clues)

    def score(self, visit: Visit) -> ScoredLinks:
        clues = self.clues(visit)
        return ScoredLinks(self.predict(clues), clues=clues)

    def rescore(self, waiting: Waiting, graph: Graph) -> Iterator[Floats]:
        for batch in waiting:
            yield self.predict(batch.clues)

    def predict(self, clues: Ragged) -> Floats:
        weights = np.log(self.counts[1] / self.counts[1].sum()) - np.log(self.counts[0] / self.counts[0].sum())
        rows = np.repeat(np.arange(len(clues)), clues.lengths)
        return np.bincount(rows, weights[clues.values % self.size], len(clues)).astype(np.float32)

    def clues(self, visit: Visit) -> Ragged:
        return Ragged.of([self.window(visit, row) for row in range(len(visit.links))])

    def window(self, visit: Visit, row: int) -> NDArray[np.uint32]:
        first, last = int(visit.links.first_leaf[row]), int(visit.links.last_leaf[row])
        leaves = np.arange(max(0, first - self.d_max), min(len(visit.page.leaves), last + self.d_max + 1))
        offsets = np.where(leaves < first, leaves - first, np.where(leaves > last, leaves - last, 0))
        terms = visit.page.terms.take(leaves)
        return mix(terms.values, np.repeat(offsets, terms.lengths))

    def parts(self) -> Parts:
        return {"counts": self.counts, "instances": self.instances}

    def from_parts(self, parts: Parts) -> Self:
        new = type(self)(d_max=self.d_max)
        new.counts, new.instances = np.array(parts["counts"]), int(parts["instances"])
        return new

    def merge(self, parts: Sequence[Parts]) -> Parts:
        counts = sum(np.asarray(each["counts"]) - 1 for each in parts) + np.ones_like(self.counts)
        return {"counts": counts, "instances": sum(int(each["instances"]) for each in parts)}


class PageRank:
    """Scores come only from sweeps over the graph; a link that no sweep has scored waits at the mean."""

    combine = LATEST
    every = 2

    def score(self, visit: Visit) -> ScoredLinks:
        return ScoredLinks(np.zeros(len(visit.links), np.float32))

    def rescore(self, waiting: Waiting, graph: Graph) -> Iterator[Floats]:
        ranks = self.ranks(graph)
        for batch in waiting:
            yield ranks[batch.ids] * len(ranks) - 1

    def ranks(self, graph: Graph, damping: float = 0.9) -> Floats:
        pages = len(graph.relevance)
        degree = np.diff(graph.offsets)
        sources = np.repeat(np.arange(pages), degree)
        ranks = np.full(pages, 1 / pages)
        for _ in range(20):
            dangling = ranks[degree == 0].sum() / pages
            flow = np.bincount(graph.targets, ranks[sources] / degree[sources], pages)
            ranks = (1 - damping) / pages + damping * (flow + dangling)
        return ranks.astype(np.float32)


class InfoSpiders:
    """state = (agent, energy). The population is a part; links of dead agents are never followed."""

    combine = FIRST
    every = 2

    def __init__(self, *, agents: int = 3, cost: float = 0.1, seed: int = 0) -> None:
        self.energy = np.ones(agents, np.float32)
        self.cost, self.seed = cost, seed

    def observe(self, outcome: Visit | Miss, evidence: Evidence) -> None:
        if len(outcome.trace.inlinks.sources):
            benefit = outcome.judgement.relevance if isinstance(outcome, Visit) else 0.0
            self.energy[int(outcome.trace.inlinks.state[0, 0])] += benefit - self.cost

    def score(self, visit: Visit) -> ScoredLinks:
        inlinks, targets = visit.trace.inlinks, visit.links.targets
        drawn = np.array([xxh3_64_intdigest(url.encode(), self.seed) for url in targets], np.uint64)
        own = int(inlinks.state[0, 0]) if len(inlinks.sources) else -1
        agents = drawn % len(self.energy) if own < 0 else np.full(len(drawn), own)
        state = np.column_stack((agents, self.energy[agents.astype(int)])).astype(np.float32)
        return ScoredLinks((drawn >> np.uint64(40)).astype(np.float32), state=state)

    def rescore(self, waiting: Waiting, graph: Graph) -> Iterator[Floats]:
        for batch in waiting:
            agents: Ids = batch.state[:, 0].astype(np.int32) if batch.state.shape[1] else np.zeros(len(batch.ids), int)
            dead = (self.energy[agents] < 0) & (batch.sources >= 0)
            yield np.where(dead, np.float32(NEVER), batch.scores)

    def parts(self) -> Parts:
        return {"energy": self.energy}

    def from_parts(self, parts: Parts) -> Self:
        new = type(self)(cost=self.cost, seed=self.seed)
        new.energy = np.array(parts["energy"], np.float32)
        return new

    def merge(self, parts: Sequence[Parts]) -> Parts:
        return {"energy": np.mean([each["energy"] for each in parts], axis=0)}


class Crf:
    """state = log-alpha and delta of the link position; label = argmax delta over the page's states."""

    combine = BEST
    labels = ("goal", "prefix", "fail")

    def __init__(self, *, seed: int = 0) -> None:
        draw = np.random.default_rng(seed)
        self.edges = draw.normal(size=(3, 3)).astype(np.float32)
        self.features = draw.normal(size=(64, 3)).astype(np.float32)
        self.reward = np.array([1, 0.5, 0], np.float32)

    def score(self, visit: Visit) -> ScoredLinks:
        inlinks = visit.trace.inlinks
        before = inlinks.state[0] if len(inlinks.sources) else np.zeros(6, np.float32)
        alpha, delta = self.step(before[:3], before[3:], self.observe_terms(visit.page.terms.values))
        spans = zip(visit.links.first_leaf.tolist(), visit.links.last_leaf.tolist(), strict=True)
        seen = [self.observe_terms(visit.page.terms.span(first, last)) for first, last in spans]
        rows = [np.concatenate(self.step(alpha, delta, potential)) for potential in seen]
        state = np.array(rows, np.float32).reshape(len(rows), 6)
        chances = np.exp(state[:, :3])
        return ScoredLinks(chances @ self.reward, state=state, label=self.labels[int(np.argmax(delta))])

    def observe_terms(self, terms: NDArray[np.uint32]) -> Floats:
        return self.features[terms % 64].sum(axis=0) if len(terms) else np.zeros(3, np.float32)

    def step(self, alpha: Floats, delta: Floats, potential: Floats) -> tuple[Floats, Floats]:
        """log-alpha is scaled to sum 1, delta is shifted by its maximum. So neither grows with the path."""
        summed = np.logaddexp.reduce(alpha[:, None] + self.edges, axis=0) + potential
        best = (delta[:, None] + self.edges).max(axis=0) + potential
        return summed - np.logaddexp.reduce(summed), best - best.max()
