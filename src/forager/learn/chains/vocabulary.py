"""From hashed features to columns and to sums of weights.

`Vocabulary` says which features a model has weights for, and in which column. `FeatureWeights` adds the weights up:

    sums[x] = sum over the distinct features f of x of weights[f]

This is `Vocabulary.rows(seen) @ weights`, but no matrix is made: to make it would take longer than all the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from forager.learn.chains.rows import Sparse
from forager.types import Floats, Ids, Mask, Ragged, Terms
from forager.web.term_index import TermIndex


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The features of a model."""

    terms: Terms  # ascending: column i of a matrix is terms[i]

    @classmethod
    def of(
        cls, seen: Ragged, *, least: int = 1, most: int | None = None, groups: Ids | None = None, spread: int = 1
    ) -> Self:
        """The features of at least `least` rows. If `groups` gives the group of each row: those in rows of at least
        `spread` groups. Of these at most `most`: those in the most rows, the smaller hash in a tie."""
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
        """(rows, features): 1 where a row has the feature, once or more often. Other features are dropped."""
        if not len(self.terms):
            return csr_matrix((len(seen), 0))
        at, known = self.find(seen.values)
        row = np.repeat(np.arange(len(seen)), seen.lengths)[known]
        keys = np.unique(row * np.int64(len(self.terms)) + at[known])
        columns = (keys % len(self.terms)).astype(np.int32)
        offsets = np.searchsorted(keys // len(self.terms), np.arange(len(seen) + 1))
        return csr_matrix((np.ones(len(keys)), columns, offsets), shape=(len(seen), len(self.terms)))

    def find(self, seen: Terms) -> tuple[NDArray[np.intp], Mask]:
        """The column of each feature, and whether it has one."""
        return self._index.find(seen)

    @cached_property
    def _index(self) -> TermIndex:
        return TermIndex(self.terms)


def _once(seen: Ragged, groups: NDArray[np.integer[Any]]) -> Terms:
    """Each feature as many times as there are groups with a row that has it."""
    keys = np.repeat(groups.astype(np.uint64), seen.lengths) << np.uint64(32) | seen.values
    return np.unique(keys).astype(np.uint32)


class FeatureWeights:
    """A row of c weights for each feature, kept in 32 bits: most of the time goes into fetching them from memory."""

    def __init__(self, features: Terms, weights: NDArray[Any]) -> None:
        """The features ascend, and none of them is 0."""
        self._index = TermIndex(features)
        self._weights = np.zeros((len(features) + 1, weights.shape[1]), np.float32)  # the last row: unknown features
        self._weights[:-1] = weights

    @property
    def width(self) -> int:
        """c"""
        return int(self._weights.shape[1])

    def each(self, features: Terms) -> Floats:
        """The weights of each feature, (e, c); 0 for unknown ones."""
        return self._weights.take(self._index.places(features), axis=0)

    def sums(self, features: Terms, height: int, columns: int) -> tuple[Floats, Floats]:
        """Two kinds of sums. The first height * columns features are a block (height, columns): of each column of it,
        (columns, c), where a feature counts only once in a column. And of all features after the block, (c,), where
        none may occur twice.

        Overwrites the features.
        """
        block = features[: height * columns].reshape(height, columns)
        block.sort(axis=0)
        block[1:] *= block[1:] != block[:-1]  # a repeated feature becomes 0, which is unknown
        each = self.each(features)
        of_columns: Floats = np.ones(height, np.float32) @ each[: block.size].reshape(height, columns * self.width)
        return of_columns.reshape(columns, self.width), each[block.size :].sum(axis=0)
