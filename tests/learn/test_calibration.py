from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from forager.learn.calibration import (
    SHORT,
    Calibration,
    average_precision,
    calibrate,
    quality,
    roc_auc,
    sigmoid,
)
from forager.learn.linear import Reals
from forager.types import Mask

scored = st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=20).filter(
    lambda pages: len({wanted for _, wanted in pages}) == 2
)


@given(scored)
def test_roc_auc_is_the_chance_of_the_right_order(pages: list[tuple[int, bool]]) -> None:
    better = [(p > n) + 0.5 * (p == n) for p, w in pages if w for n, v in pages if not v]
    scores, wanted = np.array([s for s, _ in pages], float), np.array([w for _, w in pages])
    assert roc_auc(scores, wanted) == pytest.approx(np.mean(better))


@given(scored)
def test_average_precision_by_definition(pages: list[tuple[int, bool]]) -> None:
    above = [[w for s, w in pages if s >= score] for score, wanted in pages if wanted]
    scores, wanted = np.array([s for s, _ in pages], float), np.array([w for _, w in pages])
    assert average_precision(scores, wanted) == pytest.approx(np.mean([np.mean(each) for each in above]))


def test_both_are_what_scikit_learn_computes() -> None:
    rng = np.random.default_rng(0)
    for wanted_share in (0.01, 0.5, 0.95):
        scores, wanted = rng.normal(size=3_000).round(2), rng.random(3_000) < wanted_share
        assert roc_auc(scores, wanted) == pytest.approx(roc_auc_score(wanted, scores), abs=1e-12)
        assert average_precision(scores, wanted) == pytest.approx(average_precision_score(wanted, scores), abs=1e-12)


def test_one_side_alone_has_no_order() -> None:
    scores, all_wanted = np.array([0.1, 0.7]), np.array([True, True])
    for measure in (roc_auc, average_precision):
        assert np.isnan(measure(scores, ~all_wanted))
        assert np.isnan(measure(scores[:0], all_wanted[:0]))
    assert np.isnan(roc_auc(scores, all_wanted))
    assert average_precision(scores, all_wanted) == 1


def drawn(calibration: Calibration, n: int) -> tuple[Reals, Reals, Mask, Reals]:
    """Pages whose relevance is what the calibration says."""
    rng = np.random.default_rng(0)
    length = rng.integers(20, 2000, n).astype(float)
    z = rng.normal(0, 0.3, n) * length
    chance = [sigmoid(calibration.log_odds(*page)) for page in zip(z, length, strict=True)]
    return z, length, rng.random(n) < chance, np.ones(n)


def test_the_calibration_that_made_the_pages_is_found() -> None:
    true = Calibration(slope=12, drift=3, bias=-2)
    found = calibrate(*drawn(true, 20_000))
    assert found is not None
    assert (found.slope, found.drift, found.bias) == pytest.approx((12, 3, -2), abs=0.6)


def test_weights_stand_for_pages() -> None:
    z, n, wanted, ones = drawn(Calibration(slope=5), 400)
    twice = np.concatenate([np.arange(400), np.flatnonzero(wanted)])
    doubled = calibrate(z[twice], n[twice], wanted[twice], ones[twice])
    weighted = calibrate(z, n, wanted, np.where(wanted, 2.0, 1.0))
    assert doubled is not None
    assert weighted is not None
    assert doubled.slope == pytest.approx(weighted.slope, rel=0.05)  # Platt's targets count pages, not weights


def test_sides_that_do_not_overlap_keep_the_slope_finite() -> None:
    wanted = np.arange(40) < 20
    found = calibrate(np.where(wanted, 900.0, -900.0), np.full(40, 1000.0), wanted, np.ones(40))
    assert found is not None
    assert 0.01 < sigmoid(found.log_odds(-900, 1000)) < 0.1 < 0.9 < sigmoid(found.log_odds(900, 1000)) < 0.99


def test_nothing_is_fitted_to_too_few_pages_or_to_nonsense() -> None:
    z, n, wanted, ones = drawn(Calibration(), 400)
    few = np.concatenate([np.flatnonzero(wanted)[:7], np.flatnonzero(~wanted)])
    assert calibrate(z[few], n[few], wanted[few], ones[few]) is None
    assert calibrate(-z, n, wanted, ones) is None
    assert quality(-z, n, wanted, ones) is None


def test_quality_of_odds_that_tell_all() -> None:
    wanted = np.arange(100) % 2 == 0
    measured = quality(np.where(wanted, 50.0, -50.0), np.full(100, 100.0), wanted, np.ones(100))
    assert measured is not None
    assert (measured.roc_auc, measured.average_precision, measured.positives, measured.negatives) == (1, 1, 50, 50)


@pytest.mark.parametrize("x", [-1e5, -800.0, -40, 0, 40, 800, 1e5])
def test_sigmoid_does_not_overflow(x: float) -> None:
    assert 0 <= sigmoid(x) <= 1
    assert sigmoid(x) + sigmoid(-x) == pytest.approx(1)


def test_short_pages_say_little() -> None:
    assert Calibration().log_odds(1.0, 0) == pytest.approx(8 / SHORT)


def test_even_odds_lie_halfway_between_the_two_sides_where_nothing_is_fitted() -> None:
    z, n, wanted, _ = drawn(Calibration(), 400)
    found = Calibration().halfway(z - 300.0, n, wanted)
    odds = np.array([found.log_odds(*page) for page in zip(z - 300.0, n, strict=True)])
    assert odds[wanted].mean() == pytest.approx(-odds[~wanted].mean())
    assert found.slope == Calibration().slope
    assert Calibration().halfway(z, n, np.ones(len(z), bool)) == Calibration()
