"""The graph as link analysis wants it: each pair of pages once, however often one links to the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from forager.types import Floats, Graph, Ids


class Pairs(NamedTuple):
    sources: Ids  # (e,) ascending
    targets: Ids  # (e,) ascending within a source
    weights: Floats  # (e,)


def pairs(graph: Graph) -> Pairs:
    """Every pair (u, v) with a link u -> v, and the largest weight of such a link."""
    pages = len(graph.relevance)
    links = csr_matrix((graph.weights, graph.targets, graph.offsets), (pages, pages), copy=True)
    links.sort_indices()
    sources = np.repeat(np.arange(pages, dtype=np.int32), np.diff(graph.offsets))
    targets = links.indices.astype(np.int32)
    first = np.ones(len(targets), bool)
    first[1:] = (sources[1:] != sources[:-1]) | (targets[1:] != targets[:-1])
    at = np.flatnonzero(first)
    return Pairs(sources[at], targets[at], np.maximum.reduceat(links.data, at))
