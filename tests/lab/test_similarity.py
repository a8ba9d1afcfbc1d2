"""Similarity to the examples, against plain counting."""

from __future__ import annotations

import math

import numpy as np
import pytest

from forager.learn.tfidf import Idf, Targets
from forager.types import Ragged, Terms
from forager_lab import protocol as module
from forager_lab.protocol import similarity_to


def bag(*terms: int) -> Terms:
    return np.array(terms, np.uint32)


FLAT = Idf.of([])  # every term weighs 1
TARGETS = Targets(Ragged.of([bag(1, 2), bag(3)]), FLAT)


def test_the_nearest_example_and_the_mean_toward_each() -> None:
    found = similarity_to([bag(1), bag(1, 2), bag(3, 4), bag()], TARGETS)
    half = 1 / math.sqrt(2)
    assert found.similarity == pytest.approx(np.array([half, 1, half, 0]))
    assert found.toward == pytest.approx(np.array([(half + 1) / 4, half / 4]))


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
