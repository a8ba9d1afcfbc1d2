"""Repeated structure, compared with a search over every factor of a sequence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from forager.strategies.crf.features import SMALL, TIMES, folded, has_list, nesting, shortest_repeats

Found = set[tuple[int, int, int]]  # first, period, end


def repeats_by_definition(sequence: Sequence[int], times: int) -> Found:
    """For the smallest k that has any: each factor of 2^k elements whose next times - 1 occurrences are p apart, with
    2^k <= p < 2^(k+1)."""
    length = 1
    while length <= len(sequence):
        places: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for at in range(len(sequence) - length + 1):
            places[tuple(sequence[at : at + length])].append(at)
        found = set()
        for every in places.values():
            for run in (every[at : at + times] for at in range(len(every) - times + 1)):
                steps = {after - before for before, after in pairwise(run)}
                if len(steps) == 1 and length <= min(steps) < 2 * length:
                    found.add((run[0], min(steps), run[-1] + length))
        if found:
            return found
        length *= 2
    return set()


def found_in(sequence: Sequence[int], times: int) -> Found:
    found = shortest_repeats(np.array(sequence, np.int16), times)
    return set() if found is None else set(zip(*(column.tolist() for column in found), strict=True))


patterned = st.builds(  # a pattern several times, with something odd put in: random lists hardly ever have that
    lambda pattern, times, odd, at: [*(pattern * times)[:at], *odd, *(pattern * times)[at:]],
    st.lists(st.integers(0, 3), min_size=1, max_size=6),
    st.integers(1, 8),
    st.lists(st.integers(0, 5), max_size=3),
    st.integers(0, 40),
)


@given(st.lists(st.integers(0, 2), max_size=24) | patterned, st.integers(2, 6))
@example([0, 1, 2, 0, 1, 3, 0, 1, 4], 3)  # a third of each copy differs
@example([0, 0], 2)
def test_as_a_search_of_every_factor(sequence: list[int], times: int) -> None:
    assert found_in(sequence, times) == repeats_by_definition(sequence, times)


@given(patterned)
def test_what_is_listed_repeats_and_short_patterns_are_listed(sequence: list[int]) -> None:
    runs = [
        sequence[at : at + size] * TIMES == sequence[at : at + TIMES * size]
        for size in (1, 2, 3)
        for at in range(len(sequence))
    ]
    assert has_list([str(number) for number in sequence]) == any(runs)
    assert not any(runs) or repeats_by_definition(sequence, TIMES)


def test_all_elements_may_differ_and_what_comes_late_is_not_looked_at() -> None:
    names = [f"x{number}" for number in range(300)]
    assert not has_list(names)
    assert has_list([*names[:-12], *"ab" * 6])
    assert not has_list([*names, *"ab" * 6])
    assert nesting([*names, *"ab" * 6], deepest=1) == 1
    assert not has_list([])


def test_a_larger_pattern_may_differ_in_less_than_half() -> None:
    records = ["d", "a", "p", "x", "d", "a", "p", "y", "d", "a", "p", "z"]  # p = 4 = 2^2 asks for equal copies
    assert nesting(records, times=3) == 0
    assert (
        nesting(["d", "a", "x", "d", "a", "y", "d", "a", "z"], times=3) == 1
    )  # p = 3: two elements of three are enough
    assert nesting(["d", "a", "x", "d", "a", "y", "d", "d", "a"], times=3) == 0  # at another distance


def test_patterns_in_patterns() -> None:
    listed = ["a", "b", "b", "b", "c", "a", "b", "b", "c", "a", "b", "b", "b", "b", "c"]
    assert nesting(listed, times=2, deepest=5) == 2
    assert nesting(listed, times=2, deepest=1) == 1
    numbers = np.array([0, 1, 1, 1, 2, 0, 1, 1, 2, 0, 1, 1, 1, 1, 2])
    repeats = shortest_repeats(numbers, 2)
    assert repeats is not None
    assert folded(numbers, repeats).tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 2]
    assert nesting(["a", "b", "c"], times=2) == 0


@pytest.mark.parametrize(("copies", "depth"), [(TIMES - 1, 0), (TIMES, 1), (5 * TIMES, 1)])
def test_a_list_has_six_items(copies: int, depth: int) -> None:
    assert nesting(["li", "a"] * copies) == depth
    assert nesting(["title", *["li"] * copies, "p"]) == depth


@pytest.mark.parametrize("tags", [[], ["p"], ["p"] * 2])
def test_hardly_anything_repeats_nothing(tags: list[str]) -> None:
    assert nesting(tags) == 0
    assert nesting(tags, times=2) == (len(tags) == 2)


def test_a_very_long_page() -> None:
    assert nesting(["li"] * 100_000, deepest=5) == 1  # one of them is left
    assert nesting(["tr", *["td"] * 9] * (SMALL // 5)) == 2  # too many for 16 bits
    assert nesting([str(number) for number in range(2 * SMALL)]) == 0
    assert nesting([str(number) for number in range(SMALL)] * 7) == 1  # 2^15 different numbers
