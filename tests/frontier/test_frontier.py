"""LaneFrontier gives what a linear scan gives, after any sequence of calls."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from forager.frontier import Budgets, LaneFrontier, LaneState, lanes, order
from forager.frontier.order import ASLEEP, POOLED, WAITING
from forager.types import BEST, FIRST, LATEST, MEAN, NEVER, NOISY_OR, Candidate, Combine, Frontier
from tests.frontier.model import Model

IDS = st.integers(0, 23)
THIRD = float(np.float32(1 / 3))
SCORES = st.sampled_from([NEVER, -1.5, -0.0, 0.0, 0.0, 0.25, THIRD, THIRD, 0.75, 1.0, 7.0, inf])
LINKS = st.lists(st.tuples(IDS, st.integers(0, 3), st.integers(0, 2), SCORES), max_size=14)
BUDGET = st.none() | st.integers(1, 4)
DELAYS = st.sampled_from([0.0, 0.0, 1.0, 3.0])
ANSWERED = st.sampled_from([True, False, None])


def ints(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array(values, np.int32)


def floats(values: list[float]) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.array(values, np.float32)


def add(frontier: Frontier, rows: list[tuple[int, int, int, float]]) -> list[bool]:
    ids, hosts, sites = (ints([row[0] for row in rows]), ints([row[1] for row in rows]), ints([row[2] for row in rows]))
    return [bool(kept) for kept in frontier.add(ids, hosts, sites, floats([row[3] for row in rows]))]


class Compared(RuleBasedStateMachine):
    frontier: LaneFrontier
    model: Model

    @initialize(
        combine=st.sampled_from([FIRST, BEST, LATEST, MEAN, NOISY_OR]),
        budgets=st.builds(Budgets, BUDGET, BUDGET),
        rest_until=st.sampled_from([-inf, -inf, 0.0, 2.0]),
        heap=st.integers(1, 4),
        few=st.sampled_from([1, 4, 64]),
        most=st.integers(1, 2),
        gap=DELAYS,
    )
    def open(
        self, combine: Combine, budgets: Budgets, rest_until: float, heap: int, few: int, most: int, gap: float
    ) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(lanes, "FEW", few)  # so that both ways of reorder are used
        self.patch.setattr(lanes, "SLICE", 7)
        self.patch.setattr(order, "SHARE", 8)
        self.frontier = LaneFrontier(combine, budgets=budgets, rest_until=rest_until, heap=heap)
        self.model = Model(combine.policy, budgets, rest_until)
        self.model.most, self.model.gap = most, gap
        self.now = 0.0
        self.heard = -inf
        self.rested = False  # a lane was told to rest since something was last acquired, so the next time may be early
        self.borrowed: list[int] = []
        self.leases: list[Candidate] = []
        self.retried: set[int] = set()

    def teardown(self) -> None:
        self.patch.undo()

    @rule(rows=LINKS)
    def add(self, rows: list[tuple[int, int, int, float]]) -> None:
        assert add(self.frontier, rows) == self.model.add(rows)

    @rule(first=IDS, count=st.integers(8, 30), lane=st.integers(0, 3), score=SCORES)
    def add_many(self, first: int, count: int, lane: int, score: float) -> None:
        """Many links with the same score, as in breadth-first: many ties, many refills."""
        rows = [(id, lane, lane % 2, score) for id in range(first, first + count)]
        assert add(self.frontier, rows) == self.model.add(rows)

    @rule(turns=st.integers(1, 6), delay=DELAYS, page=st.booleans(), answered=ANSWERED)
    def crawl(self, turns: int, delay: float, page: bool, answered: bool | None) -> None:
        for _ in range(turns):
            if (candidate := self.acquire()) is not None:
                self.finish(candidate, delay, page, answered)

    @rule(strangers=st.booleans(), floor=SCORES)
    def lease(self, strangers: bool, floor: float) -> None:
        self.acquire(strangers, floor)

    @rule(rows=LINKS)
    def again(self, rows: list[tuple[int, int, int, float]]) -> None:
        leased = {candidate.id for candidate in self.leases}
        rows = [row for row in {row[0]: row for row in rows}.values() if row[0] not in leased]
        ids, hosts, sites = (ints([int(row[column]) for row in rows]) for column in range(3))
        self.frontier.again(ids, hosts, sites, floats([row[3] for row in rows]))
        self.model.again(rows)

    @rule(lane=st.integers(0, 4))
    def borrow(self, lane: int) -> None:
        got = self.frontier.borrow(lane, self.now)
        assert got == self.model.borrow(lane, self.now)
        if got:
            self.borrowed.append(lane)

    @precondition(lambda self: self.borrowed)
    @rule(delay=DELAYS)
    def give_back(self, delay: float) -> None:
        lane = self.borrowed.pop()
        self.frontier.give_back(lane, self.now, delay)
        self.model.give_back(lane, self.now, delay)
        self.heard = self.now

    @rule(lane=st.integers(0, 3), wait=DELAYS)
    def rest(self, lane: int, wait: float) -> None:
        self.frontier.rest(lane, self.now + wait)
        self.rested = True
        before = self.model.until.get(lane, self.model.rest_until)
        self.model.until[lane] = max(before, self.now + wait)

    @precondition(lambda self: self.leases)
    @rule(which=st.integers(0, 9), address=st.sampled_from("xy"), delay=DELAYS)
    def settle(self, which: int, address: str, delay: float) -> None:
        candidate = self.leases[which % len(self.leases)]
        lane, shared = candidate.lane, {"most": self.model.most, "gap": self.model.gap}
        fits = self.frontier.settle(lane, address, self.now, **shared)  # type: ignore[arg-type]
        assert self.frontier.is_settled(lane)
        assert fits == self.model.settle(lane, address, self.now)
        if not fits:
            self.put_back(candidate, 0.0)
            self.finish(candidate, delay, page=False, answered=None)

    def acquire(self, strangers: bool = True, floor: float = NEVER) -> Candidate | None:
        candidate = self.frontier.acquire(self.now, strangers=strangers, floor=floor)
        expected = self.model.acquire(self.now, strangers, floor)
        self.heard, self.rested = self.now, False
        assert (None if candidate is None else (candidate.id, candidate.lane, candidate.score)) == expected
        if candidate is not None:
            self.leases.append(candidate)
        return candidate

    def finish(self, candidate: Candidate, delay: float, page: bool, answered: bool | None) -> None:
        self.leases.remove(candidate)
        self.retried.discard(candidate.id)
        self.frontier.release(candidate, self.now, delay, page=page, answered=answered)
        self.model.release(candidate.id, self.now, delay, page, answered)
        self.heard = self.now

    @precondition(lambda self: self.leases)
    @rule(which=st.integers(0, 9), delay=DELAYS, page=st.booleans(), answered=ANSWERED)
    def release(self, which: int, delay: float, page: bool, answered: bool | None) -> None:
        self.finish(self.leases[which % len(self.leases)], delay, page, answered)

    @precondition(lambda self: self.leases)
    @rule(which=st.integers(0, 9), wait=DELAYS)
    def retry(self, which: int, wait: float) -> None:
        self.put_back(self.leases[which % len(self.leases)], wait)

    @rule(wait=DELAYS, delay=DELAYS)
    def fail(self, wait: float, delay: float) -> None:
        if (candidate := self.acquire()) is not None:
            self.put_back(candidate, wait)
            self.finish(candidate, delay, page=False, answered=False)

    def put_back(self, candidate: Candidate, wait: float) -> None:
        if candidate.id not in self.retried:
            self.retried.add(candidate.id)
            self.frontier.retry(candidate, self.now + wait)
            self.model.retry(candidate.id, self.now + wait)

    @precondition(lambda self: self.leases)
    @rule(which=st.integers(0, 9))
    def drop_leased(self, which: int) -> None:
        self.drop([self.leases[which % len(self.leases)].id])

    @rule(ids=st.lists(IDS, max_size=3))
    def drop(self, ids: list[int]) -> None:
        self.frontier.drop(ints(ids))
        self.model.drop(ids)

    @rule(pairs=st.lists(st.tuples(IDS, SCORES), max_size=12) | st.lists(st.tuples(IDS, SCORES), max_size=1))
    def reorder(self, pairs: list[tuple[int, float]]) -> None:
        self.frontier.reorder(ints([id for id, _ in pairs]), floats([score for _, score in pairs]))
        self.model.reorder([(id, float(np.float32(score))) for id, score in pairs])

    @rule(shift=st.integers(0, 5))
    def reorder_all(self, shift: int) -> None:
        ids = self.frontier.waiting
        scores = (ids * 7 + shift) % 5 / np.float32(4)
        self.frontier.reorder(ids, scores.astype(np.float32))
        self.model.reorder(list(zip(ids.tolist(), scores.tolist(), strict=True)))

    @rule(seconds=st.sampled_from([0.5, 1.0, 4.0]))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    @rule(strangers=st.booleans())
    def look_ahead(self, strangers: bool) -> None:
        """Nothing comes before that time, and if something will come, there is a time."""
        due, expected = self.frontier.next_due(strangers=strangers), self.model.next_due(self.heard, strangers)
        assert expected is None or (due is not None and self.heard <= due <= expected)
        late = self.rested or any(flag & ASLEEP for flag in self.flags)
        assert late or (due == self.heard) == (expected == self.heard)

    @rule(strangers=st.booleans())
    def pass_time_until_due(self, strangers: bool) -> None:
        """Whoever waits until it is due, again and again, gets what there is as soon as it may be taken."""
        expected = self.model.next_due(max(self.heard, self.now), strangers)
        for _ in range(60):
            if self.acquire(strangers) is not None:
                assert self.now == expected
                return
            due = self.frontier.next_due(strangers=strangers)
            if due is None:
                break
            self.now = max(self.now, due)
        assert expected is None

    @property
    def flags(self) -> list[int]:
        return [int(flag) for flag in self.frontier._links.flags.view]

    @invariant()
    def same_waiting(self) -> None:
        assert self.frontier.waiting.tolist() == self.model.waiting()
        assert len(self.frontier) == len(self.model.waiting())
        ids = self.frontier.waiting
        assert self.frontier.scores(ids).tolist() == [self.model.items[id].score for id in ids.tolist()]

    @invariant()
    def a_lane_is_in_one_state(self) -> None:
        """Invariant 1."""
        flags = self.frontier._links.flags.view
        for lane in range(4):
            items = {id: item for id, item in self.model.items.items() if item.lane == lane}
            awake = [item for id, item in items.items() if not flags[id] & ASLEEP]
            if lane in self.model.leases:
                expected = LaneState.BUSY
            elif self.model.until.get(lane, self.model.rest_until) > self.now or self.model.crowded(lane, self.now):
                expected = LaneState.RESTING
            else:
                able = any(self.model.earliest(item) <= self.now for item in awake)
                expected = LaneState.READY if able else LaneState.IDLE
            assert self.frontier.state(lane, self.now) == expected

    @invariant()
    def what_is_above_the_floor_is_in_the_heap(self) -> None:
        """Invariant 2. Every link that may be taken is in its pool once, and no key in a heap is after the floor."""
        links, known = self.frontier._links, self.frontier._queues
        flags = links.flags.view
        pooled = [id for pool in known.pools for id in pool]
        assert sorted(pooled) == np.flatnonzero(flags & POOLED).tolist()
        for heap, floor in zip(known.heaps, known.floors.view.tolist(), strict=True):
            assert max(heap, default=0) <= floor
        for id in np.flatnonzero(flags & (WAITING | ASLEEP) == WAITING).astype(np.int32).tolist():
            number, key = int(links.queue.view[id]), int(links.keys(ints([id]))[0])
            assert id in known.pools[number]
            assert key > int(known.floors.view[number]) or key in known.heaps[number]

    @invariant()
    def a_bound_precedes_its_queue(self) -> None:
        frontier, places = self.frontier, self.frontier._places
        for number in range(len(frontier._queues)):
            pool = ints(frontier._queues.pools[number].tolist())
            keys = frontier._links.keys(pool[frontier._links.awake(pool)])
            bound = int(places.bound.view[number])
            assert all(bound <= key for key in keys.tolist())
            ready = places.ready[places.of[number].lane.known]
            assert places.held[number] or not len(keys) or (bound, number) in ready

    @invariant()
    def what_comes_soon_is_foreseen(self) -> None:
        """Every link that may be taken within a horizon is in a queue that counts, and no lane counts that is busy for
        longer."""
        soon = set(self.frontier.soon(self.now, 2.0).tolist())
        for id, item in self.model.items.items():
            if self.model.earliest(item) <= self.now and not self.frontier._links.flags.view[id] & ASLEEP:
                number = int(self.frontier._links.queue.view[id])
                lane = self.frontier._places.of[number].lane
                assert number in soon or lane.address is not None or self.model.budgets.per_site is not None
        for number in soon:
            name = self.frontier._places.of[number].name
            assert name not in self.model.leases or self.model.began[name] >= self.now - 2.0
            assert self.model.until.get(name, self.model.rest_until) <= self.now + 2.0


TestCompared = Compared.TestCase
TestCompared.settings = settings(
    max_examples=250,
    stateful_step_count=40,
    deadline=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


def test_ten_thousand_ties_come_in_order_of_discovery() -> None:
    frontier = LaneFrontier(FIRST)
    ids = np.random.default_rng(0).permutation(10_000).astype(np.int32)
    for part in ids.reshape(-1, 80):
        frontier.add(part, part % 3, part % 3, np.zeros(80, np.float32))
    taken = []
    while (candidate := frontier.acquire(0.0)) is not None:
        taken.append(candidate.id)
        frontier.release(candidate, 0.0, 0.0, page=True)
    assert taken == list(range(10_000))


def test_scores_of_every_size_keep_their_order() -> None:
    scores = np.array([-inf, -3e38, -1.0, -1e-45, 0.0, 1e-45, 0.5, 1.0, 3e38, inf], np.float32)
    frontier = LaneFrontier(heap=2)
    add(frontier, [(id, id % 2, id % 2, score) for id, score in enumerate(scores.tolist())])
    taken = []
    while (candidate := frontier.acquire(0.0)) is not None:
        taken.append((candidate.id, candidate.score))
        frontier.release(candidate, 0.0, 0.0, page=True)
    assert taken == [(id, float(scores[id])) for id in range(9, 0, -1)]


def test_minus_zero_is_zero() -> None:
    frontier = LaneFrontier()
    assert add(frontier, [(0, 0, 0, -0.0), (1, 1, 1, 0.0), (0, 0, 0, 0.0)]) == [True, True, False]
    candidate = frontier.acquire(0.0)
    assert candidate is not None
    assert candidate.id == 0


def test_a_score_that_is_no_number_is_refused() -> None:
    frontier = LaneFrontier()
    with pytest.raises(ValueError, match="nan"):
        add(frontier, [(0, 0, 0, float("nan"))])
    add(frontier, [(0, 0, 0, 1.0)])
    with pytest.raises(ValueError, match="nan"):
        frontier.reorder(ints([0]), floats([float("nan")]))
    assert frontier.scores(ints([0])).tolist() == [1.0]


def test_a_lease_ends_once() -> None:
    frontier = LaneFrontier()
    add(frontier, [(0, 0, 0, 1.0)])
    candidate = frontier.acquire(0.0)
    assert candidate is not None
    frontier.retry(candidate, 1.0)
    with pytest.raises(ValueError, match="waits already"):
        frontier.retry(candidate, 2.0)
    frontier.release(candidate, 0.0, 0.0, page=False)
    with pytest.raises(ValueError, match="no lease"):
        frontier.release(candidate, 0.0, 0.0, page=False)
    assert frontier.acquire(0.9) is None
    assert frontier.acquire(1.0) == candidate


def test_a_link_dropped_while_leased_stays_dropped() -> None:
    frontier = LaneFrontier()
    add(frontier, [(0, 0, 0, 1.0)])
    candidate = frontier.acquire(0.0)
    assert candidate is not None
    frontier.drop(ints([0]))
    frontier.retry(candidate, 0.0)
    frontier.release(candidate, 0.0, 0.0, page=False)
    assert add(frontier, [(0, 0, 0, 2.0)]) == [False]
    assert frontier.acquire(1.0) is None


def test_a_full_site_waits_for_a_lease_to_end() -> None:
    frontier = LaneFrontier(budgets=Budgets(per_site=1))
    add(frontier, [(0, 0, 0, 2.0), (1, 1, 0, 1.0)])
    first = frontier.acquire(0.0)
    assert first is not None
    assert frontier.acquire(0.0) is None
    assert frontier.next_due() is None
    frontier.release(first, 0.0, 5.0, page=False)
    assert frontier.next_due() == 0.0
    second = frontier.acquire(0.0)
    assert second is not None
    assert second.id == 1
    frontier.release(second, 0.0, 5.0, page=True)
    add(frontier, [(2, 2, 0, 9.0)])
    assert frontier.acquire(99.0) is None
    assert frontier.waiting.tolist() == [2]


def test_a_link_put_back_waits_for_its_lane_too() -> None:
    frontier = LaneFrontier()
    add(frontier, [(0, 0, 0, 2.0)])
    candidate = frontier.acquire(0.0)
    assert candidate is not None
    frontier.retry(candidate, 1.0)
    frontier.release(candidate, 0.0, 3.0, page=False)
    assert frontier.next_due() == 1.0  # when it wakes up
    assert frontier.acquire(1.0) is None
    assert frontier.next_due() == 3.0
    assert frontier.acquire(2.9) is None
    assert frontier.acquire(3.0) == candidate


def test_the_next_lane_due_is_one_with_work() -> None:
    frontier = LaneFrontier()
    add(frontier, [(id, id // 2, id // 2, float(-id)) for id in range(6)])
    for delay in (1.0, 3.0, 2.0):
        candidate = frontier.acquire(0.0)
        assert candidate is not None
        frontier.release(candidate, 0.0, delay, page=True)
    assert frontier.next_due() == 1.0
    frontier.drop(ints([1]))  # it was the last link of the lane that is due at 1
    assert frontier.next_due() == 2.0


def test_every_lane_rests_after_opening() -> None:
    frontier = LaneFrontier(rest_until=10.0)
    add(frontier, [(0, 0, 0, 2.0), (1, 1, 1, 1.0)])
    assert frontier.acquire(9.9) is None
    assert frontier.next_due() == 10.0
    assert frontier.acquire(10.0) is not None


def test_it_is_a_frontier() -> None:
    frontier: Frontier = LaneFrontier()
    assert frontier.next_due() is None
    assert len(frontier.waiting) == 0


def test_a_lane_that_is_borrowed_is_not_due() -> None:
    """Or whoever waits for it would ask again and again."""
    frontier, ids = LaneFrontier(heap=1), np.arange(8, dtype=np.int32)
    frontier.add(ids, np.zeros(8, np.int32), np.zeros(8, np.int32), np.full(8, -1.5, np.float32))
    candidate = frontier.acquire(0.0)
    assert candidate is not None
    frontier.release(candidate, 0.0, 0.0, page=False, answered=True)
    assert frontier.borrow(0, 0.0)
    assert frontier.next_due() is None
    frontier.give_back(0, 0.0, 0.0)
    assert frontier.next_due() == 0.0


# ---- choosing -------------------------------------------------------------------------------------------------------


def lanes_soon(frontier: LaneFrontier, now: float, horizon: float) -> set[int]:
    return {frontier._places.of[number].name for number in frontier.soon(now, horizon).tolist()}


def test_the_best_links_of_the_lanes_that_may_be_asked_soon() -> None:
    frontier = LaneFrontier(BEST)
    add(frontier, [(n, n // 10, n // 10, 1 - n / 100) for n in range(40)])  # lane 0 has the best ten
    for lane, delay in ((0, 1.0), (1, 100.0)):
        candidate = frontier.acquire(0.0)
        assert candidate is not None
        assert candidate.lane == lane
        frontier.release(candidate, 0.0, delay, page=True)
    soon = frontier.soon(0.0, 5.0)
    assert lanes_soon(frontier, 0.0, 5.0) == {0, 2, 3}  # lane 1 rests for longer
    best = sorted(frontier.best(soon, 6, 3).tolist(), reverse=True)
    assert best == pytest.approx([0.99, 0.98, 0.97, 0.80, 0.79, 0.78, 0.70, 0.69, 0.68])
    assert len(frontier.best(soon, 2, 3)) == 6  # only the two best lanes are looked at
    assert frontier.next_rested() == 1.0


def test_a_lane_that_is_busy_for_long_is_not_waited_for() -> None:
    frontier = LaneFrontier(BEST)
    add(frontier, [(0, 0, 0, 1.0), (1, 0, 0, 1.0), (2, 1, 1, 0.5)])
    assert frontier.acquire(0.0) is not None
    assert lanes_soon(frontier, 1.0, 2.0) == {0, 1}
    assert lanes_soon(frontier, 3.0, 2.0) == {1}


def test_what_waits_no_longer_is_not_among_the_best() -> None:
    frontier = LaneFrontier(BEST)
    add(frontier, [(n, 0, 0, 1.0 - n / 10) for n in range(4)])
    frontier.drop(ints([0]))
    add(frontier, [(3, 0, 0, 0.95)])  # it was found with 0.7 before
    assert sorted(frontier.best(frontier.soon(0.0, 1.0), 4, 5).tolist()) == pytest.approx([0.8, 0.9, 0.95])


def test_a_lane_whose_budget_is_used_up_is_not_waited_for() -> None:
    frontier = LaneFrontier(BEST, budgets=Budgets(per_lane=1))
    add(frontier, [(0, 0, 0, 1.0), (1, 0, 0, 1.0), (2, 1, 1, 0.5)])
    candidate = frontier.acquire(0.0)
    assert candidate is not None
    frontier.release(candidate, 0.0, 1.0, page=True)
    assert lanes_soon(frontier, 0.0, 5.0) == {1}
