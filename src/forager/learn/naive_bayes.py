"""The multinomial model of a page: how likely is it that class c wrote these words?

    theta[c,t] = (1 + n(c,t)) / (|T| + n(c,*))                                   Laplace's law of succession
    score(c)   = log Pr(c) + sum_t n(u,t) log theta[c,t]
               = log Pr(c) + sum_t n(u,t) log(1 + n(c,t)) - n(u,*) log(|T| + n(c,*))

The second form is sparse: log(1 + n) is 0 where a class never saw the term. T is the vocabulary of the training pages;
terms outside it are ignored and do not count in n(u,*). Pr(c) is the share of c among the training pages.

Most words of a page are words that most classes have seen. For the most frequent terms log(1 + n) is therefore kept as
a dense block of at most `DENSE` numbers, which halves the time; it is derived from the counts, not saved.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.learn.counts import Counts
from forager.types import Bag, Floats, Mask
from forager.web.term_index import TermIndex

Places: TypeAlias = NDArray[np.intp]
Scores: TypeAlias = NDArray[np.float64]  # (c,) log Pr(c, u)

DENSE = 1 << 23  # 32 MB
ONE = np.float32(1)  # a plain 1 would make the logarithms of ints float64


class Multinomial:
    def __init__(self, counts: Counts) -> None:
        self.counts = counts
        with np.errstate(divide="ignore"):  # a class without pages has Pr(c) = 0
            self._prior = np.log(counts.pages / max(1, counts.pages.sum()))
        self._norm = np.log(np.maximum(1, len(counts.terms) + counts.tokens))
        self._index = TermIndex(counts.terms)
        self._dense, self._place = _dense(counts, DENSE // max(1, len(counts.classes)))

    @property
    def size(self) -> int:
        """Bytes in memory."""
        counts = self.counts
        columns = (counts.terms, counts.offsets, counts.entries, self._index, self._dense, self._place)
        return sum(column.nbytes for column in columns)

    def scores(self, bag: Bag) -> tuple[Scores, int]:
        """score(c) for each class, and n(u,*)."""
        rows, known = self._index.find(bag.terms)
        at = known.nonzero()[0]
        rows, tf = rows.take(at), bag.counts.take(at).astype(np.float32)
        length = int(tf.sum())
        return self._prior + self._summed(rows, tf) - length * self._norm, length

    def _summed(self, rows: Places, tf: Floats) -> NDArray[Any]:
        """(c,) sum over the terms in these rows of n(u,t) log(1 + n(c,t))."""
        if len(self._dense) == len(self._place):  # all terms are in the block, in order
            return tf @ self._dense.take(rows, axis=0)
        place = self._place.take(rows)
        dense = np.flatnonzero(place >= 0)
        summed: NDArray[Any] = tf.take(dense) @ self._dense.take(place.take(dense), axis=0)
        return summed + self._sparse(rows, tf, np.flatnonzero(place < 0)) if len(dense) < len(rows) else summed

    def _sparse(self, rows: Places, tf: Floats, at: Places) -> NDArray[Any]:
        """What the terms that are not among the most frequent add."""
        classes, counts, lengths = self.counts.gather(rows.take(at))
        weights = np.log(counts.astype(np.float32) + ONE) * np.repeat(tf.take(at), lengths)
        return np.bincount(classes, weights, len(self._prior))

    def scores_without(self, bag: Bag, own: int) -> tuple[Scores, int]:
        """`scores` of a training page of class `own` by the model that never saw it: its counts are taken off."""
        rows, known = self._index.find(bag.terms)  # not all known where rare terms were left out
        tf = bag.counts[known]
        classes, counts, lengths = self.counts.gather(rows[known])
        of = np.repeat(np.arange(len(tf)), lengths)
        left = counts - np.where(classes == own, tf[of], 0)
        elsewhere = np.bincount(of, left, len(tf)) > 0  # terms that other pages have too
        summed = np.bincount(classes, np.log1p(left) * tf[of], len(self._prior))
        tokens, pages = self.counts.tokens.copy(), self.counts.pages.copy()
        tokens[own] -= tf.sum()
        pages[own] -= 1
        vocabulary = len(self.counts.terms) - int((~elsewhere).sum())
        length = int(tf[elsewhere].sum())
        with np.errstate(divide="ignore"):
            prior = np.log(pages / max(1, pages.sum()))
        return prior + summed - length * np.log(np.maximum(1, vocabulary + tokens)), length


def log_odds(scores: Scores, focus: Mask) -> float:
    """Of the focus against the rest."""
    return log_sum(scores[focus]) - log_sum(scores[~focus])


def log_sum(scores: Scores) -> float:
    """log of the sum of exp(scores), without overflow."""
    if len(scores) == 1:  # as where one class is in focus
        return float(scores[0])
    most = scores.max()
    return float(most + np.log(np.exp(scores - most).sum())) if isfinite(most) else float(most)


def _dense(counts: Counts, most: int) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """log(1 + n) of the most frequent terms, and where to find each term in it (-1: nowhere)."""
    rows = np.sort(np.argsort(-counts.totals(), kind="stable")[:most])
    classes, seen, lengths = counts.gather(rows)
    block = np.zeros((len(rows), len(counts.classes)), np.float32)
    block[np.repeat(np.arange(len(rows)), lengths), classes] = np.log(seen.astype(np.float32) + ONE)
    place = np.full(len(counts.terms), -1, np.int32)
    place[rows] = np.arange(len(rows))
    return block, place
