"""The terms of each level of a topic path, from whoever gives them: distinct, weighed, and enough to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from forager.errors import ForagerError
from forager.learn.chains.rows import Reals
from forager.learn.lexical.profiles import Places, Profiles
from forager.types import Floats

Weights: TypeAlias = Sequence[float] | Floats | Reals


def term_lists(terms: Sequence[Sequence[str]], weights: Sequence[Weights] | None) -> list[dict[str, float]]:
    """Each level as its distinct terms, spelt as first given, with the largest weight of each."""
    given = [np.ones(len(level), np.float32) for level in terms] if weights is None else weights
    if len(given) != len(terms):
        raise ForagerError(f"a topic path has {len(terms)} levels, and weights for {len(given)}: give them for each")
    return [_distinct(number, *level) for number, level in enumerate(zip(terms, given, strict=True), 1)]


def _distinct(number: int, terms: Sequence[str], weights: Weights) -> dict[str, float]:
    known = np.asarray(weights, np.float32)
    if len(known) != len(terms):
        raise ForagerError(f"level {number} has {len(terms)} terms and {len(known)} weights: give one for each term")
    if not (np.isfinite(known) & (known >= 0)).all():
        raise ForagerError(f"level {number} has a weight that is negative or no number: give C-values of 0 or more")
    spelt: dict[bytes, str] = {}
    largest: dict[str, float] = {}
    profiles = Profiles.of(terms)
    for row, (term, weight) in enumerate(zip(terms, known.tolist(), strict=True)):
        if profiles.sizes[row]:
            name = spelt.setdefault(profiles.words[row].tobytes(), term)
            largest[name] = max(weight, largest.get(name, 0.0))
    return largest


def checked_sizes(sizes: Sequence[int]) -> Places:
    """The number of terms of each level up to the highest that has any, if a topic can be made of them."""
    having = [number for number, size in enumerate(sizes, 1) if size]
    if not having:
        raise ForagerError("no level of this topic path has terms: give example pages with text for each level")
    if len(sizes) == 1:
        raise ForagerError("a topic path of one level has no other to compare with: name the topics above it too")
    if having[0] != 1:
        raise ForagerError("level 1 of this topic path, the target, has no terms: give example pages with text for it")
    if len(having) == 1:
        raise ForagerError("only the target of this topic path has terms: give example pages for a level above it")
    return np.array(sizes[: having[-1]], np.int64)
