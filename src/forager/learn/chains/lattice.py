"""The sums and maxima over all state sequences of paths that a conditional random field needs.

With g_t(y',y) = e^(unary_t(y) + between_t(y',y)) the potential of y at position t after y', 0 where t does not admit y:

    alpha_t(y)  = sum over y' of alpha_t-1(y') g_t(y',y)         alpha_1(y) = e^unary_1(y)
    beta_t(y)   = sum over y' of g_t+1(y,y') beta_t+1(y')        beta_n(y) = 1
    Z           = sum over y of alpha_n(y)
    Pr(y_t=y)   = alpha_t(y) beta_t(y) / Z
    Pr(y_t-1=y', y_t=y) = alpha_t-1(y') g_t(y',y) beta_t(y) / Z
    delta_t(y)  = max over y' of delta_t-1(y') g_t(y',y)
    R_t(y)      = sum over y' of R_t+1(y') g_t+1(y,y') / sum over y' of g_t+1(y,y')

All in logarithms, position by position, for all paths side by side. A step looks only at the states that some path
admits there: where pages and links alternate, that is half of them before and the other half after.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.learn.chains.paths import Paths
from forager.learn.chains.rows import Reals, log_sum
from forager.types import Ids, Mask

Places: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """From the positions `at - 1` of some paths to the positions `at`."""

    at: Places  # (n,)
    source: Places  # states that some `at - 1` admits, a of them
    target: Places  # states that some `at` admits, b of them
    between: Reals  # (n, a, b), or (1, a, b) if it is the same for all

    @property
    def before(self) -> tuple[Places, Places]:
        """Where in a (t, s) array the rows before the step are."""
        return self.at[:, None] - 1, self.source

    @property
    def after(self) -> tuple[Places, Places]:
        return self.at[:, None], self.target


@dataclass(frozen=True, eq=False)
class Lattice:
    paths: Paths
    kinds: Ids  # (s,) of the states
    unary: Reals  # (t, s), -inf where the position does not admit the state
    edges: Reals  # (s, s)
    pairs: Ids  # (p, 2)
    extra: Reals | None = None  # (t, p): what the step to each position adds to the edges in `pairs`

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        return tuple(self._steps())

    def _steps(self) -> Iterator[Step]:
        waves = self.paths.waves
        for at in waves[1:]:
            source, target = self._admitted(at - 1), self._admitted(at)
            yield Step(at, source, target, self._between(at)[:, source[:, None], target])

    def _admitted(self, at: Places) -> Places:
        return np.flatnonzero(np.isin(self.kinds, self.paths.kind[at]))

    def _between(self, at: Places) -> Reals:
        if self.extra is None:
            return self.edges[None]
        between = np.repeat(self.edges[None], len(at), axis=0)
        between[:, self.pairs[:, 0], self.pairs[:, 1]] += self.extra[at]
        return between

    @cached_property
    def alpha(self) -> Reals:
        """(t, s), log"""
        alpha = self.unary.copy()
        for step in self.steps:
            alpha[step.after] += log_sum(alpha[step.before][:, :, None] + step.between, axis=1)
        return alpha

    @cached_property
    def beta(self) -> Reals:
        """(t, s), log; of no meaning where the position does not admit the state."""
        beta = np.zeros_like(self.unary)
        for step in reversed(self.steps):
            ahead = self.unary[step.after] + beta[step.after]
            beta[step.before] = log_sum(step.between + ahead[:, None, :], axis=2)
        return beta

    @cached_property
    def log_z(self) -> Reals:
        """(p,) of each path"""
        return log_sum(self.alpha[self.paths.last])

    def marginals(self) -> Reals:
        """Pr(y_t=y), (t, s)"""
        return np.exp(self.alpha + self.beta - self.log_z[self.paths.owner, None])

    def pair_marginals(self) -> Iterator[tuple[Step, Reals]]:
        """Pr(y_t-1=y', y_t=y) of each step, (n, a, b)"""
        for step in self.steps:
            ahead = self.unary[step.after] + self.beta[step.after] - self.log_z[self.paths.owner[step.at], None]
            yield step, np.exp(self.alpha[step.before][:, :, None] + step.between + ahead[:, None, :])

    def score(self, states: Places) -> Reals:
        """log of the product of the potentials along the given states, (p,)"""
        along = self.unary[np.arange(len(states)), states]
        later = np.delete(np.arange(len(states)), self.paths.first)
        along[later] += self.edges[states[later - 1], states[later]]
        if self.extra is not None:
            followed = np.equal(self.pairs[:, 0], states[later - 1, None]) & (self.pairs[:, 1] == states[later, None])
            along[later] += (self.extra[later] * followed).sum(axis=1)
        summed: Reals = np.add.reduceat(along, self.paths.first)
        return summed

    def viterbi(self) -> Places:
        """The likeliest states of each path as a whole, (t,); the smaller state in a tie."""
        delta, came_from = self.unary.copy(), np.zeros(self.unary.shape, np.int64)
        for step in self.steps:
            each = delta[step.before][:, :, None] + step.between
            came_from[step.after] = step.source[each.argmax(axis=1)]
            delta[step.after] += each.max(axis=1)
        states: Places = delta.argmax(axis=1)  # right at the last positions; the others are traced back from them
        for step in reversed(self.steps):
            states[step.at - 1] = came_from[step.at, states[step.at]]
        return states

    def reward(self, goal: Mask) -> Reals:
        """R_t(y), (t, s): the chance to end in a goal state from y at t, if what follows is chosen step by step; of no
        meaning where the position does not admit the state."""
        reward = np.zeros_like(self.unary)
        reward[self.paths.last] = goal
        for step in reversed(self.steps):
            ahead = step.between + self.unary[step.after][:, None, :]
            chances = np.exp(ahead - log_sum(ahead)[:, :, None])
            reward[step.before] = np.einsum("nab,nb->na", chances, reward[step.after])
        return reward
