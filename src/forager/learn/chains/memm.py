"""Maximum-entropy Markov model of the way to a target (Liu, Milios & Korba 2008).

State T_j is a page j hops from a target; the last state means "so many hops or more". A page is described by a row o of
m numbers, mostly 0, and a constant, o[m] = 1. Each of them is multiplied with L2(j), "the state is T_j", and with
L1(i,j), "T_j after T_i", for each pair that was seen in training:

    u(i,j,o)          = sum over f of o[f] (first[f,j] + between[f,(i,j)])        between: 0 for a pair never seen
    p(s_t=j|s_t-1=i,o) = e^u(i,j,o) / z(i,o),   z(i,o) = sum over j of e^u(i,j,o)
    p(s_1=j|o)        = e^u(j,o) / z(o),        u(j,o) = sum over f of o[f] first[f,j]

Training maximises the sum of log p over all positions under a Gaussian prior. Given the previous state, each position
is a logistic regression of its own. So positions are grouped by the previous state, and the gradient is a sparse
product for each group:

    d/dfirst = sum over t of o_t ([s_t=j] - p(j|s_t-1,o_t))     d/dbetween[.,(i,j)] = the same over t with s_t-1=i

While crawling, with alpha and delta as logarithms:

    alpha_t(j) = sum over i of alpha_t-1(i) p(j|i,o_t)      delta_t(j) = max over i of delta_t-1(i) p(j|i,o_t)

The row of a page and the prediction for its child are the same step. For the child it takes what is known before the
child is fetched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from forager.errors import ForagerError
from forager.learn.chains.fitting import FitSettings, maximise
from forager.learn.chains.paths import Paths, labels, seen_pairs
from forager.learn.chains.rows import LEAST, Carried, Reals, Sparse, carried, log_sum, observed, rescaled, shares
from forager.types import Floats, Ids, Parts, ReportIteration

NOTHING = -1  # the state before a first page
Real = TypeVar("Real", np.float32, np.float64)


@dataclass(frozen=True, eq=False)
class Memm:
    """The model: its weights."""

    first: Reals  # (m + 1, k) weights of L2; the last row is the constant's
    pairs: Ids  # (p, 2) those seen in training, in order
    between: Reals  # (m + 1, p) weights of L1
    version: int  # of the features

    @property
    def states(self) -> int:
        return int(self.first.shape[1])

    @property
    def features(self) -> int:
        return int(self.first.shape[0]) - 1

    @cached_property
    def after(self) -> Reals:
        """first + between, (m + 1, k * k): the column of (i,j) is i * k + j."""
        both = np.tile(self.first, self.states)
        both[:, self.pairs[:, 0] * self.states + self.pairs[:, 1]] += self.between
        return both

    def forward(
        self,
        previous: Carried | None,
        own: Sparse,
        common: Sparse | None = None,
        *,
        best: bool = False,
    ) -> Reals:
        """The rows of n pages, (n, k), from those before them: log-alpha, or with `best` delta.

        `previous` is (n, k), or (1, k) if it is the same for all, or None if they are first pages. Observations are
        `own` (n, m), plus `common` (1, m), which all n share, as the links of one page do.
        """
        weights = self.first if previous is None else self.after
        u = observed(own, self.features) @ weights[:-1] + weights[-1]
        if common is not None:
            u += observed(common, self.features) @ weights[:-1]
        return self.step(None if previous is None else carried(previous, self.states), u, best=best)

    def step(self, previous: Reals | None, u: Reals, *, best: bool = False) -> Reals:
        """`forward` for a known u, which includes the constant's part: (n, k) for first pages, else (n, k * k).
        `previous` is not checked."""
        if previous is None:
            return rescaled(np.asfortranarray(u), best=best)
        u = np.ascontiguousarray(u.T).reshape(self.states, self.states, -1)
        if best:
            return rescaled((previous.T[:, None] + (u - log_sum(u, axis=1)[:, None])).max(axis=0).T, best=True)
        after: Reals = logs(followed(shares(previous).T, u))
        return after

    def steps(self, previous: Floats | None, u: Floats, *, ahead: bool = True) -> tuple[Floats, Floats]:
        """Two steps from one page, the same as two calls of `step`, but much faster and in 32 bits. Gives log-alpha of
        n pages, (n, k), and alpha of the pages after them, (k, n). Not `ahead`: alpha of the n pages themselves.

        `previous` (k,) is the log-alpha of the page, or None if there is none. `u` is what the observations add to the
        potentials of both steps, (n, 2 * k * k), or (n, k + k * k) if there is no page before.
        """
        k, constants = self.states, self._constants[previous is None]
        used = u.shape[1] if ahead else u.shape[1] - k * k
        u = np.ascontiguousarray((u[:, :used] + constants[:used]).T)
        now = u[: len(constants) - k * k].reshape(-1, k, u.shape[1])
        before = np.ones(1, np.float32) if previous is None else np.exp(previous - previous.max())
        alpha = followed((before / before.sum())[:, None], now)
        return logs(alpha), followed(alpha, u[-k * k :].reshape(k, k, -1)) if ahead else alpha

    def best_steps(self, previous: Floats | None, u: Floats, *, ahead: bool = True) -> tuple[Reals, Reals]:
        """The same with delta: of n pages, and of the pages after them, (n, k)."""
        cut, constants = u.shape[1] - self.states**2, self._constants[previous is None]
        whole = (u + constants).astype(np.float64)
        before = None if previous is None else np.asarray(previous, np.float64)[None]
        delta = self.step(before, whole[:, :cut], best=True)
        return delta, self.step(delta, whole[:, cut:], best=True) if ahead else delta

    @cached_property
    def _constants(self) -> tuple[Floats, Floats]:
        """What the constant adds to the potentials of two steps: after a page, and after none."""
        onward = self.after[-1].astype(np.float32)
        return np.append(onward, onward), np.append(self.first[-1].astype(np.float32), onward)

    def parts(self) -> Parts:
        return {"first": self.first, "pairs": self.pairs, "between": self.between, "feature_version": self.version}

    @classmethod
    def from_parts(cls, parts: Parts, *, version: int) -> Self:
        """`version`: that of the features which will describe pages."""
        if int(parts["feature_version"]) != version:
            told = f"version {int(parts['feature_version'])}, pages are described by version {version}"
            raise ForagerError(f"this memm model was trained on features of {told}: train it again")
        first, pairs, between = (np.asarray(parts[name]) for name in ("first", "pairs", "between"))
        if between.shape != (first.shape[0], len(pairs)) or (len(pairs) and pairs.max() >= first.shape[1]):
            raise ForagerError("the parts of this memm model do not fit together: train it again")
        return cls(first, pairs, between, version)


def followed(alpha: NDArray[Real], u: NDArray[Real]) -> NDArray[Real]:
    """alpha of n pages, (k, n), from alpha of the pages before them, (k, n) or (k, 1), and u(i,j,o), (k, k, n). The
    axes of states come first, because numpy is slow along a last axis of a few numbers."""
    likely = np.exp(u - u.max(axis=1, keepdims=True))
    each = alpha / likely.sum(axis=1)
    after: NDArray[Real] = (each[:, None] * likely).sum(axis=0)
    return after


def logs(alpha: NDArray[Real]) -> NDArray[Real]:
    """log-alpha, (n, k), of alpha, (k, n)."""
    rows: NDArray[Real] = np.log(np.maximum(alpha, LEAST)).T
    return rows


def marginal_priority(rows: Carried) -> Reals:
    """-sum over j of j alpha(T_j): minus the expected number of hops to a target."""
    chances = shares(rows)
    expected: Reals = chances @ np.arange(chances.shape[1], dtype=np.float64)
    return -expected


def viterbi_priority(rows: Carried) -> Reals:
    """-j + delta(T_j) / sum of delta, where T_j is the likeliest state, the nearer one in a tie.

    The share of the largest of k is above 0 and at most 1. So links are ordered by hops, and by that share where the
    hops are equal: all scores in (-j, -j + 1] belong to links whose likeliest state is j hops away.
    """
    chances = shares(rows)
    priority: Reals = chances.max(axis=1) - chances.argmax(axis=1)
    return priority


def train(
    paths: Paths,
    states: Ids,
    *,
    count: int = 5,
    version: int = 1,
    settings: FitSettings | None = None,
    report: ReportIteration | None = None,
) -> Memm:
    """A model of `count` states. The state of every position of the paths is known."""
    known = labels(paths, states, count)
    likelihood = MemmLikelihood(paths, known, count)
    weights = maximise(likelihood, likelihood.size, settings or FitSettings(), report)
    first, between = likelihood.split(weights)
    return Memm(first.copy(), likelihood.pairs, between.copy(), version)


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """The positions that follow the same state."""

    columns: slice  # of between: the pairs that begin with that state
    followers: NDArray[np.int64]  # the second state of each of them
    seen: Sparse  # (g, m)
    states: NDArray[np.int64]  # (g,)


class MemmLikelihood:
    """sum of log p(s_t|s_t-1,o_t) over all positions, and its gradient, as a function of first and between."""

    def __init__(self, paths: Paths, states: NDArray[np.int64], count: int) -> None:
        self.pairs = seen_pairs(paths, states)
        self._rows, self._count = paths.features + 1, count
        self._groups = tuple(self._grouped(paths, states))

    @property
    def size(self) -> int:
        """How many weights there are in all."""
        return self._rows * (self._count + len(self.pairs))

    def split(self, weights: Reals) -> tuple[Reals, Reals]:
        """first and between, as views of one array."""
        cut = self._rows * self._count
        return weights[:cut].reshape(self._rows, -1), weights[cut:].reshape(self._rows, len(self.pairs))

    def _grouped(self, paths: Paths, states: NDArray[np.int64]) -> Iterator[_Group]:
        before = np.concatenate(([NOTHING], states[:-1]))
        before[paths.first] = NOTHING
        for i in np.unique(before).tolist():
            at = np.flatnonzero(before == i)
            columns = slice(*np.searchsorted(self.pairs[:, 0], [i, i + 1]).tolist())
            yield _Group(columns, self.pairs[columns, 1].astype(np.int64), paths.observations[at], states[at])

    def __call__(self, weights: Reals) -> tuple[float, Reals]:
        first, between = self.split(weights)
        gradient = np.zeros_like(weights)
        by_first, by_between = self.split(gradient)
        value = 0.0
        for group in self._groups:
            w = first.copy()
            w[:, group.followers] += between[:, group.columns]
            log_p = group.seen @ w[:-1] + w[-1]
            log_p -= log_sum(log_p)[:, None]
            at = np.arange(len(group.states)), group.states
            value += float(log_p[at].sum())
            missed = -np.exp(log_p)
            missed[at] += 1
            change = np.vstack([group.seen.T @ missed, missed.sum(axis=0)])
            by_first += change
            by_between[:, group.columns] = change[:, group.followers]
        return value, gradient
