"""A trained path forager: its chain, what each state is worth, what labels there are, which features it knows.

Of c labels, *dual states* are c page-states and, in the same order, c link-states. A page is followed by links alone,
and a link by a page, so that rows of alpha and delta need hold c numbers, and edges are two blocks: page to link, link
to page. What travels with a link are the rows of its own position.

*Single states* are c page-states. A link has no position; the rows that travel with it are those of the page it leads
to without what that page says itself, which is added when it is there:

    alpha_P(y) = e^(W.f(y,P)) sum over y' of alpha_u(y') e^(W.f(y',y,L))

All rows are logarithms, rescaled as in `chains.rows`, and what is computed here is `Crf.forward` without the states
that a position does not admit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np

from forager.chains.crf import Crf
from forager.chains.paths import LINK, PAGE, Paths
from forager.chains.rows import CURE, Reals, log_sum, rescaled
from forager.chains.vocabulary import Vocabulary
from forager.errors import ForagerError
from forager.strategies.crf_features import Seen
from forager.strategies.crf_lessons import FAIL, GOAL, Lessons
from forager.types import Floats, Parts


@dataclass(frozen=True, eq=False)
class Model:
    crf: Crf
    reward: Reals  # (s,) R(y)
    labels: tuple[str, ...]  # (c,)
    pages: Vocabulary  # features of pages
    links: Vocabulary  # features of links

    @cached_property
    def single(self) -> bool:
        return not self.crf.of(LINK).any()

    @cached_property
    def _weights(self) -> tuple[Vocabulary, Floats]:
        """All features with their weights for the c states of their kind; single: those of pages."""
        weights = np.ascontiguousarray(self.crf.weights, np.float32)
        of_pages = weights[: len(self.pages), self.crf.of(PAGE)]
        if self.single:
            return self.pages, np.ascontiguousarray(of_pages)
        terms = np.concatenate((self.pages.terms, self.links.terms))
        order = np.argsort(terms, kind="stable")
        of_links = weights[: len(self.links), self.crf.of(LINK)]
        return Vocabulary(terms[order]), np.ascontiguousarray(np.concatenate((of_pages, of_links))[order])

    @cached_property
    def _edges(self) -> tuple[Reals, Reals]:
        """From page-states to link-states, and back."""
        pages, links = self.crf.of(PAGE), self.crf.of(LINK)
        return self.crf.edges[np.ix_(pages, links)], self.crf.edges[np.ix_(links, pages)]

    @cached_property
    def _worth(self) -> Reals:
        """R(y) of the states that links are in."""
        return self.reward[self.crf.of(PAGE if self.single else LINK)]

    # ---- along a path

    def follow(self, row: Floats | None, seen: Seen) -> tuple[Reals, Floats]:
        """log-alpha and delta of a page, (2, c), and of its n links, (n, 2c), which is what travels with them.

        `row` travelled with the link to the page, None for a first page; `seen` has the features of the links and, in
        its last row, of the page.
        """
        own = seen.sums(*self._weights)
        here = self._arrived(row, own[-1:])
        ahead = self._steps(here, seen) if self.single else self._links(here, own[:-1])
        return here, ahead.astype(np.float32, order="C")

    def _arrived(self, row: Floats | None, own: Reals) -> Reals:
        if row is None:
            return _rows(own, own, axis=0)
        if len(row) != 2 * len(self.labels):
            raise ForagerError(f"model has {len(self.labels)} states, this path carries {len(row) / 2:g}: {CURE}")
        alpha, delta = row.reshape(2, -1).astype(np.float64)
        if not self.single:
            alpha, delta = _followed(alpha, delta, self._edges[1])
        return _rows(own + alpha, own + delta, axis=0)

    def _links(self, here: Reals, own: Reals) -> Reals:
        alpha, delta = _followed(here[0], here[1], self._edges[0])
        own = np.asfortranarray(own)  # numpy is slow along a last axis of a few numbers
        return _rows(own + alpha, own + delta, axis=1)

    def _steps(self, here: Reals, seen: Seen) -> Reals:
        nothing, step = np.zeros((seen.count - 1, len(self.labels))), seen.matrix(self.links, len(self.links))[:-1]
        rows = [self.crf.forward(here[at : at + 1], nothing, step=step, best=bool(at)) for at in (0, 1)]
        return np.concatenate(rows, axis=1)

    def scores(self, rows: Floats) -> Floats:
        """sum over y of R(y) alpha(y) / sum of alpha"""
        return (np.exp(rows[:, : len(self.labels)]) @ self._worth).astype(np.float32)  # the alphas of a row sum to 1

    def label(self, here: Reals) -> str:
        """What a page is taken for: argmax of delta."""
        return self.labels[int(here[1].argmax())]

    # ---- whole paths

    def paths(self, lessons: Lessons) -> Paths:
        return (lessons.single if self.single else lessons.dual)(self.pages, self.links)

    def labelled(self, lessons: Lessons) -> list[tuple[str, ...]]:
        """The likeliest labels of the pages of each path."""
        if not len(lessons):
            return []
        paths = self.paths(lessons)
        states = self.crf.lattice(paths).viterbi() % len(self.labels)
        named, step = [self.labels[state] for state in states.tolist()], 1 if self.single else 2
        return [tuple(named[start:end:step]) for start, end in pairwise(paths.offsets.tolist())]

    def goal_chances(self, lessons: Lessons) -> Reals:
        """Pr(y_n = goal | x) of each path, which has ended: y_n is goal or fail."""
        if not len(lessons):
            return np.empty(0)
        paths = self.paths(lessons)
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
        """Do the states have labels and rewards, and the weights features?"""
        c, pages, links = len(self.labels), len(self.pages), len(self.links)
        states = [int(self.crf.of(kind).sum()) for kind in (PAGE, LINK)] == [c, 0 if self.single else c]
        rows = (self.crf.features, len(self.crf.steps))
        weighed = rows == ((pages, links) if self.single else (max(pages, links), 0))
        return states and weighed and len(self.reward) == self.crf.states and GOAL in self.labels


def _followed(alpha: Reals, delta: Reals, edges: Reals) -> tuple[Reals, Reals]:
    """What comes to each state from the row before: the sum over y' for alpha, the maximum for delta."""
    return log_sum(alpha[:, None] + edges, axis=0), (delta[:, None] + edges).max(axis=0)


def _rows(alpha: Reals, delta: Reals, axis: int) -> Reals:
    return np.concatenate((rescaled(alpha, best=False), rescaled(delta, best=True)), axis=axis)
