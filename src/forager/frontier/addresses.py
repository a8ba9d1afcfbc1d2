"""URL <-> id, exactly. Ids count up from 0 in the order of discovery; nothing is ever removed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, repeat

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from forager.frontier.columns import Column
from forager.frontier.url_table import Seen
from forager.types import Ids, Url
from forager.web.urls import host, site

# Links to the same pages repeat, and a dict is asked in a tenth of the time. Forgotten all at once when full.
RECENT, SHORT = 1 << 15, 300  # URLs, characters of one


class Addresses:
    """The texts lie end to end in one buffer; hosts and sites are numbered in order of discovery as well."""

    def __init__(self) -> None:
        self._seen = Seen()
        self._recent: dict[Url, int] = {}
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
        ids = np.fromiter(map(self._recent.get, urls, repeat(-1)), np.int32, len(urls))
        rows = (ids < 0).nonzero()[0]
        if len(rows):
            others = [urls[row] for row in rows.tolist()]
            ids[rows] = given = self._intern(others)
            self._remember(others, given)
        return ids

    def _intern(self, urls: Sequence[Url]) -> Ids:
        hashes = _hashes(urls)
        ids = self._seen.lookup(hashes)
        new = (ids < 0).nonzero()[0]
        if len(new):
            ids[new] = self._give_ids([urls[row] for row in new.tolist()], hashes[new])
        return ids

    def _remember(self, urls: Sequence[Url], ids: Ids) -> None:
        short = [(url, id) for url, id in zip(urls, ids.tolist(), strict=True) if len(url) <= SHORT][:RECENT]
        if len(self._recent) + len(short) > RECENT:
            self._recent.clear()
        self._recent.update(short)

    def _give_ids(self, urls: Sequence[Url], hashes: NDArray[np.uint64]) -> Ids:
        """New ids, for URLs that may repeat."""
        digests = hashes.tolist()
        distinct = dict.fromkeys(digests)
        fresh = np.arange(len(self), len(self) + len(distinct), dtype=np.int32)
        if len(distinct) == len(urls):
            self._seen.insert(hashes, fresh)
            self._append(urls)
            return fresh
        first = dict(zip(reversed(digests), reversed(urls), strict=True))  # of URLs alike the first is written last
        self._seen.insert(np.fromiter(distinct, np.uint64, len(distinct)), fresh)
        self._append([first[digest] for digest in distinct])
        ids = dict(zip(distinct, fresh.tolist(), strict=True))
        return np.array([ids[digest] for digest in digests], np.int32)

    def find(self, urls: Sequence[Url]) -> Ids:
        """The ids of the URLs, -1 for those never seen."""
        return self._seen.lookup(_hashes(urls))

    def _append(self, urls: Sequence[Url]) -> None:
        texts = [url.encode() for url in urls]
        ends = np.fromiter(accumulate(map(len, texts)), np.int64, len(texts))
        self._ends.extend(ends + len(self._text))
        self._text += b"".join(texts)
        names = [host(url) for url in urls]
        for name in names:
            if name not in self._host_ids:
                self._number(name)
        self._hosts.extend([self._host_ids[name] for name in names])

    def _number(self, name: str) -> None:
        self._host_ids[name] = len(self._host_ids)
        self._host_names.append(name)
        self._sites.extend([self._site_ids.setdefault(site(name), len(self._site_ids))])


def _hashes(urls: Sequence[Url]) -> NDArray[np.uint64]:
    return np.array([xxh3_64_intdigest(url.encode()) for url in urls], np.uint64)
