"""Logistic regression, beside a general search for the minimum of what its docstring says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from forager.learn.linear import Reals
from forager.learn.logistic import logistic

DRAW = np.random.default_rng(11)
PULL = np.array([0.5, 2.0, 0.1, 1e-6])


def data(n: int = 200) -> tuple[Reals, Reals]:
    x = np.column_stack((DRAW.normal(size=(n, 3)) * (1, 5, 0.2), np.ones(n)))
    return x, DRAW.random(n)


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("drawn", [False, True])
def test_it_finds_the_minimum(weighed: bool, drawn: bool) -> None:
    x, y = data()
    weight = DRAW.random(len(y)) * 3 if weighed else np.ones(len(y))
    offset, prior = (DRAW.normal(size=len(y)), DRAW.normal(size=4)) if drawn else (np.zeros(len(y)), np.zeros(4))

    def lost(w: Reals) -> float:
        z = offset + x @ w
        return float(weight @ (np.logaddexp(0, z) - y * z) + PULL @ (w - prior) ** 2 / 2)

    found = logistic(x, y, PULL, prior=prior, offset=offset, weight=weight, start=np.full(4, 5.0))
    best = minimize(lost, np.zeros(4), method="Nelder-Mead", options={"maxiter": 20_000, "xatol": 1e-8, "fatol": 1e-10})
    assert lost(found) <= best.fun + 1e-8
    assert found == pytest.approx(best.x, abs=1e-3)


def test_where_two_sides_do_not_overlap_the_prior_keeps_it_finite() -> None:
    x = np.column_stack((np.array([-2.0, -1.0, 1.0, 2.0]), np.ones(4)))
    slope, bias = logistic(x, np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.1, 0.1]))
    assert 0 < slope < 20
    assert bias == pytest.approx(0, abs=1e-9)


def test_few_steps_from_where_it_ended_change_nothing() -> None:
    x, y = data()
    found = logistic(x, y, PULL)
    assert logistic(x, y, PULL, start=found, steps=1) == pytest.approx(found, abs=1e-9)
