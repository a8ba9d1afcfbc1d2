"""A decision tree that grows as examples come: a leaf is split where that makes the rewards in it most alike.

For the n examples of a leaf with rewards r, and a split of them into n_1 with x_f <= value and n_2 with x_f > value:

    gain = var(r) - n_1/n var(r_1) - n_2/n var(r_2)

A leaf with at least `fewest` examples is split where the gain is largest, if it is above 0. Either side must have at
least a share of `least` of the examples.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forager.types import Floats

LEAF = -1  # in place of the feature of a node that is not split


class RewardTree:
    """Leaves are numbers of nodes; node 0 is the root. Examples are kept, each with its leaf."""

    def __init__(self, features: int, *, fewest: int, least: float, deepest: int) -> None:
        self.fewest, self.least, self.deepest = fewest, least, deepest
        self.feature, self.value = np.full(1, LEAF, np.intp), np.zeros(1, np.float32)
        self.children, self.parent = np.zeros((1, 2), np.intp), np.zeros(1, np.intp)
        self.depth = np.zeros(1, np.intp)
        self.x, self.rewards = np.zeros((0, features), np.float32), np.zeros(0, np.float32)
        self.leaf = np.zeros(0, np.intp)  # of each example

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self.feature)

    def leaves(self, x: Floats) -> NDArray[np.intp]:
        """The leaf of each row."""
        at, rows = np.zeros(len(x), np.intp), np.arange(len(x))
        while len(rows):
            rows = rows[self.feature[at[rows]] != LEAF]
            node = at[rows]
            right = x[rows, self.feature[node]] > self.value[node]
            at[rows] = self.children[node, right.astype(np.intp)]
        return at

    def add(self, x: Floats, rewards: Floats) -> None:
        """Take in an example, and split its leaf if that is due. `rewards`: of all examples, the new one last."""
        leaf = int(self.leaves(x[None])[0])
        self.x, self.rewards = np.vstack((self.x, x)), rewards
        self.leaf = np.append(self.leaf, leaf)
        rows = np.flatnonzero(self.leaf == leaf)
        if len(rows) >= self.fewest and self.depth[leaf] < self.deepest:
            gain, feature, value = best_split(self.x[rows], self.rewards[rows], self.least)
            if gain > 0:
                self._split(leaf, feature, value)
                self.leaf[rows] = self.leaves(self.x[rows])

    def _split(self, leaf: int, feature: int, value: float) -> None:
        """In new arrays: a copy of the tree stays as it was."""
        left, right = len(self), len(self) + 1
        self.feature, self.value = np.append(self.feature, [LEAF] * 2), np.append(self.value, [0, 0]).astype(np.float32)
        self.children = np.vstack((self.children, np.zeros((2, 2), np.intp)))
        self.feature[leaf], self.value[leaf], self.children[leaf] = feature, value, (left, right)
        self.parent, self.depth = np.append(self.parent, [leaf] * 2), np.append(self.depth, [self.depth[leaf] + 1] * 2)

    def means(self) -> Floats:
        """The mean reward of each leaf; 0 for a node that is split."""
        counts = np.bincount(self.leaf, minlength=len(self))
        return (np.bincount(self.leaf, self.rewards, len(self)) / np.maximum(counts, 1)).astype(np.float32)


def best_split(x: Floats, rewards: Floats, least: float = 0.0) -> tuple[float, int, float]:
    """The largest gain, and the feature and value that have it. All features and values are tried in one go."""
    count = len(x)
    order = np.argsort(x, axis=0, kind="stable")
    ordered, r = np.take_along_axis(x, order, axis=0), rewards[order].astype(np.float64)
    left, sums = np.arange(1, count)[:, None], np.cumsum(r, axis=0)
    squares = sums[:-1] ** 2 / left + (sums[-1] - sums[:-1]) ** 2 / (count - left)
    gains = (squares - sums[-1] ** 2 / count) / count  # what the squared rewards add to the variances cancels out
    gains[ordered[1:] == ordered[:-1]] = 0  # no value lies between equal ones
    gains[(np.minimum(left, count - left) < least * count)[:, 0]] = 0
    place, feature = np.unravel_index(np.argmax(gains), gains.shape)
    gain = float(gains[place, feature])
    return (gain if gain > 1e-9 else 0.0), int(feature), float(ordered[place, feature])
