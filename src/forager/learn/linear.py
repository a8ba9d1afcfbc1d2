"""Linear models on hashed features: the weights at one moment, and a regression that learns them online.

    z(x) = bias + gain * n^-power * sum over the n features f of x of w[f mod size]

`Linear` holds the weights and never changes. So a learner may go on learning while another thread scores all that waits
with the `Linear` it was given.

`Regression` takes steps that adapt to each feature (Duchi, Hazan & Singer 2011). An instance with n features and
relevance y has x(f) = 1/sqrt(n) for each of them. The prediction is p = sigmoid(z) in logistic regression and p = z in
the linear unit, z = b + w.x. Instances come in groups of a few. g is the gradient of the group's loss (cross-entropy,
or half the squared error: in both cases g = sum of (p - y) x), and feature by feature

    G += g^2,  w -= rate * g / sqrt(G)

The targets are the relevances themselves. Several learners are merged: w is averaged, weighted with the instances that
each has seen, and G is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.types import Floats, Parts, Ragged, Terms

Reals: TypeAlias = NDArray[np.float64]
Slots: TypeAlias = NDArray[np.uint32]

GROUP = 32  # instances a step
FEWEST = 10  # instances; with fewer nothing is predicted


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """Called with rows of features, it gives z of each."""

    weights: Floats  # (size,), size a power of two
    bias: float
    gain: float = 1.0
    power: float = 0.0

    def __call__(self, rows: Ragged) -> Floats:
        """z of each row."""
        at = slots(rows.values, len(self.weights))
        sums = row_sums(self.weights.take(at, mode="clip"), rows)  # no slot is out of range, and this skips the check
        if self.power or self.gain != 1:
            sums *= self.scale(rows)
        sums += np.float32(self.bias)
        return sums

    def scale(self, rows: Ragged) -> Floats:
        """gain * n^-power of each row: what one feature of it counts for."""
        if self.power == 0:
            return np.full(len(rows), self.gain, np.float32)
        return (self.gain * np.maximum(rows.lengths, 1) ** -self.power).astype(np.float32)


def slots(features: Terms, size: int) -> Slots:
    """Where in a table of `size` entries, a power of two, each feature is counted."""
    return features & np.uint32(size - 1)


def row_sums(values: Floats, rows: Ragged) -> Floats:
    """The sum of each row, where `values` are laid out like the values of `rows`; 0 for an empty row."""
    starts = rows.offsets[:-1]
    filled = rows.offsets[1:] > starts  # reduceat would give an empty row the first value of the next row
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


def inner(parts: Parts, name: str) -> Parts:
    """The parts of one part: those whose names begin with `name.`, without it."""
    return {key.removeprefix(f"{name}."): part for key, part in parts.items() if key.startswith(f"{name}.")}


class Regression:
    """Learns the weights from batches of instances."""

    def __init__(self, size: int, *, logistic: bool = True, rate: float = 0.3, passes: int = 3) -> None:
        """`passes`: how many times each batch is used."""
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
        """z as it is now; None while there are too few instances. The linear unit predicts a probability p. For its
        log-odds stands their tangent at p = 1/2, which is 4p - 2."""
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
