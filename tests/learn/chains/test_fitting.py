from __future__ import annotations

import numpy as np
import pytest

from forager.errors import ForagerError
from forager.learn.chains.fitting import FitSettings, maximise
from forager.learn.chains.rows import Reals

PEAK = np.array([3.0, -1.0, 0.5])


def parabola(weights: Reals) -> tuple[float, Reals]:
    """-2 |w - peak|^2"""
    return -2 * float(np.square(weights - PEAK).sum()), -4 * (weights - PEAK)


@pytest.mark.parametrize("variance", [0.05, 1.0, 100.0])
def test_the_prior_pulls_the_peak_towards_zero(variance: float) -> None:
    """4 (w - peak) + w / variance = 0"""
    heard: list[tuple[int, float]] = []
    settings = FitSettings(variance=variance, tolerance=0)
    best = maximise(parabola, 3, settings, lambda *told: heard.append(told))
    expected = 4 * PEAK / (4 + 1 / variance)
    np.testing.assert_allclose(best, expected, rtol=1e-5)
    assert [iteration for iteration, _ in heard] == list(range(1, len(heard) + 1))
    penalised = parabola(expected)[0] - float(expected @ expected) / (2 * variance)
    assert heard[-1][1] == pytest.approx(penalised)


def test_training_ends_with_its_iterations() -> None:
    def narrow(weights: Reals) -> tuple[float, Reals]:
        slopes = np.array([1.0, 50.0, 900.0])
        return -float((slopes * np.square(weights - PEAK)).sum()), -2 * slopes * (weights - PEAK)

    heard: list[int] = []
    maximise(narrow, 3, FitSettings(iterations=2), lambda iteration, _: heard.append(iteration))
    assert heard == [1, 2]


def test_settings_that_make_no_sense_are_refused() -> None:
    for wrong in ({"variance": 0.0}, {"iterations": 0}, {"tolerance": -1.0}):
        with pytest.raises(ForagerError, match="give a variance above 0"):
            FitSettings(**wrong)
