"""A bounded sample of the training pages, kept as bags of words to calibrate on.

Of each side, wanted and other, the pages with the smallest hash of their words are kept. So the sample does not depend
on the order of the pages, and the sample of two halves together is the sample of the whole.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import xxhash

from forager.types import Bag, Parts, Terms


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    order: int  # hash of the page's words
    label: str
    bag: Bag

    def __lt__(self, other: Held) -> bool:  # in a heap the page to go first stands first
        return (self.order, self.label) > (other.order, other.label)


class Sample:
    """At most `size` pages, half of each side."""

    def __init__(self, size: int, seed: int = 0) -> None:
        self._room = size // 2
        self._seed = seed
        self._sides: dict[bool, list[Held]] = {True: [], False: []}

    def offer(self, terms: Terms, label: str, *, wanted: bool) -> None:
        order = xxhash.xxh3_64_intdigest(np.ascontiguousarray(terms).data, self._seed)
        side = self._sides[wanted]
        if len(side) < self._room or (side and order < side[0].order):
            self.keep(Held(order, label, Bag.of(terms)), wanted=wanted)

    def keep(self, held: Held, *, wanted: bool) -> None:
        side = self._sides[wanted]
        if len(side) < self._room:
            heapq.heappush(side, held)
        elif side:
            heapq.heappushpop(side, held)

    def held(self) -> tuple[Held, ...]:
        return tuple(sorted((held for side in self._sides.values() for held in side), reverse=True))


def to_parts(sample: Iterable[Held]) -> dict[str, object]:
    held = list(sample)
    ends = np.cumsum([0, *(len(page.bag.terms) for page in held)])
    return {
        "held_order": np.array([page.order for page in held], np.uint64),
        "held_labels": [page.label for page in held],
        "held_ends": ends.astype(np.int64),
        "held_terms": np.concatenate([np.empty(0, np.uint32), *(page.bag.terms for page in held)]),
        "held_counts": np.concatenate([np.empty(0, np.int32), *(page.bag.counts for page in held)]),
    }


def from_parts(parts: Parts) -> tuple[Held, ...]:
    ends, counts = parts["held_ends"], parts["held_counts"]
    bags = [Bag(parts["held_terms"][a:b], counts[a:b]) for a, b in pairwise(ends.tolist())]
    orders, labels = parts["held_order"].tolist(), parts["held_labels"]
    return tuple(Held(*page) for page in zip(orders, labels, bags, strict=True))
