"""Naive Bayes over two buckets of relevance, with numbers worked out by hand."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.learn.naive_bayes import AT_ONCE, HashedNaiveBayes, split_of
from forager.types import Floats, Ragged

SIZE = 1 << 10


def floats(*values: float) -> Floats:
    return np.array(values, np.float32)


def told(rows: list[list[int]], relevance: Floats, learner: HashedNaiveBayes | None = None) -> HashedNaiveBayes:
    learner = learner or HashedNaiveBayes(SIZE)
    learner.learn(Ragged.of(rows), relevance)
    return learner


# Five low instances with feature 1 and, in one of them, 2; five high ones with 3 and, in two of them, 1.
ROWS = [[1], [1], [1], [1], [1, 2], [3], [3], [3], [3, 1], [3, 1]]
RELEVANCE = floats(0, 0, 0, 0, 0, 1, 1, 1, 1, 1)


@pytest.mark.parametrize(
    ("relevance", "split"),
    [
        (floats(0.2, 0.4, 0.6), 0.4),
        (floats(0.2, 0.4, 0.5, 0.6), 0.45),
        (floats(0, 0, 0.05, 1), 0.5),  # median below .1
        (floats(0, 0.95, 1), 0.5),  # above .9
        (floats(0.1, 0.1, 0.7), 0.1),
        (floats(0.25, 0.75, 0.75, 0.75), 0.5),  # nothing is above .75: the equal ones are the high ones
    ],
)
def test_split(relevance: Floats, split: float) -> None:
    assert split_of(relevance) == pytest.approx(split)


def test_numbers_by_hand() -> None:
    model = told(ROWS, RELEVANCE).linear()
    assert model is not None
    # |T| = 3, N(low) = 6, N(high) = 7: theta = (1 + n) / 9 and (1 + n) / 10
    assert model.weights[1] == pytest.approx(log(3 / 10) - log(6 / 9))
    assert model.weights[2] == pytest.approx(log(1 / 10) - log(2 / 9))
    assert model.weights[3] == pytest.approx(log(6 / 10) - log(1 / 9))
    assert model.weights[4] == 0  # never seen
    assert model.bias == 0  # five of each
    z = model(Ragged.of([[3, 1, 4], [], [2, 2]]))
    assert z == pytest.approx([log(0.6 * 9) + log(0.3 * 1.5), 0, 2 * log(0.45)])


def test_the_prior_is_the_share_of_the_buckets() -> None:
    model = told([[1]] * 20, floats(*[1] * 5, *[0] * 15)).linear()
    assert model is not None
    assert model.bias == pytest.approx(log(6 / 16))


def test_a_rare_feature_of_the_large_bucket_does_not_speak_for_the_small_one_if_smoothed_by_share() -> None:
    rows, relevance = [[1]] * 5 + [[2]] * 100 + [[3]], floats(*[1] * 5, *[0] * 101)
    laplace, proportional = (
        told(rows, relevance, HashedNaiveBayes(SIZE, smoothing=smoothing)).linear()
        for smoothing in ("laplace", "proportional")
    )
    assert laplace is not None
    assert proportional is not None
    assert laplace.weights[3] == pytest.approx(log(1 / 8) - log(2 / 104))
    assert laplace.weights[3] > 0 > proportional.weights[3]
    high, low = 5 / 106, 101 / 106
    expected = log((0 + high) / (3 * high + 5)) - log((1 + low) / (3 * low + 101))
    assert proportional.weights[3] == pytest.approx(expected, rel=1e-5)


def test_length_makes_a_link_count_for_so_many_features() -> None:
    model = told(ROWS, RELEVANCE, HashedNaiveBayes(SIZE, length=10)).linear()
    assert model is not None
    once, often = model(Ragged.of([[3], [3] * 50]))
    assert once == pytest.approx(often)
    assert once == pytest.approx(10 * log(0.6 * 9), rel=1e-5)


def test_the_split_stays_after_the_first_batch() -> None:
    learner = told([[1]] * 3, floats(0.2, 0.4, 0.6))
    told([[1]] * 3, floats(0.7, 0.8, 0.9), learner)
    assert learner.split == pytest.approx(0.4)
    assert learner.instances.tolist() == [2, 4]


def test_nothing_is_predicted_while_a_bucket_is_almost_empty() -> None:
    assert told([[1]] * 104, floats(*[0] * 100, *[1] * 4)).linear() is None
    assert told([[1]] * 105, floats(*[0] * 100, *[1] * 5)).linear() is not None
    assert HashedNaiveBayes(SIZE).linear() is None


@given(st.lists(st.lists(st.integers(0, 2**32 - 1), max_size=6), min_size=2, max_size=12), st.integers(0, 12))
def test_halves_merge_to_the_whole(rows: list[list[int]], cut: int) -> None:
    relevance = floats(*(i % 3 / 2 for i in range(len(rows))))
    start = told([[0]], floats(0.3)).parts()
    whole, one, other = (HashedNaiveBayes(SIZE).from_parts({**start, "counts": 0, "instances": 0}) for _ in range(3))
    told(rows, relevance, whole)
    told(rows[:cut], relevance[:cut], one)
    told(rows[cut:], relevance[cut:], other)
    merged = whole.from_parts(whole.merge([one.parts(), other.parts()]))
    assert np.array_equal(merged.counts, whole.counts)
    assert np.array_equal(merged.instances, whole.instances)
    assert merged.split == whole.split


@pytest.mark.parametrize("count", [AT_ONCE - 1, AT_ONCE, 2 * AT_ONCE + 1])
def test_every_instance_of_a_large_batch_is_counted(count: int) -> None:
    rows = [[i % 7] * (i % 3) for i in range(count)]
    learner = told(rows, floats(*(i % 2 for i in range(count))))
    for bucket in (0, 1):
        features = [feature for row in rows[bucket::2] for feature in row]
        assert learner.counts[bucket].tolist() == np.bincount(features, minlength=SIZE).tolist()
        assert learner.totals[bucket] == len(features)


def test_the_same_is_predicted_after_keeping() -> None:
    learner = told(ROWS, RELEVANCE, told(ROWS, RELEVANCE))
    again = HashedNaiveBayes(SIZE).from_parts(learner.parts())
    before, after = (told([[5], [6, 7]], floats(0, 1), each).linear() for each in (learner, again))
    assert before is not None
    assert after is not None
    assert np.array_equal(before.weights, after.weights)


def test_splits_merge_by_the_instances_behind_them() -> None:
    one, other = told([[1]] * 3, floats(0.2, 0.2, 0.3)), told([[1]] * 9, floats(*[0.6] * 8, 0.7))
    fresh = HashedNaiveBayes(SIZE)
    assert fresh.merge([one.parts(), fresh.parts(), other.parts()])["split"] == pytest.approx((3 * 0.2 + 9 * 0.6) / 12)
    assert fresh.from_parts(fresh.merge([fresh.parts()])).split is None


def test_memory_does_not_grow() -> None:
    learner = told(ROWS, RELEVANCE)
    before = {name: np.asarray(part).nbytes for name, part in learner.parts().items()}
    draw = np.random.default_rng(0)
    told([draw.integers(0, 2**32, 1000).tolist() for _ in range(20)], floats(*[0, 1] * 10), learner)
    assert {name: np.asarray(part).nbytes for name, part in learner.parts().items()} == before
    assert learner.counts.sum() == 13 + 20_000
