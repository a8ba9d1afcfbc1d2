"""Which URLs are known, and their ids. Lookups are exact, and growing causes no pauses."""

from __future__ import annotations

import mmap
import os
import secrets
from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import accumulate, repeat
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from forager.frontier.columns import Column
from forager.types import Ids, Url
from forager.web.urls import host, site

Hashes: TypeAlias = NDArray[np.uint64]
T = TypeVar("T", bound=np.generic)

WIDE = 8  # slots of a bucket: 8 hashes fill one cache line, and a batch is done in two or three steps
FEW = 32  # so few hashes are taken one by one, because numpy's calls would cost more
FULLEST = 0.7  # part of the slots that may be in use before the table doubles
MOVED = 512  # buckets that each insert moves to a new table
PIECE = 1 << 16  # hashes that are placed at a time, so that a large insert needs little extra memory
# Links to the same pages repeat, and a dict answers in a tenth of the time. When it is full, all of it is forgotten.
RECENT, SHORT = 1 << 15, 300  # URLs that are remembered, characters of one


def blank(buckets: int, dtype: type[T]) -> NDArray[T]:
    """Zeros, in small memory pages if the system lets us choose.

    numpy asks for pages of 2 MB. In a large new table each of the first hashes would need such a page to be zeroed: 80
    hashes took up to 150 ms in a table of 8 million. With small pages they take a few, and later lookups are as fast.
    """
    if not hasattr(mmap, "MADV_NOHUGEPAGE"):
        return np.zeros((buckets, WIDE), dtype)
    size = buckets * WIDE * np.dtype(dtype).itemsize
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype).reshape(buckets, WIDE)


class HashBuckets:
    """A hash table of fixed size: open addressing by buckets.

    Invariants: a bucket is filled from its first slot on, so its last slot tells whether it is full. A hash is in the
    bucket that its low bits name; if that one is full, in the next one that is not. An empty slot has hash 0 and number
    0; numbers are id + 1, so the number in the slot where a search ends is right in both cases.
    """

    def __init__(self, buckets: int) -> None:
        self.hashes: Hashes = blank(buckets, np.uint64)
        self.numbers: Ids = blank(buckets, np.int32)
        self.used = 0
        self._slots, self._slot_numbers = self.hashes.reshape(-1).data, self.numbers.reshape(-1).data

    def room(self) -> int:
        """How many more hashes may be inserted."""
        return int(self.hashes.size * FULLEST) - self.used

    def lookup(self, hashes: Hashes) -> Ids:
        """The id of each hash, -1 if it is not here."""
        if len(hashes) <= FEW:
            return np.array(self._find_each(hashes.tolist()), np.int32)
        last = len(self.hashes) - 1
        found = np.full(len(hashes), -1, np.int32)
        rows = np.arange(len(hashes))
        at = (hashes & np.uint64(last)).view(np.intp)
        while len(rows) > FEW:
            bucket = self.hashes.take(at, 0)
            hit, slot = (bucket == hashes[:, None]).nonzero()
            found[rows[hit]] = self.numbers[at[hit], slot] - 1
            on = bucket[:, -1] != 0
            on[hit] = False
            rows, at, hashes = rows[on], (at[on] + 1) & last, hashes[on]
        found[rows] = self._find_each(hashes.tolist())
        return found

    def _find_each(self, hashes: list[int]) -> list[int]:
        """What `lookup` gives, one by one."""
        slots, numbers, last, found = self._slots, self._slot_numbers, len(self.hashes) - 1, []
        for hash in hashes:
            at = hash & last
            bucket = slots[at * WIDE : at * WIDE + WIDE].tolist()
            while hash not in bucket and bucket[-1]:
                at = at + 1 & last
                bucket = slots[at * WIDE : at * WIDE + WIDE].tolist()
            found.append(numbers[at * WIDE + bucket.index(hash)] - 1 if hash in bucket else -1)
        return found

    def insert(self, hashes: Hashes, numbers: Ids) -> None:
        """Insert hashes that are distinct, not here yet, and not 0."""
        self.used += len(hashes)
        last = len(self.hashes) - 1
        at = (hashes & np.uint64(last)).view(np.intp)
        while len(hashes) > FEW:
            empty = self.hashes.take(at, 0) == 0
            full = ~empty[:, -1]
            free = empty[:, -1].nonzero()[0]
            bucket, slot, wanted = at[free], empty.argmax(1)[free], hashes[free]
            self.hashes[bucket, slot] = wanted
            # Two of the batch may have wanted the same slot: the later one has it, the other tries again.
            won = self.hashes[bucket, slot] == wanted
            self.numbers[bucket[won], slot[won]] = numbers[free[won]]
            left = np.ones(len(hashes), np.bool_)
            left[free[won]] = False
            at, hashes, numbers = (at + full)[left] & last, hashes[left], numbers[left]
        self._place_each(hashes.tolist(), numbers.tolist())

    def _place_each(self, hashes: list[int], numbers: list[int]) -> None:
        """What `insert` does, one by one."""
        slots, slot_numbers, last = self._slots, self._slot_numbers, len(self.hashes) - 1
        for hash, number in zip(hashes, numbers, strict=True):
            at = hash & last
            while slots[at * WIDE + WIDE - 1]:
                at = at + 1 & last
            slot = at * WIDE + slots[at * WIDE : at * WIDE + WIDE].tolist().index(0)
            slots[slot], slot_numbers[slot] = hash, number


class HashTable:
    """Hash -> id for every URL that was found. It is no Bloom filter: a false positive would silently lose a page.

    Invariant: every hash that was inserted is in `_table`, or in a bucket of `_old` from `_moved` on.

    When the table is full, one of twice the size takes its place. Each insert then moves some buckets of the old one,
    so that the work of growing is spread over many small steps. (64 parts that grow one at a time would do this too,
    but a batch of 80 hashes would then touch about 45 of them, each with its own numpy calls.) A bucket that was moved
    stays as it was until the whole old table goes, so searches there need no tombstones. Ids never change, so a copy is
    never wrong. Two URLs with the same hash get the same id.
    """

    def __init__(self) -> None:
        self._table = HashBuckets(256)
        self._old: HashBuckets | None = None
        self._moved = 0
        self._zero = -1  # the id of hash 0, because in a slot 0 means empty
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def lookup(self, hashes: Hashes) -> Ids:
        """The id of each hash, -1 if it was never inserted."""
        ids = self._table.lookup(hashes)
        if self._old is not None:
            rows = (ids < 0).nonzero()[0]
            ids[rows] = self._old.lookup(hashes[rows])
        if self._zero >= 0:
            ids[hashes == 0] = self._zero
        return ids

    def insert(self, hashes: Hashes, ids: Ids) -> None:
        """Insert hashes that are distinct and not here yet."""
        self._count += len(hashes)
        if np.count_nonzero(hashes) < len(hashes):
            zero = hashes == 0
            self._zero = int(ids[zero][0])
            hashes, ids = hashes[~zero], ids[~zero]
        for start in range(0, len(hashes), PIECE):
            piece = slice(start, start + PIECE)
            self._make_room(len(hashes[piece]))
            self._table.insert(hashes[piece], ids[piece] + np.int32(1))

    def _make_room(self, count: int) -> None:
        self._move(MOVED)
        while self._table.room() < count:
            self._move()
            self._old, self._moved = self._table, 0
            self._table = HashBuckets(2 * len(self._old.hashes))

    def _move(self, buckets: int | None = None) -> None:
        """Copy so many buckets of the old table, or all that are left. After the last one the old table goes."""
        if self._old is None:
            return
        end = len(self._old.hashes) if buckets is None else self._moved + buckets
        hashes, numbers = self._old.hashes[self._moved : end], self._old.numbers[self._moved : end]
        full = hashes != 0
        self._table.insert(hashes[full], numbers[full])
        self._moved = end
        if end >= len(self._old.hashes):
            self._old = None


class UrlTable:
    """URL <-> id, exactly. Ids count up from 0 in the order of discovery, and nothing is ever removed.

    The texts are one after the other in one buffer. Hosts and sites are numbered in order of discovery too.
    """

    def __init__(self) -> None:
        self._ids = HashTable()
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
        """The name of a URL's host, with the port if it is not the default."""
        return self._host_names[int(self._hosts.view[id])]

    def host_number(self, name: str) -> int:
        """The number of a host. One that was never seen gets a new number, though no URL of it is known."""
        if name not in self._host_ids:
            self._number(name)
        return self._host_ids[name]

    @property
    def host_count(self) -> int:
        return len(self._host_ids)

    def intern(self, urls: Sequence[Url]) -> Ids:
        """The ids of the URLs, in order. URLs that were never seen get new ids."""
        ids = np.fromiter(map(self._recent.get, urls, repeat(-1)), np.int32, len(urls))
        rows = (ids < 0).nonzero()[0]
        if len(rows):
            others = [urls[row] for row in rows.tolist()]
            ids[rows] = given = self._intern(others)
            self._remember(others, given)
        return ids

    def _intern(self, urls: Sequence[Url]) -> Ids:
        hashes = _hashes(urls)
        ids = self._ids.lookup(hashes)
        new = (ids < 0).nonzero()[0]
        if len(new):
            ids[new] = self._give_ids([urls[row] for row in new.tolist()], hashes[new])
        return ids

    def _remember(self, urls: Sequence[Url], ids: Ids) -> None:
        short = [(url, id) for url, id in zip(urls, ids.tolist(), strict=True) if len(url) <= SHORT][:RECENT]
        if len(self._recent) + len(short) > RECENT:
            self._recent.clear()
        self._recent.update(short)

    def _give_ids(self, urls: Sequence[Url], hashes: Hashes) -> Ids:
        """New ids for URLs, of which some may be the same."""
        digests = hashes.tolist()
        distinct = dict.fromkeys(digests)
        fresh = np.arange(len(self), len(self) + len(distinct), dtype=np.int32)
        if len(distinct) == len(urls):
            self._ids.insert(hashes, fresh)
            self._append(urls)
            return fresh
        first = dict(zip(reversed(digests), reversed(urls), strict=True))  # of equal URLs the first is written last
        self._ids.insert(np.fromiter(distinct, np.uint64, len(distinct)), fresh)
        self._append([first[digest] for digest in distinct])
        ids = dict(zip(distinct, fresh.tolist(), strict=True))
        return np.array([ids[digest] for digest in digests], np.int32)

    def within_new_hosts(self, urls: Sequence[Url], most: int) -> list[int]:
        """The places of those URLs that lie on known hosts, or on the first so many hosts that are new."""
        new: dict[str, None] = {}
        rows = []
        for row, name in enumerate(map(host, urls)):
            if name not in self._host_ids and name not in new:
                if len(new) >= most:
                    continue
                new[name] = None
            rows.append(row)
        return rows

    def find(self, urls: Sequence[Url]) -> Ids:
        """The ids of the URLs, -1 for those that were never seen."""
        return self._ids.lookup(_hashes(urls))

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


def _hashes(urls: Sequence[Url]) -> Hashes:
    return np.fromiter(map(_hash, urls), np.int64, len(urls)).view(np.uint64)


def _secret_hash() -> Callable[[Url], int]:
    """A hash of 64 bits with a secret of this process. If strangers could foresee it, one page with links that all fall
    into one bucket would stop the crawl: 20,000 of them took 5 seconds, and again at each resume.

    Python's own hash of a string has such a secret (SipHash), unless somebody has fixed it.
    """
    if os.environ.get("PYTHONHASHSEED", "random") in ("", "random"):
        return hash
    key = secrets.token_bytes(16)
    return lambda url: int.from_bytes(blake2b(url.encode(), key=key, digest_size=8).digest(), "little", signed=True)


_hash = _secret_hash()
