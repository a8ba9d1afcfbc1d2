"""The links of a web as two arrays, and the file of edges they may come from."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forager.errors import ForagerError
from forager.paths.lines import numbered, wrong
from forager.types import Ids, Mask, Url, stretches
from forager.web.urls import RULES, UrlRules

_HEAD = ["source", "target"]


@dataclass(frozen=True, slots=True, eq=False)
class LinkGraph:
    """Page u links to the pages `targets[offsets[u]:offsets[u + 1]]`, each once."""

    offsets: NDArray[np.int64]  # (n + 1,)
    targets: Ids  # (links,)

    def __post_init__(self) -> None:
        if self.offsets[0] != 0 or self.offsets[-1] != len(self.targets) or (np.diff(self.offsets) < 0).any():
            raise ValueError("offsets must rise from 0 to the number of targets")
        if len(self.targets) and not (self.targets.min() >= 0 and self.targets.max() < len(self)):
            raise ValueError(f"targets must be pages 0..{len(self) - 1}")

    @classmethod
    def of(cls, pages: int, sources: NDArray[np.integer[Any]], targets: NDArray[np.integer[Any]]) -> LinkGraph:
        """From edges in any order, some perhaps more than once."""
        if len(sources) and not (min(sources.min(), targets.min()) >= 0 and max(sources.max(), targets.max()) < pages):
            raise ValueError(f"edges must join pages 0..{pages - 1}")
        pairs = np.unique(sources.astype(np.int64) * pages + targets)
        degree = np.bincount(pairs // max(pages, 1), minlength=pages)
        return cls(np.concatenate(([0], np.cumsum(degree))), (pairs % max(pages, 1)).astype(np.int32))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sources(self) -> Ids:
        """The page that each link is on."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.offsets))

    def children(self, pages: Ids) -> tuple[Ids, Ids]:
        """All links of the given pages: for each the position of its page among them, rising, and its target."""
        starts = self.offsets[pages]
        degree = self.offsets[pages + 1] - starts
        rows = np.repeat(np.arange(len(pages), dtype=np.int32), degree)
        return rows, self.targets[stretches(starts, degree)]

    def without(self, left_out: Mask) -> LinkGraph:
        """The same pages, without all links on or to those left out."""
        sources = self.sources
        kept = ~(left_out[sources] | left_out[self.targets])
        degree = np.bincount(sources[kept], minlength=len(self))
        return LinkGraph(np.concatenate(([0], np.cumsum(degree))), self.targets[kept])


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """A file of links: URLs in order of appearance, and the graph over them."""

    urls: tuple[Url, ...]
    graph: LinkGraph
    passed_over: int  # lines with a URL of another scheme than http

    def mask(self, urls: Collection[Url]) -> Mask:
        """True for the pages that are among `urls`."""
        wanted = frozenset(urls)
        return np.fromiter((url in wanted for url in self.urls), bool, len(self.urls))


def read_edges(file: Path, rules: UrlRules = RULES) -> Edges:
    """Lines of source, tab, target; a head and lines that begin with # may be there. gzip is seen by itself."""
    ids: dict[Url, int] = {}
    known: dict[str, int] = {}  # by URL as written: most are there many times
    ends: list[int] = []
    for number, text in numbered(file):
        pair = text.split("\t")
        if text.startswith("#") or (not known and pair == _HEAD):
            continue
        if len(pair) != 2:
            raise wrong(file, number, f"{len(pair)} columns: a line is a source and a target with one tab between")
        for end in pair:
            if end not in known:
                url = _url(file, number, end, rules)
                known[end] = -1 if url is None else ids.setdefault(url, len(ids))
            ends.append(known[end])
    if not ids:
        raise ForagerError(f"{file} has no links: a line is a source and a target with one tab between")
    edges = np.array(ends, np.int32).reshape(-1, 2)
    inside = (edges >= 0).all(axis=1)
    graph = LinkGraph.of(len(ids), edges[inside, 0], edges[inside, 1])
    return Edges(tuple(ids), graph, int((~inside).sum()))


def _url(file: Path, number: int, text: str, rules: UrlRules) -> Url | None:
    """None for a URL that no crawl here can fetch, such as those of ftp: part of many a web."""
    url = rules.canonical(text)
    if url is None and ("://" not in text or text.lower().startswith(("http://", "https://"))):
        raise wrong(file, number, f"{text[:80]!r} is not a URL of at most {rules.longest} characters")
    return url
