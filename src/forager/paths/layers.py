"""Layers around the targets of a web, and the sequences that hop-state models learn from.

    layer(u) = links on the shortest way from u to a target, 0..N; -1 where there is none of at most N (N = 4)
    state(u) = layer(u), and N where it is -1: the last state is "N or more"

*Sequences* (HMM, MEMM) are random walks from the outermost layer: a child is drawn evenly from those that lie in the
same layer or in a lower one and are not in the walk yet, until the walk has the length drawn for it (2..10, evenly) or
there is no such child. The state of each page is its layer, so that states never rise along a walk.

The *backward tree* (context graph) joins each page of layer i > 0 to one page of layer i - 1 that it links to.

No leak in a closed web: what is trained on half A of the targets is tested on half B, and must not have met B. With

    a, b = halves(targets, seed);  graph = whole.without(b);  layer = hop_layers(graph, a)

no page of B is on a link, hence none in a layer, a sequence, or a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from forager.errors import ForagerError
from forager.paths.graph import LinkGraph
from forager.types import Ids, Mask

DEEPEST = 4
_AT_ONCE = 1024  # walks: bounds the memory for the children of all pages they are on


def hop_layers(graph: LinkGraph, targets: Mask, deepest: int = DEEPEST) -> Ids:
    """The layer of each page."""
    layer = np.where(targets, 0, -1).astype(np.int32)
    sources = graph.sources
    for hops in range(1, deepest + 1):
        layer[sources[(layer[graph.targets] == hops - 1) & (layer[sources] < 0)]] = hops
    return layer


def hop_states(layer: Ids, deepest: int = DEEPEST) -> Ids:
    """The hop state of each page: the layer, the last state for all that are farther."""
    return np.where(layer < 0, deepest, layer).astype(np.int32)


def halves(targets: Mask, seed: int) -> tuple[Mask, Mask]:
    """The targets in two random halves; an odd one is in the first."""
    pages = np.random.default_rng(seed).permutation(np.flatnonzero(targets))
    if len(pages) < 2:
        raise ForagerError(f"{len(pages)} target cannot be halved: give at least 2")
    first = np.zeros(len(targets), bool)
    first[pages[: (len(pages) + 1) // 2]] = True
    return first, targets & ~first


# ---- sequences ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Sequences:
    """Sequence i is the pages, and their states, of positions `offsets[i]:offsets[i + 1]`."""

    pages: Ids
    states: Ids
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[tuple[Ids, Ids]]:
        """Pages and states of each sequence."""
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
) -> Sequences:
    """`count` random walks from layer `start`: if not given, from the outermost that has pages."""
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
    return Sequences(pages[walked], layer[pages[walked]], offsets)


def leaks(sequences: Sequences, others: Mask) -> NDArray[np.intp]:
    """Which sequences end in one of the targets kept for the test: there must be none."""
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
    """Go on with all walks at once, from their first pages: a row each, -1 stays behind their ends."""
    walking = np.arange(len(pages))
    for position in range(1, pages.shape[1]):
        walking = walking[lengths[walking] > position]
        here = pages[walking, position - 1]
        rows, children = graph.children(here)
        onward = (layer[children] >= 0) & (layer[children] <= layer[here[rows]])
        rows, children = rows[onward], children[onward]
        new = (pages[walking[rows], :position] != children[:, None]).all(axis=1)
        rows, children = _one_each(rows[new], children[new], rng)
        walking = walking[rows]  # a walk without such a child ends here
        pages[walking, position] = children


def _one_each(rows: Ids, children: Ids, rng: np.random.Generator) -> tuple[Ids, Ids]:
    """One of the children of each row, drawn evenly; rows rise."""
    present, begins, counts = np.unique(rows, return_index=True, return_counts=True)
    return present, children[begins + rng.integers(0, counts)]


# ---- the backward tree ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class BackwardTree:
    layers: tuple[Ids, ...]  # the pages of layer 0, 1, …
    towards: Ids  # (n,) for each page the one of the next lower layer it is joined to; -1 for targets and outsiders

    def way(self, page: int) -> list[int]:
        """The pages from one to its target, both included."""
        way = [page]
        while (page := int(self.towards[page])) >= 0:
            way.append(page)
        return way


def backward_tree(graph: LinkGraph, layer: Ids, deepest: int = DEEPEST) -> BackwardTree:
    """Of several pages that a page could be joined to, the one with the smallest number."""
    sources = graph.sources
    down = (layer[graph.targets] >= 0) & (layer[graph.targets] == layer[sources] - 1)
    towards = np.full(len(graph), len(graph), np.int32)
    np.minimum.at(towards, sources[down], graph.targets[down])
    towards[towards == len(graph)] = -1
    return BackwardTree(tuple(np.flatnonzero(layer == i).astype(np.int32) for i in range(deepest + 1)), towards)
