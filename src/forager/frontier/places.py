"""Lanes, sites and addresses: from which queues of links something may be taken now."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heapify, heappop, heappush
from typing import NamedTuple, TypeAlias

import numpy as np

from forager.frontier.columns import AnyIds, Column
from forager.frontier.order import WORST, Keys

FREE, BORROWED = -1, -2  # a lane without a lease; one that is asked for something that is no link


class LaneState(StrEnum):
    """What a lane is doing."""

    IDLE = "idle"  # it has no link that may be taken
    READY = "ready"  # a link of it may be taken
    BUSY = "busy"  # a link of it is leased
    RESTING = "resting"  # it, or its address, may not be asked yet


@dataclass(frozen=True, slots=True)
class Budgets:
    """How many pages may be taken. None: any number."""

    per_lane: int | None = None
    per_site: int | None = None


@dataclass(slots=True)
class Address:
    """Where several lanes lead: in most crawls an IP address. It is asked by few lanes at once, and not too often."""

    most: int  # leases at once
    gap: float  # seconds between the beginnings of two leases
    leases: int = 0
    until: float = -np.inf  # no lease begins before
    held: list[int] = field(default_factory=list)  # queues to be offered again when a lease ends


@dataclass(slots=True)
class Lane:
    """A lane: in most crawls a host."""

    until: float  # it rests until then
    lease: int = FREE  # the id of the leased link, FREE or BORROWED
    known: bool = False  # it has answered when it was last asked
    address: Address | None = None  # None: nobody has said
    pages: int = 0
    listed: bool = False  # whether it is in the heap of resting lanes
    queues: list[int] = field(default_factory=list)
    held: list[int] = field(default_factory=list)  # queues to be offered again when it has rested

    def crowded(self, now: float) -> bool:
        """Whether its address may not be asked now."""
        address = self.address
        return address is not None and (address.leases >= address.most or address.until > now)

    def begin(self, lease: int, now: float) -> None:
        self.lease = lease
        if self.address is not None:
            self.address.leases += 1
            self.address.until = now + self.address.gap


@dataclass(slots=True)
class Site:
    """A site: the lanes of one registrable domain."""

    pages: int = 0
    leases: int = 0
    held: list[int] = field(default_factory=list)  # queues to be offered again when a lease ends without a page


class Place(NamedTuple):
    """Where a queue belongs."""

    lane: Lane
    site: Site
    name: int  # of the lane


Head: TypeAlias = Callable[[int], int | None]  # the first key of a queue; None: it is empty


class Places:
    """Queues by lane and site, and which of them may be taken from.

    `bound` of a queue is a key that comes before or at all its links. A queue with links is either in `ready`, a heap
    by bound, or it is *held*. It is held because its lane is busy or resting (then it is in `Lane.held`), because its
    address has leases enough (`Address.held`), because the budget of its site is used up for the moment (`Site.held`),
    or because the budget of its lane is used up for good. A bound is made exact only when it comes up, so most changes
    cost nothing.

    `until` and `since` say when the lane of a queue may be asked again, and since when it is busy: so that one look at
    the columns tells which bounds count soon. Until a queue is looked at, they may be too hopeful, as a bound may.

    There are two heaps: one for lanes that have answered when they were last asked, one for all others, the
    *strangers*. So silent lanes can be kept apart. An entry in the wrong heap, or with an old bound, is void.
    """

    def __init__(self, budgets: Budgets, rest_until: float) -> None:
        self.budgets, self._rest_until = budgets, rest_until
        self.of: list[Place] = []  # each queue
        self.bound = Column(np.uint64, fill=WORST)
        self.until = array("d")  # by queue: its lane rests; inf: nobody knows for how long
        self.since = array("d")  # by queue: its lane is busy; inf: it is not
        self.held = bytearray()
        self.ready: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])  # bound, queue; strangers, known
        self._numbers: dict[tuple[int, int], int] = {}  # lane and site -> queue
        self._lanes: dict[int, Lane] = {}
        self._sites: dict[int, Site] = {}
        self._addresses: dict[str, Address] = {}
        self._resting: list[tuple[float, int]] = []  # until when, and which lane; only lanes with held queues

    def lane(self, name: int) -> Lane:
        lane = self._lanes.get(name)
        if lane is None:
            lane = self._lanes[name] = Lane(self._rest_until)
        return lane

    def numbers(self, pairs: list[tuple[int, int]]) -> list[int]:
        """The queue of each pair of lane and site. A new pair gets a new one."""
        for pair in pairs:
            if pair not in self._numbers:
                self._open(*pair)
        return [self._numbers[pair] for pair in pairs]

    def _open(self, lane: int, site: int) -> None:
        number = self._numbers[lane, site] = len(self.of)
        place = self.lane(lane)
        place.queues.append(number)
        self.of.append(Place(place, self._sites.setdefault(site, Site()), lane))
        self.bound.resize(number + 1)
        self.until.append(place.until)
        self.since.append(np.inf if place.lease == FREE else -np.inf)  # nobody has noted when that began
        self.held.append(0)

    # ---- queues -----------------------------------------------------------------------------------------------------

    def offer(self, numbers: AnyIds, keys: Keys) -> None:
        """These keys were put into these queues."""
        first = keys < self.bound.view[numbers]
        for number, key in zip(numbers[first].tolist(), keys[first].tolist(), strict=True):
            if key < self.bound.view.item(number):
                self.bound.view[number] = key
                if not self.held[number]:
                    self._push(key, number)
        if sum(map(len, self.ready)) > 2 * len(self.of) + 64:  # most entries are void
            self.line_up()

    def line_up(self) -> None:
        """Make the heaps anew, because bounds have changed."""
        self.ready = ([], [])
        for number, bound in enumerate(self.bound.view.tolist()):
            if bound < WORST and not self.held[number]:
                self.ready[self.of[number].lane.known].append((bound, number))
        for heap in self.ready:
            heapify(heap)

    def _push(self, bound: int, number: int) -> None:
        heappush(self.ready[self.of[number].lane.known], (bound, number))

    def first(self, now: float, strangers: bool, head: Head, last: int = WORST) -> int | None:
        """The queue to take from. It is then the first of its heap, and its bound is exact. No key after `last`."""
        found = self._first_of(True, now, head, last)
        other = self._first_of(False, now, head, last) if strangers else None
        if found is None or other is None:
            return other if found is None else found
        return found if self.bound.view.item(found) < self.bound.view.item(other) else other

    def _first_of(self, known: bool, now: float, head: Head, last: int) -> int | None:
        ready = self.ready[known]
        while ready and ready[0][0] <= last:
            bound, number = ready[0]
            void = self.held[number] or self.bound.view.item(number) != bound
            if void or self.of[number].lane.known != known or not self._is_open(number, now):
                heappop(ready)
                continue
            key = head(number)
            if key == bound:
                return number
            heappop(ready)
            self.bound.view[number] = WORST if key is None else key
            if key is not None:
                heappush(ready, (key, number))
        return None

    def _is_open(self, number: int, now: float) -> bool:
        """Whether a link of this queue may be taken. If not, the queue is held until it may."""
        lane, site, name = self.of[number]
        unsure = True  # it cannot be foreseen when it may be asked
        if lane.address is not None and lane.address.until > max(now, lane.until):
            lane.until = lane.address.until  # and then others at its address may come first
            self._hold(number, lane.held)
            self._list(lane, name)
        elif lane.lease != FREE or lane.until > now:
            self._hold(number, lane.held)
            self._list(lane, name)
            unsure = False
        elif not self.has_room(lane):
            self.held[number] = 1
        elif self.is_full(site):
            self._hold(number, site.held)
        elif lane.address is not None and lane.crowded(now):
            self._hold(number, lane.address.held)
        else:
            return True
        if unsure:
            self.until[number] = np.inf
        return False

    def has_room(self, lane: Lane) -> bool:
        return self.budgets.per_lane is None or lane.pages < self.budgets.per_lane

    def is_full(self, site: Site) -> bool:
        return self.budgets.per_site is not None and site.pages + site.leases >= self.budgets.per_site

    def has_hope(self, number: int) -> bool:
        """Whether the budgets may let a link of this queue be taken at some time."""
        lane, site, _ = self.of[number]
        return self.has_room(lane) and (self.budgets.per_site is None or site.pages < self.budgets.per_site)

    def has_work(self, number: int, head: Head) -> bool:
        """Whether a link of this queue may be taken, if its lane may be asked."""
        lane, site, _ = self.of[number]
        return self.has_room(lane) and not self.is_full(site) and head(number) is not None

    def _hold(self, number: int, place: list[int]) -> None:
        self.held[number] = 1
        place.append(number)

    def _let_go(self, place: list[int]) -> None:
        """Put queues that were held back into the heaps."""
        for number in place:
            self.held[number] = 0
            self.until[number] = self.of[number].lane.until
            bound = self.bound.view.item(number)
            if bound < WORST:
                self._push(bound, number)
        place.clear()

    # ---- leases -----------------------------------------------------------------------------------------------------

    def begin(self, number: int, id: int, now: float, bound: int) -> int:
        """Lease the lane of the first queue, for a link; gives its name. `bound`: of what is left in the queue."""
        lane, site, name = self.of[number]
        heappop(self.ready[lane.known])
        self._lease(lane, id, now)
        site.leases += 1
        self.bound.view[number] = bound
        self._hold(number, lane.held)
        return name

    def end(self, number: int, now: float, delay: float, *, page: bool, answered: bool | None) -> None:
        """The lease of this queue's lane ends."""
        lane, site, name = self.of[number]
        site.leases -= 1
        if page:
            self.count_page(number)
        else:
            self._let_go(site.held)
        if answered is not None and answered != lane.known:
            lane.known = answered
            for other in lane.queues:
                if not self.held[other] and self.bound.view.item(other) < WORST:
                    self._push(self.bound.view.item(other), other)
        self._free(lane, name, now, delay)

    def count_page(self, number: int) -> None:
        lane, site, _ = self.of[number]
        lane.pages += 1
        site.pages += 1

    def _free(self, lane: Lane, name: int, now: float, delay: float) -> None:
        if lane.address is not None:
            lane.address.leases -= 1
            self._let_go(lane.address.held)
        lane.lease, lane.until = FREE, now + delay
        until = lane.until if self.has_room(lane) else np.inf
        for number in lane.queues:
            self.since[number], self.until[number] = np.inf, until
        self._list(lane, name)

    def _lease(self, lane: Lane, lease: int, now: float) -> None:
        lane.begin(lease, now)
        for number in lane.queues:
            self.since[number] = now

    def borrow(self, name: int, now: float) -> bool:
        """Lease a lane for something that is no link. False if it may not be asked now."""
        lane = self.lane(name)
        if lane.lease != FREE or lane.until > now or lane.crowded(now):
            return False
        self._lease(lane, BORROWED, now)
        return True

    def give_back(self, name: int, now: float, delay: float) -> None:
        """The end of what `borrow` began."""
        lane = self.lane(name)
        if lane.lease != BORROWED:
            raise ValueError(f"lane {name} was not borrowed")
        self._free(lane, name, now, delay)

    def settle(self, name: int, address: str, now: float, most: int, gap: float) -> bool:
        """Note to which address a leased lane leads, if that is not known yet. Gives whether the lease fits there."""
        lane = self.lane(name)
        if lane.address is not None:
            return True
        lane.address = self._addresses.setdefault(address, Address(most, gap))
        fits = not lane.crowded(now)
        lane.address.leases += 1
        if fits:
            lane.address.until = now + gap
        return fits

    # ---- time -------------------------------------------------------------------------------------------------------

    def _list(self, lane: Lane, name: int) -> None:
        """Note when a resting lane with held queues has rested."""
        if lane.held and lane.lease == FREE and not lane.listed and self.has_room(lane):
            lane.listed = True
            heappush(self._resting, (lane.until, name))

    def wake(self, now: float) -> None:
        """Offer the queues of lanes that have rested."""
        while self._resting and self._resting[0][0] <= now:
            lane = self._lanes[heappop(self._resting)[1]]
            lane.listed = False
            self._let_go(lane.held)

    def rest(self, name: int, until: float) -> None:
        """Let a lane rest at least until then."""
        lane = self.lane(name)
        lane.until = max(lane.until, until)
        for number in lane.queues:
            self.until[number] = lane.until

    def soon(self, now: float, horizon: float) -> AnyIds:
        """All queues with links whose lanes may be asked within so many seconds: those that are ready, that have rested
        by then, or that were asked no longer ago than that."""
        until, since = np.frombuffer(self.until), np.frombuffer(self.since)  # they may not grow while these live
        return ((until <= now + horizon) & (since >= now - horizon) & (self.bound.view < WORST)).nonzero()[0]

    def first_rested(self) -> float:
        """When the next lane with held links has rested."""
        return self._resting[0][0] if self._resting else np.inf

    def next_rested(self, before: float, strangers: bool, head: Head) -> float:
        """When the next lane with work has rested; `before` if that is earlier."""
        for until, name in self._rests():
            lane = self._lanes[name]
            free = lane.lease == FREE and (strangers or lane.known)  # a busy lane is due when it is given back
            if until >= before or (free and any(self.has_work(number, head) for number in lane.held)):
                return min(until, before)
        return before

    def _rests(self) -> Iterator[tuple[float, int]]:
        """Resting lanes with held queues, in order of time. A second one is hardly ever needed, so they are sorted
        late."""
        yield from self._resting[:1]
        yield from sorted(self._resting[1:])
