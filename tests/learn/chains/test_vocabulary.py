"""Features become columns: against a dictionary."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from forager.learn.chains.vocabulary import Vocabulary
from forager.types import Ragged

Rows = list[list[int]]
rows = st.lists(st.lists(st.integers(0, 9), max_size=8), max_size=6)


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
