"""The ways that strategies are taught with."""

from __future__ import annotations

import pytest

from forager.errors import ForagerError
from forager.strategies.taught import TrainingMaterial, check_made
from tests.strategies.grounds import ground_of, markup, shown

GROUND = ground_of(
    {
        "a": markup("", {"b": "x"}),
        "b": markup("", {"c": "x", "http://elsewhere.test/": "x"}),
        "c": markup("", {}),
        "d": markup("", {"a": "x"}),
    },
    "c",
)
A, B, C, D = range(4)


def edges(ways: TrainingMaterial) -> set[tuple[int, int]]:
    return set(zip(ways.graph.sources.tolist(), ways.graph.targets.tolist(), strict=True))


def test_without_paths_the_whole_ground_teaches() -> None:
    ways = TrainingMaterial.of(GROUND, [])
    assert edges(ways) == {(A, B), (B, C), (D, A)}
    assert ways.pages.tolist() == [A, B, C, D]
    assert ways.targets.tolist() == [False, False, True, False]
    assert ways.shown == ()


def test_shown_steps_are_links_and_ends_that_arrived_are_targets() -> None:
    ways = TrainingMaterial.of(GROUND, [shown("a d"), shown("b a", goal=False)])
    assert edges(ways) == {(A, B), (B, C), (D, A), (A, D), (B, A)}
    assert ways.pages.tolist() == [A, B, D]
    assert ways.targets.tolist() == [False, False, True, True]
    assert [run.tolist() for run in ways.shown] == [[A, D], [B, A]]


def test_a_page_outside_the_ground_cuts_a_path() -> None:
    ways = TrainingMaterial.of(GROUND, [shown("nowhere a d nowhere nowhere b c"), shown("a nowhere")])
    assert [run.tolist() for run in ways.shown] == [[A, D], [B, C], [A]]
    assert edges(ways) == {(A, B), (B, C), (D, A), (A, D)}
    assert ways.targets.tolist() == [False, False, True, False]  # where the second path arrived is not known


def test_paths_through_another_web_are_refused() -> None:
    with pytest.raises(ForagerError, match="show paths through that web"):
        TrainingMaterial.of(GROUND, [shown("x y")])


def test_what_was_made_otherwise_is_refused() -> None:
    check_made("hmm", {"made": "5 states"}, "5 states")
    with pytest.raises(ForagerError, match="hmm: this was taught with 4 states, wanted is 5 states: set it alike"):
        check_made("hmm", {"made": "4 states"}, "5 states")
