"""Weights that maximise a likelihood under a Gaussian prior, by L-BFGS on the exact gradient.

L(w) = log-likelihood(w) - |w|^2 / (2 variance)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from forager.errors import ForagerError
from forager.learn.chains.rows import Reals

Likelihood: TypeAlias = Callable[[Reals], tuple[float, Reals]]  # weights -> log-likelihood and its gradient
Heard: TypeAlias = Callable[[int, float], None]  # told the iteration, from 1, and L(w) after it


@dataclass(frozen=True, slots=True)
class Settings:
    """`variance`: of the prior, the smaller the nearer to 0 are the weights. Training ends after so many `iterations`,
    or when one of them gains less than `tolerance` of L(w)."""

    variance: float = 1.0
    iterations: int = 200
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if not (self.variance > 0 and self.iterations >= 1 and self.tolerance >= 0):
            raise ForagerError(
                f"training with variance {self.variance}, {self.iterations} iterations and tolerance {self.tolerance}: "
                "give a variance above 0, an iteration at least, and a tolerance of 0 or more"
            )


def maximise(likelihood: Likelihood, size: int, settings: Settings, heard: Heard | None = None) -> Reals:
    """The w that L(w) is largest for, from w = 0."""
    from scipy.optimize import minimize  # takes a sixth of a second: only those who train pay for it

    iteration = 0

    def loss(weights: Reals) -> tuple[float, Reals]:
        value, gradient = likelihood(weights)
        penalty = float(weights @ weights) / (2 * settings.variance)
        return penalty - value, weights / settings.variance - gradient

    def tell(intermediate_result: Any) -> None:
        nonlocal iteration
        iteration += 1
        if heard:
            heard(iteration, -float(intermediate_result.fun))

    # a bound on evaluations, too, would cut off line searches; gtol is left to the tolerance of the value
    options = {"maxiter": settings.iterations, "maxfun": np.inf, "ftol": settings.tolerance, "gtol": 1e-8}
    found = minimize(loss, np.zeros(size), jac=True, method="L-BFGS-B", callback=tell, options=options)
    best: Reals = found.x
    return best
