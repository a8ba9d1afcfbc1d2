"""Random numbers without a state. Each follows from a seed and a name, and is the same in every process."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

T = TypeVar("T")
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def digest(seed: int, *name: object) -> int:
    """64 bits made from a seed and a name."""
    return xxh3_64_intdigest("/".join(map(str, name)).encode(), seed & 0xFFFFFFFFFFFFFFFF)


def unit(bits: int) -> float:
    """64 bits as a number in [0, 1)."""
    return (bits >> 11) * 2.0**-53


def stream(key: int, n: int) -> NDArray[np.uint64]:
    """n words of 64 random bits, by splitmix64. Its sequence does not change with the version of a library."""
    z = np.arange(1, n + 1, dtype=np.uint64) * _GOLDEN + np.uint64(key)
    z = (z ^ (z >> np.uint64(30))) * _MIX1
    z = (z ^ (z >> np.uint64(27))) * _MIX2
    return z ^ (z >> np.uint64(31))


def below(bits: NDArray[np.uint64], n: int | NDArray[Any]) -> NDArray[np.int64]:
    """Random bits as numbers in 0..n-1."""
    return ((bits >> np.uint64(33)) % np.asarray(n, np.uint64)).astype(np.int64)


class Dice:
    """Small random choices. Of `random.Random` only random() is used, because Python promises its sequence."""

    __slots__ = ("roll",)

    def __init__(self, key: int) -> None:
        self.roll = random.Random(key).random

    def chance(self, p: float) -> bool:
        return self.roll() < p

    def below(self, n: int) -> int:
        return int(self.roll() * n)

    def pick(self, of: Sequence[T]) -> T:
        return of[int(self.roll() * len(of))]
