"""The HMM, as a strategy. See the package's docstring.

State T_i is a page i links from a target; the last state means "that many or more". The cluster c of a page is what is
seen of it. pi(i), the chance to begin in i, a(i,j), the chance to go from i to j, and b(i,c), the chance to see c in i,
are counted (model.py): over the paths shown; or over random walks down the layers of the ground; or over all links of
the ground, each a step, and all its pages, each a beginning.

While crawling a path carries its forward vector, scaled to sum 1. u is the page before v on the path:

    alpha_1(j) = pi(j) b(j,c_1)
    alpha_v(j) = b(j,c_v) sum over i of alpha_u(i) a(i,j)

Of the target of a link only the step is known, not yet the cluster:

    P_v(j)     = sum over i of alpha_u(i) a(i,j)

Links whose likeliest state is closest to a target go first. Among links of the same state the similarity of u to the
most similar target decides:

    score(u,v) = -argmax over j of P_v(j) + max over targets d of cos(u,d) / 2

Half a cosine is at most .5, so scores in [-j, .5 - j] belong to state j. All links of u have the same score. log
alpha_u travels with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from forager.errors import ForagerError
from forager.learn.chains.rows import Reals, carried, shares
from forager.learn.tfidf import Idf
from forager.paths import Ground, PageSequences, ShownPath, hop_layers, hop_states, walks
from forager.strategies.hmm.model import HmmChain, HmmExamples, HmmModel, PageClusters
from forager.strategies.taught import TrainingMaterial, check_made
from forager.types import BEST, Parts, Ragged, ReportIteration, ScoredLinks, Visit

FEATURES = 1  # version of what is seen of a page


class Hmm:
    """Links by the likeliest state of their targets. state = log alpha of the page that the link is on"""

    combine = BEST

    def __init__(
        self,
        *,
        seed: int = 0,
        states: int = 5,
        counted: Literal["walks", "links"] = "walks",
        paths: int = 10_000,
        dimensions: int = 50,
        clusters: int = 100,
        examples: int = 250,
    ) -> None:
        """`paths`: number of walks to draw; `dimensions`: of LSI; `clusters`: the largest number that X-means may find;
        `examples`: number of targets that pages are compared with, drawn if there are more."""
        if states < 2 or min(paths, dimensions, clusters, examples) < 1:
            raise ForagerError("hmm: states must be at least 2; paths, dimensions, clusters and examples at least 1")
        self.seed, self.states, self.counted, self.paths = seed, states, counted, paths
        self.dimensions, self.clusters, self.examples = dimensions, clusters, examples
        self._made = f"features of version {FEATURES}, {states} states"
        self._model: HmmModel | None = None

    # ---- learning

    def taught(self, ground: Ground, shown: Sequence[ShownPath] = (), heard: ReportIteration | None = None) -> Self:
        material = TrainingMaterial.of(ground, shown)
        counted = self._examples(material)
        wanted = np.union1d(counted.pages, np.flatnonzero(material.targets)).tolist()
        read = zip(wanted, ground.pages(wanted), strict=True)
        found = {number: page.terms.values for number, page in read if page is not None}
        numbers, bags = np.fromiter(found, np.intp, len(found)), Ragged.of(list(found.values()))
        examples = self._drawn(np.flatnonzero(material.targets[numbers]))
        idf = Idf.of(found.values())
        clusters = PageClusters.of(bags, idf, dimensions=self.dimensions, most=self.clusters, seed=self.seed)
        cluster = np.full(len(ground), -1, np.int32)
        cluster[numbers] = clusters.nearest(clusters.weighed(bags))
        new = copy(self)
        new._model = HmmModel(HmmChain.counted(counted, cluster, len(clusters)), clusters, bags.take(examples))
        return new

    def _drawn(self, targets: NDArray[np.intp]) -> NDArray[np.intp]:
        """The targets that pages are compared with."""
        if not len(targets):
            raise ForagerError("hmm: the web to learn on has no target that can be read: give it targets")
        return np.sort(np.random.default_rng(self.seed).permutation(targets)[: self.examples])

    def _examples(self, material: TrainingMaterial) -> HmmExamples:
        layer = hop_layers(material.graph, material.targets, self.states - 1)
        state = hop_states(layer, self.states - 1)
        if material.shown:
            pages = np.concatenate(material.shown)
            ends = np.cumsum([0, *map(len, material.shown)])
            return HmmExamples.of(PageSequences(pages, state[pages], ends), self.states)
        if self.counted == "links":
            graph, every = material.graph, np.arange(len(state), dtype=np.int32)
            return HmmExamples(every, state, state, (state[graph.sources], state[graph.targets]), self.states)
        return HmmExamples.of(walks(material.graph, layer, count=self.paths, seed=self.seed), self.states)

    # ---- scoring

    def score(self, visit: Visit) -> ScoredLinks:
        count = len(visit.links)
        if self._model is None:
            return ScoredLinks(np.zeros(count, np.float32))
        alpha, similarity = self._observed(self._model, visit)
        priority = similarity / 2 - int(self._model.chain.ahead(alpha).argmax())
        state = np.tile(alpha.astype(np.float32), (count, 1))
        return ScoredLinks(np.full(count, priority, np.float32), state=state, label=f"T{int(alpha.argmax())}")

    def _observed(self, model: HmmModel, visit: Visit) -> tuple[Reals, float]:
        """log alpha of the page, (1, k), and its similarity to the most similar target."""
        followed = visit.trace.inlinks.state[:1]
        before = carried(followed, self.states) if followed.size else None
        cluster, similarity = model.observed(visit.page.bag)
        return model.chain.forward(before, cluster), similarity

    def explain(self, visit: Visit, link: int) -> list[tuple[str, float]]:
        """The chance that the page behind a link is 0, 1, … links from a target; and the similarity of its own page."""
        if self._model is None:
            return []
        alpha, similarity = self._observed(self._model, visit)
        chances = shares(self._model.chain.ahead(alpha))[0].tolist()
        told = [(f"{hops} links to go", chance) for hops, chance in enumerate(chances)]
        told[-1] = (f"{self.states - 1} links to go, or more", chances[-1])
        return [*sorted(told, key=lambda item: -item[1]), ("similarity of the page to a target", similarity)]

    # ---- keeping

    def parts(self) -> Parts:
        learnt = {} if self._model is None else self._model.parts()
        return {"made": self._made, "taught": self._model is not None, **learnt}

    def from_parts(self, parts: Parts) -> Self:
        check_made("hmm", parts, self._made)
        new = copy(self)
        if np.asarray(parts["taught"]):
            new._model = HmmModel.from_parts(parts)
        return new

    def merge(self, parts: Sequence[Parts]) -> Parts:
        """All shards carry the same model."""
        return parts[0]
