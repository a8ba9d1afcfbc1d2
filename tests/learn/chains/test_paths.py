from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from forager.errors import ForagerError
from forager.learn.chains.paths import Paths, labels, seen_pairs


def of(*cut: int) -> Paths:
    return Paths(csr_matrix((sum(cut), 2)), np.cumsum([0, *cut]))


def test_waves_take_the_longest_path_first() -> None:
    waves = of(1, 3, 2).waves
    assert [wave.tolist() for wave in waves] == [[1, 4, 0], [2, 5], [3]]


@given(st.lists(st.integers(1, 6), min_size=1, max_size=6))
def test_waves_hold_each_position_once_after_its_neighbour(cut: list[int]) -> None:
    paths = of(*cut)
    assert sorted(np.concatenate(paths.waves).tolist()) == list(range(sum(cut)))
    for before, wave in zip(paths.waves, paths.waves[1:], strict=False):
        assert (before[: len(wave)] == wave - 1).all()
        assert (paths.owner[wave] == paths.owner[wave - 1]).all()


def test_pairs_do_not_reach_across_paths() -> None:
    states = np.array([0, 1, 1, 2, 0, 1])
    assert seen_pairs(of(2, 1, 3), states).tolist() == [[0, 1], [2, 0]]
    assert seen_pairs(of(1, 1), np.array([0, 1])).shape == (0, 2)


def test_what_cannot_be_paths_is_refused() -> None:
    with pytest.raises(ForagerError, match="no paths: give at least one"):
        of()
    with pytest.raises(ForagerError, match="correct the offsets"):
        of(1, 0)
    with pytest.raises(ForagerError, match="3 positions, but kinds for 2"):
        Paths(csr_matrix((3, 1)), np.array([0, 3]), np.zeros(2, np.int32))
    with pytest.raises(ForagerError, match="not finite"):
        Paths(csr_matrix([[np.nan]]), np.array([0, 1]))


def test_labels_must_be_states() -> None:
    with pytest.raises(ForagerError, match="3 positions with 2 states: label every position"):
        labels(of(3), np.array([0, 1], np.int32), 2)
    with pytest.raises(ForagerError, match=r"labelled with state 2, the model has 0 to 1"):
        labels(of(3), np.array([0, 1, 2], np.int32), 2)
