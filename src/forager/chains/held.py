"""Which rows have which words, word by word: what is known of a word is asked once, however many rows have it.

The links of a page have much in common: of the words seen of them there are two or three times as many as there are
different ones. So the sum of the weights of each row is a product of a sparse matrix, whose columns are the different
words, and the weights of those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix

from forager.chains.rows import Sparse
from forager.types import Floats, Ids

Codes = NDArray[np.int64]

ROW_BITS = 26  # of a key, its last: 37 are left for the word


@dataclass(frozen=True, eq=False)
class Held:
    codes: Codes  # (u,) words, ascending
    offsets: Ids  # (u + 1,) where the rows of each begin
    rows: Ids  # (e,) that have it, ascending
    count: int  # n, the rows there are

    @classmethod
    def of(cls, keys: Sequence[Codes], count: int) -> Self:
        """Of keys: word << ROW_BITS | row. One that comes again counts for nothing."""
        ordered = np.sort(np.concatenate(keys))
        once = ordered.take(_begins(ordered))
        words, rows = once >> ROW_BITS, (once & ((1 << ROW_BITS) - 1)).astype(np.int32)
        begins = _begins(words)
        return cls(words.take(begins), np.append(begins, len(words)).astype(np.int32), rows, count)

    def sums(self, weights: Floats) -> Floats:
        """(n, c): for each row, the sum of the weights (u, c) of its words."""
        summed: Floats = self._matrix @ weights
        return summed

    @cached_property
    def _matrix(self) -> Sparse:
        """(n, u): 1 where the row has the word."""
        ones = np.ones(len(self.rows), np.float32)
        return csc_matrix((ones, self.rows, self.offsets), shape=(self.count, len(self.codes)))

    @property
    def apart(self) -> Self:
        """Every word of every row in a row of its own."""
        each = np.arange(len(self.rows) + 1, dtype=np.int32)
        codes = np.repeat(self.codes, np.diff(self.offsets))
        return replace(self, codes=codes, offsets=each, rows=each[:-1], count=len(codes))


def _begins(ordered: Codes) -> NDArray[np.intp]:
    """Where there is another value than before."""
    new = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return np.flatnonzero(new)
