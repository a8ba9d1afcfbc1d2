"""Graphs and waiting links made by hand, for tests of strategies that look at the whole graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forager.types import Graph, Ragged, WaitingBatch


def graph_of(
    count: int,
    links: Sequence[tuple[int, int]],
    *,
    relevance: Sequence[float] | None = None,
    hosts: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
) -> Graph:
    """A graph of links (source, target). If not given: weights are 1, relevance is nan, all pages have one host."""
    given = weights if weights is not None else [1.0] * len(links)
    order = sorted(range(len(links)), key=lambda at: links[at][0])
    degree = np.bincount([source for source, _ in links], minlength=count) if links else np.zeros(count, np.int64)
    return Graph(
        np.concatenate(([0], np.cumsum(degree))),
        np.array([links[at][1] for at in order], np.int32),
        np.array([given[at] for at in order], np.float32),
        np.array(relevance if relevance is not None else [np.nan] * count, np.float32),
        np.array(hosts if hosts is not None else [0] * count, np.int32),
    )


def waiting_of(
    ids: Sequence[int],
    *,
    sources: Sequence[int] | None = None,
    scores: Sequence[float] | None = None,
    state: Sequence[Sequence[float]] | None = None,
) -> WaitingBatch:
    """A batch of links that wait. Without `state` it has no columns of state."""
    count = len(ids)
    return WaitingBatch(
        np.array(ids, np.int32),
        np.array(sources if sources is not None else [0] * count, np.int32),
        np.zeros(count, np.int32),
        np.array(scores if scores is not None else [0.0] * count, np.float32),
        np.array(state if state is not None else [[]] * count, np.float32).reshape(count, -1 if state else 0),
        Ragged.of([[]] * count),
        Ragged.of([[]] * count),
    )
