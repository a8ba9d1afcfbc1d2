"""Guesses how many links away a target is: a yardstick for taught strategies; needs `forager train`.

Diligenti, Coetzee, Lawrence, Giles & Gori (2000).

Layer 0 of the ground has the targets, layer i the pages that are i links away from a target, up to N. Only words from
pages of the layers 0 to `vocabulary` count. A page u is represented by the m of these words with the largest TF-IDF,
each as often as it occurs on u. The layers are the classes of a naive Bayes classifier with even priors:

    layer(u)      = argmax over i of Pr(i|u)          confidence(u) = Pr(layer(u)|u)
    u is "other" if its confidence does not exceed the threshold

There is a queue for each layer, and one for "other". The links of u wait in the queue of its layer, ordered by
confidence(u), and the first non-empty queue is served. In one number, with N + 1 for the layer of "other":

    score(u,v)    = confidence(u) - layer(u)

Confidence is above 0 and at most 1, so all scores in (-i, 1 - i] belong to queue i. All links of u have the same score.
A page of layer 0 is a page that was looked for. So the method is its own critic, and labels each page with its layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Self

import numpy as np

from forager.errors import ForagerError
from forager.learn.counts import TermCounter
from forager.learn.naive_bayes import DenseNaiveBayes
from forager.learn.tfidf import Idf, find
from forager.paths import Ground, ShownPath, hop_layers
from forager.strategies.taught import TrainingMaterial, check_made
from forager.types import BEST, Floats, Page, Parts, Ragged, ReportIteration, ScoredLinks, Terms, Visit
from forager.web.text import count, words

FEATURES = 1  # version of the representation of a page


class ContextGraph:
    """Links by the layer of the page they are on, as naive Bayes sees it."""

    combine = BEST

    def __init__(self, *, layers: int = 4, terms: int = 40, vocabulary: int = 1, threshold: float = 0.5) -> None:
        if layers < 1 or terms < 1 or vocabulary < 0 or not 0 <= threshold <= 1:
            raise ForagerError(
                "context-graph: layers and terms must be at least 1, vocabulary at least 0, threshold between 0 and 1"
            )
        self.layers, self.terms, self.vocabulary, self.threshold = layers, terms, vocabulary, threshold
        self._made = f"features of version {FEATURES}, layers 0 to {layers}, {terms} terms a page"
        self._idf: Idf | None = None  # of the words that count
        self._model: DenseNaiveBayes | None = None

    # ---- learning

    def taught(self, ground: Ground, shown: Sequence[ShownPath] = (), heard: ReportIteration | None = None) -> Self:
        material = TrainingMaterial.of(ground, shown)
        layer = hop_layers(material.graph, material.targets, self.layers)[material.pages]
        read = zip(ground.pages(material.pages.tolist()), layer.tolist(), strict=True)
        bags = [(page.terms.values, at) for page, at in read if page is not None]
        within = [bag for bag, at in bags if 0 <= at <= self.vocabulary]
        if not any(at == 0 for _, at in bags):
            raise ForagerError("context-graph: the web to learn on has no target that can be read: give it targets")
        new = copy(self)
        new._idf = _only(Idf.of(bag for bag, _ in bags), np.unique(np.concatenate(within)))
        counter = TermCounter(range(self.layers + 1))
        for bag, at in bags:
            if at >= 0:
                counter.add(new._strongest(bag).values, at)
        new._model = DenseNaiveBayes.of(counter.counts(), even=True)
        return new

    def _strongest(self, bag: Terms) -> Ragged:
        """The representation of a page: its m words with the largest TF-IDF, as one row."""
        assert self._idf is not None
        seen, times = count(bag)
        at, known = find(seen, self._idf.terms)
        seen, times, idf = seen[known], times[known], self._idf.weights[at[known]]
        best = np.argsort(-(1 + np.log(times)) * idf, kind="stable")[: self.terms]
        return Ragged.of([np.repeat(seen[best], times[best])])

    # ---- scoring

    def layer(self, page: Page) -> tuple[int, float]:
        """The layer of a page and its confidence. "Other" is the layer after the last one."""
        if self._model is None:
            return self.layers + 1, 0.0
        chances = self._model.posteriors(self._strongest(page.terms.values))[0]
        layer = int(chances.argmax())
        confidence = float(chances[layer])
        return (layer if confidence > self.threshold else self.layers + 1), confidence

    def score(self, visit: Visit) -> ScoredLinks:
        layer, confidence = self.layer(visit.page)
        scores: Floats = np.full(len(visit.links), confidence - layer, np.float32)
        return ScoredLinks(scores, label="other" if layer > self.layers else f"layer {layer}")

    def explain(self, visit: Visit, link: int) -> list[tuple[str, float]]:
        """The words that make the layer of the page likelier than the second one. The same for all its links."""
        if self._model is None:
            return []
        represented = self._strongest(visit.page.terms.values)
        best, second = np.argsort(-self._model.posteriors(represented)[0], kind="stable")[:2].tolist()
        distinct, times = count(represented.values)
        both = self._model.weights(distinct)
        weights = dict(zip(distinct.tolist(), (times * (both[:, best] - both[:, second])).tolist(), strict=True))
        said = zip(visit.page.terms.values.tolist(), _spelt(visit.page), strict=True)
        told = {word: weights[term] for term, word in said if term in weights}
        return sorted(told.items(), key=lambda item: -abs(item[1]))

    # ---- keeping

    def parts(self) -> Parts:
        if self._model is None or self._idf is None:
            return {"made": self._made, "taught": False}
        idf = {"idf_terms": self._idf.terms, "idf_weights": self._idf.weights}
        return {"made": self._made, "taught": True, **idf, **self._model.parts()}

    def from_parts(self, parts: Parts) -> Self:
        check_made("context-graph", parts, self._made)
        new = copy(self)
        if np.asarray(parts["taught"]):
            new._idf = Idf(np.asarray(parts["idf_terms"]), np.asarray(parts["idf_weights"]), 0.0)
            new._model = DenseNaiveBayes.from_parts(parts)
        return new

    def merge(self, parts: Sequence[Parts]) -> Parts:
        """All shards carry the same model."""
        return parts[0]


def _only(idf: Idf, wanted: Terms) -> Idf:
    """The idf of these words alone."""
    at, _ = find(wanted, idf.terms)
    return Idf(wanted, idf.weights[at], 0.0)


def _spelt(page: Page) -> list[str]:
    """The words of a page as text, in the order of its terms."""
    return [word for leaf in page.leaves for word in words(leaf)]
