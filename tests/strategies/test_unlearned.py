"""Breadth-first, random and best-first on judgements made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forager.errors import ForagerError
from forager.strategies import BestFirst, BreadthFirst, Random
from forager.types import NEVER, Judgement, Visit
from tests.contracts.test_strategies import visit

CLASSES = ("Arts.Music", "Science.Biology.Birds", "Science.Physics")


def judged(*topics: float, focus: int = 1) -> Visit:
    chances = np.array(topics, np.float32)
    return replace(visit(), judgement=Judgement(float(chances[focus]), float(chances[focus]), chances, "x"))


def test_breadth_first_gives_all_the_same() -> None:
    assert BreadthFirst().score(visit()).scores.tolist() == [0, 0, 0]


def test_random_depends_on_seed_and_url_alone() -> None:
    one = Random(seed=1).score(visit()).scores
    assert len(set(one.tolist())) == 3
    assert ((one >= 0) & (one < 1)).all()
    assert Random(seed=1).score(visit([2, 0])).scores.tolist() == [one[2], one[0]]
    assert Random(seed=2).score(visit()).scores.tolist() != one.tolist()


def test_soft_focus_hands_on_the_relevance_of_the_page() -> None:
    scores = BestFirst().score(judged(0.3, 0.6, 0.1)).scores
    assert scores.tolist() == [np.float32(0.6)] * 3


@pytest.mark.parametrize(("tau", "followed"), [(0.0, True), (0.6, True), (0.61, False)])
def test_a_page_below_tau_is_not_expanded(tau: float, followed: bool) -> None:
    visited = judged(0.3, 0.6, 0.1)
    relevance = visited.judgement.relevance
    scores = BestFirst(tau=min(tau, relevance) if followed else tau).score(visited).scores
    assert (scores > NEVER).all() == followed
    assert (scores == NEVER).all() != followed


@pytest.mark.parametrize(
    ("topics", "followed"),
    [
        ((0.3, 0.6, 0.1), True),  # the best class lies below the focus
        ((0.5, 0.45, 0.05), False),  # relevant enough for soft focus, but another class is better
        ((0.1, 0.2, 0.7), False),  # a sibling of the focus is not the focus
    ],
)
def test_hard_focus_looks_at_the_best_class(topics: tuple[float, ...], followed: bool) -> None:
    strategy = BestFirst(classes=CLASSES, focus=["Science.Biology"], hard=True)
    scores = strategy.score(judged(*topics)).scores
    assert (scores > NEVER).all() == followed
    assert BestFirst(classes=CLASSES, focus=["Science.Biology"]).score(judged(*topics)).scores[0] > NEVER


def test_hard_focus_without_a_focus_class_is_refused() -> None:
    with pytest.raises(ForagerError, match="hard focus needs a critic with a focus class"):
        BestFirst(classes=CLASSES, focus=["Sports"], hard=True)
