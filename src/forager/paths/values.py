"""The value of following a link, for the reinforcement spider: what can be gained behind it, discounted by distance.

    Q(u,v) = V(v) = sum over targets t with d(v,t) <= D of gamma^d(v,t),   gamma = .5

d(v,t) is the number of links on the shortest way from v to t; a link to a target has d = 0 and gains 1 for it. Each
target counts once for each v, by its own shortest way, whether or not one walk could collect several; ways of more than
D links add nothing (D = 8: at most 2^-9 for each target left out). Q depends on u only through its link to v.

*Bins*: values of links are cut into 3 bins of about equally many links, equal values never parted. The lowest bin takes
the smallest values until it has a third of all links, the next one until it has half of the rest, so that a heap of
zeros fills one bin and the others are still told apart; there are fewer bins only if there are fewer values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forager.errors import ForagerError
from forager.paths.graph import LinkGraph
from forager.types import Floats, Ids, Mask

_WORD = 64  # targets that one pass follows, a bit each
_ONES = np.array([bin(byte).count("1") for byte in range(256)], np.uint8)


def page_values(graph: LinkGraph, targets: Mask, gamma: float = 0.5, deepest: int = 8) -> NDArray[np.float64]:
    """V of each page."""
    if not 0.0 < gamma < 1.0:
        raise ForagerError(f"gamma = {gamma}: a discount lies between 0 and 1")
    value = np.zeros(len(graph))
    pages = np.flatnonzero(targets)
    for begin in range(0, len(pages), _WORD):
        value += _discounted(graph, pages[begin : begin + _WORD], gamma, deepest)
    return value


def link_values(graph: LinkGraph, targets: Mask, gamma: float = 0.5, deepest: int = 8) -> NDArray[np.float64]:
    """Q of each link, in the order of `graph.targets`."""
    return page_values(graph, targets, gamma, deepest)[graph.targets]


def _discounted(graph: LinkGraph, targets: NDArray[np.intp], gamma: float, deepest: int) -> NDArray[np.float64]:
    """Breadth-first from up to 64 targets at once: bit i of a page's word is set when target i is reached from it."""
    linking = np.diff(graph.offsets) > 0
    starts = graph.offsets[:-1][linking]
    new = np.zeros(len(graph), np.uint64)
    new[targets] = np.uint64(1) << np.arange(len(targets), dtype=np.uint64)
    reached, value, weight = new.copy(), _bits(new).astype(np.float64), 1.0
    for _ in range(deepest):
        behind = np.zeros(len(graph), np.uint64)
        behind[linking] = np.bitwise_or.reduceat(new[graph.targets], starts)
        new = behind & ~reached
        if not new.any():
            break
        reached |= new
        weight *= gamma
        value += weight * _bits(new)
    return value


def _bits(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The number of bits set in each word."""
    counts: NDArray[np.int64] = _ONES[words.view(np.uint8).reshape(-1, 8)].sum(axis=1, dtype=np.int64)
    return counts


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    members: Ids  # (links,) the bin of each value, 0 the lowest
    means: Floats  # (bins,) of the values in each


def bins(values: NDArray[np.float64], most: int = 3) -> Bins:
    """At most so many bins, none empty."""
    distinct, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    if not len(distinct):
        raise ForagerError("no links to put in bins: the web has none")
    total = np.concatenate(([0], np.cumsum(counts)))
    groups = min(most, len(distinct))
    member = np.zeros(len(distinct), np.int32)
    begin = 0
    for group in range(groups - 1):
        share = total[begin] + (total[-1] - total[begin]) / (groups - group)
        end = int(np.searchsorted(total, share))
        begin = min(max(end, begin + 1), len(distinct) - (groups - 1 - group))  # each bin above needs a value too
        member[begin:] = group + 1
    members = member[which]
    means = np.bincount(members, weights=values, minlength=groups) / np.bincount(members, minlength=groups)
    return Bins(members, means.astype(np.float32))
