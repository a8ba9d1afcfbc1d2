"""Samples of labelled pages, for tests of critics that learn from examples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forager.types import Critic, Judgement, Page

from .pages import of_terms

Sample = list[tuple[list[int], str]]  # the terms of pages, and their labels


def fitted(critic: Critic, sample: Sample) -> None:
    critic.fit((of_terms(terms) for terms, _ in sample), (label for _, label in sample))


def topical(n: int, seed: int = 0, share: float = 0.3) -> tuple[list[Page], list[str]]:
    """Pages of topic "a", of whose words every seventh is one of 40, and "b", where that is every twentieth."""
    rng = np.random.default_rng(seed)
    wanted = rng.permutation(n) < share * n
    return [_page(rng, 1 / 7 if yes else 1 / 20) for yes in wanted], ["a" if yes else "b" for yes in wanted]


def _page(rng: np.random.Generator, own: float) -> Page:
    length = int(rng.lognormal(np.log(100), 0.5)) + 10
    words = rng.zipf(1.3, length) % 3_000 + 40
    topical = rng.random(length) < own
    words[topical] = rng.integers(0, 40, topical.sum())
    return of_terms((words * 7919).astype(np.uint32))


def several(n: int, seed: int = 0) -> tuple[list[Page], list[str]]:
    """Pages of four classes, each with 15 words of its own beside 30 that all have."""
    rng = np.random.default_rng(seed)
    names = ["a.x", "a.y", "b", "c"]
    pages = []
    for i in range(n):
        own = 1_000 * (1 + i % 4) + rng.integers(0, 15, 12)
        pages.append(of_terms(np.concatenate([own, rng.integers(0, 30, 30)]).astype(np.uint32) * np.uint32(7919)))
    return pages, [names[i % 4] for i in range(n)]


def relevances(judged: Sequence[Judgement]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([one.relevance for one in judged])


def log_loss(said: Sequence[float], labels: Sequence[str]) -> float:
    told = [p if label == "a" else 1 - p for p, label in zip(said, labels, strict=True)]
    return -float(np.mean(np.log(np.maximum(told, 1e-15))))
