"""Training of a conditional random field: the exact gradient of the log-likelihood (Lafferty, McCallum & Pereira 2001).

    L(W)             = sum over paths of (W.F(y,x) - log Z(x)) - |W|^2 / (2 variance)
    d/dweights[f,y]  = sum over positions of x_i[f] ([y_i=y] - Pr(y_i=y))
    d/dedges[y',y]   = sum over steps of ([y_i-1=y', y_i=y] - Pr(y_i-1=y', y_i=y))
    d/dsteps[e,.]    = the same, each step times z_i[e]

States that a position does not admit have Pr = 0: they neither gain nor lose weight there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forager.errors import ForagerError
from forager.learn.chains.crf import Crf
from forager.learn.chains.fitting import Heard, Settings, maximise
from forager.learn.chains.lattice import Lattice
from forager.learn.chains.paths import LINK, PAGE, Paths, labels, seen_pairs
from forager.learn.chains.rows import Reals
from forager.types import Ids

NAMES = {PAGE: "page", LINK: "link"}


def train(
    paths: Paths,
    states: Ids,
    kinds: Ids,
    *,
    version: int = 1,
    settings: Settings | None = None,
    heard: Heard | None = None,
) -> Crf:
    """A model whose states are of the given `kinds`, from paths of which the state of every position is given."""
    likelihood = Likelihood(paths, labels(paths, states, len(kinds)), np.asarray(kinds, np.int32), version)
    return likelihood.model(maximise(likelihood, likelihood.size, settings or Settings(), heard).copy())


class Likelihood:
    """sum of log Pr(y|x) over the paths, and its gradient, as a function of weights, edges and steps."""

    def __init__(self, paths: Paths, states: NDArray[np.int64], kinds: Ids, version: int = 1) -> None:
        wrong = np.flatnonzero(kinds[states] != paths.kind)
        if len(wrong):
            is_a, has = (NAMES.get(int(of[wrong[0]]), "other") for of in (paths.kind, kinds[states]))
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
        return int(self._cuts[-1])

    def split(self, flat: Reals) -> list[Reals]:
        """weights, edges and steps, as views."""
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
        """Adds up [y',y] - Pr(y',y) over all steps; returns it for each position and pair that has features, (t, p)."""
        states, pairs = self._states, self._pairs
        followed = np.zeros((self._paths.positions, len(pairs)))
        for step, chances in lattice.pair_marginals():
            by_edges[step.source[:, None], step.target] -= chances.sum(axis=0)
            np.add.at(by_edges, (states[step.at - 1], states[step.at]), 1)
            if len(pairs):
                every = np.zeros((len(step.at), *by_edges.shape))
                every[:, step.source[:, None], step.target] = chances
                every[np.arange(len(step.at)), states[step.at - 1], states[step.at]] -= 1
                followed[step.at] = -every[:, pairs[:, 0], pairs[:, 1]]
        return followed
