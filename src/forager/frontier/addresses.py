"""URL <-> id, exactly. Ids count up from 0 in the order of discovery; nothing is ever removed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from forager.frontier.columns import Column
from forager.frontier.seen import Seen
from forager.types import Ids, Url
from forager.urls import host, site


class Addresses:
    """The texts lie end to end in one buffer; hosts and sites are numbered in order of discovery as well."""

    def __init__(self) -> None:
        self._seen = Seen()
        self._text = bytearray()
        self._ends = Column(np.int64)  # by id
        self._hosts = Column(np.int32)  # by id
        self._sites = Column(np.int32)  # by host
        self._host_ids: dict[str, int] = {}
        self._host_names: list[str] = []  # by host
        self._site_ids: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, id: int) -> Url:
        ends = self._ends.view
        return Url(self._text[ends[id - 1] if id else 0 : ends[id]].decode())

    @property
    def hosts(self) -> Ids:
        """The host of each URL."""
        return self._hosts.view

    @property
    def sites(self) -> Ids:
        """The registrable site of each host."""
        return self._sites.view

    def host(self, id: int) -> str:
        """The name of a URL's host, with the port if it has one of its own."""
        return self._host_names[int(self._hosts.view[id])]

    @property
    def host_count(self) -> int:
        return len(self._host_ids)

    def intern(self, urls: Sequence[Url]) -> Ids:
        """The ids of the URLs, in order; those never seen get new ones."""
        hashes = _hashes(urls)
        ids = self._seen.lookup(hashes)
        new = np.flatnonzero(ids < 0)
        if len(new):
            ids[new] = self._give_ids([urls[row] for row in new.tolist()], hashes[new])
        return ids

    def _give_ids(self, urls: Sequence[Url], hashes: NDArray[np.uint64]) -> Ids:
        """New ids, for URLs that may repeat."""
        first: dict[int, Url] = {}
        for digest, url in zip(hashes.tolist(), urls, strict=True):
            first.setdefault(digest, url)
        fresh = np.arange(len(self), len(self) + len(first), dtype=np.int32)
        if len(first) == len(urls):
            self._seen.insert(hashes, fresh)
            self._append(urls)
            return fresh
        ranks = dict(zip(first, fresh.tolist(), strict=True))
        self._seen.insert(np.fromiter(first, np.uint64, len(first)), fresh)
        self._append(list(first.values()))
        return np.fromiter((ranks[digest] for digest in hashes.tolist()), np.int32, len(hashes))

    def find(self, urls: Sequence[Url]) -> Ids:
        """The ids of the URLs, -1 for those never seen."""
        return self._seen.lookup(_hashes(urls))

    def _append(self, urls: Sequence[Url]) -> None:
        texts = [url.encode() for url in urls]
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        self._ends.extend(len(self._text) + np.cumsum(lengths))
        self._text += b"".join(texts)
        self._hosts.extend(np.array([self._host_id(host(url)) for url in urls], np.int32))

    def _host_id(self, name: str) -> int:
        known = self._host_ids.get(name)
        if known is not None:
            return known
        new = self._host_ids[name] = len(self._host_ids)
        self._host_names.append(name)
        self._sites.extend(np.array([self._site_ids.setdefault(site(name), len(self._site_ids))], np.int32))
        return new


def _hashes(urls: Sequence[Url]) -> NDArray[np.uint64]:
    return np.array([xxh3_64_intdigest(url.encode()) for url in urls], np.uint64)
