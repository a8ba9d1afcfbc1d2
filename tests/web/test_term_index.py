"""A term is found at its place, and a missing term is not found, also among terms that are close together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forager.web.term_index import TermIndex


@given(st.lists(st.integers(0, 2**32 - 1), unique=True), st.lists(st.integers(0, 2**32 - 1)))
@settings(max_examples=100, deadline=None)
def test_it_finds_what_is_there(known: list[int], asked: list[int]) -> None:
    ordered = np.array(sorted(known), np.uint32)
    asked += [*known[:5], 2**32 - 1]
    rows, found = TermIndex(ordered).find(np.array(asked, np.uint32))
    places = TermIndex(ordered).places(np.array(asked, np.uint32)).tolist()
    assert places == [sorted(known).index(term) if term in set(known) else len(known) for term in asked]
    assert found.tolist() == [term in set(known) for term in asked]
    assert ordered[rows[found]].tolist() == [term for term in asked if term in set(known)]


@pytest.mark.parametrize("count", [100, 70_000])
def test_many_that_begin_alike(count: int) -> None:
    ordered = np.arange(5, 5 + 2 * count, 2, dtype=np.uint32)
    asked = np.arange(2 * count + 10, dtype=np.uint32)
    places, found = TermIndex(ordered).find(asked)
    np.testing.assert_array_equal(found, np.isin(asked, ordered))
    np.testing.assert_array_equal(ordered[places[found]], asked[found])
