"""A web made ready for trials: its pages parsed once and kept on disk, its link graph built when it is needed.

Everything is kept in the cache folder, `$FORAGER_CACHE` or `forager` in the user's cache folder, and may be deleted.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from xxhash import xxh3_128_digest

from forager.types import Failure, Fetch, Floats, Page, Url
from forager.web.page import FEATURES, from_bytes, parse, to_bytes
from forager_lab.webs import Web

GROUP = 64  # pages written in one transaction


class Laboratory:
    """A web, its parsed pages and its link graph."""

    def __init__(self, web: Web) -> None:
        self.web = web
        self.cache = PageCache(cache_folder() / f"{web.fingerprint}.pages")

    async def page(self, url: Url) -> Page | None:
        """The parsed page of a URL; None if it gives no page."""
        answer = await self.web.fetcher.fetch(url)
        page = self.cache.read(answer) if isinstance(answer, Fetch) else None
        return page if isinstance(page, Page) else None

    def pages(self, urls: Sequence[Url]) -> Iterator[Page | None]:
        """The pages of the URLs, one at a time; None for a URL that gives no page."""
        loop = asyncio.new_event_loop()
        try:
            for url in urls:
                yield loop.run_until_complete(self.page(url))
        finally:
            loop.close()

    @cached_property
    def graph(self) -> WebGraph:
        """The link graph of the web. The first call parses all pages."""
        urls = list(self.web.truth.labels)
        file = cache_folder() / f"{self.web.fingerprint}-{FEATURES}.graph.npz"
        if not file.exists():
            links = (page.links.targets if page else () for page in self.pages(urls))
            build_graph(urls, links, self.web.final).save(file)
        return load_graph(file, urls)


# ---- parsed pages ----------------------------------------------------------------------------------------------------


def cache_folder() -> Path:
    """`$FORAGER_CACHE`, else `forager` in the user's cache folder."""
    chosen = os.environ.get("FORAGER_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "forager"


class PageCache:
    """Parses each fetched body once. Several processes may share one file.

    The key is made from the body and everything else that decides how it is parsed. So a changed recording or a new
    version of the parser never gets old pages.
    """

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._pages = sqlite3.connect(file, timeout=60, isolation_level=None)
        self._pages.execute("pragma journal_mode = wal")
        self._pages.execute("pragma synchronous = off")  # a cache may be lost
        self._pages.execute("create table if not exists page(key blob primary key, parsed blob) without rowid")
        self._unwritten: list[tuple[bytes, bytes]] = []

    def read(self, answer: Fetch) -> Page | Failure:
        """Parse an answer, or read the page that was parsed before."""
        key = _key(answer)
        row = self._pages.execute("select parsed from page where key = ?", (key,)).fetchone()
        if row is not None:
            return from_bytes(row[0])
        page = parse(answer)
        if isinstance(page, Page):
            self._unwritten.append((key, to_bytes(page)))
            if len(self._unwritten) >= GROUP:
                self.write()
        return page

    def write(self) -> None:
        """Write the newly parsed pages to disk. Another process may have written some of them already."""
        with self._pages:
            self._pages.execute("begin immediate")
            self._pages.executemany("insert or ignore into page values(?, ?)", self._unwritten)
        self._unwritten.clear()

    def close(self) -> None:
        """Write what is new and close the file."""
        self.write()
        self._pages.close()


def _key(answer: Fetch) -> bytes:
    about = f"{FEATURES}\0{answer.url}\0{answer.content_type}\0{answer.charset}\0"
    return xxh3_128_digest(about.encode() + answer.body)


# ---- the link graph --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WebGraph:
    """The links of a whole web. A node is a page; two linked pages have one edge; redirects are resolved.

    Only oracles, and counts of what can be reached, may look at it.
    """

    urls: Sequence[Url]
    matrix: csr_array  # (n, n) of ones

    @cached_property
    def index(self) -> dict[Url, int]:
        return {url: node for node, url in enumerate(self.urls)}

    def nodes(self, urls: Sequence[Url], final: Callable[[Url], Url]) -> NDArray[np.int32]:
        """The node that each URL leads to; -1 for a URL that is not in the web."""
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
        """Write a file of its own first and rename it, because several processes may save the same graph."""
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(f".{os.getpid()}.npz")
        np.savez(unfinished, offsets=self.matrix.indptr, targets=self.matrix.indices)
        unfinished.replace(file)

    def pull(self, values: Floats) -> Floats:
        """For each page, the sum of the values of the pages it links to."""
        return np.asarray(self.matrix @ values, np.float32)


def build_graph(urls: Sequence[Url], links: Iterable[Sequence[Url]], final: Callable[[Url], Url]) -> WebGraph:
    """The graph of the pages `urls`; `links` gives the links of each, in the same order."""
    index = {url: node for node, url in enumerate(urls)}
    offsets, targets = [0], list[int]()
    for node, found_on_page in enumerate(links):
        found = {index.get(final(target), -1) for target in found_on_page}
        targets.extend(sorted(found - {-1, node}))
        offsets.append(len(targets))
    return _graph(urls, np.array(offsets), np.array(targets, np.int32))


def load_graph(file: Path, urls: Sequence[Url]) -> WebGraph:
    """Read a graph that was saved for the same pages in the same order."""
    with np.load(file, allow_pickle=False) as columns:
        return _graph(urls, columns["offsets"], columns["targets"])


def _graph(urls: Sequence[Url], offsets: NDArray[Any], targets: NDArray[Any]) -> WebGraph:
    ones = np.ones(len(targets), np.float32)
    return WebGraph(urls, csr_array((ones, targets, offsets), shape=(len(urls), len(urls))))
