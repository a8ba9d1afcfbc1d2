"""What a learner of hashed features knows at one moment, as weights that no longer change.

    z(x) = bias + gain * n^-power * sum over the n features f of x of w[f mod size]

Every linear learner comes down to this. A sweep over all that waits may go on in another thread while the learner
learns, so a `Linear` is a value of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.types import Floats, Parts, Ragged, Terms

Reals: TypeAlias = NDArray[np.float64]
Slots: TypeAlias = NDArray[np.uint32]


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    weights: Floats  # (size,), size a power of two
    bias: float
    gain: float = 1.0
    power: float = 0.0

    def __call__(self, rows: Ragged) -> Floats:
        """z of each row."""
        at = slots(rows.values, len(self.weights))
        sums = row_sums(self.weights.take(at, mode="clip"), rows)  # no slot is out of range: this spares the check
        if self.power or self.gain != 1:
            sums *= self.scale(rows)
        sums += np.float32(self.bias)
        return sums

    def scale(self, rows: Ragged) -> Floats:
        """What a feature of each row counts for."""
        if self.power == 0:
            return np.full(len(rows), self.gain, np.float32)
        return (self.gain * np.maximum(rows.lengths, 1) ** -self.power).astype(np.float32)


def slots(features: Terms, size: int) -> Slots:
    """Where in a table of `size` entries, a power of two, each feature is counted."""
    return features & np.uint32(size - 1)


def row_sums(values: Floats, rows: Ragged) -> Floats:
    """The sum of each row of values laid out as `rows`; 0 where it is empty."""
    starts = rows.offsets[:-1]
    filled = rows.offsets[1:] > starts  # reduceat would give an empty row its successor's first value
    if filled.all():
        return np.add.reduceat(values, starts)
    sums = np.zeros(len(rows), np.float32)
    if filled.any():
        sums[filled] = np.add.reduceat(values, starts[filled])
    return sums


def sigmoid(log_odds: Floats) -> Floats:
    return ((1 + np.tanh(log_odds / 2)) / 2).astype(np.float32)


def number(parts: Parts, name: str) -> float:
    """A part that is a number, whether it comes from memory or from a file."""
    return float(np.asarray(parts[name]))
