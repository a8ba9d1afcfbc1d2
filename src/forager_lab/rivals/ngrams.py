"""Pieces of texts as hashed features: characters that stand side by side, or steps of a path."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from forager.types import Floats, Ragged, Url
from forager.web.text import distinct, fold, mixed

LONGEST = 200  # characters of a text; the rest does not count
_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no position is lost modulo 2^64


def character_ngrams(texts: Sequence[str], shortest: int, longest: int) -> Ragged:
    """All pieces of `shortest` to `longest` characters of each text in lower case, hashed, each once in a row."""
    cut = [fold(text[:LONGEST]) for text in texts]
    points = np.frombuffer("".join(cut).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    ends = np.cumsum([0, *map(len, cut)])
    rows = np.repeat(np.arange(len(cut), dtype=np.uint64), np.diff(ends))
    hashed = np.zeros(len(points), np.uint64)
    found = []
    for length in range(1, longest + 1):
        count = max(0, len(points) - length + 1)
        hashed = hashed[:count] * _BASE + points[length - 1 : length - 1 + count] + np.uint64(length)
        whole = rows[:count] == rows[length - 1 : length - 1 + count]
        if length >= shortest:
            found.append((rows[:count] << np.uint64(32) | mixed(hashed.copy()))[whole])
    keys = distinct(np.concatenate(found))
    starts = np.searchsorted(keys, np.arange(len(cut) + 1, dtype=np.uint64) << np.uint64(32))
    return Ragged(keys.astype(np.uint32), starts.astype(np.int64))


def step_pairs(path: str, size: int) -> Floats:
    """The pairs of neighbouring steps of a tag path, counted by hash in a vector of length 1."""
    steps = ["", *path.split(), ""]
    pairs = [xxh3_64_intdigest(f"{a} {b}".encode()) % size for a, b in pairwise(steps)]
    counts = np.bincount(np.array(pairs, np.intp), minlength=size).astype(np.float32)
    return np.asarray(counts / np.linalg.norm(counts), np.float32)


def chances(urls: Sequence[Url], seed: int) -> NDArray[np.float64]:
    """A number in [0,1) for each URL, from a hash of it and the seed."""
    bits = (xxh3_64_intdigest(url.encode(), seed % 2**64) >> 11 for url in urls)
    return np.fromiter(bits, np.float64, len(urls)) / 2.0**53
