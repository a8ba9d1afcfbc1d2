"""What features add up to: the weights of those that something has.

    sums[x] = sum over the distinct features f of x of weights[f]

This is `Vocabulary.rows(seen) @ weights`, without making the matrix: to make one takes longer than all the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from forager.types import Floats, Terms
from forager.web.term_index import TermIndex


class Weights:
    def __init__(self, features: Terms, weights: NDArray[Any]) -> None:
        """Features, ascending, none of them 0, and a row of c weights for each. They are kept in 32 bits: most of the
        time goes into fetching them."""
        self._index = TermIndex(features)
        self._weights = np.zeros((len(features) + 1, weights.shape[1]), np.float32)  # the last is that of none
        self._weights[:-1] = weights

    @property
    def width(self) -> int:
        """c"""
        return int(self._weights.shape[1])

    def each(self, features: Terms) -> Floats:
        """Those of each feature, (e, c); 0 where it is not known."""
        return self._weights.take(self._index.places(features), axis=0)

    def sums(self, features: Terms, height: int, columns: int) -> tuple[Floats, Floats]:
        """Of the columns of a block (height, columns), which comes first: (columns, c); a feature counts once in a
        column, however often it is there. And of all that is behind the block, where none is twice: (c,).

        Overwrites the features.
        """
        block = features[: height * columns].reshape(height, columns)
        block.sort(axis=0)
        block[1:] *= block[1:] != block[:-1]  # the same again is nothing
        each = self.each(features)
        of_columns: Floats = np.ones(height, np.float32) @ each[: block.size].reshape(height, columns * self.width)
        return of_columns.reshape(columns, self.width), each[block.size :].sum(axis=0)
