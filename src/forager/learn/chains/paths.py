"""Paths through the web as the chain models see them: positions one after the other, path after path.

The positions of all paths lie in one matrix. Some work goes from position to position. For it the paths are taken side
by side: wave t holds position t of every path that is longer than t, the longest path first. So the positions before
those of a wave are the first ones of the wave before, and each lies just before its successor in the matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from forager.errors import ForagerError
from forager.learn.chains.rows import Sparse
from forager.types import Ids

PAGE, LINK = 0, 1  # kinds of positions, and of the states they admit


@dataclass(frozen=True, eq=False)
class Paths:
    """p paths with t positions in all. Where `kinds` is None all positions are of kind PAGE."""

    observations: Sparse  # (t, m) csr, what is seen at each position
    offsets: NDArray[np.int64]  # (p + 1,) path i has the positions offsets[i]..offsets[i + 1] - 1, at least one
    kinds: Ids | None = None  # (t,)
    steps: Sparse | None = None  # (t, e) csr, what is seen on the way to each position; nothing at the first

    def __post_init__(self) -> None:
        count = self.observations.shape[0]
        if len(self.offsets) < 2:
            raise ForagerError("no paths: give at least one")
        if self.offsets[0] != 0 or self.offsets[-1] != count or (np.diff(self.offsets) < 1).any():
            raise ForagerError(
                f"the offsets do not cut {count} positions into paths of at least one: correct the offsets"
            )
        for name, column in (("kinds", self.kinds), ("steps", self.steps)):
            if column is not None and column.shape[0] != count:
                raise ForagerError(f"{count} positions, but {name} for {column.shape[0]}: give one for each position")
        for seen in (self.observations, self.steps):
            if seen is not None and not np.isfinite(seen.data).all():
                raise ForagerError("some observations are not finite: give numbers, and 0 where nothing is known")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def positions(self) -> int:
        return int(self.offsets[-1])

    @property
    def features(self) -> int:
        return int(self.observations.shape[1])

    @cached_property
    def kind(self) -> Ids:
        """(t,) the kind of each position."""
        return np.full(self.positions, PAGE, np.int32) if self.kinds is None else np.asarray(self.kinds, np.int32)

    @cached_property
    def step(self) -> Sparse:
        """What is seen on the way to each position; a matrix without columns if `steps` is None."""
        return csr_matrix((self.positions, 0)) if self.steps is None else self.steps

    @cached_property
    def by_kind(self) -> Mapping[int, tuple[NDArray[np.int64], Sparse]]:
        """The positions of each kind, and what is seen there."""
        every = {int(kind): np.flatnonzero(self.kind == kind) for kind in np.unique(self.kind)}
        return {kind: (at, self.observations[at]) for kind, at in every.items()}

    @property
    def first(self) -> NDArray[np.int64]:
        return self.offsets[:-1]

    @property
    def last(self) -> NDArray[np.int64]:
        return self.offsets[1:] - 1

    @cached_property
    def owner(self) -> NDArray[np.int64]:
        """The path of each position."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @cached_property
    def waves(self) -> tuple[NDArray[np.int64], ...]:
        """The positions of each wave."""
        return tuple(self._waves())

    def _waves(self) -> Iterator[NDArray[np.int64]]:
        lengths = np.diff(self.offsets)
        longest_first = np.argsort(-lengths, kind="stable")
        longer = np.searchsorted(np.sort(lengths), np.arange(lengths.max()), side="right")
        for t, shorter in enumerate(longer.tolist()):
            yield self.first[longest_first[: len(self) - shorter]] + t


def labels(paths: Paths, states: Ids, known: int) -> NDArray[np.int64]:
    """The state of each position, if there is one for each and it is one of the `known` states."""
    if len(states) != paths.positions:
        raise ForagerError(f"{paths.positions} positions with {len(states)} states: label every position")
    if (np.asarray(states) < 0).any() or (np.asarray(states) >= known).any():
        wrong = next(int(s) for s in states if not 0 <= s < known)
        raise ForagerError(
            f"a position is labelled with state {wrong}, the model has 0 to {known - 1}: correct the label"
        )
    return np.asarray(states, np.int64)


def seen_pairs(paths: Paths, states: NDArray[np.int64]) -> Ids:
    """The pairs of states that follow each other somewhere, (p, 2), in order."""
    later = np.delete(np.arange(paths.positions), paths.first)
    return np.unique(np.stack([states[later - 1], states[later]], axis=1), axis=0).astype(np.int32)
