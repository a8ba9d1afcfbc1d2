"""A trained path forager: its chain, the reward of each state, its labels, and the features it knows.

*Dual states*: c labels make c page-states and, in the same order, c link-states. Only links follow a page, and only a
page follows a link. So rows of alpha and delta have c numbers, and edges are two blocks: page to link, and link to
page. The rows of its own position travel with a link.

*Single states*: c labels make c page-states. A link has no position. The rows that travel with it are those of the page
it leads to, before that page is seen. When the page is seen, they are multiplied by its own factor e^(W.f(y,P)):

    alpha_P(y) = e^(W.f(y,P)) sum over y' of alpha_u(y') e^(W.f(y',y,L))

This computes `Crf.forward`, but only for the states that a position allows: alpha as probabilities that sum to 1, delta
as logarithms with largest value 0, in 32 bits. Both travel as logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np

from forager.errors import ForagerError
from forager.learn.chains.crf import Crf
from forager.learn.chains.paths import LINK, PAGE, Paths
from forager.learn.chains.rows import CURE, LEAST, Reals, finite
from forager.learn.chains.vocabulary import FeatureWeights, Vocabulary
from forager.strategies.crf.examples import FAIL, GOAL, CrfExamples
from forager.strategies.link_features import FeatureCodes
from forager.types import Floats, Parts, Terms


class CrfScores(NamedTuple):
    """What the model says about a page and its n links."""

    label: str  # the likeliest label of the page: argmax of delta
    state: Floats  # (n, 2c) log-alpha and delta of its links, which travel with them
    scores: Floats  # (n,) sum over y of R(y) alpha(y)


@dataclass(frozen=True, eq=False)
class CrfModel:
    """A conditional random field over the c labels of pages, with s states."""

    crf: Crf
    reward: Reals  # (s,) R(y)
    labels: tuple[str, ...]  # (c,)
    pages: Vocabulary  # features of pages
    links: Vocabulary  # features of links

    @cached_property
    def single(self) -> bool:
        return not self.crf.of(LINK).any()

    @cached_property
    def _weights(self) -> FeatureWeights:
        """What each feature adds to the c states of its kind. With single states: features of pages only."""
        of_pages = self.crf.weights[: len(self.pages), self.crf.of(PAGE)]
        if self.single:
            return FeatureWeights(self.pages.terms, of_pages)
        of_links = self.crf.weights[: len(self.links), self.crf.of(LINK)]
        terms = np.concatenate((self.pages.terms, self.links.terms))
        order = np.argsort(terms, kind="stable")
        return FeatureWeights(terms[order], np.concatenate((of_pages, of_links))[order])

    @cached_property
    def _steps(self) -> FeatureWeights:
        """Single states: what each feature of a link adds to pairs of states."""
        return FeatureWeights(self.links.terms, self.crf.steps)

    @cached_property
    def _edges(self) -> tuple[Floats, Floats]:
        """Edges from page-states to link-states, and back. With single states both are between page-states."""
        pages, links = self.crf.of(PAGE), self.crf.of(PAGE if self.single else LINK)
        edges = self.crf.edges.astype(np.float32)
        return edges[np.ix_(pages, links)], edges[np.ix_(links, pages)]

    @cached_property
    def _likely(self) -> tuple[Floats, Floats]:
        """e^edges, divided by the largest."""
        away, back = (np.exp(edges - edges.max()) for edges in self._edges)
        return away, back

    @cached_property
    def _worth(self) -> Floats:
        """R(y) of the states of links."""
        return self.reward[self.crf.of(PAGE if self.single else LINK)].astype(np.float32)

    # ---- along a path

    def potentials(self, features: FeatureCodes) -> tuple[Floats, Floats]:
        """W.f of n links, (n, c), with single states (n, p) for p pairs of states; and W.f of the page, (c,)."""
        links, page = features.sums(self._weights)
        return (features.sums(self._steps)[0] if self.single else links), page

    def each(self, features: Terms) -> Floats:
        """W.f of each feature of a link."""
        return (self._steps if self.single else self._weights).each(features)

    def follow(self, row: Floats | None, links: Floats, page: Floats) -> CrfScores:
        """`row` travelled with the link to the page, None for a first page; `links`, `page`: W.f from `potentials`."""
        alpha, delta = self._arrived(row, page)
        chances, deltas = (self._along if self.single else self._across)(alpha, delta, links)
        rows = np.concatenate((np.log(np.maximum(chances, LEAST)), deltas)).T
        return CrfScores(self.labels[int(delta.argmax())], np.ascontiguousarray(rows), self._worth @ chances)

    def _arrived(self, row: Floats | None, page: Floats) -> tuple[Floats, Floats]:
        """alpha and delta of the page, (c,) each."""
        alpha, delta = np.exp(page - page.max()), page
        if row is not None:
            c = len(self.labels)
            if len(row) != 2 * c:
                raise ForagerError(f"model has {c} states, this path carries {len(row) / 2:g}: {CURE}")
            before, best = np.exp(finite(row)[:c]), row[c:]
            if not self.single:
                before, best = before @ self._likely[1], (best[:, None] + self._edges[1]).max(axis=0)
            alpha, delta = alpha * before, delta + best
        return alpha / alpha.sum(), delta - delta.max()

    def _across(self, alpha: Floats, delta: Floats, links: Floats) -> tuple[Floats, Floats]:
        """Dual states: alpha and delta of n links, (c, n) each."""
        own = np.ascontiguousarray(links.T)  # numpy is slow if the last axis is short
        chances = np.exp(own - own.max(axis=0))
        chances *= (alpha @ self._likely[0])[:, None]
        deltas = own + (delta[:, None] + self._edges[0]).max(axis=0)[:, None]
        return chances / chances.sum(axis=0), deltas - deltas.max(axis=0)

    def _along(self, alpha: Floats, delta: Floats, links: Floats) -> tuple[Floats, Floats]:
        """Single states: alpha and delta of the pages that n links lead to, (c, n) each, from pairs of states."""
        pairs = self.crf.pairs
        between = np.repeat(self._edges[0][:, :, None], len(links), axis=2)
        between[pairs[:, 0], pairs[:, 1]] += links.T
        chances = np.einsum("i,ijn->jn", alpha, np.exp(between - between.max(axis=(0, 1))))
        deltas = (delta[:, None, None] + between).max(axis=0)
        return chances / chances.sum(axis=0), deltas - deltas.max(axis=0)

    # ---- whole paths

    def paths(self, examples: CrfExamples) -> Paths:
        """The examples as chains of this model."""
        return (examples.single if self.single else examples.dual)(self.pages, self.links)

    def labelled(self, examples: CrfExamples) -> list[tuple[str, ...]]:
        """For each path the likeliest labels of its pages, all together."""
        if not len(examples):
            return []
        paths = self.paths(examples)
        states = self.crf.lattice(paths).viterbi() % len(self.labels)
        named, step = [self.labels[state] for state in states.tolist()], 1 if self.single else 2
        return [tuple(named[start:end:step]) for start, end in pairwise(paths.offsets.tolist())]

    def goal_chances(self, examples: CrfExamples) -> Reals:
        """Pr(y_n = goal | x) of each path. All paths have ended, so y_n is goal or fail."""
        if not len(examples):
            return np.empty(0)
        paths = self.paths(examples)
        likely = self.crf.lattice(paths).marginals()[paths.last]
        goal = likely[:, self.labels.index(GOAL)]
        fail = likely[:, self.labels.index(FAIL)] if FAIL in self.labels else 1 - goal
        chances: Reals = goal / (goal + fail)
        return chances

    # ---- parts

    def parts(self) -> Parts:
        own = {"reward": self.reward, "labels": list(self.labels), "pages": self.pages.terms, "links": self.links.terms}
        return {**self.crf.parts(), **own}

    @classmethod
    def from_parts(cls, parts: Parts, *, version: int) -> Self:
        crf, labels = Crf.from_parts(parts, version=version), tuple(str(label) for label in parts["labels"])
        reward, pages, links = (np.asarray(parts[name]) for name in ("reward", "pages", "links"))
        model = cls(crf, reward, labels, Vocabulary(pages), Vocabulary(links))
        if not model._fits():
            raise ForagerError("the parts of this crf model do not fit together: train it again")
        return model

    def _fits(self) -> bool:
        """Is there a label and a reward for each state, and a feature for each weight?"""
        c, pages, links = len(self.labels), len(self.pages), len(self.links)
        states = [int(self.crf.of(kind).sum()) for kind in (PAGE, LINK)] == [c, 0 if self.single else c]
        rows = (self.crf.features, len(self.crf.steps))
        weighed = rows == ((pages, links) if self.single else (max(pages, links), 0))
        return states and weighed and len(self.reward) == self.crf.states and GOAL in self.labels
