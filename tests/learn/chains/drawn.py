"""Small random models and paths, and what they should give by definition: a loop over all state sequences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from forager.learn.chains.crf import Crf
from forager.learn.chains.memm import Memm
from forager.learn.chains.paths import LINK, PAGE, Paths
from forager.learn.chains.rows import Reals
from forager.types import Ids

seeds = st.integers(0, 2**32 - 1)
lengths = st.lists(st.integers(1, 5), min_size=1, max_size=4)


def observations(chance: np.random.Generator, rows: int, features: int) -> csr_matrix:
    """About half of them 0, some binary, some real."""
    values = np.where(chance.random((rows, features)) < 0.5, chance.normal(size=(rows, features)), 1.0)
    return csr_matrix(values * (chance.random((rows, features)) < 0.5))


def paths(
    chance: np.random.Generator, cut: Sequence[int], features: int, *, steps: int = 0, dual: bool = False
) -> Paths:
    count = sum(cut)
    kinds = np.concatenate([np.arange(n) % 2 for n in cut]).astype(np.int32) if dual else None
    described = observations(chance, count, steps) if steps else None
    return Paths(observations(chance, count, features), np.cumsum([0, *cut]), kinds, described)


def memm(chance: np.random.Generator, states: int, features: int, *, scale: float = 1.0) -> Memm:
    every = np.array(list(product(range(states), repeat=2)), np.int32)
    pairs = every[chance.random(len(every)) < 0.7]
    weights = [scale * chance.normal(size=(features + 1, columns)) for columns in (states, len(pairs))]
    return Memm(weights[0], pairs, weights[1], version=1)


def crf(chance: np.random.Generator, kinds: Sequence[int], features: int, *, steps: int = 0, scale: float = 1.0) -> Crf:
    s = len(kinds)
    every = np.array(list(product(range(s), repeat=2)), np.int32)
    pairs = every[chance.random(len(every)) < 0.6] if steps else every[:0]
    weights = [scale * chance.normal(size=shape) for shape in ((features, s), (s, s), (steps, len(pairs)))]
    return Crf(np.array(kinds, np.int32), weights[0], weights[1], pairs, weights[2], version=1)


def kinds_of(chance: np.random.Generator, *, dual: bool) -> list[int]:
    """Of 2 to 4 states, in any order; both kinds if dual."""
    if not dual:
        return [PAGE] * int(chance.integers(2, 5))
    return [int(kind) for kind in chance.permutation([PAGE, LINK, *chance.integers(0, 2, chance.integers(0, 3))])]


@dataclass(frozen=True)
class Enumerated:
    """All state sequences of one path with the log of their potential; those that are not admitted left out."""

    sequences: Ids  # (q, n)
    logs: Reals  # (q,)

    @property
    def log_z(self) -> float:
        return float(np.logaddexp.reduce(self.logs))

    @property
    def best(self) -> Ids:
        best: Ids = self.sequences[self.logs.argmax()]
        return best

    def sums(self, states: int, at: int, *, best: bool = False) -> Reals:
        """log of the sum, or maximum, of the potentials of those that have each state at this position."""
        gather = np.max if best else np.logaddexp.reduce
        having = [self.logs[self.sequences[:, at] == y] for y in range(states)]
        return np.array([gather(logs) if len(logs) else -np.inf for logs in having])

    def pair(self, at: int, y: int, then: int) -> float:
        """Pr(y_at = y, y_at+1 = then)"""
        having = (self.sequences[:, at] == y) & (self.sequences[:, at + 1] == then)
        return float(np.exp(self.logs[having] - self.log_z).sum())


def crf_potential(model: Crf, seen: Paths, at: int, before: int | None, y: int) -> float:
    """W.f(y',y,x,i), a term at a time; None before: the first position."""
    if model.kinds[y] != seen.kind[at]:
        return -np.inf
    log = sum(value * model.weights[f, y] for f, value in enumerate(seen.observations.toarray()[at]))
    if before is not None:
        log += model.edges[before, y]
        for column, pair in enumerate(model.pairs.tolist()):
            if pair == [before, y]:
                log += sum(value * model.steps[e, column] for e, value in enumerate(seen.step.toarray()[at]))
    return float(log)


def enumerate_crf(model: Crf, seen: Paths, path: int, until: int | None = None) -> Enumerated:
    """The first `until` positions of the path, or all."""
    first = int(seen.offsets[path])
    length = int(seen.offsets[path + 1]) - first if until is None else until
    sequences, logs = [], []
    for states in product(range(model.states), repeat=length):
        before = (None, *states[:-1])
        log = sum(crf_potential(model, seen, first + i, before[i], y) for i, y in enumerate(states))
        if log > -np.inf:
            sequences.append(states)
            logs.append(log)
    return Enumerated(np.array(sequences), np.array(logs))


def memm_chance(model: Memm, row: Reals, before: int | None) -> Reals:
    """p(.|before,o), a term at a time."""
    u = []
    for j in range(model.states):
        weights = model.first[:, j].copy()
        for column, pair in enumerate(model.pairs.tolist()):
            if pair == [before, j]:
                weights += model.between[:, column]
        u.append(sum(value * weight for value, weight in zip([*row, 1.0], weights, strict=True)))
    chances: Reals = np.exp(u) / np.exp(u).sum()
    return chances


def enumerate_memm(model: Memm, rows: Reals) -> Enumerated:
    sequences = list(product(range(model.states), repeat=len(rows)))
    logs = []
    for states in sequences:
        before = (None, *states[:-1])
        logs.append(sum(np.log(memm_chance(model, rows[i], before[i])[y]) for i, y in enumerate(states)))
    return Enumerated(np.array(sequences), np.array(logs))
