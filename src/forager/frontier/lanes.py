"""Which link is next: the best one whose lane may be asked now."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from forager.frontier.columns import AnyIds
from forager.frontier.order import (
    ASLEEP,
    DONE,
    ID,
    LEASED,
    WAITING,
    WORST,
    Keys,
    Queues,
    RankedLinks,
    checked,
    last_key,
    score_of,
    scores_of,
)
from forager.frontier.places import FREE, Budgets, LaneState, Places
from forager.types import BEST, NEVER, Candidate, Combine, Floats, Ids, Mask

FEW = 64  # to queue one link again costs about as much as to look at so many
SLICE = 1 << 16  # ids that are worked on together, so that little extra memory is needed


class LaneFrontier:
    """A frontier in memory, exact and fast with ten million links.

    Invariants:
    1. A lane is idle, ready, busy or resting (`state`): busy while it has a lease; resting until `Lane.until`, and
       while its address may not be asked; then ready if a link of it may be taken, else idle.
    2. Every waiting link that is awake and not after the floor of its queue is in the heap of the queue.
    3. `acquire` gives the highest score over the ready lanes, ties to the smaller id.
    4. Acquiring changes only memory: after a crawl is killed, its leased links wait again.
    5. No lane is asked before `rest_until`. Whoever opens a crawl that has run before passes the time of opening plus
       the delay, because nobody knows when its lanes were last asked.
    6. Lanes that share an address have at most so many leases together, and these begin at least a gap apart.

    Links of one lane and one site are a queue (`Queues`), and `Places` knows which queues may be taken from.

    The lane and site of a link are those with which it was first offered. A link that does not wait (it was found with
    NEVER only, or a score of NEVER took it out) begins anew when it is found again; but a due time given by `retry`
    still holds.
    """

    def __init__(
        self,
        combine: Combine = BEST,
        *,
        budgets: Budgets = Budgets(),  # noqa: B008  # frozen
        rest_until: float = -np.inf,
        heap: int = 64,
    ) -> None:
        """`heap`: the least number of links in the heap of a queue that has so many."""
        self._now = -np.inf  # the latest time that a caller named
        self._links = RankedLinks(combine.policy)
        self._queues = Queues(self._links, heap)
        self._places = Places(budgets, rest_until)
        self._sleepers: list[tuple[float, int]] = []  # until when, and which link; all links with ASLEEP, each once

    def __len__(self) -> int:
        """How many links wait."""
        return self._links.count

    @property
    def waiting(self) -> Ids:
        return np.flatnonzero(self._links.flags.view & WAITING).astype(np.int32)

    @property
    def waiting_scores(self) -> Floats:
        """The scores of all that waits, in the order of `waiting`."""
        return scores_of(self._links.rank.view[self._links.flags.view & WAITING != 0])

    @property
    def done(self) -> Ids:
        """Ids of all links that were taken or dropped, ascending."""
        return np.flatnonzero(self._links.flags.view & DONE).astype(np.int32)

    def scores(self, ids: Ids) -> Floats:
        """The scores that links wait with, or were taken with. NEVER for other links."""
        ids = np.asarray(ids, np.int32)
        self._links.cover(ids)
        has = self._links.flags.view[ids] & (WAITING | LEASED | DONE) != 0
        return np.where(has, scores_of(self._links.rank.view[ids]), np.float32(NEVER))

    def state(self, name: int, now: float) -> LaneState:
        """What a lane is doing."""
        lane = self._places.lane(name)
        if lane.lease != FREE:
            return LaneState.BUSY
        if lane.until > now or lane.crowded(now):
            return LaneState.RESTING
        works = any(self._places.has_work(number, self._queues.head) for number in lane.queues)
        return LaneState.READY if works else LaneState.IDLE

    # ---- what waits -------------------------------------------------------------------------------------------------

    def add(self, ids: Ids, lanes: Ids, sites: Ids, scores: Floats) -> Mask:
        scores = checked(scores)
        at = np.asarray(ids, np.intp)
        self._links.cover(at)
        self._assign(at, np.asarray(lanes), np.asarray(sites))
        kept, changed = self._links.offer(at, scores)
        self._enqueue(changed)
        return kept

    def drop(self, ids: Ids) -> None:
        ids = np.unique(np.asarray(ids, np.int32))
        self._links.cover(ids)
        self._links.retire(ids)

    def again(self, ids: Ids, lanes: Ids, sites: Ids, scores: Floats) -> None:
        """Let links that are done wait again, with new scores. None of them may be leased."""
        self._links.cover(np.asarray(ids, np.intp))
        revived = set(self._links.revive(np.unique(np.asarray(ids, np.int32))).tolist())
        self._sleepers = [sleeper for sleeper in self._sleepers if sleeper[1] not in revived]
        heapify(self._sleepers)
        self.add(ids, lanes, sites, scores)

    def reorder(self, ids: Ids, scores: Floats) -> None:
        """New scores for those of these links that wait; NEVER takes a link out. If an id is given twice, the last
        counts.

        A few links are queued again. If they are many, all heaps are emptied instead, and only bounds are computed.
        """
        scores = checked(scores)
        ids = np.asarray(ids, np.int32)
        if not (ids[1:] > ids[:-1]).all():
            ids, last = np.unique(ids[::-1], return_index=True)
            scores = scores[::-1][last]
        self._links.cover(ids)
        if len(ids) * FEW < len(self):
            self._enqueue(self._links.rescore(ids, scores))
            return
        for start in range(0, len(ids), SLICE):
            part = slice(start, start + SLICE)
            self._links.rescore(ids[part], scores[part])
        self._queues.forget()
        self._bind()

    def _assign(self, ids: AnyIds, lanes: Ids, sites: Ids) -> None:
        """Give a queue to each id that has none."""
        queue = self._links.queue.view
        rows = (queue[ids] < 0).nonzero()[0][::-1]  # backwards: if an id is given twice, the first row counts
        if not len(rows):
            return
        numbers = self._places.numbers(list(zip(lanes[rows].tolist(), sites[rows].tolist(), strict=True)))
        while len(self._queues) < len(self._places.of):
            self._queues.open()
        queue[ids[rows]] = numbers

    def _enqueue(self, ids: AnyIds) -> None:
        """Queue links whose score is new. A queue that has a new first link is offered."""
        if not len(ids):
            return
        ids = ids[self._links.awake(ids)]
        for start in range(0, len(ids), SLICE):
            self._places.offer(*self._queues.put(ids[start : start + SLICE]))

    def _bind(self) -> None:
        """Compute the bound of every queue from all its links."""
        bound = self._places.bound.view
        bound[:] = WORST
        for start in range(0, len(self._links.flags), SLICE):
            ids = np.arange(start, min(start + SLICE, len(self._links.flags)), dtype=np.int32)
            ids = ids[self._links.awake(ids)]
            np.minimum.at(bound, self._links.queue.view[ids], self._links.keys(ids))
        self._places.line_up()

    # ---- leases -----------------------------------------------------------------------------------------------------

    def acquire(self, now: float, *, strangers: bool = True, floor: float = NEVER) -> Candidate | None:
        self._now = now
        self._wake(now)
        number = self._places.first(now, strangers, self._queues.head, WORST if floor == NEVER else last_key(floor))
        if number is None:
            return None
        key = self._queues.pop(number)
        id = key & ID
        self._links.flags.view[id] ^= WAITING | LEASED
        self._links.count -= 1
        lane = self._places.begin(number, id, now, self._queues.bound(number, key))
        return Candidate(id, lane, score_of(key))

    def retry(self, candidate: Candidate, due: float) -> None:
        """The link waits again, asleep until `due`. Call it before `release`. A link that was dropped stays dropped."""
        self._leased(candidate)
        flags = self._links.flags.view
        if flags[candidate.id] & DONE:
            return
        if not flags[candidate.id] & LEASED:
            raise ValueError(f"link {candidate.id} waits already: retry a lease once, before its release")
        flags[candidate.id] ^= WAITING | LEASED | ASLEEP
        self._links.count += 1
        heappush(self._sleepers, (due, candidate.id))

    def release(
        self, candidate: Candidate, now: float, delay: float, *, page: bool, answered: bool | None = None
    ) -> None:
        """Give the lane back. The link is done, unless `retry` was called before."""
        number = self._leased(candidate)
        flags = self._links.flags.view
        if flags[candidate.id] & LEASED:
            flags[candidate.id] ^= LEASED | DONE
        self._now = max(self._now, now)
        self._places.end(number, now, delay, page=page, answered=answered)

    def count_page(self, id: int) -> None:
        """Count a page that the link brought before the crawl was resumed: it counts against the budgets too."""
        self._places.count_page(int(self._links.queue.view[id]))

    def _leased(self, candidate: Candidate) -> int:
        """The queue of a lease."""
        if self._places.lane(candidate.lane).lease != candidate.id:
            raise ValueError(
                f"no lease on lane {candidate.lane} for link {candidate.id}: it was released, or not acquired here"
            )
        return int(self._links.queue.view[candidate.id])

    # ---- lanes ------------------------------------------------------------------------------------------------------

    def has_hope(self, id: int) -> bool:
        """Whether the budgets of its host and site may let a link be taken at some time."""
        return self._places.has_hope(int(self._links.queue.view[id]))

    def borrow(self, lane: int, now: float) -> bool:
        """Lease a lane to ask it for something that is no link. False if it may not be asked now."""
        return self._places.borrow(lane, now)

    def give_back(self, lane: int, now: float, delay: float) -> None:
        """Give back a lane that was borrowed; it rests for `delay`."""
        self._now = max(self._now, now)
        self._places.give_back(lane, now, delay)

    def rest(self, lane: int, until: float) -> None:
        """Let a lane rest at least until then."""
        self._places.rest(lane, until)

    def rests_until(self, lane: int) -> float:
        """Until when a lane may not be asked, if nobody asks it now."""
        return self._places.lane(lane).until

    def settle(self, lane: int, address: str, now: float, *, most: int, gap: float) -> bool:
        """Note to which address a leased lane leads, if that is not known yet: it has at most so many leases, which
        begin so many seconds apart. Gives whether this lease fits; if not, release it without asking."""
        return self._places.settle(lane, address, now, most, gap)

    def is_settled(self, lane: int) -> bool:
        """Whether it is known to which address a lane leads."""
        return self._places.lane(lane).address is not None

    def is_known(self, lane: int) -> bool:
        """Whether a lane has answered when it was last asked."""
        return self._places.lane(lane).known

    # ---- time -------------------------------------------------------------------------------------------------------

    def _wake(self, now: float) -> None:
        """Offer the queues of lanes that have rested, and queue links that have slept long enough."""
        self._places.wake(now)
        woken = []
        while self._sleepers and self._sleepers[0][0] <= now:
            woken.append(heappop(self._sleepers)[1])
        if woken:
            ids = np.array(woken, np.int32)
            self._links.take(ids, ASLEEP)
            self._enqueue(ids)

    def next_due(self, *, strangers: bool = True) -> float | None:
        """No call of `acquire` before this time gives a link, if nothing else happens. None: none ever will. It is not
        before the last time that a caller named."""
        if self._places.first(self._now, strangers, self._queues.head) is not None:
            return self._now
        due = self._places.next_rested(self._next_sleeper(), strangers, self._queues.head)
        return None if due == np.inf else max(due, self._now)

    def soon(self, now: float, horizon: float) -> AnyIds:
        """The queues of all lanes that may be asked within so many seconds."""
        return self._places.soon(now, horizon)

    def best(self, queues: AnyIds, count: int, deep: int) -> Floats:
        """The scores of about the best `count` links of some queues, in no order, of each queue at most `deep`.

        Nothing is searched for: what a heap holds in its first places stands for its best. So some may be too low. A
        heap that was emptied, because all scores have changed, is not filled for this: its bound stands for its best,
        which is too high until a link is taken from it.
        """
        bound = self._places.bound.view[queues]
        if len(queues) > count:  # the others have none of them
            at = bound.argpartition(count - 1)[:count]
            queues, bound = queues[at], bound[at]
        keys: list[int] = []
        for number, first in zip(queues.tolist(), bound.tolist(), strict=True):
            keys += self._queues.heaps[number][:deep] or (first,) * min(deep, len(self._queues.pools[number]))
        return self._scores_now(np.array(keys, np.uint64))

    def _scores_now(self, keys: Keys) -> Floats:
        """The scores of those keys whose links still wait with them."""
        ids = (keys & np.uint64(ID)).astype(np.intp)
        ranks = (keys >> np.uint64(32)).astype(np.uint32)
        return scores_of(ranks[self._links.awake(ids) & (self._links.rank.view[ids] == ranks)])

    def next_rested(self) -> float:
        """When the next lane that rests may be asked, or the next link that sleeps wakes up, whatever it is worth; inf:
        none does."""
        return min(self._places.first_rested(), self._next_sleeper())

    def _next_sleeper(self) -> float:
        """When the first of the links that are asleep wakes up. Those that will never be taken are forgotten."""
        flags = self._links.flags.view
        while self._sleepers:
            due, id = self._sleepers[0]
            if flags.item(id) & DONE or not self._places.has_hope(int(self._links.queue.view[id])):
                heappop(self._sleepers)
            elif flags.item(id) & WAITING:
                return due
            else:  # a new score took it out; it may be found again
                return min((due for due, id in self._sleepers if flags.item(id) & WAITING), default=np.inf)
        return np.inf
