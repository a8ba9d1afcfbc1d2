"""From hashed features to columns: the features that a model has weights for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.sparse import csr_matrix

from forager.chains.rows import Sparse
from forager.types import Ragged, Terms


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    terms: Terms  # ascending: column i of a matrix is terms[i]

    @classmethod
    def of(cls, seen: Ragged, *, least: int = 1, most: int | None = None) -> Self:
        """The features of at least `least` rows; of too many those in most rows, the smaller hash in a tie."""
        rows = np.repeat(np.arange(len(seen), dtype=np.uint64), seen.lengths)
        once = np.unique(rows << np.uint64(32) | seen.values).astype(np.uint32)
        terms, counts = np.unique(once, return_counts=True)
        terms, counts = terms[counts >= least], counts[counts >= least]
        if most is not None and len(terms) > most:
            terms = np.sort(terms[np.argsort(-counts, kind="stable")[:most]])
        return cls(terms)

    def __len__(self) -> int:
        return len(self.terms)

    def rows(self, seen: Ragged) -> Sparse:
        """(rows, features): 1 where a row has the feature, however often; what is not in the vocabulary is dropped."""
        if not len(self.terms):
            return csr_matrix((len(seen), 0))
        at = np.minimum(np.searchsorted(self.terms, seen.values), len(self.terms) - 1)
        known = self.terms[at] == seen.values
        row = np.repeat(np.arange(len(seen)), seen.lengths)[known]
        keys = np.unique(row * np.int64(len(self.terms)) + at[known])
        columns = (keys % len(self.terms)).astype(np.int32)
        offsets = np.searchsorted(keys // len(self.terms), np.arange(len(seen) + 1))
        return csr_matrix((np.ones(len(keys)), columns, offsets), shape=(len(seen), len(self.terms)))
