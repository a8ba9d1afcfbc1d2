"""What is known of each link by its id, and what becomes of its score when it is found again.

A score is kept as its *rank*: an unsigned int that is smaller the larger the score is. With the id in its low half a
rank makes a *key*, and the order of keys is the order of the crawl: higher score first, ties by smaller id.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.frontier.columns import AnyIds, Column
from forager.types import NEVER, Floats, Mask, Policy

Ranks: TypeAlias = NDArray[np.uint32]
Keys: TypeAlias = NDArray[np.uint64]

ID = (1 << 32) - 1  # the part of a key that is the id
WORST = (1 << 64) - 1  # after every key; 0 is before every key

# Flags of an id. Without any of them it does not wait, but will when it is found with a score.
WAITING = 1
ASLEEP = 2  # not to be taken yet
LEASED = 4
DONE = 8
POOLED = 16  # in the pool of its queue
AWAKE = WAITING | ASLEEP  # flags & AWAKE == WAITING: may be taken


def ranks_of(scores: Floats) -> Ranks:
    """Ranks of scores: the bits of a float, turned so that they sort as unsigned ints in falling order."""
    bits = (scores + np.float32(0)).view(np.int32)  # adding 0 makes -0 the same as 0
    return (bits ^ (~(bits >> 31) & 0x7FFFFFFF)).view(np.uint32)


LAST = int(ranks_of(np.array([NEVER], np.float32))[0])  # the rank of NEVER


def scores_of(ranks: Ranks) -> Floats:
    bits = ranks.view(np.int32)
    return (bits ^ (~(bits >> 31) & 0x7FFFFFFF)).view(np.float32)


def score_of(key: int) -> float:
    """The score in one key."""
    rank = key >> 32
    (score,) = struct.unpack("f", struct.pack("I", rank if rank >> 31 else rank ^ 0x7FFFFFFF))
    return float(score)


def checked(scores: Floats) -> Floats:
    scores = np.asarray(scores, np.float32)
    if np.count_nonzero(np.isnan(scores)):
        raise ValueError("a score is nan: a strategy must give numbers, or -inf for a link never to be followed")
    return scores


class Standing:
    """Columns by id: rank, queue, flags; under mean and noisy-or also what the kept link itself was scored.

    Invariants: an id has at most one of WAITING, LEASED, DONE; `count` is how many have WAITING. Under first and best
    the rank of an id without any of them is that of NEVER.
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
        """Have a row for each of these ids."""
        size = int(ids.max(initial=-1)) + 1
        if size > len(self.flags):
            for column in (self.rank, self.queue, self.flags, self._own, self._findings):
                if column is not None:
                    column.cover(size)

    def keys(self, ids: AnyIds) -> Keys:
        return self.rank.view[ids].astype(np.uint64) << np.uint64(32) | ids.astype(np.uint64)

    def is_next(self, key: int) -> bool:
        """Whether the link of this key waits, is awake, and still has the score the key was made of."""
        id = key & ID
        return self.flags.view.item(id) & AWAKE == WAITING and self.rank.view.item(id) == key >> 32

    def awake(self, ids: AnyIds) -> Mask:
        return np.asarray(self.flags.view[ids] & AWAKE == WAITING)

    def give(self, ids: AnyIds, flag: int) -> None:
        self.flags.view[ids] |= np.uint8(flag)

    def take(self, ids: AnyIds, flag: int) -> None:
        self.flags.view[ids] &= np.uint8(255 ^ flag)

    def retire(self, ids: AnyIds) -> None:
        """Distinct ids become done."""
        self.count -= int(np.count_nonzero(self.flags.view[ids] & WAITING))
        self.take(ids, WAITING | LEASED)
        self.give(ids, DONE)

    def rescore(self, ids: AnyIds, scores: Floats) -> AnyIds:
        """Set the scores of those distinct ids that wait, and give back which have one now."""
        waits = self.flags.view[ids] & WAITING != 0
        ids, scores = ids[waits], scores[waits]
        never = scores == NEVER
        self.rank.view[ids] = ranks_of(scores)
        self.count -= int(np.count_nonzero(never))
        self.take(ids[never], WAITING)
        return np.asarray(ids[~never])

    def offer(self, ids: AnyIds, scores: Floats) -> tuple[Mask, AnyIds]:
        """Combine findings in their order: which rows are the links kept, and the ids whose standing has changed."""
        if self._policy in (Policy.FIRST, Policy.BEST):
            return self._offer_once(ids, scores)
        rounds, groups = _rounds(ids)
        winners = np.full(len(ids), -1, np.intp)  # of each group of rows with the same id, the row kept
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
        """Under first and best only one finding of each id can be kept: the first that may be followed, or the best."""
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
        """The best row of each id, or the first; of equals the earlier."""
        order = np.lexsort((-scores, ids)) if self._policy is Policy.BEST else ids.argsort(kind="stable")
        ordered = ids[order]
        first = np.ones(len(ids), np.bool_)
        first[1:] = ordered[1:] != ordered[:-1]
        return np.asarray(order[first])

    def _able(self, ids: AnyIds, scores: Floats) -> NDArray[np.intp]:
        """Under first and best, the rows that would be kept if they were the only ones: on most pages few."""
        if self._policy is Policy.FIRST:
            fresh = self.flags.view[ids] & (WAITING | LEASED | DONE) == 0
            return np.asarray((fresh & (scores != NEVER)).nonzero()[0])
        rows = (self.flags.view[ids] & (LEASED | DONE) == 0).nonzero()[0]
        return np.asarray(rows[ranks_of(scores[rows]) < self.rank.view[ids[rows]]])

    def _find(self, ids: AnyIds, scores: Floats) -> tuple[Mask, Mask, Mask]:
        """One finding each of distinct ids: where it is the link kept, where a score is new, where the link is out."""
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
        """Where the finding is the link kept, where the score is new, and the new scores: latest, mean, noisy-or."""
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
        """Where the finding's own score is above that of the link kept so far."""
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
        with np.errstate(invalid="ignore"):  # rows not taken may hold anything
            return np.asarray((before * known + scores) / (known + 1), np.float32)


def _rounds(ids: AnyIds) -> tuple[Iterator[NDArray[np.intp]], NDArray[np.intp]]:
    """Rows so divided that no round has an id twice and the findings of an id keep their order; and a group per id."""
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
