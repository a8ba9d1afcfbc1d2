"""Scores links by the words near them and the pages above (Shark-Search): for a topic that fits in a few words.

Hersovici et al. (1998): Fish-Search with graded scores that links inherit from pages.

sim(q,d) is the TF-IDF cosine of a text d with the query q. For a link (u,v):

    inherited(v)       = delta sim(q,u)  if sim(q,u) > tau, else  delta inherited(u)
    anchor(u,v)        = sim(q, anchor text)
    context(u,v)       = 1  if anchor(u,v) > 0, else  sim(q, anchor text with k words either side)
    neighbourhood(u,v) = beta anchor + (1 - beta) context
    potential(v)       = gamma inherited(v) + (1 - gamma) neighbourhood(u,v)          the priority

Depth is as in Fish-Search; u is relevant if sim(q,u) > tau. The links of a relevant page have depth D, those of other
pages depth(u) - 1, and a page of depth 0 is not expanded. There is no width. A target found again takes the larger
score and the larger depth. A seed has depth D and inherits 0: similarities are small numbers, and a larger value would
outweigh all of them.
"""

from __future__ import annotations

import numpy as np

from forager.errors import ForagerError
from forager.learn.tfidf import Query
from forager.types import NEVER, Combine, Floats, Links, Page, Policy, Ragged, ScoredLinks, Visit


class SharkSearch:
    """state = (inherited, depth)"""

    combine = Combine(Policy.BEST, largest=(1,))

    def __init__(
        self,
        *,
        query: Query,
        delta: float = 0.5,
        gamma: float = 0.8,
        beta: float = 0.5,
        threshold: float = 0.0,
        depth: int = 3,
        context: int = 10,
    ) -> None:
        if not (0 <= delta <= 1 and 0 <= gamma <= 1 and 0 <= beta <= 1):
            raise ForagerError("shark: delta, gamma and beta must lie between 0 and 1")
        if depth < 1 or context < 0:
            raise ForagerError("shark: depth must be at least 1, context at least 0")
        self.query = query
        self.delta, self.gamma, self.beta = delta, gamma, beta
        self.threshold, self.depth, self.context = threshold, depth, context

    def score(self, visit: Visit) -> ScoredLinks:
        inlinks = visit.trace.inlinks
        before, depth = inlinks.state[0].tolist() if len(inlinks.sources) else (0.0, self.depth)
        similar, anchors, contexts = self._sims(visit.page, visit.links)
        relevant = similar > self.threshold
        inherited = self.delta * (similar if relevant else before)
        potential = self.gamma * inherited + (1 - self.gamma) * self._neighbourhood(anchors, contexts)
        left = self.depth if relevant else depth - 1
        state = np.tile(np.array([inherited, left], np.float32), (len(potential), 1))
        return ScoredLinks(potential if depth > 0 else np.full(len(potential), NEVER, np.float32), state=state)

    def _neighbourhood(self, anchors: Floats, contexts: Floats) -> Floats:
        context = np.where(anchors > 0, np.float32(1), contexts)
        return (self.beta * anchors + (1 - self.beta) * context).astype(np.float32)

    def _sims(self, page: Page, links: Links) -> tuple[float, Floats, Floats]:
        """sim of the page, of each anchor, and of each anchor with the words around it."""
        whole = Ragged(page.terms.values, np.array([0, len(page.terms.values)], np.int64))
        around = [words_around(page, links, words) for words in (0, self.context)]
        sims = self.query.sims(Ragged.concat([whole, *around]))
        return float(sims[0]), sims[1 : len(links) + 1], sims[len(links) + 1 :]


def words_around(page: Page, links: Links, words: int) -> Ragged:
    """The terms of each anchor and of `words` words on either side of it."""
    offsets = page.terms.offsets
    starts = np.maximum(offsets[links.first_leaf] - words, 0)
    ends = np.minimum(offsets[links.last_leaf + 1] + words, len(page.terms.values))
    return Ragged.cut(page.terms.values, starts, ends - starts)
