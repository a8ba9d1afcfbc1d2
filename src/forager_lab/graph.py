"""The whole link graph of a web, for those who may know it: oracles, and the count of what can be reached."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from forager.types import Floats, Url


@dataclass(frozen=True)
class WebGraph:
    """Nodes are the pages of the web; an edge for each distinct pair of pages linked, redirects resolved."""

    urls: Sequence[Url]
    matrix: csr_array  # (n, n) of ones

    @cached_property
    def index(self) -> dict[Url, int]:
        return {url: node for node, url in enumerate(self.urls)}

    def nodes(self, urls: Sequence[Url], final: Callable[[Url], Url]) -> NDArray[np.int32]:
        """The node each URL leads to, -1 for what is not in the web."""
        index = self.index
        return np.fromiter((index.get(final(url), -1) for url in urls), np.int32, len(urls))

    def links(self, url: Url) -> list[Url]:
        """The pages that a page links to."""
        offsets, node = self.matrix.indptr, self.index[url]
        return [self.urls[target] for target in self.matrix.indices[offsets[node] : offsets[node + 1]].tolist()]

    def reachable(self, seeds: Collection[Url], within: Collection[Url]) -> set[Url]:
        """The pages that can be reached from the seeds without leaving `within`."""
        offsets, targets = self.matrix.indptr, self.matrix.indices
        allowed = np.array([url in within for url in self.urls], bool)
        waiting = [self.index[url] for url in seeds if url in self.index]
        seen = np.zeros(len(self.urls), bool)
        seen[waiting] = True
        while waiting:
            node = waiting.pop()
            new = [v for v in targets[offsets[node] : offsets[node + 1]].tolist() if allowed[v] and not seen[v]]
            seen[new] = True
            waiting.extend(new)
        return {self.urls[node] for node in np.flatnonzero(seen).tolist()}

    def save(self, file: Path) -> None:
        """Several processes may save the same graph: each writes a file of its own, then renames it."""
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(f".{os.getpid()}.npz")
        np.savez(unfinished, offsets=self.matrix.indptr, targets=self.matrix.indices)
        unfinished.replace(file)

    def pull(self, values: Floats) -> Floats:
        """For each page the sum of the values of the pages it links to."""
        return np.asarray(self.matrix @ values, np.float32)


def build_graph(urls: Sequence[Url], links: Iterable[Sequence[Url]], final: Callable[[Url], Url]) -> WebGraph:
    """The graph over `urls`, given the links of each in the same order."""
    index = {url: node for node, url in enumerate(urls)}
    offsets, targets = [0], list[int]()
    for node, found_on_page in enumerate(links):
        found = {index.get(final(target), -1) for target in found_on_page}
        targets.extend(sorted(found - {-1, node}))
        offsets.append(len(targets))
    return _graph(urls, np.array(offsets), np.array(targets, np.int32))


def load_graph(file: Path, urls: Sequence[Url]) -> WebGraph:
    """A graph saved for the same pages in the same order."""
    with np.load(file, allow_pickle=False) as columns:
        return _graph(urls, columns["offsets"], columns["targets"])


def _graph(urls: Sequence[Url], offsets: NDArray[Any], targets: NDArray[Any]) -> WebGraph:
    ones = np.ones(len(targets), np.float32)
    return WebGraph(urls, csr_array((ones, targets, offsets), shape=(len(urls), len(urls))))
