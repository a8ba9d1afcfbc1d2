"""Where a link leads and where it stands: how good the pages were that came from the same place before.

    rate(place) = (sum of r + m b) / (n + m)             b: mean relevance of the crawl, m: SHRINK; n pages came from it
    signal      = logit rate(place) - logit b            0 for a place from which nothing came

Places are: the host of the target; its folder; the path of elements that leads to the link, on its host; the few links
beside it on the page; and the whole page, whose other links tell what it links to. They are hashed into tables of a
fixed size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from enum import IntEnum
from typing import Self

import numpy as np
import xxhash

from forager.types import Floats, Parts, Terms

SHRINK = 2.0
STEPS = 4  # of a tag path that count, the last ones
BESIDE = 4  # links that are neighbours
SLOTS = 1 << 16
FEW = 5.0  # pages that the first guess of b is worth
GUESS = 0.1
SURE = 1e-3  # chances are not nearer to 0 and 1


class LinkPlace(IntEnum):
    HOST = 0
    FOLDER = 1
    PATH = 2
    NEIGHBOURS = 3
    PAGE = 4


class Success:
    """How good the pages were that came from each place."""

    def __init__(self) -> None:
        self.sums = np.zeros((len(LinkPlace), SLOTS), np.float32)
        self.counts = np.zeros((len(LinkPlace), SLOTS), np.float32)
        self.pages, self.total = 0, 0.0

    @property
    def base(self) -> float:
        """b"""
        return (self.total + FEW * GUESS) / (self.pages + FEW)

    def learn(self, place: LinkPlace, keys: Terms, relevance: float) -> None:
        """A page came from these places. Places with the same key count once."""
        slots = np.unique(_slots(keys))
        self.sums[place, slots] += np.float32(relevance)
        self.counts[place, slots] += 1

    def learn_each(self, place: LinkPlace, keys: Terms, relevance: Floats) -> None:
        """A page came from each of these places."""
        slots = _slots(keys)
        np.add.at(self.sums[place], slots, relevance)
        np.add.at(self.counts[place], slots, np.float32(1))

    def count(self, relevance: float) -> None:
        """Count a page of the crawl."""
        self.pages += 1
        self.total += relevance

    def signals(self, keys: Terms) -> Floats:
        """(n, places) for the keys (n, places)"""
        at, b = _slots(keys) + _FIRST, self.base
        rate = self.sums.take(at) + np.float32(SHRINK * b)
        rate /= self.counts.take(at) + np.float32(SHRINK)
        np.clip(rate, SURE, 1 - SURE, out=rate)
        return np.asarray(np.log(rate / (1 - rate)) - logit(b), np.float32)

    def seen(self, place: LinkPlace, keys: Terms) -> Floats:
        """How many pages came from each place."""
        return np.asarray(self.counts[place].take(_slots(keys)))

    def snapshot(self) -> Self:
        other = copy(self)
        other.sums, other.counts = self.sums.copy(), self.counts.copy()
        return other

    def parts(self) -> Parts:
        return {"sums": self.sums, "counts": self.counts, "pages": self.pages, "total": self.total}

    def from_parts(self, parts: Parts) -> Self:
        other = type(self)()
        other.sums, other.counts = np.array(parts["sums"], np.float32), np.array(parts["counts"], np.float32)
        other.pages, other.total = int(parts["pages"]), float(parts["total"])
        return other


def logit(chance: float) -> float:
    chance = min(max(chance, SURE), 1 - SURE)
    return float(np.log(chance / (1 - chance)))


def place_keys(targets: Sequence[str]) -> Terms:
    """(links, 2): the keys of host and folder."""
    folders = _hashed([target.rpartition("/")[0] for target in targets], _hash)
    return np.array((_hashed(list(map(host_of, targets)), _hash), folders), np.uint32).T


def path_keys(tag_paths: Sequence[str], source: str) -> Terms:
    """(links,) the keys of the paths of links of the page `source`."""
    here = host_key(source)
    return np.array(_hashed(tag_paths, lambda path: _hash(" ".join(path.split(" ")[-STEPS:])) ^ here), np.uint32)


def neighbour_keys(page: int, links: int) -> Terms:
    """(links,)"""
    return (np.arange(links) // BESIDE * _MIX + page * _MIX * _MIX).astype(np.uint32)


def host_key(url: str) -> int:
    return _hash(host_of(url))


def folder_key(url: str) -> int:
    return _hash(url.rpartition("/")[0])


def host_of(url: str) -> str:
    return url.split("/", 3)[2]


def _hashed(texts: Sequence[str], hash: Callable[[str], int]) -> list[int]:
    """Links of a page have few hosts, folders and paths, so each is hashed once."""
    known = {text: hash(text) for text in dict.fromkeys(texts)}
    return [known[text] for text in texts]


def _hash(text: str) -> int:
    return xxhash.xxh32_intdigest(text.encode("utf-8", "surrogatepass"))


def _slots(keys: Terms) -> Terms:
    return keys & np.uint32(SLOTS - 1)


_MIX = 40_503  # spreads the keys over the slots
_FIRST = np.arange(len(LinkPlace), dtype=np.uint32) * np.uint32(SLOTS)  # slot of each place in the flat table
