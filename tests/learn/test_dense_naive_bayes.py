"""Naive Bayes over a few classes: by hand, and against a slow reference."""

from __future__ import annotations

from math import log, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forager.learn.counts import CHUNK, TermCounter
from forager.learn.naive_bayes import DenseNaiveBayes
from forager.types import Ragged

words = st.lists(st.integers(0, 6), max_size=6)
instances = st.lists(st.tuples(words, st.integers(0, 2)), min_size=1, max_size=8)


def learnt(told: list[tuple[list[int], int]], *, even: bool, chunk: int = CHUNK) -> DenseNaiveBayes:
    counter = TermCounter(range(3), chunk)
    for row, label in told:
        counter.add_rows(Ragged.of([row]), [label])
    return DenseNaiveBayes.of(counter.counts(), even=even)


def slow(told: list[tuple[list[int], int]], row: list[int], *, even: bool) -> list[float]:
    seen = {word for said, _ in told for word in said}
    joint = []
    for c in range(3):
        own = [word for said, label in told if label == c for word in said]
        count = sum(label == c for _, label in told)
        prior = float(count > 0) if even else count
        joint.append(prior * prod((1 + own.count(w)) / (len(seen) + len(own)) for w in row if w in seen))
    return [chance / sum(joint) for chance in joint]


@given(instances, st.lists(words, min_size=1, max_size=3), words, st.booleans())
@settings(deadline=None)
def test_posteriors_are_those_of_the_definition(
    told: list[tuple[list[int], int]], rows: list[list[int]], common: list[int], even: bool
) -> None:
    model = learnt(told, even=even)
    found = model.posteriors(Ragged.of(rows), np.array(common, np.uint32))
    assert found == pytest.approx(np.array([slow(told, row + common, even=even) for row in rows]))


@given(instances)
@settings(deadline=None)
def test_occurrences_may_be_added_up_in_any_portions(told: list[tuple[list[int], int]]) -> None:
    some, whole = learnt(told, even=False, chunk=3), learnt(told, even=False)
    assert np.array_equal(some.terms, whole.terms)
    assert np.array_equal(some.log_theta, whole.log_theta)


def test_a_class_without_instances_is_never_chosen() -> None:
    model = learnt([([1, 1], 0), ([2], 1)], even=True)
    assert model.posteriors(Ragged.of([[1], [7]])).tolist() == [
        pytest.approx([3 / 4 / (3 / 4 + 1 / 3), 1 / 3 / (3 / 4 + 1 / 3), 0]),
        pytest.approx([0.5, 0.5, 0]),
    ]


def test_weights_are_logarithms_and_0_for_a_word_never_seen() -> None:
    model = learnt([([1, 1], 0), ([2], 1)], even=False)
    assert model.weights(np.array([1, 7], np.uint32)).tolist() == [
        pytest.approx([log(3 / 4), log(1 / 3), log(1 / 2)]),
        [0, 0, 0],
    ]
