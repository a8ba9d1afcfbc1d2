"""A frontier that is simple instead of fast: dicts and linear scans."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from forager.frontier import Budgets
from forager.types import NEVER, Policy


@dataclass
class Item:
    lane: int
    site: int
    status: str = "none"  # none, waiting, leased, done
    score: float = NEVER
    own: float = NEVER
    findings: int = 0
    due: float = -inf


def single(number: float) -> float:
    return float(np.float32(number))


class Model:
    def __init__(self, policy: Policy, budgets: Budgets, rest_until: float) -> None:
        self.policy, self.budgets, self.rest_until = policy, budgets, rest_until
        self.items: dict[int, Item] = {}
        self.until: dict[int, float] = {}
        self.leases: dict[int, int] = {}  # lane -> id
        self.began: dict[int, float] = {}  # lane -> when its last lease began
        self.lane_pages: dict[int, int] = {}
        self.site_pages: dict[int, int] = {}
        self.dropped: set[int] = set()
        self.known: set[int] = set()  # lanes that answered last
        self.address: dict[int, str] = {}  # by lane
        self.calm: dict[str, float] = {}  # no lease before
        self.most, self.gap = 1, 0.0  # of all addresses

    def settle(self, lane: int, address: str, now: float) -> bool:
        if lane in self.address:
            return True
        fits = self.shared(address) < self.most and self.calm.get(address, -inf) <= now
        self.address[lane] = address
        if fits:
            self.calm[address] = now + self.gap
        return fits

    def crowded(self, lane: int, now: float) -> bool:
        address = self.address.get(lane)
        return address is not None and (self.shared(address) >= self.most or self.calm.get(address, -inf) > now)

    def shared(self, address: str) -> int:
        """Leases on lanes of an address."""
        return sum(self.address.get(lane) == address for lane in self.leases)

    def again(self, rows: list[tuple[int, int, int, float]]) -> None:
        for id, *_ in rows:
            item = self.items.get(id)
            if item is not None and item.status == "done":
                item.status, item.due = "none", -inf
            self.dropped.discard(id)
        self.add(rows)

    def add(self, rows: list[tuple[int, int, int, float]]) -> list[bool]:
        kept: dict[int, int] = {}
        for row, (id, lane, site, score) in enumerate(rows):
            item = self.items.setdefault(id, Item(lane, site, "done" if id in self.dropped else "none"))
            outcome = self.find(item, score)
            if outcome == "kept":
                kept[id] = row
            elif outcome == "gone":
                kept.pop(id, None)
        return [kept.get(id) == row for row, (id, *_) in enumerate(rows)]

    def find(self, item: Item, score: float) -> str:
        if item.status in ("leased", "done"):
            return ""
        if score == NEVER:
            if item.status == "waiting" and self.policy is Policy.LATEST:
                item.status = "none"
                return "gone"
            return ""
        if self.policy is Policy.NOISY_OR:
            score = min(max(score, 0.0), 1.0)
        if item.status == "none":
            item.status, item.score, item.own, item.findings = "waiting", score, score, 1
            return "kept"
        return "kept" if self.combine(item, score) else ""

    def combine(self, item: Item, score: float) -> bool:
        before, own = item.score, item.own
        match self.policy:
            case Policy.FIRST:
                return False
            case Policy.BEST:
                item.score = max(before, score)
                return score > before
            case Policy.LATEST:
                item.score = score
                return True
            case Policy.MEAN:
                item.score = single((before * item.findings + score) / (item.findings + 1))
                item.findings += 1
            case Policy.NOISY_OR:
                item.score = single(1 - (1 - min(max(before, 0.0), 1.0)) * (1 - score))
        item.own = max(own, score)
        return score > own

    def earliest(self, item: Item) -> float:
        """When the link may be taken if nothing else happens. inf: never."""
        if item.status != "waiting" or item.lane in self.leases:
            return inf
        address = self.address.get(item.lane)
        if address is not None and self.shared(address) >= self.most:
            return inf
        sites = [self.items[id].site for id in self.leases.values() if id >= 0]
        pages = self.site_pages.get(item.site, 0) + sites.count(item.site)
        if self.budgets.per_lane is not None and self.lane_pages.get(item.lane, 0) >= self.budgets.per_lane:
            return inf
        if self.budgets.per_site is not None and pages >= self.budgets.per_site:
            return inf
        calm = -inf if address is None else self.calm.get(address, -inf)
        return max(item.due, self.until.get(item.lane, self.rest_until), calm)

    def acquire(self, now: float, strangers: bool = True, floor: float = NEVER) -> tuple[int, int, float] | None:
        items = [(id, item) for id, item in self.items.items() if strangers or item.lane in self.known]
        able = [(-item.score, id) for id, item in items if self.earliest(item) <= now and item.score >= floor]
        if not able:
            return None
        score, id = min(able)
        item = self.items[id]
        item.status, item.due, self.leases[item.lane] = "leased", -inf, id
        self.note_lease(item.lane, now)
        return id, item.lane, -score

    def note_lease(self, lane: int, now: float) -> None:
        self.began[lane] = now
        if lane in self.address:
            self.calm[self.address[lane]] = now + self.gap

    def borrow(self, lane: int, now: float) -> bool:
        if lane in self.leases or self.until.get(lane, self.rest_until) > now or self.crowded(lane, now):
            return False
        self.leases[lane] = -2
        self.note_lease(lane, now)
        return True

    def give_back(self, lane: int, now: float, delay: float) -> None:
        del self.leases[lane]
        self.until[lane] = now + delay

    def next_due(self, now: float, strangers: bool = True) -> float | None:
        items = [item for item in self.items.values() if strangers or item.lane in self.known]
        due = min(map(self.earliest, items), default=inf)
        return None if due == inf else max(due, now)

    def retry(self, id: int, due: float) -> None:
        if self.items[id].status == "leased":
            self.items[id].status, self.items[id].due = "waiting", due

    def release(self, id: int, now: float, delay: float, page: bool, answered: bool | None) -> None:
        item = self.items[id]
        if answered is not None:
            (self.known.add if answered else self.known.discard)(item.lane)
        if item.status == "leased":
            item.status = "done"
        del self.leases[item.lane]
        self.until[item.lane] = now + delay
        self.lane_pages[item.lane] = self.lane_pages.get(item.lane, 0) + page
        self.site_pages[item.site] = self.site_pages.get(item.site, 0) + page

    def drop(self, ids: list[int]) -> None:
        self.dropped.update(ids)
        for id in set(ids) & self.items.keys():
            self.items[id].status = "done"

    def reorder(self, pairs: list[tuple[int, float]]) -> None:
        for id, score in dict(pairs).items():
            item = self.items.get(id)
            if item is not None and item.status == "waiting":
                item.score = score
                item.status = "none" if score == NEVER else "waiting"

    def waiting(self) -> list[int]:
        return sorted(id for id, item in self.items.items() if item.status == "waiting")
