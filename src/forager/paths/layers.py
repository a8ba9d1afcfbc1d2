"""How far each page is from a target: layers, walks down the layers, and values discounted by distance.

*Layers* (all path models). For a page u:

    layer(u) = number of links on the shortest way from u to a target, 0..N (N = 4); -1 if there is no way of up to N
    state(u) = layer(u), or N where the layer is -1: the last state means "N or more"

*Sequences* (HMM, MEMM) are random walks that begin in the outermost layer. The next page is drawn evenly from the
children that lie in the same layer or a lower one and are not yet in the walk. A walk ends when it has the length drawn
for it (2..10, evenly), or when there is no such child. The state of each page is its layer, so states never rise along
a walk.

The *backward tree* (context graph) joins each page of layer i > 0 to one page of layer i - 1 that it links to.

*Values* (reinforcement spider). The value of a link (u,v) is what can be gained behind it:

    Q(u,v) = V(v) = sum over targets t with d(v,t) <= D of gamma^d(v,t),   gamma = .5

d(v,t) is the number of links on the shortest way from v to t. A link to a target has d = 0 and gains 1 for it. Each
target counts once for each v, by its own shortest way, even if no single walk could collect all of them. Ways of more
than D links add nothing (D = 8: each target left out would add at most 2^-9). Q(u,v) is the same for all pages u.

*Bins*: the values of links are cut into 3 bins with about the same number of links. Equal values are never in different
bins. The lowest bin takes the smallest values until it has a third of all links, the next one until it has half of the
rest. So many zeros fill one bin, and the other bins still separate the rest. There are fewer bins only if there are
fewer distinct values.

*No leak in a closed web*: a model that is trained on half A of the targets and tested on half B must not meet B during
training. With

    a, b = halves(targets, seed);  graph = whole.without(b);  layer = hop_layers(graph, a)

no page of B is on a link. So none is in a layer, in a sequence, or in a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from forager.errors import ForagerError
from forager.paths.graph import LinkGraph
from forager.types import Floats, Ids, Mask

DEEPEST = 4
_AT_ONCE = 1024  # walks: limits the memory for the children of the pages they are on
_WORD = 64  # targets that one pass follows, one bit each
_ONES = np.array([bin(byte).count("1") for byte in range(256)], np.uint8)


def hop_layers(graph: LinkGraph, targets: Mask, deepest: int = DEEPEST) -> Ids:
    """The layer of each page."""
    layer = np.where(targets, 0, -1).astype(np.int32)
    sources = graph.sources
    for hops in range(1, deepest + 1):
        layer[sources[(layer[graph.targets] == hops - 1) & (layer[sources] < 0)]] = hops
    return layer


def hop_states(layer: Ids, deepest: int = DEEPEST) -> Ids:
    """The state of each page: its layer, or the last state for all pages that are farther away."""
    return np.where(layer < 0, deepest, layer).astype(np.int32)


def halves(targets: Mask, seed: int) -> tuple[Mask, Mask]:
    """The targets in two random halves. If their number is odd, the first half has one more."""
    pages = np.random.default_rng(seed).permutation(np.flatnonzero(targets))
    if len(pages) < 2:
        raise ForagerError(f"{len(pages)} target cannot be halved: give at least 2")
    first = np.zeros(len(targets), bool)
    first[pages[: (len(pages) + 1) // 2]] = True
    return first, targets & ~first


# ---- sequences ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class PageSequences:
    """Sequences of pages with their states: sequence i has the positions `offsets[i]:offsets[i + 1]`."""

    pages: Ids
    states: Ids
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[tuple[Ids, Ids]]:
        """The pages and the states of each sequence."""
        for start, end in pairwise(self.offsets.tolist()):
            yield self.pages[start:end], self.states[start:end]

    @property
    def last_pages(self) -> Ids:
        return self.pages[self.offsets[1:] - 1]


def walks(
    graph: LinkGraph,
    layer: Ids,
    *,
    count: int,
    seed: int,
    shortest: int = 2,
    longest: int = 10,
    start: int | None = None,
) -> PageSequences:
    """`count` random walks from layer `start`, by default from the outermost layer that has pages."""
    if not 2 <= shortest <= longest:
        raise ForagerError(f"walks of {shortest} to {longest} pages: the shortest has 2, the longest is not shorter")
    pool = _outermost(layer, start)
    rng = np.random.default_rng(seed)
    drawn = []
    for done in range(0, count, _AT_ONCE):
        pages = np.full((min(_AT_ONCE, count - done), longest), -1, np.int32)
        pages[:, 0] = rng.choice(pool, len(pages))
        _walk(graph, layer, pages, rng.integers(shortest, longest + 1, len(pages)), rng)
        drawn.append(pages)
    pages = np.concatenate(drawn) if drawn else np.empty((0, longest), np.int32)
    walked = pages >= 0
    offsets = np.concatenate(([0], np.cumsum(walked.sum(axis=1))))
    return PageSequences(pages[walked], layer[pages[walked]], offsets)


def leaks(sequences: PageSequences, others: Mask) -> NDArray[np.intp]:
    """The sequences that end in one of the targets kept for the test. There must be none."""
    return np.flatnonzero(others[sequences.last_pages])


def _outermost(layer: Ids, start: int | None) -> Ids:
    chosen = int(layer.max(initial=-1)) if start is None else start
    pool = np.flatnonzero(layer == chosen).astype(np.int32)
    if chosen < 1:
        raise ForagerError("no page leads to a target within the layers: give targets that other pages link to")
    if not len(pool):
        raise ForagerError(f"no page is in layer {chosen}: start from layer {layer.max(initial=-1)} or lower")
    return pool


def _walk(graph: LinkGraph, layer: Ids, pages: Ids, lengths: NDArray[np.int64], rng: np.random.Generator) -> None:
    """Continue all walks at once from their first pages. Each walk is a row; after its end -1 stays."""
    walking = np.arange(len(pages))
    for position in range(1, pages.shape[1]):
        walking = walking[lengths[walking] > position]
        here = pages[walking, position - 1]
        rows, children = graph.children(here)
        onward = (layer[children] >= 0) & (layer[children] <= layer[here[rows]])
        rows, children = rows[onward], children[onward]
        new = (pages[walking[rows], :position] != children[:, None]).all(axis=1)
        rows, children = _one_each(rows[new], children[new], rng)
        walking = walking[rows]  # a walk without such a child ends
        pages[walking, position] = children


def _one_each(rows: Ids, children: Ids, rng: np.random.Generator) -> tuple[Ids, Ids]:
    """One child of each row, drawn evenly; `rows` is ascending."""
    present, begins, counts = np.unique(rows, return_index=True, return_counts=True)
    return present, children[begins + rng.integers(0, counts)]


# ---- the backward tree ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class BackwardTree:
    """The pages of each layer, each joined to a page of the next lower layer."""

    layers: tuple[Ids, ...]  # the pages of layer 0, 1, …
    towards: Ids  # (n,) the page of the next lower layer that each page is joined to; -1: a target, or in no layer

    def way(self, page: int) -> list[int]:
        """The pages from this page to its target, both included."""
        way = [page]
        while (page := int(self.towards[page])) >= 0:
            way.append(page)
        return way


def backward_tree(graph: LinkGraph, layer: Ids, deepest: int = DEEPEST) -> BackwardTree:
    """The backward tree. A page that could be joined to several pages is joined to the one with the smallest number."""
    sources = graph.sources
    down = (layer[graph.targets] >= 0) & (layer[graph.targets] == layer[sources] - 1)
    towards = np.full(len(graph), len(graph), np.int32)
    np.minimum.at(towards, sources[down], graph.targets[down])
    towards[towards == len(graph)] = -1
    return BackwardTree(tuple(np.flatnonzero(layer == i).astype(np.int32) for i in range(deepest + 1)), towards)


# ---- values ---------------------------------------------------------------------------------------------------------


def page_values(graph: LinkGraph, targets: Mask, gamma: float = 0.5, deepest: int = 8) -> NDArray[np.float64]:
    """V of each page, by the formula at the top of this file."""
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
    """V for up to 64 targets, breadth-first from all at once. Bit i of a page's word: it has a way to target i."""
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
class ValueBins:
    """The bin of each link, and the mean value of each bin."""

    members: Ids  # (links,) the bin of each value, 0 the lowest
    means: Floats  # (bins,) of the values in each


def bins(values: NDArray[np.float64], most: int = 3) -> ValueBins:
    """At most `most` bins, none of them empty."""
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
        begin = min(max(end, begin + 1), len(distinct) - (groups - 1 - group))  # leave a value for each bin above
        member[begin:] = group + 1
    members = member[which]
    means = np.bincount(members, weights=values, minlength=groups) / np.bincount(members, minlength=groups)
    return ValueBins(members, means.astype(np.float32))
