"""How wide a window predicts best? Chosen while crawling, by accuracy on links that were not yet learnt from.

The top four bits of a feature say how many leaves away from the link its word stands; `ALWAYS` is for features that are
no words. The table of a learner is smaller than 2^28, so that these bits do not change where a feature is counted.

Before a batch is learnt from, what was learnt so far predicts it with each window 0, 1, …, d_max: words that stand
farther away are left out. The accuracies on the links that led to low and to high pages are summed over all batches,
and the window with the largest mean of the two is used next (balanced accuracy; of equal ones the widest).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from forager.learn.linear import Linear
from forager.types import Mask, Parts, Ragged, Terms

SHIFT, ALWAYS = np.uint32(28), 15
WIDEST = ALWAYS - 1


def tagged(features: Terms, leaves: NDArray[Any] | int) -> Terms:
    """The features, with how many leaves away each of them stands."""
    away = np.asarray(leaves).astype(np.uint32) << SHIFT
    return features & np.uint32((1 << 28) - 1) | away


def is_near(features: Terms, window: int) -> Mask:
    """Which features stand within so many leaves of their link, or have no place."""
    away = features >> SHIFT
    found: Mask = (away <= window) | (away == ALWAYS)
    return found


def near(clues: Ragged, window: int) -> Ragged:
    """The rows without the words that stand farther away."""
    kept = is_near(clues.values, window)
    counts = np.concatenate(([0], np.cumsum(kept)))
    return Ragged(clues.values[kept], counts[clues.offsets])


class WindowChoice:
    """Counts how often each window was right."""

    def __init__(self, d_max: int) -> None:
        self.right = np.zeros((d_max + 1, 2), np.int64)  # of low and of high links
        self.seen = np.zeros(2, np.int64)

    def tried(self, model: Linear, clues: Ragged, high: Mask) -> None:
        """Predict links that were not yet learnt from with each window."""
        for window, right in enumerate(self.right):
            right += np.bincount(high[(model(near(clues, window)) > 0) == high], minlength=2)
        self.seen += np.bincount(high, minlength=2)

    @property
    def best(self) -> int:
        accuracy = (self.right / np.maximum(self.seen, 1)).sum(axis=1)
        return int(len(accuracy) - 1 - np.argmax(accuracy[::-1]))

    def parts(self) -> Parts:
        return {"windows_right": self.right.copy(), "windows_seen": self.seen.copy()}

    @classmethod
    def of_parts(cls, *parts: Parts) -> Self:
        """What was counted in all these parts together."""
        new = cls(len(parts[0]["windows_right"]) - 1)
        for each in parts:
            new.right += each["windows_right"]
            new.seen += each["windows_seen"]
        return new
