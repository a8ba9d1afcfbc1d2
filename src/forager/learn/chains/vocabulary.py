"""From hashed features to columns: the features that a model has weights for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from forager.learn.chains.rows import Sparse
from forager.types import Ids, Mask, Ragged, Terms
from forager.web.term_index import TermIndex


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

    def find(self, seen: Terms) -> tuple[NDArray[np.intp], Mask]:
        """Where each feature is, and whether it is there at all."""
        return self._index.find(seen)

    @cached_property
    def _index(self) -> TermIndex:
        return TermIndex(self.terms)


def _once(seen: Ragged, groups: NDArray[np.integer[Any]]) -> Terms:
    """Each feature as many times as there are groups of rows that have it."""
    keys = np.repeat(groups.astype(np.uint64), seen.lengths) << np.uint64(32) | seen.values
    return np.unique(keys).astype(np.uint32)
