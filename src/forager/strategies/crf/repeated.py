"""Repeated structure: does a page show the same pattern of elements again and again, as lists and tables do?

A page is the sequence of the elements of its leaves, s_1 … s_n. All its factors of 2^k elements get names by doubling,
as in the making of a suffix array (Karp, Miller & Rosenberg 1972): they are equal if both their halves are.

    name_0(i) = name of s_i        name_k+1(i) = name of (name_k(i), name_k(i + 2^k))

A pattern of p elements, 2^k <= p < 2^(k+1), *repeats* if some factor of 2^k elements occurs `times` times in succession
at distances of p, and not between. So p = 2^k asks for equal copies, and a larger p lets less than half of a copy
differ, as the records of a list do. *Nested* patterns: the shortest ones that repeat are folded, all copies into one,
and the sequence is looked at again: "a b b b c, a b b c, a b b b b c" is "a b c" three times, if two copies are enough.
The number of rounds that find something is the depth of the nesting.

A round sorts n names at most log2 n times, so a page costs at most n log^2 n, whatever is on it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

TIMES = 6  # copies that make a list: of webkb's lists three in four have so many, of other pages two in five
DEEPEST = 2  # rounds: nothing is asked of a page beyond
SMALL = 1 << 15  # numbers below it are sorted by radix, if they have 16 bits

_FIRST = 300
_LETTERS = "".join(map(chr, range(_FIRST)))
_LISTED = re.compile("|".join(rf"({'.' * size})\{size}{{{TIMES - 1}}}" for size in (1, 2, 3)), re.DOTALL)

Names: TypeAlias = NDArray[np.integer[Any]]


class Repeats(NamedTuple):
    """Patterns of `period` elements each that repeat, from `first` up to `end`."""

    first: Names
    period: Names
    end: Names


def nesting(tags: Sequence[str], times: int = TIMES, deepest: int = DEEPEST) -> int:
    """How deep patterns that repeat lie in one another, `deepest` at most; 0: nothing repeats."""
    if deepest == 1 and times <= TIMES and listed(tags):
        return 1
    numbers = {tag: number for number, tag in enumerate(dict.fromkeys(tags))}
    kind = np.int16 if len(tags) < SMALL else np.int64
    sequence: Names = np.fromiter(map(numbers.__getitem__, tags), kind, len(tags))
    for depth in range(deepest):
        repeats = shortest_repeats(sequence, times)
        if repeats is None:
            return depth
        if depth + 1 < deepest:
            sequence = folded(sequence, repeats)
    return deepest


def listed(tags: Sequence[str]) -> bool:
    """Do the first leaves show a pattern of up to three elements TIMES times? Most lists do, and this sorts nothing."""
    first = tags[:_FIRST]
    letters = dict(zip(dict.fromkeys(first), _LETTERS, strict=False))
    return _LISTED.search("".join([letters[tag] for tag in first])) is not None


def shortest_repeats(sequence: Names, times: int = TIMES) -> Repeats | None:
    """Those of the smallest k for which there are any."""
    factors, length = _sorted(sequence), 1
    while length * times <= len(sequence) and not factors.differs.all():  # what occurs once is in nothing that repeats
        found = _repeats(factors, length, times)
        if len(found.first):
            return found
        factors, length = _doubled(factors, length), 2 * length
    return None


class Factors(NamedTuple):
    """All factors of one length."""

    order: Names  # where they begin: equal ones together, from left to right
    differs: NDArray[np.bool_]  # from the one before, but for the first


def _sorted(names: Names) -> Factors:
    order = np.argsort(names, kind="stable")
    return Factors(order, np.diff(names[order]) != 0)


def _doubled(factors: Factors, length: int) -> Factors:
    name = np.empty(len(factors.order), np.int64)
    name[factors.order] = np.concatenate(([0], np.cumsum(factors.differs)))
    return _sorted(name[:-length] * len(name) + name[length:])


def _repeats(factors: Factors, length: int, times: int) -> Repeats:
    """The patterns of `length` to `2 length - 1` elements that repeat."""
    distance = np.diff(factors.order)
    distance[factors.differs] = 0
    changes = np.concatenate(([0], np.cumsum(distance[1:] != distance[:-1])))
    steady = changes[times - 2 :] == changes[: len(changes) - times + 2]  # the next times - 2 distances are the same
    distance = distance[: len(steady)]
    at = np.flatnonzero(steady & (distance >= length) & (distance < 2 * length))
    first, period = factors.order[at], distance[at]
    return Repeats(first, period, first + (times - 1) * period + length)


def folded(sequence: Names, repeats: Repeats) -> Names:
    """The sequence with one copy left of each pattern that repeats."""
    edges = np.bincount(repeats.first + repeats.period, minlength=len(sequence) + 1)
    edges -= np.bincount(repeats.end, minlength=len(sequence) + 1)
    left: Names = sequence[np.cumsum(edges[:-1]) == 0]
    return left
