"""From hashed features to columns: the features that a model has weights for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from forager.chains.rows import Reals, Sparse
from forager.types import Floats, Ids, Mask, Ragged, Terms

_BITS, _SPARE = 20, 3  # of a term at most, and more than their number needs, tell where to look for it
_FEW = 15  # bits that rule most features out: the table stays in the cache
_REST = np.uint32(32 - _FEW)


class _Index(NamedTuple):
    """Where among the terms those that begin with the same bits start."""

    shift: np.uint32  # what is left of a term are those bits
    starts: NDArray[Any]  # of the smallest kind that will do
    deepest: int  # most terms that begin alike


@dataclass(frozen=True, eq=False)
class Vocabulary:
    terms: Terms  # ascending: column i of a matrix is terms[i]

    @classmethod
    def of(
        cls, seen: Ragged, *, least: int = 1, most: int | None = None, groups: Ids | None = None, spread: int = 1
    ) -> Self:
        """The features of at least `least` rows, and of rows of at least `spread` groups, if each row is of one; of too
        many those in most rows, the smaller hash in a tie."""
        terms, counts = np.unique(_once(seen, np.arange(len(seen))), return_counts=True)
        kept = counts >= least
        if groups is not None:
            kept &= np.unique(_once(seen, groups), return_counts=True)[1] >= spread
        terms, counts = terms[kept], counts[kept]
        if most is not None and len(terms) > most:
            terms = np.sort(terms[np.argsort(-counts, kind="stable")[:most]])
        return cls(terms)

    def __len__(self) -> int:
        return len(self.terms)

    def rows(self, seen: Ragged) -> Sparse:
        """(rows, features): 1 where a row has the feature, however often; what is not in the vocabulary is dropped."""
        if not len(self.terms):
            return csr_matrix((len(seen), 0))
        at, known = self.find(seen.values)
        row = np.repeat(np.arange(len(seen)), seen.lengths)[known]
        keys = np.unique(row * np.int64(len(self.terms)) + at[known])
        columns = (keys % len(self.terms)).astype(np.int32)
        offsets = np.searchsorted(keys // len(self.terms), np.arange(len(seen) + 1))
        return csr_matrix((np.ones(len(keys)), columns, offsets), shape=(len(seen), len(self.terms)))

    def columns(self, seen: Ragged) -> Ragged:
        """The columns of the features of each row; what is not in the vocabulary is dropped."""
        at, known = self.find(seen.values)
        kept = np.flatnonzero(known)
        return Ragged(at.take(kept).astype(np.uint32), np.searchsorted(kept, seen.offsets))

    def likely(self, seen: Terms) -> NDArray[np.intp]:
        """Which of the features are perhaps here: most others are ruled out, for a fraction of the time of `find`."""
        return np.flatnonzero(self._perhaps.take(seen >> _REST))

    @cached_property
    def _perhaps(self) -> Mask:
        """By the first bits of a feature: is there one that begins so?"""
        table = np.zeros(1 << _FEW, bool)
        table[self.terms >> _REST] = True
        return table

    def find(self, seen: Terms) -> tuple[NDArray[np.intp], Mask]:
        """Where each feature is, and whether it is there at all: several times as fast as a binary search."""
        if not len(self.terms):
            return np.zeros(len(seen), np.intp), np.zeros(len(seen), bool)
        shift, starts, deepest = self._index
        at = starts.take(seen >> shift).astype(np.intp)
        for _ in range(deepest - 1):
            at += self.terms.take(at, mode="clip") < seen
        return at, self.terms.take(at, mode="clip") == seen

    @cached_property
    def _index(self) -> _Index:
        bits = min(len(self.terms).bit_length() + _SPARE, _BITS)
        shift = np.uint32(32 - bits)
        alike = np.bincount(self.terms >> shift, minlength=1 << bits)
        small = np.uint16 if len(self.terms) <= 0xFFFF else np.int32  # half as much that must be in the cache
        return _Index(shift, (np.cumsum(alike) - alike).astype(small), int(alike.max()))


def sums(columns: Ragged, weights: Floats) -> Reals:
    """(rows, c): the sum of the weights (features, c) of the columns of each row, which it has once each. Weights of 32
    bits, because most of the time goes into fetching them from memory.

    It is `rows(seen) @ weights` without the matrix: to make one takes longer.
    """
    summed = np.zeros((len(columns), weights.shape[1]))
    held = np.flatnonzero(columns.lengths)
    if len(held):
        summed[held] = np.add.reduceat(weights.take(columns.values, axis=0), columns.offsets[held])
    return summed


def _once(seen: Ragged, groups: NDArray[np.integer[Any]]) -> Terms:
    """Each feature as many times as there are groups of rows that have it."""
    keys = np.repeat(groups.astype(np.uint64), seen.lengths) << np.uint64(32) | seen.values
    return np.unique(keys).astype(np.uint32)
