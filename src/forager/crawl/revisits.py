"""Pages that are asked for again, to see whether they have changed.

They are no links that wait: their URLs have an answer. So the frontier knows nothing of them; it only lends the lane on
which each is asked. If the crawl is stopped, nothing is lost: what was not asked is due the next time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from math import inf

from forager.crawl.state import CrawlState
from forager.store import DamagedError, SeenPage
from forager.types import Fetch, Page
from forager.web.directives import header_values

NOT_MODIFIED = 304  # the status of a page that has not changed
BUSY = 0.1  # seconds after which a lane is tried again that is leased for a link


class Revisits:
    """The pages that are due, by lane. One that was taken is put back or ended."""

    def __init__(self, pages: Iterable[SeenPage], state: CrawlState, recall: Callable[[int], Fetch | None]) -> None:
        """`recall` gives the answer of a record."""
        self._hosts, self._frontier, self._recall = state.facts.addresses.hosts, state.frontier, recall
        self._lanes: dict[int, deque[SeenPage]] = {}
        for page in pages:
            self._lanes.setdefault(self.lane(page), deque()).append(page)
        self._ready = [(-inf, lane) for lane in self._lanes]  # when a lane is tried next; none that is under way
        heapify(self._ready)
        self._left = sum(map(len, self._lanes.values()))

    def __len__(self) -> int:
        """How many are left, with those under way."""
        return self._left

    def lane(self, page: SeenPage) -> int:
        return int(self._hosts[page.id])

    def take(self, now: float) -> SeenPage | None:
        """A page whose lane may be asked now. The lane is borrowed."""
        while self._ready and self._ready[0][0] <= now:
            lane = heappop(self._ready)[1]
            if self._frontier.borrow(lane, now):
                return self._lanes[lane].popleft()
            at = max(self._frontier.rests_until(lane), now + BUSY)
            if at < inf:
                heappush(self._ready, (at, lane))
            else:  # the host was given up
                self._left -= len(self._lanes.pop(lane))
        return None

    def next_due(self) -> float:
        """When `take` may give something; inf: not before a page that is under way has ended."""
        return self._ready[0][0] if self._ready else inf

    def end(self, page: SeenPage, now: float, rest: float, *, again: bool = False) -> None:
        """A page that was taken is no longer under way; its lane rests. `again`: it is to be asked once more."""
        lane = self.lane(page)
        self._frontier.give_back(lane, now, rest)
        pages = self._lanes[lane]
        if again:
            pages.append(page)
        else:
            self._left -= 1
        if pages:
            heappush(self._ready, (now + rest, lane))

    def known(self, page: SeenPage) -> Fetch | None:
        """The page as it was last seen. None: the archive has lost it."""
        try:
            return self._recall(page.seq)
        except DamagedError:
            return None


def validators(known: Fetch | None) -> tuple[str, str]:
    """By which an answer can be told from a newer one: its ETag, and when it was last modified. "": it has none."""
    head = known.exchange.response if known is not None and known.exchange is not None else b""
    tag, modified = (next(iter(header_values(head, name)), "") for name in ("ETag", "Last-Modified"))
    return tag, modified


def is_same(page: Page, was: Page) -> bool:
    """Whether a page says what it said before: the same title, text and links, whatever its markup."""
    return (page.title, page.leaves, page.links.targets) == (was.title, was.leaves, was.links.targets)
