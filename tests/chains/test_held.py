"""Words by the rows that have them: against a dense matrix."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from forager.chains.held import ROW_BITS, Held

WORDS = [0, 1, 7, 2**32, 2**37 - 1]
cells = st.lists(st.tuples(st.sampled_from(WORDS), st.integers(0, 5)), max_size=30)


def held_of(pairs: list[tuple[int, int]], count: int) -> Held:
    keys = np.array([word << ROW_BITS | row for word, row in pairs], np.int64)
    return Held.of([keys[:3], keys[3:]], count)


@given(cells, st.integers(0, 1000))
def test_sums_are_those_of_a_matrix(pairs: list[tuple[int, int]], seed: int) -> None:
    held = held_of(pairs, 7)
    words = sorted({word for word, _ in pairs})
    assert held.codes.tolist() == words
    weights = np.random.default_rng(seed).normal(size=(len(words), 3)).astype(np.float32)
    dense = np.array([[(word, row) in pairs for word in words] for row in range(7)], np.float32).reshape(7, len(words))
    np.testing.assert_allclose(held.sums(weights), dense @ weights, atol=1e-5)


@given(cells)
def test_apart_every_word_of_every_row_has_its_own(pairs: list[tuple[int, int]]) -> None:
    apart = held_of(pairs, 7).apart
    assert apart.codes.tolist() == [word for word, _ in sorted(set(pairs))]
    assert apart.count == len(set(pairs))
    np.testing.assert_array_equal(apart.sums(np.eye(apart.count, dtype=np.float32)), np.eye(apart.count))


def test_the_last_row_that_a_key_can_name() -> None:
    held = held_of([(3, 2**ROW_BITS - 1), (3, 0), (2**37 - 1, 2**ROW_BITS - 1)], 2**ROW_BITS)
    assert held.codes.tolist() == [3, 2**37 - 1]
    assert held.rows.tolist() == [0, 2**ROW_BITS - 1, 2**ROW_BITS - 1]
