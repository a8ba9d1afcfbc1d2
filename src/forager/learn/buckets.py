"""Regression by naive Bayes over two buckets, low and high relevance, on hashed features.

Torgo and Gama's technique with two intervals, as equally probable as can be: the split s is the median of the first
batch's relevances; if that is below .1 or above .9, s = .5. An instance is high if its relevance is above s. With
n(c,f) occurrences of feature f in the instances of bucket c, N(c) their sum and T the features seen so far,

    theta(c,f) = (1 + n(c,f)) / (|T| + N(c))
    Pr(c)      = (1 + instances of c) / (2 + instances)
    log Pr(high|x)/Pr(low|x) = log Pr(high)/Pr(low) + sum over f in x of log theta(high,f)/theta(low,f)

and a feature never seen says nothing. Laplace's 1 favours the smaller bucket: where N(low) > |T| + 2 N(high), a feature
seen once, and that in a low instance, speaks for high. *Proportional* smoothing gives each bucket its share of the one
occurrence instead, theta(c,f) = (N(c)/N + n(c,f)) / (|T| N(c)/N + N(c)): then a rare feature says little either way.

Counts sit in two tables of fixed size, at f mod size, so memory is bounded and features that fall together are counted
together. Counts of several learners add up; their splits are averaged, weighted with their instances.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self, TypeAlias

import numpy as np

from forager.learn.linear import Linear, number, slots
from forager.types import Floats, Parts, Ragged

Smoothing: TypeAlias = Literal["laplace", "proportional"]

LOWEST, HIGHEST, MIDDLE = 0.1, 0.9, 0.5  # a median beyond the first two is no useful split
FEWEST = 5  # instances a bucket, below which nothing is predicted
AT_ONCE = 256  # instances, counted while they are in the cache
_NO_SPLIT = -1.0


class Buckets:
    def __init__(self, size: int, *, smoothing: Smoothing = "laplace", length: float = 0.0) -> None:
        """`length`: when something is predicted, it counts as if it had so many features; 0: as many as it has."""
        self.smoothing, self.length = smoothing, length
        self.counts = np.zeros((2, size), np.uint32)  # n(low), n(high)
        self.totals = np.zeros(2)  # N(low), N(high): what the counts sum up to
        self.instances = np.zeros(2, np.int64)
        self.split: float | None = None

    def learn(self, clues: Ragged, relevance: Floats) -> None:
        if not len(clues):
            return
        if self.split is None:
            self.split = split_of(relevance)
        high, lengths, size = relevance > self.split, clues.lengths, self.counts.shape[1]
        table, buckets = self.counts.reshape(-1), high * np.uint32(size)  # where in it the counts of each row begin
        for first in range(0, len(clues), AT_ONCE):
            rows = slice(first, first + AT_ONCE)
            at = slots(clues.span(first, min(rows.stop, len(clues)) - 1), size)
            at += buckets[rows].repeat(lengths[rows])
            np.add.at(table, at, np.uint32(1))
        self.instances += np.bincount(high, minlength=2)
        self.totals += np.bincount(high, lengths, minlength=2)

    def linear(self) -> Linear | None:
        """The log-odds of high; None while there is too little to tell the two apart."""
        if self.instances.min() < FEWEST:
            return None
        seen, totals = np.flatnonzero(np.logical_or(*self.counts)), self.totals
        given = np.ones(2) if self.smoothing == "laplace" else totals / totals.sum()
        low, high = np.log(self.counts.take(seen, axis=1) + given[:, None].astype(np.float32))
        sizes = np.log(given * len(seen) + totals)
        weights = np.zeros(self.counts.shape[1], np.float32)
        weights[seen] = high - low - np.float32(sizes[1] - sizes[0])
        bias = float(np.log((1 + self.instances[1]) / (1 + self.instances[0])))
        return Linear(weights, bias, self.length, 1.0) if self.length else Linear(weights, bias)

    def parts(self) -> Parts:
        split = _NO_SPLIT if self.split is None else self.split
        counts = self.counts.astype(np.min_scalar_type(self.counts.max()))  # no wider than needed: it goes to disk
        return {"counts": counts, "instances": self.instances.copy(), "split": split}

    def from_parts(self, parts: Parts) -> Self:
        new = type(self)(self.counts.shape[1], smoothing=self.smoothing, length=self.length)
        new.counts[:], new.instances[:] = parts["counts"], parts["instances"]
        new.totals = new.counts.sum(axis=1, dtype=np.float64)
        split = number(parts, "split")
        new.split = None if split == _NO_SPLIT else split
        return new

    @staticmethod
    def merge(parts: Sequence[Parts]) -> Parts:
        instances = np.array([part["instances"] for part in parts], np.int64)
        splits = np.array([number(part, "split") for part in parts])
        told = splits != _NO_SPLIT
        split = float(splits[told][0]) if told.any() else _NO_SPLIT
        if len(np.unique(splits[told])) > 1:  # else it stays what it is, to the last digit
            split = float(np.average(splits[told], weights=instances[told].sum(axis=1)))
        counts = np.sum([part["counts"] for part in parts], axis=0, dtype=np.uint32)
        return {"counts": counts, "instances": instances.sum(axis=0), "split": split}


def split_of(relevance: Floats) -> float:
    """Above it an instance is high."""
    median = float(np.median(relevance))
    if not LOWEST <= median <= HIGHEST:
        return MIDDLE
    lower = relevance[relevance < median]
    if len(lower) and not (relevance > median).any():  # many equal ones: let them be the high ones
        return (median + float(lower.max())) / 2
    return median
