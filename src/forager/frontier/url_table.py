"""Which URLs are known: a table from 64-bit hash to id, exact and without pauses."""

from __future__ import annotations

import mmap
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from forager.types import Ids

Hashes: TypeAlias = NDArray[np.uint64]
T = TypeVar("T", bound=np.generic)

WIDE = 8  # slots of a bucket: 8 hashes are one cache line, and a batch is done in two or three steps
FEW = 32  # hashes that are taken one by one: numpy's calls would cost more
FULLEST = 0.7  # part of the slots in use before the table doubles
MOVED = 512  # buckets moved to a new table with each insert
PIECE = 1 << 16  # hashes placed at a time, so that a large insert needs little memory besides


def blank(buckets: int, dtype: type[T]) -> NDArray[T]:
    """Zeros, in small pages where the system lets us say so.

    numpy asks for pages of 2 MB. The first hashes in a large new table would each have one zeroed for them: 80 hashes
    took up to 150 ms in a table of 8 million. With small pages they take a few, and later lookups are no slower.
    """
    if not hasattr(mmap, "MADV_NOHUGEPAGE"):
        return np.zeros((buckets, WIDE), dtype)
    size = buckets * WIDE * np.dtype(dtype).itemsize
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype).reshape(buckets, WIDE)


class Table:
    """Open addressing by buckets.

    Invariants: a bucket fills from its first slot on, so its last slot tells whether it is full; a hash lies in the
    bucket its low bits name or, as long as buckets on the way are full, in one that follows. An empty slot is hash 0
    with number 0; numbers are id + 1, so the number in the slot where a search ends is right for both cases.
    """

    def __init__(self, buckets: int) -> None:
        self.hashes: Hashes = blank(buckets, np.uint64)
        self.numbers: Ids = blank(buckets, np.int32)
        self.used = 0
        self._slots, self._slot_numbers = self.hashes.reshape(-1).data, self.numbers.reshape(-1).data

    def room(self) -> int:
        return int(self.hashes.size * FULLEST) - self.used

    def lookup(self, hashes: Hashes) -> Ids:
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
        """The same, one by one."""
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
        """Place hashes that are distinct, absent and not 0."""
        self.used += len(hashes)
        last = len(self.hashes) - 1
        at = (hashes & np.uint64(last)).view(np.intp)
        while len(hashes) > FEW:
            empty = self.hashes.take(at, 0) == 0
            full = ~empty[:, -1]
            free = empty[:, -1].nonzero()[0]
            bucket, slot, wanted = at[free], empty.argmax(1)[free], hashes[free]
            self.hashes[bucket, slot] = wanted
            # Two of the batch may have wanted the same slot: the later has it, the other tries again.
            won = self.hashes[bucket, slot] == wanted
            self.numbers[bucket[won], slot[won]] = numbers[free[won]]
            left = np.ones(len(hashes), np.bool_)
            left[free[won]] = False
            at, hashes, numbers = (at + full)[left] & last, hashes[left], numbers[left]
        self._place_each(hashes.tolist(), numbers.tolist())

    def _place_each(self, hashes: list[int], numbers: list[int]) -> None:
        """The same, one by one."""
        slots, slot_numbers, last = self._slots, self._slot_numbers, len(self.hashes) - 1
        for hash, number in zip(hashes, numbers, strict=True):
            at = hash & last
            while slots[at * WIDE + WIDE - 1]:
                at = at + 1 & last
            slot = at * WIDE + slots[at * WIDE : at * WIDE + WIDE].tolist().index(0)
            slots[slot], slot_numbers[slot] = hash, number


class Seen:
    """Hash -> id for every URL ever found. No Bloom filter: a false positive would silently lose a page.

    Invariant: every hash inserted is in `_table`, or in a bucket of `_old` from `_moved` on.

    When the table is full a table of twice the size takes its place, and each insert moves some buckets of the old
    one, so the work of growing is spread over many small steps. (Splitting the table in parts which grow one at a time
    would do as well, but a batch of 80 hashes would then touch about 45 of 64 parts, each with its own numpy calls.)
    Buckets moved stay as they were until the whole old table goes, so searches in it need no tombstones. Ids never
    change, therefore a copy is never wrong. Two URLs with the same hash are the caller's matter.
    """

    def __init__(self) -> None:
        self._table = Table(256)
        self._old: Table | None = None
        self._moved = 0
        self._zero = -1  # id of hash 0, which in a slot means empty
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def lookup(self, hashes: Hashes) -> Ids:
        """The id of each hash, -1 where it was never inserted."""
        ids = self._table.lookup(hashes)
        if self._old is not None:
            rows = (ids < 0).nonzero()[0]
            ids[rows] = self._old.lookup(hashes[rows])
        if self._zero >= 0:
            ids[hashes == 0] = self._zero
        return ids

    def insert(self, hashes: Hashes, ids: Ids) -> None:
        """Remember hashes that are distinct and absent."""
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
            self._table = Table(2 * len(self._old.hashes))

    def _move(self, buckets: int | None = None) -> None:
        """Copy some buckets of the old table, all that are left if not told how many; at the end let go of it."""
        if self._old is None:
            return
        end = len(self._old.hashes) if buckets is None else self._moved + buckets
        hashes, numbers = self._old.hashes[self._moved : end], self._old.numbers[self._moved : end]
        full = hashes != 0
        self._table.insert(hashes[full], numbers[full])
        self._moved = end
        if end >= len(self._old.hashes):
            self._old = None
