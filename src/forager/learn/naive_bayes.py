"""Naive Bayes over hashed words: of which class are these words? One model, in three forms.

    n(c,t)      how often term t occurs in the training instances of class c;  N(c) = sum over t of n(c,t)
    T           the terms seen in training; other terms are ignored
    theta(c,t)  = (s + n(c,t)) / (s |T| + N(c))                                 s = 1: Laplace's law of succession
    score(c)    = log Pr(c) + sum over t of n(x,t) log theta(c,t)
    Pr(c|x)     = e^score(c) / sum over all classes of the same

Pr(c) is the share of c among the training instances; or it is the same for all classes that have instances.

    SparseNaiveBayes    for hundreds of classes and one long page at a time. It keeps the counts, 4 bytes a pair.
    DenseNaiveBayes     for a few classes and many short rows at a time. It keeps log theta of every pair.
    HashedNaiveBayes    for two classes, low and high relevance, and a stream without end. It keeps the counts in a
                        table of fixed size, and gives a `Linear`.

The numerator, the denominator and Pr(c) are computed in one place. The sums over t are not. `SparseNaiveBayes` adds 32
bit logarithms: 64 bits would take twice the memory and, with 500 classes, three times as long. `DenseNaiveBayes` has
fewer numbers and adds them in 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.learn.counts import TermCounts
from forager.learn.linear import Linear, Reals, number, slots
from forager.types import Bag, Floats, Mask, Parts, Ragged, Terms
from forager.web.term_index import TermIndex

Places: TypeAlias = NDArray[np.intp]
Smoothing: TypeAlias = Literal["laplace", "proportional"]

DENSE = 1 << 23  # numbers in the dense block of a SparseNaiveBayes: 32 MB


# ---- theta and Pr(c) ------------------------------------------------------------------------------------------------


def log_numerator(counts: NDArray[Any], s: Any = 1.0) -> NDArray[Any]:
    """log(s + n(c,t)), in 32 bits if the counts are 32 bit floats."""
    logs: NDArray[Any] = np.log(counts + s)
    return logs


def log_denominator(terms: int, tokens: NDArray[Any], s: Any = 1) -> Reals:
    """log(s |T| + N(c)); 0 where nothing was seen."""
    logs: Reals = np.log(np.maximum(1, s * terms + tokens))
    return logs


def log_prior(instances: NDArray[Any]) -> Reals:
    """log Pr(c), the share of the instances; -inf for a class without instances."""
    with np.errstate(divide="ignore"):
        logs: Reals = np.log(instances / max(1, instances.sum()))
    return logs


# ---- many classes, one page -----------------------------------------------------------------------------------------


class SparseNaiveBayes:
    """score(c) = log Pr(c) + sum over t of n(x,t) log(1 + n(c,t)) - n(x,*) log(|T| + N(c))

    This form is sparse: log(1 + n) is 0 where a class never had the term. n(x,*) counts only terms of T.

    Most words of a page are words that most classes have. For the most frequent terms log(1 + n) is therefore kept as a
    dense block of at most `DENSE` numbers, which halves the time. The block is made from the counts and not saved.
    """

    def __init__(self, counts: TermCounts[str]) -> None:
        self.counts = counts
        self._prior = log_prior(counts.pages)
        self._denominator = log_denominator(len(counts.terms), counts.tokens)
        self._index = TermIndex(counts.terms)
        self._dense, self._place = _dense_block(counts, DENSE // max(1, len(counts.classes)))

    @property
    def size(self) -> int:
        """Bytes in memory."""
        counts = self.counts
        columns = (counts.terms, counts.offsets, counts.entries, self._index, self._dense, self._place)
        return sum(column.nbytes for column in columns)

    def scores(self, bag: Bag) -> tuple[Reals, int]:
        """score(c) for each class, and n(x,*)."""
        rows, known = self._index.find(bag.terms)
        at = known.nonzero()[0]
        rows, tf = rows.take(at), bag.counts.take(at).astype(np.float32)
        length = int(tf.sum())
        return self._prior + self._summed(rows, tf) - length * self._denominator, length

    def _summed(self, rows: Places, tf: Floats) -> NDArray[Any]:
        """(c,) sum over the terms in these rows of n(x,t) log(1 + n(c,t))."""
        if len(self._dense) == len(self._place):  # all terms are in the block, in order
            return tf @ self._dense.take(rows, axis=0)
        place = self._place.take(rows)
        dense = np.flatnonzero(place >= 0)
        summed: NDArray[Any] = tf.take(dense) @ self._dense.take(place.take(dense), axis=0)
        return summed + self._sparse(rows, tf, np.flatnonzero(place < 0)) if len(dense) < len(rows) else summed

    def _sparse(self, rows: Places, tf: Floats, at: Places) -> NDArray[Any]:
        """What the terms outside the dense block add."""
        classes, counts, lengths = self.counts.gather(rows.take(at))
        weights = log_numerator(counts.astype(np.float32)) * np.repeat(tf.take(at), lengths)
        return np.bincount(classes, weights, len(self._prior))

    def scores_without(self, bag: Bag, own: int) -> tuple[Reals, int]:
        """`scores` of a training page of class `own` by the model that never saw it: its counts are subtracted."""
        rows, known = self._index.find(bag.terms)  # not all are known if rare terms were left out
        tf = bag.counts[known]
        classes, counts, lengths = self.counts.gather(rows[known])
        of = np.repeat(np.arange(len(tf)), lengths)
        left = counts - np.where(classes == own, tf[of], 0)
        elsewhere = np.bincount(of, left, len(tf)) > 0  # terms that other pages have too
        summed = np.bincount(classes, log_numerator(left) * tf[of], len(self._prior))
        tokens, pages = self.counts.tokens.copy(), self.counts.pages.copy()
        tokens[own] -= tf.sum()
        pages[own] -= 1
        terms = len(self.counts.terms) - int((~elsewhere).sum())
        length = int(tf[elsewhere].sum())
        return log_prior(pages) + summed - length * log_denominator(terms, tokens), length

    def word_log_odds(self, terms: Terms, focus: Mask) -> Floats:
        """log theta(+,t) / theta(-,t) of each term, + being the classes in focus together and - the rest; 0 outside T.

        Smoothing is proportional, s = N(c) / N, which shrinks the odds of rare terms. In the ratio most of it cancels:

            theta(+,t) / theta(-,t) = (N(+) / N + n(+,t)) / (N(-) / N + n(-,t)) * N(-) / N(+)
        """
        odds, tokens = np.zeros(len(terms), np.float32), self.counts.tokens
        share = tokens[focus].sum() / max(1, tokens.sum())
        rows, known = self._index.find(terms)
        if not 0 < share < 1:
            return odds
        classes, seen, lengths = self.counts.gather(rows[known])
        of = np.repeat(np.arange(len(lengths)), lengths)
        wanted, others = (np.bincount(of, seen * side[classes], len(lengths)) for side in (focus, ~focus))
        odds[known] = np.log((share + wanted) / (1 - share + others) * ((1 - share) / share))
        return odds


def log_odds(scores: Reals, focus: Mask) -> float:
    """Of the classes in focus against the rest."""
    return log_sum(scores[focus]) - log_sum(scores[~focus])


def log_sum(scores: Reals) -> float:
    """log of the sum of exp(scores), without overflow."""
    if len(scores) == 1:  # as where one class is in focus
        return float(scores[0])
    most = scores.max()
    return float(most + np.log(np.exp(scores - most).sum())) if isfinite(most) else float(most)


def _dense_block(counts: TermCounts[str], most: int) -> tuple[Floats, NDArray[np.int32]]:
    """log(1 + n) of the most frequent terms, and the row of each term in it (-1: none)."""
    rows = np.sort(np.argsort(-counts.totals(), kind="stable")[:most])
    classes, seen, lengths = counts.gather(rows)
    block = np.zeros((len(rows), len(counts.classes)), np.float32)
    block[np.repeat(np.arange(len(rows)), lengths), classes] = log_numerator(seen.astype(np.float32))
    place = np.full(len(counts.terms), -1, np.int32)
    place[rows] = np.arange(len(rows))
    return block, place


# ---- a few classes, many rows ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DenseNaiveBayes:
    """Gives Pr(c|x) of many rows of hashed words at once."""

    terms: Terms  # (T,) ascending
    log_theta: Reals  # (T, c)
    log_prior: Reals  # (c,) -inf for a class without instances

    @classmethod
    def of(cls, counts: TermCounts[int], *, even: bool) -> Self:
        """`even`: all classes that have instances are equally likely beforehand."""
        rows = np.arange(len(counts.terms))
        classes, seen, lengths = counts.gather(rows)
        table = np.zeros((len(rows), len(counts.classes)))
        table[np.repeat(rows, lengths), classes] = seen
        log_theta = log_numerator(table) - log_denominator(len(rows), counts.tokens)
        return cls(counts.terms, log_theta, log_prior(counts.pages > 0 if even else counts.pages))

    def posteriors(self, rows: Ragged, common: Terms | None = None) -> Reals:
        """Pr(c|x) of each row, (n, c); the words of `common` are in every row."""
        logs = self.log_prior + self._sums(rows)
        if common is not None:
            logs += self.weights(common).sum(axis=0)
        likely = np.exp(logs - logs.max(axis=1, keepdims=True))
        chances: Reals = likely / likely.sum(axis=1, keepdims=True)
        return chances

    def weights(self, terms: Terms) -> Reals:
        """log theta of each word, (e, c); 0 for a word outside T."""
        return self._padded.take(self._index.places(terms), axis=0)

    @cached_property
    def _padded(self) -> Reals:
        """log theta, with a last row of zeros for words outside T."""
        return np.vstack((self.log_theta, np.zeros(len(self.log_prior))))

    @cached_property
    def _index(self) -> TermIndex:
        return TermIndex(self.terms)

    def _sums(self, rows: Ragged) -> Reals:
        sums = np.zeros((len(rows), len(self.log_prior)))
        filled = np.flatnonzero(rows.lengths)  # reduceat would give an empty row the first value of the next row
        if len(filled):
            sums[filled] = np.add.reduceat(self.weights(rows.values), rows.offsets[filled], axis=0)
        return sums

    def parts(self) -> Parts:
        seen = np.isfinite(self.log_prior)
        prior = np.where(seen, self.log_prior, 0.0)
        return {"terms": self.terms, "log_theta": self.log_theta, "log_prior": prior, "seen": seen}

    @classmethod
    def from_parts(cls, parts: Parts) -> Self:
        prior = np.where(np.asarray(parts["seen"], bool), np.asarray(parts["log_prior"], np.float64), -np.inf)
        return cls(np.asarray(parts["terms"], np.uint32), np.asarray(parts["log_theta"], np.float64), prior)


# ---- two buckets, a table of fixed size -----------------------------------------------------------------------------

LOWEST, HIGHEST, MIDDLE = 0.1, 0.9, 0.5  # a median outside the first two is no useful split; the third is used instead
FEWEST = 5  # instances of each bucket; with fewer nothing is predicted
AT_ONCE = 256  # instances that are counted together: they fit into the processor's cache
_NO_SPLIT = -1.0


class HashedNaiveBayes:
    """Regression by naive Bayes over two buckets, low and high relevance (Torgo and Gama, with two intervals).

    The split is the median of the first batch's relevances; if the median is below .1 or above .9, the split is .5. An
    instance is high if its relevance is above the split.

        Pr(c)                    = (1 + instances of c) / (2 + instances)
        log Pr(high|x)/Pr(low|x) = log Pr(high)/Pr(low) + sum over f in x of log theta(high,f)/theta(low,f)

    A feature that was never seen adds 0. Laplace's s = 1 favours the smaller bucket: where N(low) > |T| + 2 N(high), a
    feature seen once, in a low instance, speaks for high. *Proportional* smoothing has s = N(c) / N instead, N being
    the sum over both buckets. Then a rare feature says little either way.

    Feature f is counted at f mod size, so memory is bounded, and features that fall together are counted together.
    Counts of several learners add up; their splits are averaged, weighted with their instances.
    """

    def __init__(
        self, size: int, *, smoothing: Smoothing = "laplace", length: float = 0.0, spread: float = 0.0
    ) -> None:
        """`length`: a row is scored as if it had so many features; 0: as many as it has.

        `spread`: what a feature f counts for f - 1 and f + 1, where these are features that are alike.
        """
        self.smoothing, self.length, self.spread = smoothing, length, spread
        self.counts = np.zeros((2, size), np.uint32)  # n(low), n(high)
        self.totals = np.zeros(2)  # N(low), N(high)
        self.instances = np.zeros(2, np.int64)
        self.split: float | None = None

    def learn(self, clues: Ragged, relevance: Floats) -> None:
        """Count a batch of instances, a row each."""
        if not len(clues):
            return
        if self.split is None:
            self.split = split_of(relevance)
        high, lengths, size = relevance > self.split, clues.lengths, self.counts.shape[1]
        table, begins = self.counts.reshape(-1), high * np.uint32(size)  # where the counts of each row's bucket begin
        for first in range(0, len(clues), AT_ONCE):
            rows = slice(first, first + AT_ONCE)
            at = slots(clues.span(first, min(rows.stop, len(clues)) - 1), size)
            at += begins[rows].repeat(lengths[rows])
            np.add.at(table, at, np.uint32(1))
        self.instances += np.bincount(high, minlength=2)
        self.totals += np.bincount(high, lengths, minlength=2)

    def linear(self) -> Linear | None:
        """The log-odds of high; None while there are too few instances of a bucket."""
        if self.instances.min() < FEWEST:
            return None
        counts, totals = self._spread_counts(), self.totals * (1 + 2 * self.spread)
        seen = np.flatnonzero(np.logical_or(*counts))
        s = np.ones(2) if self.smoothing == "laplace" else totals / totals.sum()
        low, high = log_numerator(counts.take(seen, axis=1), s[:, None].astype(np.float32))
        sizes = log_denominator(len(seen), totals, s)
        weights = np.zeros(self.counts.shape[1], np.float32)
        weights[seen] = high - low - np.float32(sizes[1] - sizes[0])
        bias = float(np.log((1 + self.instances[1]) / (1 + self.instances[0])))
        return Linear(weights, bias, self.length, 1.0) if self.length else Linear(weights, bias)

    def _spread_counts(self) -> NDArray[Any]:
        """n(c,f) + spread * (n(c,f-1) + n(c,f+1)); the last feature of the table is next to the first."""
        if not self.spread:
            return self.counts
        beside = np.roll(self.counts, 1, axis=1) + np.roll(self.counts, -1, axis=1)
        return self.counts + np.float32(self.spread) * beside.astype(np.float32)

    def parts(self) -> Parts:
        split = _NO_SPLIT if self.split is None else self.split
        counts = self.counts.astype(np.min_scalar_type(self.counts.max()))  # as narrow as can be: it goes to disk
        return {"counts": counts, "instances": self.instances.copy(), "split": split}

    def from_parts(self, parts: Parts) -> Self:
        new = type(self)(self.counts.shape[1], smoothing=self.smoothing, length=self.length, spread=self.spread)
        new.counts[:], new.instances[:] = parts["counts"], parts["instances"]
        new.totals = new.counts.sum(axis=1, dtype=np.float64)
        split = number(parts, "split")
        new.split = None if split == _NO_SPLIT else split
        return new

    @staticmethod
    def merge(parts: Sequence[Parts]) -> Parts:
        instances = np.array([part["instances"] for part in parts], np.int64)
        splits = np.array([number(part, "split") for part in parts])
        known = splits != _NO_SPLIT
        split = float(splits[known][0]) if known.any() else _NO_SPLIT
        if len(np.unique(splits[known])) > 1:  # equal splits stay as they are, to the last digit
            split = float(np.average(splits[known], weights=instances[known].sum(axis=1)))
        counts = np.sum([part["counts"] for part in parts], axis=0, dtype=np.uint32)
        return {"counts": counts, "instances": instances.sum(axis=0), "split": split}


def split_of(relevance: Floats) -> float:
    """The split of a batch: an instance above it is high."""
    median = float(np.median(relevance))
    if not LOWEST <= median <= HIGHEST:
        return MIDDLE
    lower = relevance[relevance < median]
    if len(lower) and not (relevance > median).any():  # many have the median itself: let these be high
        return (median + float(lower.max())) / 2
    return median
