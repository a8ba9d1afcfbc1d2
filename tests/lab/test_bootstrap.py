"""The bootstrap against all resamples there are, against Student's tables, and against simulated experiments."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from forager_lab.bootstrap import PairVerdict, compare, difference, discoveries, resampled_t, t_values

FIVE = [0.10, 0.12, 0.07, 0.15, 0.11]
ZERO = [0.0] * 5


def test_t_of_a_resample_by_hand() -> None:
    # mean 2 against 1; standard deviation of 1, 3 is sqrt 2, standard error 1
    assert t_values(np.array([[1.0, 3.0], [2.0, 2.0], [1.0, 1.0], [0.0, 0.0]]), 1.0).tolist() == [1, np.inf, 0, -np.inf]


def test_resamples_of_five_runs_have_the_distribution_of_all_3125() -> None:
    values = np.array(FIVE)
    every = np.abs(t_values(values[list(product(range(5), repeat=5))], values.mean()))
    drawn = np.abs(resampled_t(values[:, None], seed=1, resamples=200_000))
    for at in (0.5, 1, 2, 3, 5, 8):
        assert (drawn >= at).mean() == pytest.approx((every >= at).mean(), abs=0.005)


def test_resamples_of_topics_and_of_runs_within_them_have_the_distribution_of_all() -> None:
    units = np.array([[0.0, 1.0], [3.0, 5.0]])
    every = [
        [
            units[topic, [first, second]].mean()
            for topic, first, second in zip(topics, runs[::2], runs[1::2], strict=True)
        ]
        for topics in product(range(2), repeat=2)
        for runs in product(range(2), repeat=4)
    ]
    expected = np.abs(t_values(np.array(every), float(units.mean())))
    drawn = np.abs(resampled_t(units, seed=2, resamples=200_000))
    for at in (0.3, 1.1, 2.1, 1e9):
        assert (drawn >= at).mean() == pytest.approx((expected >= at).mean(), abs=0.005)


def test_a_difference_with_both_intervals() -> None:
    found = difference([FIVE], [ZERO])
    error = np.std(FIVE, ddof=1) / np.sqrt(5)
    every = np.sort(np.abs(t_values(np.array(FIVE)[list(product(range(5), repeat=5))], 0.11)))
    assert found.mean == pytest.approx(0.11)
    assert found.student == pytest.approx(2.7764 * error, rel=1e-4)
    assert found.bootstrap == pytest.approx(every[round(0.95 * len(every))] * error, rel=0.08)
    assert found.p < 0.05
    assert difference([ZERO], [FIVE]).mean == pytest.approx(-0.11)
    assert difference([FIVE], [ZERO]) == difference([FIVE], [ZERO])


def test_few_runs_claim_little() -> None:
    one, two, three = (difference([FIVE[:n]], [ZERO[:n]]) for n in (1, 2, 3))
    assert (one.student, one.bootstrap, one.p) == (None, None, 1.0)
    assert two.bootstrap is three.bootstrap is None  # too many resamples would repeat a single run
    assert two.student == pytest.approx(12.7062 * 0.01, rel=1e-4)
    assert two.p > 0.05


def test_where_most_runs_differ_by_the_same_student_decides_alone() -> None:
    found = difference([[0.3, 0.3, 0.3, 0.3, 0.4]], [[0.1] * 5])  # a third of the resamples are .2 throughout
    assert found.bootstrap is None
    assert found.student == pytest.approx(2.7764 * 0.02, rel=1e-4)
    assert found.p == pytest.approx(2 * 0.000197, rel=0.02)  # t = 11 with 4 degrees of freedom


def test_runs_that_do_not_vary_leave_no_doubt() -> None:
    same = difference([[0.3, 0.3, 0.3]], [[0.1, 0.1, 0.1]])
    assert (same.student, same.bootstrap, same.p) == (0, 0, 0)
    assert difference([ZERO], [ZERO]).p == 1


def test_topics_weigh_alike_and_are_what_is_drawn() -> None:
    ours = [[0.5, 0.7], [0.2, 0.2], [0.9, 0.8]]
    theirs = [[0.4, 0.4], [0.1, 0.1], [0.7, 0.7]]
    found = difference(ours, theirs)
    means = [0.2, 0.1, 0.15]
    assert found.mean == pytest.approx(np.mean(means))
    assert found.student == pytest.approx(4.3027 * np.std(means, ddof=1) / np.sqrt(3), rel=1e-4)
    with pytest.raises(ValueError, match="same number of runs"):
        difference([], [])


def covered(draw: Callable[[np.random.Generator], NDArray[np.float64]], experiments: int = 200) -> float:
    """In how many experiments the wider of the two intervals has the true difference, 0."""
    chance = np.random.default_rng(7)
    hits = 0
    for _ in range(experiments):
        found = difference([draw(chance).tolist()], [ZERO])
        hits += abs(found.mean) <= max(found.bootstrap or 0, found.student or 0)
    return hits / experiments


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    assert covered(lambda chance: chance.normal(size=5)) >= 0.95
    assert covered(lambda chance: chance.exponential(size=5) - 1) >= 0.90  # percentiles: .77


def test_verdicts_of_all_pairs() -> None:
    values: dict[str, list[list[float | None]]] = {
        "good": [[0.50, 0.61, 0.70, 0.41, 0.55]],
        "bad": [[0.10, 0.20, 0.31, 0.00, 0.14]],
        "near": [[0.52, 0.58, 0.71, 0.39, 0.56]],
        "short": [[0.5, None, 0.7, 0.4, 0.5]],
    }
    found = {(pair.first, pair.second): pair for pair in compare(values)}
    assert len(found) == 6
    assert found["good", "bad"].verdict == PairVerdict.BETTER
    assert found["bad", "near"].verdict == PairVerdict.WORSE
    assert found["good", "near"].verdict == PairVerdict.OPEN
    assert found["good", "short"].difference is None
    assert found["good", "short"].verdict == PairVerdict.OPEN
    turned = {(pair.first, pair.second): pair.verdict for pair in compare(values, larger_is_better=False)}
    assert turned["good", "bad"] == PairVerdict.WORSE
    assert compare({"alone": [[0.5]]}) == []


def test_many_findings_by_chance_are_not_believed() -> None:
    # Benjamini and Hochberg: .01 <= .05 * 1/5, .02 <= .05 * 2/5, .035 > .03, .039 <= .05 * 4/5: the first four
    assert discoveries([0.039, 0.01, 0.8, 0.02, 0.035]).tolist() == [True, True, False, True, True]
    assert not discoveries([0.02, 0.5, 0.6, 0.7]).any()
    assert discoveries([0.02]).all()
    assert len(discoveries([])) == 0
    chance = np.random.default_rng(3)
    # thrice 66 pairs of strategies that are all the same: some seem different when looked at alone
    seeming = [
        sum(
            pair.verdict != PairVerdict.OPEN
            for pair in compare({str(n): [list(chance.normal(size=6))] for n in range(12)})
        )
        for _ in range(3)
    ]
    assert sum(seeming) <= 3


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_what_is_believed_alone_is_at_most_the_rate(p: list[float]) -> None:
    told = discoveries(p)
    assert all(value <= 0.05 for value, real in zip(p, told, strict=True) if real)
    assert all(real for value, real in zip(p, told, strict=True) if value <= 0.05 / len(p))
