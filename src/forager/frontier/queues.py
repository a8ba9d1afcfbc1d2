"""The links of one lane and site, best first: a small heap above a floor, and below it only ids."""

from __future__ import annotations

from array import array
from heapq import heappop, heappush

import numpy as np

from forager.frontier.columns import AnyIds, Column
from forager.frontier.order import ID, POOLED, WORST, Keys, Standing

SHARE = 64  # a heap holds this part of a long queue, so that a refill pays for itself


class Queues:
    """Queues by number, each with a heap of keys, a floor and a pool.

    Invariants: (a) every link of a queue that waits and is awake is in its pool; (b) if its key is not after the
    floor, it is in the heap as well; (c) no key in the heap is after the floor. A pool has no id twice. Heaps and pools
    may also hold what no longer waits or has another score by now: it is recognised when it comes up, so a change of
    score costs no search.

    The floor is a key, not a score: with all scores equal, as in breadth-first, there is still an exact cut.
    """

    def __init__(self, standing: Standing, least: int) -> None:
        self.heaps: list[list[int]] = []
        self.pools: list[array[int]] = []
        self.floors = Column(np.uint64, fill=WORST)
        self._standing = standing
        self._least = least  # links in a heap after a refill, if there are as many

    def __len__(self) -> int:
        return len(self.heaps)

    def open(self) -> int:
        """The number of a new queue."""
        self.heaps.append([])
        self.pools.append(array("i"))
        self.floors.resize(len(self.heaps))
        return len(self.heaps) - 1

    def put(self, ids: AnyIds) -> tuple[AnyIds, Keys]:
        """Queue distinct links that wait and are awake, with the scores they have now; gives queues and keys."""
        standing = self._standing
        numbers, keys = standing.queue.view[ids].astype(np.intp), standing.keys(ids)
        apart = standing.flags.view[ids] & POOLED == 0
        new = ids[apart]
        # One append each: a page's links lie in so many queues that grouping them first takes longer.
        for number, id in zip(numbers[apart].tolist(), new.tolist(), strict=True):
            self.pools[number].append(id)
        standing.give(new, POOLED)
        above = keys <= self.floors.view[numbers]
        raised = numbers[above].tolist()
        for number, key in zip(raised, keys[above].tolist(), strict=True):
            heappush(self.heaps[number], key)
        for number in set(raised):  # only now: a floor that rises bars what comes after it
            if len(self.heaps[number]) > 2 * self._size(len(self.pools[number])):
                self._cut(number)
        return numbers, keys

    def head(self, number: int) -> int | None:
        """The first key of a queue."""
        while True:
            heap = self.heaps[number]
            while heap:
                if self._standing.is_next(heap[0]):
                    return heap[0]
                heappop(heap)
            if self.floors.view.item(number) == WORST:
                return None
            self._refill(number)

    def pop(self, number: int) -> int:
        """Take the first key off its heap."""
        return heappop(self.heaps[number])

    def forget(self) -> None:
        """All scores may have changed: empty the heaps, to be filled when their queue is next looked at."""
        for heap in self.heaps:
            heap.clear()
        self.floors.view[:] = 0

    def _size(self, links: int) -> int:
        """How many keys a heap should hold for that many links in the pool."""
        return max(self._least, links // SHARE)

    def _refill(self, number: int) -> None:
        """The best of the pool make the heap; what waits no longer leaves the pool."""
        pool = np.frombuffer(self.pools[number], np.int32)
        awake = self._standing.awake(pool)
        ids = pool[awake]
        self._standing.take(pool[~awake], POOLED)
        self.pools[number] = array("i", ids.tobytes())
        keys = self._standing.keys(ids)
        size = self._size(len(keys))
        if len(keys) > size:
            keys = np.partition(keys, size - 1)[:size]
            self.floors.view[number] = keys[-1]
        else:
            self.floors.view[number] = WORST
        keys.sort()  # a sorted list is a heap
        self.heaps[number] = keys.tolist()

    def _cut(self, number: int) -> None:
        """Keep the best of a heap grown too long; the floor rises to the last of them."""
        keys = np.array(self.heaps[number], np.uint64)
        ids = (keys & np.uint64(ID)).astype(np.int32)
        live = np.unique(keys[self._standing.awake(ids) & (self._standing.keys(ids) == keys)])
        size = self._size(len(self.pools[number]))
        if len(live) > size:
            live = live[:size]
            self.floors.view[number] = live[-1]
        self.heaps[number] = live.tolist()
