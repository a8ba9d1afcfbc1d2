"""Linear-chain conditional random field over paths of pages and links (Lafferty, McCallum & Pereira 2001), with masks.

Each position, a page or a link, is described by a row x_i of m numbers. It admits only the states of its own kind:

    W.f(y',y,x,i) = sum over f of x_i[f] weights[f,y] + edges[y',y] + sum over e of z_i[e] steps[e,(y',y)]
                    -inf if y is not of the kind of position i; the first position has no y' and no edge
    Pr(y|x)       = e^(sum over i of W.f(y_i-1,y_i,x,i)) / Z(x),   Z(x) = the same summed over all y

*Dual states*: every label has a page-state and a link-state, a path is page, link, page, …, and z is empty. *Single
states*: all positions are pages, and the words of the link to page i are z_i, the features of the step, for each pair
(y',y) that was seen in training. There is no constant feature: describe positions by one if you want it.

*Training* maximises, by its exact gradient,

    L(W)             = sum over paths of (W.F(y,x) - log Z(x)) - |W|^2 / (2 variance)
    d/dweights[f,y]  = sum over positions of x_i[f] ([y_i=y] - Pr(y_i=y))
    d/dedges[y',y]   = sum over steps of ([y_i-1=y', y_i=y] - Pr(y_i-1=y', y_i=y))
    d/dsteps[e,.]    = the same, each step times z_i[e]

States that a position does not admit have Pr = 0: they neither gain nor lose weight there.

*While crawling*, alpha and delta follow the path position by position, as logarithms:

    alpha_1(y) = e^(W.f(y,x,1))        alpha_i(y) = sum over y' of alpha_i-1(y') e^(W.f(y',y,x,i))    delta: max for sum

*Reward*, with n positions: R_n(y) = [y is a goal], R_i(y) as in `Lattice`, and with gamma in (0, 1]

    R^x(y) = sum over k of gamma^k R_n-k(y) / sum over k of gamma^k       over the positions n-k of the kind of y
    R(y)   = mean of R^x(y) over all paths x that have such a position
    score  = sum over y of R(y) alpha_L(y) / sum over y of alpha_L(y)     of a link L
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.errors import ForagerError
from forager.learn.chains.fitting import FitSettings, maximise
from forager.learn.chains.paths import LINK, PAGE, Paths, labels, seen_pairs
from forager.learn.chains.rows import Carried, Reals, Sparse, carried, log_sum, observed, rescaled, shares
from forager.types import Ids, Mask, Parts, ReportIteration

Places: TypeAlias = NDArray[np.int64]

KIND_NAMES = {PAGE: "page", LINK: "link"}


@dataclass(frozen=True, eq=False)
class Crf:
    """The model: its states and weights."""

    kinds: Ids  # (s,) of each state: PAGE or LINK
    weights: Reals  # (m, s)
    edges: Reals  # (s, s) from, to
    pairs: Ids  # (p, 2) those that have features of their own, in order
    steps: Reals  # (e, p) the weights of these
    version: int  # of the features

    @property
    def states(self) -> int:
        return len(self.kinds)

    @property
    def features(self) -> int:
        return int(self.weights.shape[0])

    def of(self, kind: int) -> Mask:
        """Which states are of this kind, (s,)."""
        return np.equal(self.kinds, kind)

    @cached_property
    def _weights_of(self) -> Mapping[int, Reals]:
        """The columns of each kind of states, as a matrix of its own: a position needs only those of its kind."""
        return {int(kind): np.ascontiguousarray(self.weights[:, self.of(kind)]) for kind in np.unique(self.kinds)}

    def unary(self, observations: Sparse, kind: int = PAGE) -> Reals:
        """sum over f of x[f] weights[f,y] for n positions of this kind, (n, s); -inf for states of another."""
        if kind not in self._weights_of:
            raise ForagerError(
                f"no state of this model is of kind {kind}: retrain, or correct the kinds of the positions"
            )
        rows = np.full((observations.shape[0], self.states), -np.inf)
        rows[:, self.of(kind)] = observed(observations, self.features) @ self._weights_of[kind]
        return rows

    def forward(
        self, previous: Carried | None, unary: Reals, *, step: Sparse | None = None, best: bool = False
    ) -> Reals:
        """The rows of n positions, (n, s), from those before them: log-alpha, or with `best` delta.

        `previous` is (n, s), or (1, s) if it is the same for all, or None if paths begin here. `unary` (n, s) comes
        from the positions themselves, `step` (n, e) describes the way to them.
        """
        if previous is None:
            return rescaled(unary, best=best)
        before = carried(previous, self.states)[:, :, None]
        if step is None:
            each = before + self.edges
        else:
            between = np.repeat(self.edges[None], step.shape[0], axis=0)
            between[:, self.pairs[:, 0], self.pairs[:, 1]] += observed(step, self.steps.shape[0]) @ self.steps
            each = before + between
        return rescaled(unary + (each.max(axis=1) if best else log_sum(each, axis=1)), best=best)

    def lattice(self, paths: Paths) -> Lattice:
        """All sums over the state sequences of these paths."""
        unary = np.empty((paths.positions, self.states))
        for kind, (at, seen) in paths.by_kind.items():
            unary[at] = self.unary(seen, kind)
        extra = observed(paths.step, self.steps.shape[0]) @ self.steps if self.steps.size else None
        return Lattice(paths, self.kinds, unary, self.edges, self.pairs, extra)

    def parts(self) -> Parts:
        arrays = {name: getattr(self, name) for name in ("kinds", "weights", "edges", "pairs", "steps")}
        return {**arrays, "feature_version": self.version}

    @classmethod
    def from_parts(cls, parts: Parts, *, version: int) -> Self:
        """`version`: that of the features which will describe positions."""
        if int(parts["feature_version"]) != version:
            told = f"version {int(parts['feature_version'])}, pages are described by version {version}"
            raise ForagerError(f"this crf model was trained on features of {told}: train it again")
        arrays = [np.asarray(parts[name]) for name in ("kinds", "weights", "edges", "pairs", "steps")]
        kinds, weights, edges, pairs, steps = arrays
        fitting = weights.shape[1:] == kinds.shape and edges.shape == 2 * kinds.shape
        if not fitting or steps.shape[1:] != (len(pairs),) or (len(pairs) and pairs.max() >= len(kinds)):
            raise ForagerError("the parts of this crf model do not fit together: train it again")
        return cls(kinds, weights, edges, pairs, steps, version)


# ---- the sums over all state sequences ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Transition:
    """From the positions `at - 1` of some paths to the positions `at`."""

    at: Places  # (n,)
    source: Places  # states that some `at - 1` admits, a of them
    target: Places  # states that some `at` admits, b of them
    between: Reals  # (n, a, b), or (1, a, b) if it is the same for all

    @property
    def before(self) -> tuple[Places, Places]:
        """Where the rows before the transition are in a (t, s) array."""
        return self.at[:, None] - 1, self.source

    @property
    def after(self) -> tuple[Places, Places]:
        """Where the rows after it are."""
        return self.at[:, None], self.target


@dataclass(frozen=True, eq=False)
class Lattice:
    """Sums and maxima over all state sequences of some paths.

    g_t(y',y) = e^(unary_t(y) + between_t(y',y)) is the potential of y at position t after y', 0 if t does not admit y:

        alpha_t(y)  = sum over y' of alpha_t-1(y') g_t(y',y)         alpha_1(y) = e^unary_1(y)
        beta_t(y)   = sum over y' of g_t+1(y,y') beta_t+1(y')        beta_n(y) = 1
        Z           = sum over y of alpha_n(y)
        Pr(y_t=y)   = alpha_t(y) beta_t(y) / Z
        Pr(y_t-1=y', y_t=y) = alpha_t-1(y') g_t(y',y) beta_t(y) / Z
        delta_t(y)  = max over y' of delta_t-1(y') g_t(y',y)
        R_t(y)      = sum over y' of R_t+1(y') g_t+1(y,y') / sum over y' of g_t+1(y,y')

    All are logarithms, computed position by position, for all paths side by side. A transition looks only at the states
    that some path admits there: where pages and links alternate, that is one half before and the other half after.
    """

    paths: Paths
    kinds: Ids  # (s,) of the states
    unary: Reals  # (t, s), -inf where the position does not admit the state
    edges: Reals  # (s, s)
    pairs: Ids  # (p, 2)
    extra: Reals | None = None  # (t, p): what the features of the step to each position add to the edges in `pairs`

    @cached_property
    def transitions(self) -> tuple[Transition, ...]:
        return tuple(self._transitions())

    def _transitions(self) -> Iterator[Transition]:
        for at in self.paths.waves[1:]:
            source, target = self._admitted(at - 1), self._admitted(at)
            yield Transition(at, source, target, self._between(at)[:, source[:, None], target])

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
        for move in self.transitions:
            alpha[move.after] += log_sum(alpha[move.before][:, :, None] + move.between, axis=1)
        return alpha

    @cached_property
    def beta(self) -> Reals:
        """(t, s), log; it means nothing where the position does not admit the state."""
        beta = np.zeros_like(self.unary)
        for move in reversed(self.transitions):
            ahead = self.unary[move.after] + beta[move.after]
            beta[move.before] = log_sum(move.between + ahead[:, None, :], axis=2)
        return beta

    @cached_property
    def log_z(self) -> Reals:
        """log Z of each path, (p,)"""
        return log_sum(self.alpha[self.paths.last])

    def marginals(self) -> Reals:
        """Pr(y_t=y), (t, s)"""
        return np.exp(self.alpha + self.beta - self.log_z[self.paths.owner, None])

    def pair_marginals(self) -> Iterator[tuple[Transition, Reals]]:
        """Pr(y_t-1=y', y_t=y) of each transition, (n, a, b)"""
        for move in self.transitions:
            ahead = self.unary[move.after] + self.beta[move.after] - self.log_z[self.paths.owner[move.at], None]
            yield move, np.exp(self.alpha[move.before][:, :, None] + move.between + ahead[:, None, :])

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
        for move in self.transitions:
            each = delta[move.before][:, :, None] + move.between
            came_from[move.after] = move.source[each.argmax(axis=1)]
            delta[move.after] += each.max(axis=1)
        states: Places = delta.argmax(axis=1)  # true at the last positions; the others are traced back from them
        for move in reversed(self.transitions):
            states[move.at - 1] = came_from[move.at, states[move.at]]
        return states

    def reward(self, goal: Mask) -> Reals:
        """R_t(y), (t, s): the chance to end in a goal state from y at t, if the following states are chosen one by one.
        It means nothing where the position does not admit the state."""
        reward = np.zeros_like(self.unary)
        reward[self.paths.last] = goal
        for move in reversed(self.transitions):
            ahead = move.between + self.unary[move.after][:, None, :]
            chances = np.exp(ahead - log_sum(ahead)[:, :, None])
            reward[move.before] = np.einsum("nab,nb->na", chances, reward[move.after])
        return reward


# ---- training -------------------------------------------------------------------------------------------------------


def train(
    paths: Paths,
    states: Ids,
    kinds: Ids,
    *,
    version: int = 1,
    settings: FitSettings | None = None,
    report: ReportIteration | None = None,
) -> Crf:
    """A model whose states are of the given `kinds`. The state of every position of the paths is known."""
    likelihood = CrfLikelihood(paths, labels(paths, states, len(kinds)), np.asarray(kinds, np.int32), version)
    return likelihood.model(maximise(likelihood, likelihood.size, settings or FitSettings(), report).copy())


class CrfLikelihood:
    """sum of log Pr(y|x) over the paths, and its gradient, as a function of weights, edges and steps."""

    def __init__(self, paths: Paths, states: NDArray[np.int64], kinds: Ids, version: int = 1) -> None:
        wrong = np.flatnonzero(kinds[states] != paths.kind)
        if len(wrong):
            is_a, has = (KIND_NAMES.get(int(of[wrong[0]]), "other") for of in (paths.kind, kinds[states]))
            raise ForagerError(
                f"position {wrong[0]} is a {is_a} labelled with state {states[wrong[0]]}, a {has}-state: "
                f"label it with a {is_a}-state"
            )
        self._paths, self._states, self._kinds, self._version = paths, states, kinds, version
        described = paths.step.shape[1] > 0
        self._pairs = seen_pairs(paths, states) if described else np.empty((0, 2), np.int32)
        s, p = len(kinds), len(self._pairs)
        self._shapes = ((paths.features, s), (s, s), (paths.step.shape[1], p))
        self._cuts = np.cumsum([rows * columns for rows, columns in self._shapes])

    @property
    def size(self) -> int:
        """How many weights there are in all."""
        return int(self._cuts[-1])

    def split(self, flat: Reals) -> list[Reals]:
        """weights, edges and steps, as views of one array."""
        return [part.reshape(shape) for part, shape in zip(np.split(flat, self._cuts[:-1]), self._shapes, strict=True)]

    def model(self, flat: Reals) -> Crf:
        weights, edges, steps = self.split(flat)
        return Crf(self._kinds, weights, edges, self._pairs, steps, self._version)

    def __call__(self, flat: Reals) -> tuple[float, Reals]:
        lattice = self.model(flat).lattice(self._paths)
        value = float((lattice.score(self._states) - lattice.log_z).sum())
        gradient = np.zeros_like(flat)
        by_weights, by_edges, by_steps = self.split(gradient)
        missed = -lattice.marginals()
        missed[np.arange(len(self._states)), self._states] += 1
        for kind, (at, seen) in self._paths.by_kind.items():
            of = np.flatnonzero(self._kinds == kind)
            by_weights[:, of] = seen.T @ missed[at[:, None], of]
        followed = self._followed(lattice, by_edges)
        if by_steps.size:
            by_steps[:] = self._paths.step.T @ followed
        return value, gradient

    def _followed(self, lattice: Lattice, by_edges: Reals) -> Reals:
        """Adds [y',y] - Pr(y',y) of all steps to `by_edges`, and gives it for each position and pair with features,
        (t, p)."""
        states, pairs = self._states, self._pairs
        followed = np.zeros((self._paths.positions, len(pairs)))
        for move, chances in lattice.pair_marginals():
            by_edges[move.source[:, None], move.target] -= chances.sum(axis=0)
            np.add.at(by_edges, (states[move.at - 1], states[move.at]), 1)
            if len(pairs):
                every = np.zeros((len(move.at), *by_edges.shape))
                every[:, move.source[:, None], move.target] = chances
                every[np.arange(len(move.at)), states[move.at - 1], states[move.at]] -= 1
                followed[move.at] = -every[:, pairs[:, 0], pairs[:, 1]]
        return followed


# ---- scores ---------------------------------------------------------------------------------------------------------


def discounted_reward(crf: Crf, paths: Paths, goals: Sequence[int], gamma: float = 0.5) -> Reals:
    """R(y), (s,), over all paths, whether they reach a goal or not; 0 for a state whose kind no position has."""
    if not 0 < gamma <= 1:
        raise ForagerError(f"a reward with gamma {gamma}: give more than 0, and 1 at most")
    goal = np.isin(np.arange(crf.states), list(goals))
    if not (goal & np.isin(crf.kinds, paths.kind[paths.last])).any():
        raise ForagerError("no path ends where a goal could be: name a goal state of the kind that paths end with")
    to_go = paths.last[paths.owner] - np.arange(paths.positions)
    weight = gamma ** to_go[:, None] * np.equal(paths.kind[:, None], crf.kinds)  # (t, s)
    whole = np.add.reduceat(weight, paths.first)  # (p, s)
    got = np.add.reduceat(weight * crf.lattice(paths).reward(goal), paths.first)
    has = whole > 0
    each = np.divide(got, whole, out=np.zeros_like(got), where=has)
    mean: Reals = each.sum(axis=0) / np.maximum(has.sum(axis=0), 1)
    return mean


def link_score(rows: Carried, reward: Reals) -> Reals:
    """sum over y of R(y) alpha(y) / sum of alpha, (n,), from rows of log-alpha: in [0, 1], the chance to reach a goal
    that the training paths suggest."""
    scores: Reals = shares(carried(rows, len(reward))) @ reward
    return scores
