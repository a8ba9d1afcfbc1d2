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
from forager.types import ReportIteration

LikelihoodFunction: TypeAlias = Callable[[Reals], tuple[float, Reals]]  # weights -> log-likelihood and its gradient


@dataclass(frozen=True, slots=True)
class FitSettings:
    """`variance` is that of the prior: the smaller it is, the closer to 0 the weights stay. Training ends after
    `iterations` iterations, or when an iteration gains less than the share `tolerance` of L(w)."""

    variance: float = 1.0
    iterations: int = 200
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if not (self.variance > 0 and self.iterations >= 1 and self.tolerance >= 0):
            raise ForagerError(
                f"training with variance {self.variance}, {self.iterations} iterations and tolerance {self.tolerance}: "
                "give a variance above 0, at least 1 iteration, and a tolerance of 0 or more"
            )


def maximise(
    likelihood: LikelihoodFunction, size: int, settings: FitSettings, report: ReportIteration | None = None
) -> Reals:
    """The w with the largest L(w); the search starts at w = 0."""
    from scipy.optimize import minimize  # takes a sixth of a second: imported only for training

    iteration = 0

    def loss(weights: Reals) -> tuple[float, Reals]:
        value, gradient = likelihood(weights)
        penalty = float(weights @ weights) / (2 * settings.variance)
        return penalty - value, weights / settings.variance - gradient

    def tell(intermediate_result: Any) -> None:
        nonlocal iteration
        iteration += 1
        if report:
            report(iteration, -float(intermediate_result.fun))

    # No bound on evaluations: it would cut off line searches. gtol is so small that only the tolerance ends the search.
    options = {"maxiter": settings.iterations, "maxfun": np.inf, "ftol": settings.tolerance, "gtol": 1e-8}
    found = minimize(loss, np.zeros(size), jac=True, method="L-BFGS-B", callback=tell, options=options)
    best: Reals = found.x
    return best
