"""Goes on around relevant pages and gives up elsewhere (Fish-Search): for a quick look around good pages.

De Bra & Post (1994): a school of fish that breeds where there is food and dies where there is none.

A page u has a depth: the number of links that may be followed from it without finding a relevant page. A seed has depth
D. With width W and a = 1.5, for the links of u in the order of the page:

    u relevant, Pr(c*|u) >= tau:  the first a W links score 1, the rest 0, all with depth D
    u irrelevant:                 the first W links score 1/2, the rest 0, all with depth(u) - 1
    depth(u) = 0:                 u is not expanded

A target found again takes the larger score and the larger depth. Links to slow hosts are dropped. A host is slow if
requests to it timed out `timeouts` times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from forager.errors import ForagerError
from forager.types import NEVER, Combine, Evidence, Floats, Links, Mask, Miss, Parts, Policy, Reason, ScoredLinks, Visit
from forager.web.urls import host

REMEMBERED = 10_000  # hosts that timed out; if there are more, the one that timed out first is forgotten


class FishSearch:
    """state = (depth,)"""

    combine = Combine(Policy.BEST, largest=(0,))

    def __init__(
        self, *, width: int = 10, depth: int = 3, a: float = 1.5, threshold: float = 0.5, timeouts: int = 3
    ) -> None:
        if width < 0 or depth < 1 or timeouts < 1:
            raise ForagerError("fish: width must be at least 0, depth and timeouts at least 1")
        self.width, self.depth, self.a, self.threshold, self.timeouts = width, depth, a, threshold, timeouts
        self._timed_out: dict[str, int] = {}  # number of timeouts by host, in the order of their first timeout

    def score(self, visit: Visit) -> ScoredLinks:
        inlinks = visit.trace.inlinks
        depth = int(inlinks.state[0, 0]) if len(inlinks.sources) else self.depth
        relevant = visit.judgement.relevance >= self.threshold
        scores = self._by_position(relevant, len(visit.links))
        scores[self._slow(visit.links) | (depth <= 0)] = NEVER
        left = self.depth if relevant else depth - 1
        return ScoredLinks(scores, state=np.full((len(scores), 1), left, np.float32))

    def _by_position(self, relevant: bool, count: int) -> Floats:
        scores = np.zeros(count, np.float32)
        if relevant:
            scores[: int(self.a * self.width)] = 1
        else:
            scores[: self.width] = 0.5
        return scores

    def _slow(self, links: Links) -> Mask:
        slow = {name for name, times in self._timed_out.items() if times >= self.timeouts}
        if not slow:
            return np.zeros(len(links), bool)
        return np.fromiter((host(url) in slow for url in links.targets), bool, len(links))

    def observe(self, outcome: Visit | Miss, evidence: Evidence) -> None:
        if isinstance(outcome, Miss) and outcome.reason is Reason.TIMEOUT:
            name = host(outcome.url)
            self._timed_out[name] = self._timed_out.get(name, 0) + 1
            if len(self._timed_out) > REMEMBERED:
                del self._timed_out[next(iter(self._timed_out))]

    def parts(self) -> Parts:
        return {"hosts": list(self._timed_out), "times": list(self._timed_out.values())}

    def from_parts(self, parts: Parts) -> Self:
        new = type(self)(width=self.width, depth=self.depth, a=self.a, threshold=self.threshold, timeouts=self.timeouts)
        new._timed_out = {str(name): int(times) for name, times in zip(parts["hosts"], parts["times"], strict=True)}
        return new

    def merge(self, parts: Sequence[Parts]) -> Parts:
        times: dict[str, int] = {}
        for each in parts:
            for name, more in zip(each["hosts"], each["times"], strict=True):
                times[str(name)] = times.get(str(name), 0) + int(more)
        return {"hosts": list(times), "times": list(times.values())}
