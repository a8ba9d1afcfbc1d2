"""Which link is next: the best one whose lane may be asked now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heapify, heappop, heappush

import numpy as np

from forager.frontier.columns import AnyIds, Column
from forager.frontier.order import (
    ASLEEP,
    DONE,
    ID,
    LEASED,
    WAITING,
    WORST,
    Queues,
    RankedLinks,
    checked,
    score_of,
    scores_of,
)
from forager.types import BEST, NEVER, Candidate, Combine, Floats, Ids, Mask

FEW = 64  # to queue one link again costs about as much as to look at so many
SLICE = 1 << 16  # ids that are worked on together, so that little extra memory is needed


class LaneState(StrEnum):
    """What a lane is doing."""

    IDLE = "idle"  # it has no link that may be taken
    READY = "ready"  # a link of it may be taken
    BUSY = "busy"  # a link of it is leased
    RESTING = "resting"  # it may not be asked yet


@dataclass(frozen=True, slots=True)
class Budgets:
    """How many pages may be taken. None: any number."""

    per_lane: int | None = None
    per_site: int | None = None


@dataclass(slots=True)
class Lane:
    """A lane: in most crawls a host."""

    until: float  # it rests until then
    lease: int = -1  # the id of the leased link, -1: none
    pages: int = 0
    listed: bool = False  # whether it is in the heap of resting lanes
    queues: list[int] = field(default_factory=list)
    held: list[int] = field(default_factory=list)  # queues to be offered again when it has rested


@dataclass(slots=True)
class Site:
    """A site: the lanes of one registrable domain."""

    pages: int = 0
    leases: int = 0
    held: list[int] = field(default_factory=list)  # queues to be offered again when a lease ends without a page


class LaneFrontier:
    """A frontier in memory, exact and fast with ten million links.

    Invariants:
    1. A lane is idle, ready, busy or resting (`state`): busy while it has a lease; resting until `Lane.until`; then
       ready if a link of it may be taken, else idle.
    2. Every waiting link that is awake and not after the floor of its queue is in the heap of the queue.
    3. `acquire` gives the highest score over the ready lanes, ties to the smaller id.
    4. Acquiring changes only memory: after a crawl is killed, its leased links wait again.
    5. No lane is asked before `rest_until`. Whoever opens a crawl that has run before passes the time of opening plus
       the delay, because nobody knows when its lanes were last asked.

    Links of one lane and one site are a queue. `_bound` of a queue is a key that comes before or at all its links. A
    queue with links is either in `_ready`, a heap by bound, or it is *held*. It is held because its lane is busy or
    resting (then it is in `Lane.held`), because the budget of its site is used up for the moment (`Site.held`), or
    because the budget of its lane is used up for good. A bound is made exact only when it comes up, so most changes
    cost nothing.

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
        self._budgets = budgets
        self._rest_until = rest_until
        self._now = -np.inf  # the latest time that a caller named
        self._links = RankedLinks(combine.policy)
        self._queues = Queues(self._links, heap)
        self._numbers: dict[tuple[int, int], int] = {}  # lane and site -> queue
        self._places: list[tuple[Lane, Site, int]] = []  # of each queue: lane, site, and the name of the lane
        self._lanes: dict[int, Lane] = {}
        self._sites: dict[int, Site] = {}
        self._bound = Column(np.uint64, fill=WORST)
        self._held = bytearray()
        self._ready: list[tuple[int, int]] = []  # bound and queue; an entry with an old bound is void
        self._resting: list[tuple[float, int]] = []  # until when, and which lane; only lanes with held queues
        self._sleepers: list[tuple[float, int]] = []  # until when, and which link; all links with ASLEEP, each once

    def __len__(self) -> int:
        """How many links wait."""
        return self._links.count

    @property
    def waiting(self) -> Ids:
        return np.flatnonzero(self._links.flags.view & WAITING).astype(np.int32)

    def scores(self, ids: Ids) -> Floats:
        """The scores that links wait with, or were taken with. NEVER for other links."""
        ids = np.asarray(ids, np.int32)
        self._links.cover(ids)
        has = self._links.flags.view[ids] & (WAITING | LEASED | DONE) != 0
        return np.where(has, scores_of(self._links.rank.view[ids]), np.float32(NEVER))

    def state(self, lane: int, now: float) -> LaneState:
        """What a lane is doing."""
        known = self._lanes.get(lane, Lane(self._rest_until))
        if known.lease >= 0:
            return LaneState.BUSY
        if known.until > now:
            return LaneState.RESTING
        return LaneState.READY if any(map(self._has_work, known.queues)) else LaneState.IDLE

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
        pairs = list(zip(lanes[rows].tolist(), sites[rows].tolist(), strict=True))
        for pair in pairs:
            if pair not in self._numbers:
                self._open(*pair)
        queue[ids[rows]] = [self._numbers[pair] for pair in pairs]

    def _open(self, lane: int, site: int) -> None:
        number = self._numbers[lane, site] = self._queues.open()
        place = self._lanes.get(lane)
        if place is None:
            place = self._lanes[lane] = Lane(self._rest_until)
        place.queues.append(number)
        self._places.append((place, self._sites.setdefault(site, Site()), lane))
        self._bound.resize(number + 1)
        self._held.append(0)

    def _enqueue(self, ids: AnyIds) -> None:
        """Queue links whose score is new. A queue that has a new first link is offered."""
        if not len(ids):
            return
        ids = ids[self._links.awake(ids)]
        for start in range(0, len(ids), SLICE):
            numbers, keys = self._queues.put(ids[start : start + SLICE])
            first = keys < self._bound.view[numbers]
            for number, key in zip(numbers[first].tolist(), keys[first].tolist(), strict=True):
                if key < self._bound.view.item(number):
                    self._bound.view[number] = key
                    if not self._held[number]:
                        heappush(self._ready, (key, number))
        if len(self._ready) > 2 * len(self._queues) + 64:  # most entries are void
            self._line_up()

    def _bind(self) -> None:
        """Compute the bound of every queue from all its links."""
        self._bound.view[:] = WORST
        for start in range(0, len(self._links.flags), SLICE):
            ids = np.arange(start, min(start + SLICE, len(self._links.flags)), dtype=np.int32)
            ids = ids[self._links.awake(ids)]
            np.minimum.at(self._bound.view, self._links.queue.view[ids], self._links.keys(ids))
        self._line_up()

    def _line_up(self) -> None:
        """Make `_ready` anew."""
        bounds = enumerate(self._bound.view.tolist())
        self._ready = [(bound, number) for number, bound in bounds if bound < WORST and not self._held[number]]
        heapify(self._ready)

    # ---- leases -----------------------------------------------------------------------------------------------------

    def acquire(self, now: float) -> Candidate | None:
        self._now = now
        self._wake(now)
        number = self._first(now)
        if number is None:
            return None
        heappop(self._ready)
        key = self._queues.pop(number)
        id = key & ID
        links, (lane, site, name) = self._links, self._places[number]
        links.flags.view[id] ^= WAITING | LEASED
        links.count -= 1
        lane.lease = id
        site.leases += 1
        heap = self._queues.heaps[number]
        self._bound.view[number] = heap[0] if heap else key
        self._hold(number, lane.held)
        return Candidate(id, name, score_of(key))

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

    def release(self, candidate: Candidate, now: float, delay: float, *, page: bool) -> None:
        """Give the lane back. The link is done, unless `retry` was called before."""
        lane, site = self._leased(candidate)
        flags = self._links.flags.view
        if flags[candidate.id] & LEASED:
            flags[candidate.id] ^= LEASED | DONE
        self._now = max(self._now, now)
        lane.lease, lane.until = -1, now + delay
        site.leases -= 1
        if page:
            lane.pages += 1
            site.pages += 1
        else:
            self._offer(site.held)
        self._list(lane, candidate.lane)

    def count_page(self, id: int) -> None:
        """Count a page that the link brought before the crawl was resumed: it counts against the budgets too."""
        lane, site, _ = self._places[int(self._links.queue.view[id])]
        lane.pages += 1
        site.pages += 1

    def _leased(self, candidate: Candidate) -> tuple[Lane, Site]:
        lane = self._lanes.get(candidate.lane)
        if lane is None or lane.lease != candidate.id:
            raise ValueError(
                f"no lease on lane {candidate.lane} for link {candidate.id}: it was released, or not acquired here"
            )
        return lane, self._places[int(self._links.queue.view[candidate.id])][1]

    def _first(self, now: float) -> int | None:
        """The queue to take from. It is then the first of `_ready`, and its bound is exact."""
        while self._ready:
            bound, number = self._ready[0]
            void = self._held[number] or self._bound.view.item(number) != bound
            if void or not self._open_now(number, now):
                heappop(self._ready)
            else:
                head = self._queues.head(number)
                if head == bound:
                    return number
                heappop(self._ready)
                self._bound.view[number] = WORST if head is None else head
                if head is not None:
                    heappush(self._ready, (head, number))
        return None

    def _open_now(self, number: int, now: float) -> bool:
        """Whether a link of this queue may be taken. If not, the queue is held until it may."""
        lane, site, name = self._places[number]
        if lane.lease >= 0 or lane.until > now:
            self._hold(number, lane.held)
            self._list(lane, name)
        elif not self._has_room(lane):
            self._held[number] = 1
        elif self._is_full(site):
            self._hold(number, site.held)
        else:
            return True
        return False

    def _has_room(self, lane: Lane) -> bool:
        return self._budgets.per_lane is None or lane.pages < self._budgets.per_lane

    def _is_full(self, site: Site) -> bool:
        return self._budgets.per_site is not None and site.pages + site.leases >= self._budgets.per_site

    def _has_work(self, number: int) -> bool:
        lane, site, _ = self._places[number]
        return self._has_room(lane) and not self._is_full(site) and self._queues.head(number) is not None

    def _hold(self, number: int, place: list[int]) -> None:
        self._held[number] = 1
        place.append(number)

    def _offer(self, place: list[int]) -> None:
        """Put queues that were held back into `_ready`."""
        for number in place:
            self._held[number] = 0
            bound = self._bound.view.item(number)
            if bound < WORST:
                heappush(self._ready, (bound, number))
        place.clear()

    # ---- time -------------------------------------------------------------------------------------------------------

    def _list(self, lane: Lane, name: int) -> None:
        """Note when a resting lane with held queues has rested."""
        if lane.held and lane.lease < 0 and not lane.listed and self._has_room(lane):
            lane.listed = True
            heappush(self._resting, (lane.until, name))

    def _wake(self, now: float) -> None:
        """Offer the queues of lanes that have rested, and queue links that have slept long enough."""
        while self._resting and self._resting[0][0] <= now:
            lane = self._lanes[heappop(self._resting)[1]]
            lane.listed = False
            self._offer(lane.held)
        woken = []
        while self._sleepers and self._sleepers[0][0] <= now:
            woken.append(heappop(self._sleepers)[1])
        if woken:
            ids = np.array(woken, np.int32)
            self._links.take(ids, ASLEEP)
            self._enqueue(ids)

    def next_due(self) -> float | None:
        """The earliest time, not before the last time that a caller named, at which `acquire` gives a link if nothing
        else happens. None: it never will."""
        if self._first(self._now) is not None:
            return self._now
        due = self._next_sleeper()
        for until, name in self._rests():
            if until >= due or any(map(self._has_work, self._lanes[name].held)):
                due = min(until, due)
                break
        return None if due == np.inf else max(due, self._now)

    def _rests(self) -> Iterator[tuple[float, int]]:
        """Resting lanes with held queues, in order of time. A second one is hardly ever needed, so they are sorted
        late."""
        yield from self._resting[:1]
        yield from sorted(self._resting[1:])

    def _next_sleeper(self) -> float:
        """When the first of the links that are asleep may be taken."""
        best = np.inf
        for due, id in self._sleepers:
            if due < best and self._links.flags.view.item(id) & WAITING:
                lane, site, _ = self._places[int(self._links.queue.view[id])]
                if lane.lease < 0 and self._has_room(lane) and not self._is_full(site):
                    best = min(best, max(due, lane.until))
        return best
