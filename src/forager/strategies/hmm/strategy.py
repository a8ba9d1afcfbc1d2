"""Hidden Markov model of the way to a target. Liu, Janssen & Milios (2006).

State T_i is a page i links from a target, the last one "so many or more". What is seen of a page is the cluster c it
belongs to (`hmm_clusters`). pi(i), the chance to begin in i, a(i,j), to go from i to j, and b(i,c), to see c in i, are
counted with add-one (`hmm_chain`): over the paths shown; or over random walks down the layers of the ground; or over
all links of the ground, each a step, and all its pages, each a beginning.

While crawling a path carries its forward vector, scaled to sum 1; u is the page before v on the path:

    alpha_1(j) = pi(j) b(j,c_1)
    alpha_v(j) = b(j,c_v) sum over i of alpha_u(i) a(i,j)

Of the target of a link only the step is known, not yet the cluster:

    P_v(j)     = sum over i of alpha_u(i) a(i,j)

The likeliest state decides, the closest first; where it is the same, the similarity of u to the target it is most like:

    score(u,v) = -argmax over j of P_v(j) + max over targets d of cos(u,d) / 2

Half a cosine is at most .5, so scores in [-j, .5 - j] are of state j. All links of u have the same score. What travels
with them is log alpha_u.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from forager.errors import ForagerError
from forager.learn.chains.rows import Reals, carried, shares
from forager.learn.tfidf import Idf
from forager.paths import Ground, Heard, PageSequences, ShownPath, hop_layers, hop_states, walks
from forager.strategies.hmm.chain import Chain, Lesson
from forager.strategies.hmm.clusters import Clusters
from forager.strategies.taught import Ways, check_made
from forager.types import BEST, Bag, Floats, Parts, Ragged, ScoredLinks, Visit

FEATURES = 1  # version of what is seen of a page


class Hmm:
    """state = log alpha of the page that the link is on"""

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
        """`paths`: walks to draw; `dimensions`: of LSI; `clusters`: the most that X-means may find; `examples`: targets
        that pages are compared with, drawn where there are more."""
        if states < 2 or min(paths, dimensions, clusters, examples) < 1:
            raise ForagerError("hmm: states must be at least 2; paths, dimensions, clusters and examples at least 1")
        self.seed, self.states, self.counted, self.paths = seed, states, counted, paths
        self.dimensions, self.clusters, self.examples = dimensions, clusters, examples
        self._made = f"features of version {FEATURES}, {states} states"
        self._learnt: Learnt | None = None

    # ---- learning

    def taught(self, ground: Ground, shown: Sequence[ShownPath] = (), heard: Heard | None = None) -> Self:
        ways = Ways.of(ground, shown)
        lesson = self._lesson(ways)
        wanted = np.union1d(lesson.pages, np.flatnonzero(ways.targets)).tolist()
        read = zip(wanted, ground.pages(wanted), strict=True)
        found = {number: page.terms.values for number, page in read if page is not None}
        numbers, bags = np.fromiter(found, np.intp, len(found)), Ragged.of(list(found.values()))
        examples = self._drawn(np.flatnonzero(ways.targets[numbers]))
        idf = Idf.of(found.values())
        clusters = Clusters.of(bags, idf, dimensions=self.dimensions, most=self.clusters, seed=self.seed)
        cluster = np.full(len(ground), -1, np.int32)
        cluster[numbers] = clusters.nearest(clusters.weighed(bags))
        new = copy(self)
        new._learnt = Learnt(Chain.counted(lesson, cluster, len(clusters)), clusters, bags.take(examples))
        return new

    def _drawn(self, targets: NDArray[np.intp]) -> NDArray[np.intp]:
        if not len(targets):
            raise ForagerError("hmm: the web to learn on has no target that can be read: give it targets")
        return np.sort(np.random.default_rng(self.seed).permutation(targets)[: self.examples])

    def _lesson(self, ways: Ways) -> Lesson:
        layer = hop_layers(ways.graph, ways.targets, self.states - 1)
        state = hop_states(layer, self.states - 1)
        if ways.shown:
            pages = np.concatenate(ways.shown)
            ends = np.cumsum([0, *map(len, ways.shown)])
            return Lesson.of(PageSequences(pages, state[pages], ends), self.states)
        if self.counted == "links":
            graph, every = ways.graph, np.arange(len(state), dtype=np.int32)
            return Lesson(every, state, state, (state[graph.sources], state[graph.targets]), self.states)
        return Lesson.of(walks(ways.graph, layer, count=self.paths, seed=self.seed), self.states)

    # ---- scoring

    def score(self, visit: Visit) -> ScoredLinks:
        count = len(visit.links)
        if self._learnt is None:
            return ScoredLinks(np.zeros(count, np.float32))
        alpha, similarity = self._seen(self._learnt, visit)
        priority = similarity / 2 - int(self._learnt.chain.ahead(alpha).argmax())
        state = np.tile(alpha.astype(np.float32), (count, 1))
        return ScoredLinks(np.full(count, priority, np.float32), state=state, label=f"T{int(alpha.argmax())}")

    def _seen(self, learnt: Learnt, visit: Visit) -> tuple[Reals, float]:
        """log alpha of the page, (1, k), and its similarity to the target it is most like."""
        followed = visit.trace.inlinks.state[:1]
        before = carried(followed, self.states) if followed.size else None
        cluster, similarity = learnt.seen(visit.page.bag)
        return learnt.chain.forward(before, cluster), similarity

    def explain(self, visit: Visit, link: int) -> list[tuple[str, float]]:
        """How likely the target of a link is how many links from what is looked for; and how similar its page is."""
        if self._learnt is None:
            return []
        alpha, similarity = self._seen(self._learnt, visit)
        chances = shares(self._learnt.chain.ahead(alpha))[0].tolist()
        told = [(f"{hops} links to go", chance) for hops, chance in enumerate(chances)]
        told[-1] = (f"{self.states - 1} links to go, or more", chances[-1])
        return [*sorted(told, key=lambda item: -item[1]), ("similarity of the page to a target", similarity)]

    # ---- keeping

    def parts(self) -> Parts:
        learnt = {} if self._learnt is None else self._learnt.parts()
        return {"made": self._made, "taught": self._learnt is not None, **learnt}

    def from_parts(self, parts: Parts) -> Self:
        check_made("hmm", parts, self._made)
        new = copy(self)
        if np.asarray(parts["taught"]):
            new._learnt = Learnt.from_parts(parts)
        return new

    def merge(self, parts: Sequence[Parts]) -> Parts:
        """All have been taught the same."""
        return parts[0]


@dataclass(frozen=True, eq=False)
class Learnt:
    chain: Chain
    clusters: Clusters
    examples: Ragged  # the words of each target

    def seen(self, bag: Bag) -> tuple[int, float]:
        """The cluster of a page, and max over the targets d of cos(u,d), both by the words that count."""
        at, weights = self.clusters.weighed_bag(bag)
        point, cosines = np.split(weights @ self._beside.take(at, axis=0), [self.clusters.axes.shape[1]])
        return int(self.clusters.nearest_to(point[None])[0]), min(float(cosines.max()), 1.0)

    @cached_property
    def _beside(self) -> Floats:
        """Of each word its place on the axes, and beside it its weight in each target: both are looked up at once."""
        targets = self.clusters.weighed(self.examples).toarray().T
        return np.hstack((self.clusters.axes, targets)).astype(np.float32)

    def parts(self) -> Parts:
        examples = {"example_terms": self.examples.values, "example_offsets": self.examples.offsets}
        return {**self.chain.parts(), **self.clusters.parts(), **examples}

    @classmethod
    def from_parts(cls, parts: Parts) -> Self:
        examples = Ragged(np.asarray(parts["example_terms"]), np.asarray(parts["example_offsets"]))
        return cls(Chain.from_parts(parts), Clusters.from_parts(parts), examples)
