"""Online regression on hashed features, with steps that adapt (Duchi, Hazan & Singer 2011).

An instance with n features and relevance y has x(f) = 1/sqrt(n) for each of them. The prediction is p = sigmoid(z) in
logistic regression and p = z in the linear unit, z = b + w.x. Instances come in groups of a few; with g the gradient of
the group's loss (cross-entropy or half the squared error: either way g = sum of (p - y) x),

    G += g^2,  w -= rate * g / sqrt(G)

feature by feature. Raw relevances are the targets: no buckets are needed. Several learners are merged by averaging w,
weighted with the instances each has seen, and adding G.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from forager.learn.linear import Linear, number, sigmoid, slots
from forager.types import Floats, Parts, Ragged

GROUP = 32  # instances a step
FEWEST = 10  # instances, below which nothing is predicted


class Regression:
    def __init__(self, size: int, *, logistic: bool = True, rate: float = 0.3, passes: int = 3) -> None:
        """`passes`: how often each batch is gone through."""
        self.logistic, self.rate, self.passes = logistic, rate, passes
        self.weights, self.squares = np.zeros(size, np.float32), np.zeros(size, np.float32)
        self.bias = np.zeros(2)  # and its own sum of squares
        self.instances = 0

    def learn(self, clues: Ragged, relevance: Floats) -> None:
        groups = [np.arange(at, min(at + GROUP, len(clues))) for at in range(0, len(clues), GROUP)]
        for _ in range(self.passes):
            for rows in groups:
                self._step(clues.take(rows), relevance[rows])
        self.instances += len(clues)

    def _step(self, clues: Ragged, targets: Floats) -> None:
        model = self._linear(self.weights)
        z = model(clues)
        error = (sigmoid(z) if self.logistic else z) - targets
        at, place = np.unique(slots(clues.values, len(self.weights)), return_inverse=True)
        gradient = np.bincount(place, np.repeat(error * model.scale(clues), clues.lengths), len(at))
        self.squares[at] += gradient**2
        self.weights[at] -= self.rate * gradient / np.sqrt(self.squares[at] + 1e-12)
        whole = float(error.sum())
        self.bias[1] += whole**2
        self.bias[0] -= self.rate * whole / np.sqrt(self.bias[1] + 1e-12)

    def _linear(self, weights: Floats) -> Linear:
        return Linear(weights, float(self.bias[0]), power=0.5)

    def linear(self) -> Linear | None:
        """z as it stands; a linear unit's p is put on the scale of log-odds by their tangent at p = 1/2, 4p - 2."""
        if self.instances < FEWEST:
            return None
        if self.logistic:
            return self._linear(self.weights.copy())
        return Linear(4 * self.weights, 4 * float(self.bias[0]) - 2, power=0.5)

    def parts(self) -> Parts:
        return {
            "weights": self.weights.copy(),
            "squares": self.squares.copy(),
            "bias": self.bias.copy(),
            "instances": self.instances,
        }

    def from_parts(self, parts: Parts) -> Self:
        new = type(self)(len(self.weights), logistic=self.logistic, rate=self.rate, passes=self.passes)
        new.weights[:], new.squares[:], new.bias[:] = parts["weights"], parts["squares"], parts["bias"]
        new.instances = int(number(parts, "instances"))
        return new

    @staticmethod
    def merge(parts: Sequence[Parts]) -> Parts:
        counts = np.array([number(part, "instances") for part in parts])
        shares = counts / max(counts.sum(), 1)
        weights = sum(share * part["weights"] for share, part in zip(shares, parts, strict=True))
        bias = [sum(share * part["bias"][0] for share, part in zip(shares, parts, strict=True))]
        return {
            "weights": weights,
            "squares": sum(part["squares"] for part in parts),
            "bias": np.array([*bias, sum(part["bias"][1] for part in parts)]),
            "instances": int(counts.sum()),
        }
