"""The order of links: scores by id, what becomes of a score when the link is found again, and queues of links.

A score is stored as its *rank*, an unsigned int: the larger the score, the smaller the rank. A *key* is a rank with the
id in its low half. The order of keys is the order of the crawl: higher score first, ties by smaller id.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.frontier.columns import AnyIds, Column
from forager.types import NEVER, Floats, Mask, Policy

Ranks: TypeAlias = NDArray[np.uint32]
Keys: TypeAlias = NDArray[np.uint64]

ID = (1 << 32) - 1  # the part of a key that is the id
WORST = (1 << 64) - 1  # after every key; 0 is before every key

# Flags of an id. An id without flags does not wait, but will when it is found with a score.
WAITING = 1
ASLEEP = 2  # waits, but may not be taken yet
LEASED = 4
DONE = 8
POOLED = 16  # in the pool of its queue
AWAKE = WAITING | ASLEEP  # flags & AWAKE == WAITING: may be taken

SHARE = 64  # the heap of a long queue has one of so many links, so that a refill is worth its cost


def ranks_of(scores: Floats) -> Ranks:
    """The ranks of scores: the bits of a float, changed so that as unsigned ints they sort in falling order."""
    bits = (scores + np.float32(0)).view(np.int32)  # adding 0 makes -0 the same as 0
    return (bits ^ (~(bits >> 31) & 0x7FFFFFFF)).view(np.uint32)


LAST = int(ranks_of(np.array([NEVER], np.float32))[0])  # the rank of NEVER


def scores_of(ranks: Ranks) -> Floats:
    """The scores of ranks."""
    bits = ranks.view(np.int32)
    return (bits ^ (~(bits >> 31) & 0x7FFFFFFF)).view(np.float32)


def score_of(key: int) -> float:
    """The score in a key."""
    rank = key >> 32
    (score,) = struct.unpack("f", struct.pack("I", rank if rank >> 31 else rank ^ 0x7FFFFFFF))
    return float(score)


def last_key(score: float) -> int:
    """The last key of a link with at least this score."""
    bits = int(struct.unpack("i", struct.pack("f", score + 0.0))[0])
    return ((bits ^ (~(bits >> 31) & 0x7FFFFFFF)) & ID) << 32 | ID


def checked(scores: Floats) -> Floats:
    """The scores. ValueError if one is nan."""
    scores = np.asarray(scores, np.float32)
    if np.count_nonzero(np.isnan(scores)):
        raise ValueError("a score is nan: a strategy must give numbers, or -inf for a link never to be followed")
    return scores


class RankedLinks:
    """Columns by id: rank, queue and flags. For mean and noisy-or also the own score of the link that is kept.

    Invariants: an id has at most one of WAITING, LEASED, DONE; `count` is how many have WAITING. With first and best
    the rank of an id that has none of them is that of NEVER.
    """

    def __init__(self, policy: Policy) -> None:
        self.rank = Column(np.uint32, fill=LAST)
        self.queue = Column(np.int32, fill=-1)  # -1: never offered
        self.flags = Column(np.uint8)
        self.count = 0
        self._policy = policy
        self._own = Column(np.float32) if policy in (Policy.MEAN, Policy.NOISY_OR) else None
        self._findings = Column(np.int32) if policy is Policy.MEAN else None

    def cover(self, ids: AnyIds) -> None:
        """Make sure that each of these ids has a row."""
        size = int(ids.max(initial=-1)) + 1
        if size > len(self.flags):
            for column in (self.rank, self.queue, self.flags, self._own, self._findings):
                if column is not None:
                    column.cover(size)

    def keys(self, ids: AnyIds) -> Keys:
        return self.rank.view[ids].astype(np.uint64) << np.uint64(32) | ids.astype(np.uint64)

    def is_next(self, key: int) -> bool:
        """Whether the link of this key waits, is awake, and still has the score that is in the key."""
        id = key & ID
        return self.flags.view.item(id) & AWAKE == WAITING and self.rank.view.item(id) == key >> 32

    def awake(self, ids: AnyIds) -> Mask:
        return np.asarray(self.flags.view[ids] & AWAKE == WAITING)

    def give(self, ids: AnyIds, flag: int) -> None:
        self.flags.view[ids] |= np.uint8(flag)

    def take(self, ids: AnyIds, flag: int) -> None:
        self.flags.view[ids] &= np.uint8(255 ^ flag)

    def retire(self, ids: AnyIds) -> None:
        """Mark distinct ids as done."""
        self.count -= int(np.count_nonzero(self.flags.view[ids] & WAITING))
        self.take(ids, WAITING | LEASED)
        self.give(ids, DONE)

    def revive(self, ids: AnyIds) -> AnyIds:
        """Let those of these distinct ids that are done begin anew; returns them."""
        ids = np.asarray(ids[self.flags.view[ids] & DONE != 0])
        self.take(ids, DONE | ASLEEP)
        self.rank.view[ids] = LAST
        return ids

    def rescore(self, ids: AnyIds, scores: Floats) -> AnyIds:
        """Give new scores to those of these distinct ids that wait; returns the ids that still wait."""
        waits = self.flags.view[ids] & WAITING != 0
        ids, scores = ids[waits], scores[waits]
        never = scores == NEVER
        self.rank.view[ids] = ranks_of(scores)
        self.count -= int(np.count_nonzero(never))
        self.take(ids[never], WAITING)
        return np.asarray(ids[~never])

    def offer(self, ids: AnyIds, scores: Floats) -> tuple[Mask, AnyIds]:
        """Combine findings in their order. Returns which rows are the links that are kept, and the ids whose score or
        flags have changed."""
        if self._policy in (Policy.FIRST, Policy.BEST):
            return self._offer_once(ids, scores)
        rounds, groups = _rounds(ids)
        winners = np.full(len(ids), -1, np.intp)  # for each group of rows with the same id, the row that is kept
        changed: list[AnyIds] = []
        for rows in rounds:
            kept, moved, gone = self._find(ids[rows], scores[rows])
            winners[groups[rows[gone]]] = -1
            winners[groups[rows[kept]]] = rows[kept]
            changed.append(ids[rows[moved]])
        mask = np.zeros(len(ids), np.bool_)
        mask[winners[winners >= 0]] = True
        return mask, changed[0] if len(changed) == 1 else np.unique(np.concatenate(changed))

    def _offer_once(self, ids: AnyIds, scores: Floats) -> tuple[Mask, AnyIds]:
        """`offer` for first and best, which keep only one finding of each id: the first that may be followed, or the
        best."""
        mask = np.zeros(len(ids), np.bool_)
        rows = self._able(ids, scores)
        if len(set(ids[rows].tolist())) < len(rows):
            rows = rows[self._one_each(ids[rows], scores[rows])]
        if not len(rows):
            return mask, ids[:0]
        mask[rows] = True
        ids = ids[rows]
        flags = self.flags.view[ids]
        self.count += len(ids) - int(np.count_nonzero(flags & WAITING))
        self.flags.view[ids] = flags | WAITING
        self.rank.view[ids] = ranks_of(scores[rows])
        return mask, ids

    def _one_each(self, ids: AnyIds, scores: Floats) -> NDArray[np.intp]:
        """The best row of each id, or the first. Of equally good rows the earlier."""
        order = np.lexsort((-scores, ids)) if self._policy is Policy.BEST else ids.argsort(kind="stable")
        ordered = ids[order]
        first = np.ones(len(ids), np.bool_)
        first[1:] = ordered[1:] != ordered[:-1]
        return np.asarray(order[first])

    def _able(self, ids: AnyIds, scores: Floats) -> NDArray[np.intp]:
        """For first and best, the rows that would be kept if they were the only ones. On most pages they are few."""
        if self._policy is Policy.FIRST:
            fresh = self.flags.view[ids] & (WAITING | LEASED | DONE) == 0
            return np.asarray((fresh & (scores != NEVER)).nonzero()[0])
        rows = (self.flags.view[ids] & (LEASED | DONE) == 0).nonzero()[0]
        return np.asarray(rows[ranks_of(scores[rows]) < self.rank.view[ids[rows]]])

    def _find(self, ids: AnyIds, scores: Floats) -> tuple[Mask, Mask, Mask]:
        """Take one finding for each of these distinct ids. Returns where it is the link that is kept, where the score
        is new, and where the link no longer waits."""
        flags = self.flags.view[ids]
        waits = flags & WAITING != 0
        never = scores == NEVER
        fresh = (flags & (WAITING | LEASED | DONE) == 0) & ~never
        again = waits & ~never
        gone = waits & never if self._policy is Policy.LATEST else np.zeros(len(ids), np.bool_)
        kept, moved, scores = self._combine(ids, scores, fresh, again)
        self.rank.view[ids[moved]] = ranks_of(scores[moved])
        self.give(ids[fresh], WAITING)
        self.take(ids[gone], WAITING)
        self.count += int(np.count_nonzero(fresh)) - int(np.count_nonzero(gone))
        return kept, moved, gone

    def _combine(self, ids: AnyIds, scores: Floats, fresh: Mask, again: Mask) -> tuple[Mask, Mask, Floats]:
        """For latest, mean and noisy-or: where the finding is the link that is kept, where the score is new, and the
        new scores."""
        if self._policy is Policy.LATEST:
            kept = fresh | again
            return kept, kept, scores
        if self._policy is Policy.MEAN:
            kept = self._strongest(ids, scores, fresh, again)
            return kept, fresh | again, self._mean(ids, scores, fresh, again)
        clipped = scores.clip(0, 1)  # noisy-or
        kept = self._strongest(ids, clipped, fresh, again)
        before = scores_of(self.rank.view[ids]).clip(0, 1).astype(np.float64)
        either = (1 - (1 - before) * (1 - clipped.astype(np.float64))).astype(np.float32)
        return kept, fresh | again, np.where(again, either, clipped)

    def _strongest(self, ids: AnyIds, scores: Floats, fresh: Mask, again: Mask) -> Mask:
        """Where the own score of the finding is higher than that of the link that was kept so far."""
        assert self._own is not None
        kept: Mask = fresh | (again & (scores > self._own.view[ids]))
        self._own.view[ids[kept]] = scores[kept]
        return kept

    def _mean(self, ids: AnyIds, scores: Floats, fresh: Mask, again: Mask) -> Floats:
        """(n * mean + score) / (n + 1), with n = 0 for a first finding."""
        assert self._findings is not None
        known = np.where(fresh, 0, self._findings.view[ids])
        before = np.where(fresh, 0, scores_of(self.rank.view[ids])).astype(np.float64)
        taken = fresh | again
        self._findings.view[ids[taken]] = known[taken] + 1
        with np.errstate(invalid="ignore"):  # other rows may hold anything
            return np.asarray((before * known + scores) / (known + 1), np.float32)


def _rounds(ids: AnyIds) -> tuple[Iterator[NDArray[np.intp]], NDArray[np.intp]]:
    """The rows in rounds, so that no round has an id twice and the findings of an id keep their order. And for each row
    the number of its id's group."""
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    first = np.ones(len(ids), np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    rows = np.arange(len(ids))
    if first.all():
        return iter((rows,)), rows
    groups, nth = np.empty(len(ids), np.intp), np.empty(len(ids), np.intp)
    groups[order] = np.cumsum(first) - 1
    nth[order] = rows - np.maximum.accumulate(np.where(first, rows, 0))
    return (np.flatnonzero(nth == turn) for turn in range(int(nth.max()) + 1)), groups


class Queues:
    """The links of one lane and site are a queue. Queues have numbers, and each has a pool of ids, a floor, and a small
    heap with the keys of its best links.

    Invariants: (a) every link of a queue that waits and is awake is in its pool; (b) if its key is not after the
    floor, it is in the heap too; (c) no key in the heap is after the floor. A pool has no id twice. Heaps and pools may
    also have links that no longer wait or have a new score. Such a link is recognised when it comes up, so a change of
    score costs no search.

    The floor is a key, not a score: so it cuts exactly even if all scores are equal, as in breadth-first.
    """

    def __init__(self, links: RankedLinks, least: int) -> None:
        self.heaps: list[list[int]] = []
        self.pools: list[array[int]] = []
        self.floors = Column(np.uint64, fill=WORST)
        self._links = links
        self._least = least  # keys in a heap after a refill, if there are so many

    def __len__(self) -> int:
        return len(self.heaps)

    def open(self) -> int:
        """Make a new queue; returns its number."""
        self.heaps.append([])
        self.pools.append(array("i"))
        self.floors.resize(len(self.heaps))
        return len(self.heaps) - 1

    def put(self, ids: AnyIds) -> tuple[AnyIds, Keys]:
        """Queue distinct links that wait and are awake, with their scores of now; returns their queues and keys."""
        links = self._links
        numbers, keys = links.queue.view[ids].astype(np.intp), links.keys(ids)
        apart = links.flags.view[ids] & POOLED == 0
        new = ids[apart]
        # One append each: the links of a page belong to so many queues that grouping them first takes longer.
        for number, id in zip(numbers[apart].tolist(), new.tolist(), strict=True):
            self.pools[number].append(id)
        links.give(new, POOLED)
        above = keys <= self.floors.view[numbers]
        raised = numbers[above].tolist()
        for number, key in zip(raised, keys[above].tolist(), strict=True):
            heappush(self.heaps[number], key)
        for number in set(raised):  # only now, because a floor that rises keeps out later keys
            if len(self.heaps[number]) > 2 * self._size(len(self.pools[number])):
                self._cut(number)
        return numbers, keys

    def head(self, number: int) -> int | None:
        """The first key of a queue; None if it is empty."""
        while True:
            heap = self.heaps[number]
            while heap:
                if self._links.is_next(heap[0]):
                    return heap[0]
                heappop(heap)
            if self.floors.view.item(number) == WORST:
                return None
            self._refill(number)

    def pop(self, number: int) -> int:
        """Remove the first key from the heap of a queue."""
        return heappop(self.heaps[number])

    def bound(self, number: int, key: int) -> int:
        """A key that comes before or at all of a queue from which this key was taken."""
        heap = self.heaps[number]
        if heap:
            return heap[0]
        return WORST if self.floors.view.item(number) == WORST else key

    def forget(self) -> None:
        """Empty all heaps, because all scores may have changed. A heap is filled again when its queue is needed."""
        for heap in self.heaps:
            heap.clear()
        self.floors.view[:] = 0

    def _size(self, links: int) -> int:
        """How many keys a heap should have if so many links are in the pool."""
        return max(self._least, links // SHARE)

    def _refill(self, number: int) -> None:
        """Fill the heap with the best of the pool. Links that no longer wait leave the pool."""
        pool = np.frombuffer(self.pools[number], np.int32)
        awake = self._links.awake(pool)
        ids = pool[awake]
        self._links.take(pool[~awake], POOLED)
        self.pools[number] = array("i", ids.tobytes())
        keys = self._links.keys(ids)
        size = self._size(len(keys))
        if len(keys) > size:
            keys = np.partition(keys, size - 1)[:size]
            self.floors.view[number] = keys[-1]
        else:
            self.floors.view[number] = WORST
        keys.sort()  # a sorted list is a heap
        self.heaps[number] = keys.tolist()

    def _cut(self, number: int) -> None:
        """Keep only the best keys of a heap that is too long. The floor rises to the last of them."""
        keys = np.array(self.heaps[number], np.uint64)
        ids = (keys & np.uint64(ID)).astype(np.int32)
        live = np.unique(keys[self._links.awake(ids) & (self._links.keys(ids) == keys)])
        size = self._size(len(self.pools[number]))
        if len(live) > size:
            live = live[:size]
            self.floors.view[number] = live[-1]
        self.heaps[number] = live.tolist()
