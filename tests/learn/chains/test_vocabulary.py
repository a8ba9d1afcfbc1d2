"""Features become columns, against a dictionary; their weights add up, against a dense matrix."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from forager.learn.chains.vocabulary import FeatureWeights, Vocabulary
from forager.types import Ragged

Rows = list[list[int]]
rows = st.lists(st.lists(st.integers(0, 9), max_size=8), max_size=6)
FEATURES = [1, 4095, 4096, 4097, 2**20, 2**31, 2**32 - 4096, 2**32 - 1]  # some begin alike
few = st.lists(st.sampled_from(FEATURES), unique=True)


def test_rare_features_are_dropped_and_of_many_the_most_frequent_are_kept() -> None:
    seen = Ragged.of([[5, 5, 7], [5, 9], [9, 7], [2]])  # 5, 7, 9 are in two rows each, 2 in one
    assert Vocabulary.of(seen, least=2).terms.tolist() == [5, 7, 9]
    assert Vocabulary.of(seen, most=2).terms.tolist() == [5, 7]
    assert len(Vocabulary.of(Ragged.of([]))) == 0


@given(rows, rows)
def test_rows_are_those_of_a_dictionary(known: Rows, seen: Rows) -> None:
    vocabulary = Vocabulary.of(Ragged.of(known))
    terms = sorted({term for row in known for term in row})
    assert vocabulary.terms.tolist() == terms
    expected = np.array([[float(term in row) for term in terms] for row in seen]).reshape(len(seen), len(terms))
    assert np.array_equal(vocabulary.rows(Ragged.of(seen)).toarray(), expected)


@given(few, few, st.integers(0, 5), st.integers(0, 4), st.integers(1, 3), st.integers(0, 1000))
@settings(deadline=None)
def test_sums_are_those_of_a_matrix(
    known: list[int], behind: list[int], height: int, columns: int, width: int, seed: int
) -> None:
    """Whatever is twice in a column, is nothing (0), or is not known."""
    chance, known = np.random.default_rng(seed), sorted(known)
    block = chance.choice(np.array([0, *FEATURES], np.uint32), (height, columns))
    weights = chance.normal(size=(len(known), width)).astype(np.float32)
    dense = np.array([[feature in column for feature in known] for column in [*block.T, behind]], np.float32)
    of_columns, of_rest = FeatureWeights(np.array(known, np.uint32), weights).sums(
        np.append(block, np.array(behind, np.uint32)), height, columns
    )
    expected = dense.reshape(columns + 1, len(known)) @ weights
    assert of_columns.shape == (columns, width)
    np.testing.assert_allclose(of_columns, expected[:-1], atol=1e-5)
    np.testing.assert_allclose(of_rest, expected[-1], atol=1e-5)


def test_each_has_its_own_and_others_have_none() -> None:
    weights = FeatureWeights(np.array([4, 9], np.uint32), np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert weights.each(np.array([9, 5, 0, 4, 9], np.uint32)).tolist() == [[3, 4], [0, 0], [0, 0], [1, 2], [3, 4]]
    nothing = FeatureWeights(np.empty(0, np.uint32), np.empty((0, 2)))
    assert nothing.each(np.array([7], np.uint32)).tolist() == [[0, 0]]
