"""Similarity to the examples, against plain counting."""

from __future__ import annotations

import math

import numpy as np
import pytest

from forager.learn.tfidf import Idf, Targets
from forager.types import Ragged, Terms
from forager.web.text import term
from forager_lab import protocol as module
from forager_lab.protocol import similarity_to, targets_of


def bag(*terms: int) -> Terms:
    return np.array(terms, np.uint32)


FLAT = Idf.of([])  # every term weighs 1
TARGETS = Targets(Ragged.of([bag(1, 2), bag(3)]), FLAT)


def test_the_nearest_example_and_the_mean_toward_each() -> None:
    found = similarity_to([bag(1), bag(1, 2), bag(3, 4), bag()], TARGETS)
    half = 1 / math.sqrt(2)
    assert found.similarity == pytest.approx(np.array([half, 1, half, 0]))
    assert found.toward == pytest.approx(np.array([(half + 1) / 4, half / 4]))


def words(text: str) -> Terms:
    return np.array([term(word) for word in text.split()], np.uint32)


def test_how_often_a_word_occurs_counts_by_its_logarithm_and_function_words_not_at_all() -> None:
    """By hand, from the definition: no idf, so a word of every example counts like any other."""
    targets = targets_of([words("the owl hunts owl of the night"), words("the owl of the")])
    found = similarity_to([words("owl owl owl and the mouse"), words("of the and the")], targets)
    page, first = np.array([1 + math.log(3), 1, 0, 0]), np.array([1 + math.log(2), 0, 1, 1])  # owl mouse hunts night
    near = float(page @ first / (np.linalg.norm(page) * np.linalg.norm(first)))
    alone = float(page[0] / np.linalg.norm(page))
    assert found.similarity == pytest.approx(np.array([max(near, alone), 0]))
    assert found.toward == pytest.approx(np.array([near / 2, alone / 2]))


def test_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(1)
    bags = [draw.integers(0, 9, draw.integers(0, 6)).astype(np.uint32) for _ in range(11)]
    whole = similarity_to(bags, TARGETS)
    monkeypatch.setattr(module, "BATCH", 4)
    parts = similarity_to(iter(bags), TARGETS)
    assert whole.similarity.tolist() == parts.similarity.tolist()
    assert whole.toward == pytest.approx(parts.toward)


def test_without_pages_or_examples_nothing_is_alike() -> None:
    assert similarity_to([], TARGETS).toward.tolist() == [0, 0]
    nothing = similarity_to([bag(1)], Targets(Ragged.of([]), FLAT))
    assert nothing.similarity.tolist() == [0]
    assert nothing.toward.tolist() == []
