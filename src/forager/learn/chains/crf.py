"""Linear-chain conditional random field over paths of pages and links, with masks.

Each position, a page or a link, is described by a row x_i of m numbers, and admits the states of its own kind alone:

    W.f(y',y,x,i) = sum over f of x_i[f] weights[f,y] + edges[y',y] + sum over e of z_i[e] steps[e,(y',y)]
                    -inf if y is not of the kind of position i; the first position has no y' and no edge
    Pr(y|x)       = e^(sum over i of W.f(y_i-1,y_i,x,i)) / Z(x),   Z(x) = the same summed over all y

*Dual states*: every label has a page-state and a link-state, a path is page, link, page, …, and z is empty. *Single
states*: all positions are pages, and the words of the link to page i are z_i, the features of the step, for each pair
(y',y) that was seen in training. There is no constant feature: describe positions by one if it is wanted.

While crawling, alpha and delta follow the path position by position, as logarithms:

    alpha_1(y) = e^(W.f(y,x,1))        alpha_i(y) = sum over y' of alpha_i-1(y') e^(W.f(y',y,x,i))    delta: max for sum

*Reward*, with n positions: R_n(y) = [y is a goal], R_i(y) as in lattice.py, and with gamma in (0, 1]

    R^x(y) = sum over k of gamma^k R_n-k(y) / sum over k of gamma^k       over the positions n-k of the kind of y
    R(y)   = mean of R^x(y) over all paths x that have such a position
    score  = sum over y of R(y) alpha_L(y) / sum over y of alpha_L(y)     of a link L
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from forager.errors import ForagerError
from forager.learn.chains.lattice import Lattice
from forager.learn.chains.paths import PAGE, Paths
from forager.learn.chains.rows import Carried, Reals, Sparse, carried, log_sum, observed, rescaled, shares
from forager.types import Ids, Mask, Parts


@dataclass(frozen=True, eq=False)
class Crf:
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
        """Which states are of this kind, (s,): all that a row need carry."""
        return np.equal(self.kinds, kind)

    @cached_property
    def _weights_of(self) -> Mapping[int, Reals]:
        """The columns of each kind of states, each a matrix of its own: positions of one kind need no others."""
        return {int(kind): np.ascontiguousarray(self.weights[:, self.of(kind)]) for kind in np.unique(self.kinds)}

    def unary(self, observations: Sparse, kind: int = PAGE) -> Reals:
        """sum over f of x[f] weights[f,y] for n positions of this kind, (n, s); -inf for states of another."""
        if kind not in self._weights_of:
            raise ForagerError(f"no state of this model is of kind {kind}: retrain, or mend the kinds of the positions")
        rows = np.full((observations.shape[0], self.states), -np.inf)
        rows[:, self.of(kind)] = observed(observations, self.features) @ self._weights_of[kind]
        return rows

    def forward(
        self, previous: Carried | None, unary: Reals, *, step: Sparse | None = None, best: bool = False
    ) -> Reals:
        """The rows of n positions, (n, s), from those before them: log-alpha, or with `best` delta.

        `previous` is (n, s), or (1, s) if it is the same for all, or None if paths begin here; `unary` (n, s) is what
        the positions say themselves, `step` (n, e) describes the way there.
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
        """`version`: of the features that positions will be described by."""
        if int(parts["feature_version"]) != version:
            told = f"version {int(parts['feature_version'])}, pages are described by version {version}"
            raise ForagerError(f"this crf model was trained on features of {told}: train it again")
        arrays = [np.asarray(parts[name]) for name in ("kinds", "weights", "edges", "pairs", "steps")]
        kinds, weights, edges, pairs, steps = arrays
        fitting = weights.shape[1:] == kinds.shape and edges.shape == 2 * kinds.shape
        if not fitting or steps.shape[1:] != (len(pairs),) or (len(pairs) and pairs.max() >= len(kinds)):
            raise ForagerError("the parts of this crf model do not fit together: train it again")
        return cls(kinds, weights, edges, pairs, steps, version)


def discounted_reward(crf: Crf, paths: Paths, goals: Sequence[int], gamma: float = 0.5) -> Reals:
    """R(y), (s,), over paths to a goal and others alike; 0 for a state whose kind no path has a position of."""
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
    as training paths tell it."""
    scores: Reals = shares(carried(rows, len(reward))) @ reward
    return scores
