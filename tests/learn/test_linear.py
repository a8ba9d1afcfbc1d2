"""Regression that learns a toy, and what it keeps."""

from __future__ import annotations

import numpy as np
import pytest

from forager.learn.linear import Linear, Regression, sigmoid
from forager.types import Floats, Ragged

SIZE = 1 << 10


def toy(count: int, seed: int) -> tuple[Ragged, Floats]:
    """Each instance has ten features of 100 that say nothing, and 500 or 501, which say all."""
    draw = np.random.default_rng(seed)
    high = np.arange(count) % 2 == 0
    rows = [[*draw.integers(0, 100, 10).tolist(), 500 + int(each)] for each in high]
    return Ragged.of(rows), high.astype(np.float32)


def model_of(learner: Regression) -> Linear:
    model = learner.linear()
    assert model is not None
    return model


@pytest.mark.parametrize("logistic", [True, False])
def test_learns_what_can_be_told_apart(logistic: bool) -> None:
    learner = Regression(SIZE, logistic=logistic)
    learner.learn(*toy(1200, seed=0))
    clues, targets = toy(200, seed=1)
    predicted = sigmoid(model_of(learner)(clues))
    assert ((predicted > 0.5) == (targets > 0.5)).mean() > 0.98


def test_a_step_by_hand() -> None:
    """Four equal features in one instance: x = 1/2 each, g = 4 (p - y) / 2; a first step is the rate, by sign."""
    learner = Regression(SIZE, rate=0.3, passes=1)
    learner.learn(Ragged.of([[7, 7, 7, 7]]), np.ones(1, np.float32))
    assert learner.weights[7] == pytest.approx(0.3)
    assert learner.squares[7] == pytest.approx((4 * 0.5 / 2) ** 2)
    assert learner.bias[0] == pytest.approx(0.3)
    assert np.count_nonzero(learner.weights) == 1


def test_predicts_the_mean_where_nothing_else_is_known() -> None:
    learner = Regression(SIZE, passes=20)
    learner.learn(Ragged.of([[1]] * 1000), np.tile(np.array([0, 0, 0, 1], np.float32), 250))
    assert sigmoid(model_of(learner)(Ragged.of([[1]])))[0] == pytest.approx(0.25, abs=0.05)


def test_linear_units_are_put_on_the_scale_of_log_odds() -> None:
    learner = Regression(SIZE, logistic=False, passes=20)
    learner.learn(Ragged.of([[1]] * 100), np.full(100, 0.5, np.float32))
    assert model_of(learner)(Ragged.of([[1]]))[0] == pytest.approx(0, abs=0.05)


def test_a_model_does_not_change_when_the_learner_goes_on() -> None:
    learner = Regression(SIZE)
    learner.learn(*toy(50, seed=0))
    model = model_of(learner)
    before = model(toy(50, seed=2)[0])
    learner.learn(*toy(50, seed=1))
    assert np.array_equal(model(toy(50, seed=2)[0]), before)
    assert not np.array_equal(model_of(learner)(toy(50, seed=2)[0]), before)


def test_merging_averages_by_instances() -> None:
    one, other, fresh = Regression(SIZE), Regression(SIZE), Regression(SIZE)
    one.learn(*toy(30, seed=0))
    other.learn(*toy(90, seed=1))
    merged = fresh.from_parts(fresh.merge([one.parts(), other.parts(), fresh.parts()]))
    assert merged.weights == pytest.approx(0.25 * one.weights + 0.75 * other.weights, abs=1e-6)
    assert merged.squares == pytest.approx(one.squares + other.squares)
    assert merged.bias == pytest.approx([0.25 * one.bias[0] + 0.75 * other.bias[0], one.bias[1] + other.bias[1]])
    assert merged.instances == 120


def test_goes_on_from_its_parts() -> None:
    one = Regression(SIZE)
    one.learn(*toy(40, seed=0))
    again = one.from_parts(one.parts())
    for learner in (one, again):
        learner.learn(*toy(40, seed=1))
    assert np.array_equal(one.weights, again.weights)
    assert Regression(SIZE).linear() is None
