"""Naive Bayes over a few classes, on hashed words.

    theta(c,t) = (1 + n(c,t)) / (|T| + n(c,*))            n(c,t): occurrences of word t in the instances of class c
    Pr(c|x)    = Pr(c) product over the words t of x of theta(c,t), over the sum of the same for all classes

A word never seen says nothing. Pr(c) is even over the classes that have instances, or their share of the instances.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.types import Ids, Parts, Ragged, Terms
from forager.web.term_index import TermIndex

Reals: TypeAlias = NDArray[np.float64]

_AT_ONCE = 1 << 22  # occurrences kept one by one before they are added up
_CLASS = np.uint64(8)  # bits of a key for the class


@dataclass(frozen=True, eq=False)
class Multinomial:
    terms: Terms  # (T,) ascending
    log_theta: Reals  # (T, c)
    log_prior: Reals  # (c,) -inf for a class without instances

    def posteriors(self, rows: Ragged, common: Terms | None = None) -> Reals:
        """Pr(c|x) of each row, (n, c); the words of `common` are in every row."""
        logs = self.log_prior + self._sums(rows)
        if common is not None:
            logs += self.weights(common).sum(axis=0)
        likely = np.exp(logs - logs.max(axis=1, keepdims=True))
        chances: Reals = likely / likely.sum(axis=1, keepdims=True)
        return chances

    def weights(self, terms: Terms) -> Reals:
        """log theta of each word, (e, c); 0 for one that was never seen."""
        return self._held.take(self._index.places(terms), axis=0)

    @cached_property
    def _held(self) -> Reals:
        """log theta, and behind it that of a word never seen."""
        return np.vstack((self.log_theta, np.zeros(len(self.log_prior))))

    @cached_property
    def _index(self) -> TermIndex:
        return TermIndex(self.terms)

    def _sums(self, rows: Ragged) -> Reals:
        sums = np.zeros((len(rows), len(self.log_prior)))
        filled = np.flatnonzero(rows.lengths)  # reduceat would give an empty row its successor's first value
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


class Tally:
    """n(c,t), from instances that come a few at a time."""

    def __init__(self, classes: int) -> None:
        self._instances = np.zeros(classes, np.int64)
        self._keys, self._counts = np.empty(0, np.uint64), np.empty(0, np.int64)  # term and class; ascending
        self._waiting: list[NDArray[np.uint64]] = []
        self._occurrences = 0  # in _waiting

    def add(self, rows: Ragged, classes: Ids) -> None:
        """An instance a row."""
        self._instances += np.bincount(classes, minlength=len(self._instances))
        of = np.repeat(classes, rows.lengths).astype(np.uint64)
        self._waiting.append(rows.values.astype(np.uint64) << _CLASS | of)
        self._occurrences += len(of)
        if self._occurrences >= _AT_ONCE:
            self._add_up()

    def model(self, *, even: bool) -> Multinomial:
        """`even`: classes are equally likely beforehand."""
        self._add_up()
        terms, rows = np.unique((self._keys >> _CLASS).astype(np.uint32), return_inverse=True)
        counts = np.zeros((len(terms), len(self._instances)))
        counts[rows, (self._keys & np.uint64(255)).astype(np.intp)] = self._counts
        log_theta = np.log1p(counts) - np.log(np.maximum(1, len(terms) + counts.sum(axis=0)))
        weights = (self._instances > 0) if even else self._instances
        with np.errstate(divide="ignore"):  # a class without instances has Pr(c) = 0
            return Multinomial(terms, log_theta, np.log(weights / max(1, weights.sum())))

    def _add_up(self) -> None:
        new, counts = np.unique(np.concatenate([*self._waiting, np.empty(0, np.uint64)]), return_counts=True)
        self._waiting, self._occurrences = [], 0
        keys = np.union1d(self._keys, new)
        both = np.zeros(len(keys), np.int64)
        both[np.searchsorted(keys, self._keys)] = self._counts
        both[np.searchsorted(keys, new)] += counts
        self._keys, self._counts = keys, both
