"""Logistic regression on a few columns, drawn to what is believed beforehand.

    w minimises  sum of weight * log-loss(offset + x.w, y) + sum of pull (w - prior)^2 / 2

y may be any chance, not only 0 and 1. Newton's method finds the minimum; a step that overshoots is halved.
"""

from __future__ import annotations

import numpy as np

from forager.learn.linear import Reals

NEAR = 1e-8  # a step so small is the last


def logistic(
    x: Reals,
    y: Reals,
    pull: Reals,
    *,
    prior: Reals | None = None,
    start: Reals | None = None,
    offset: Reals | float = 0.0,
    weight: Reals | float = 1.0,
    steps: int = 100,
) -> Reals:
    """w. The prior is 0 if none is given. The search begins there, or at `start`."""
    goal = np.zeros(x.shape[1]) if prior is None else prior
    w, each = goal if start is None else start, np.broadcast_to(weight, len(y))

    def loss(w: Reals) -> float:
        z, away = offset + x @ w, w - goal
        return float(each @ (np.logaddexp(0, z) - y * z) + pull @ (away * away) / 2)

    for _ in range(steps):
        p = (1 + np.tanh((offset + x @ w) / 2)) / 2
        gradient = x.T @ (each * (p - y)) + pull * (w - goal)
        step = np.linalg.solve((x.T * (each * p * (1 - p))) @ x + np.diag(pull), gradient)
        before = loss(w)
        while loss(w - step) > before + 1e-12 and np.abs(step).max() > 1e-12:
            step /= 2
        w = w - step
        if np.abs(step).max() < NEAR:
            break
    return np.asarray(w)
