"""Small webs for tests of layers, sequences and values: made by hand, drawn by hypothesis, and a slow reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from forager.paths import LinkGraph
from forager.types import Mask

Edge = tuple[int, int]


def web(pages: int, edges: Sequence[Edge]) -> LinkGraph:
    pairs = np.array(edges, np.int32).reshape(-1, 2)
    return LinkGraph.of(pages, pairs[:, 0], pairs[:, 1])


def mask(pages: int, *marked: int) -> Mask:
    return np.isin(np.arange(pages), marked)


def distances(pages: int, edges: Sequence[Edge]) -> list[list[float]]:
    """The number of links on the shortest way between all pairs of pages, by Floyd and Warshall."""
    far = [[0.0 if u == v else float("inf") for v in range(pages)] for u in range(pages)]
    for u, v in edges:
        far[u][v] = min(far[u][v], 1.0)
    for k in range(pages):
        for u in range(pages):
            for v in range(pages):
                far[u][v] = min(far[u][v], far[u][k] + far[k][v])
    return far


@st.composite
def webs(draw: st.DrawFn) -> tuple[int, list[Edge], list[int]]:
    """Pages, edges (some twice, some to the page itself), and at least one target."""
    pages = draw(st.integers(1, 12))
    page = st.integers(0, pages - 1)
    edges = draw(st.lists(st.tuples(page, page), max_size=30))
    return pages, edges, draw(st.lists(page, min_size=1, max_size=5, unique=True))
