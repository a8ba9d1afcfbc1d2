"""What a crawl may expect: how many relevant pages the next fetches bring, and what share of all it has found.

A strategy that gives chances says of each link that waits how likely it leads to a relevant page. A chance p is
believed as far as such chances came true: y = 1 where a link brought a relevant page, by the critic, and 0 where it
brought another page or none.

    r = (B + sum of w y) / (B + sum of w p)      over the fetches so far; w = FADE^age, B = BELIEF
    q = min(1, r p)

So r also corrects that the best of many uncertain chances are too large, and that links may be dead. A fetch is a
request for a link that was answered with a page or in another way; what was never asked does not count.

    next n fetches:   E = sum of q over the n best links
                      V = sum of q (1 - q) + (E + 1)^2 (s^2 + 1 / (B + sum of w y))
    all that wait:    the same over all links, with TAIL^2 more for those that are never the best;
                      share = found / (found + E); its lower end allows for UNFOUND more

s is how far forecasts were off in this crawl, beyond chance, in parts of E. With N for what came in n fetches after a
forecast, the newest weighing most:

    s^2 = mean of ((N - E)^2 - sum of q (1 - q)) / (E + 1)^2,   drawn to DOUBT^2

Intervals are E +- WIDTH sqrt V, cut off at 0: 80 % of a normal distribution.

Not foreseen are links that nobody has found yet, and hosts that rest: the crawl cannot always take its best links.
`docs/lab/forecast.md` has figures.
"""

from __future__ import annotations

from collections import deque
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from forager.errors import ForagerError
from forager.frontier import LaneFrontier
from forager.store.status import Forecast
from forager.types import FIRST_OF_ALL, Floats, GivesChances, Parts, Strategy

AHEAD = 500  # fetches
EVERY = 100  # fetches between two looks
FADE = 0.5 ** (1 / 125)  # what an outcome weighs, with each fetch that follows
BELIEF = 1.0  # fetches that came as promised, before the first
DOUBT, DOUBTS = 0.4, 2.0  # s before the first forecast is settled, and how many settled ones that weighs
OLD = 0.9  # what a settled forecast weighs, with each that follows
TAIL = 0.5  # how far chances of links that are never the best may be off, in parts of E
UNFOUND = 0.05  # relevant pages that no link leads to yet, or only one that promises nothing, in parts of those found
WIDTH = 1.2816  # of an interval of 80 %, in standard deviations
NO_CHANCES = "the scores of this strategy are no chances"
TOO_EARLY = f"fewer than {EVERY} fetches so far"
Chances = NDArray[np.float64]


class Promise(NamedTuple):
    """What the best links that waited once gave reason to expect."""

    made: int  # fetches until then
    found: int  # relevant pages until then
    fetches: int  # that are forecast
    expected: float  # relevant pages that they bring
    by_chance: float  # variance of that, if all chances are right
    seeds: int = 0  # that waited


class Forecaster:
    """Sees every fetch of a crawl, and looks at what waits every `EVERY` fetches."""

    def __init__(self, strategy: Strategy, ahead: int = AHEAD) -> None:
        self._strategy = strategy if isinstance(strategy, GivesChances) else None
        self._ahead = ahead
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self.fetches, self.found = 0, 0
        self._last: Promise | None = None
        self._promised, self._kept = 0.0, 0.0  # sums of w p and w y
        self._seeds, self._good_seeds = 0, 0
        self._pending: deque[Promise] = deque()  # those whose fetches have not all come
        self._off, self._settled = DOUBTS * DOUBT**2, DOUBTS  # sums over those whose fetches have come
        self._next = EVERY  # fetches at which it will look

    # ---- what came

    def saw(self, score: float, *, relevant: bool) -> None:
        """A link with this score was fetched."""
        self.fetches += 1
        self.found += relevant
        if score == FIRST_OF_ALL:
            self._seeds, self._good_seeds = self._seeds + 1, self._good_seeds + relevant
        elif self._strategy:
            (chance,) = self._strategy.chances(np.array([score], np.float32)).tolist()
            self._promised, self._kept = FADE * self._promised + chance, FADE * self._kept + relevant
        while self._pending and self._pending[0].made + self._ahead <= self.fetches:
            self._settle(self._pending.popleft())

    def _settle(self, promise: Promise) -> None:
        came = self.found - promise.found
        off = ((came - promise.expected) ** 2 - promise.by_chance) / (promise.expected + 1) ** 2
        self._off = OLD * self._off + (1 - OLD) * DOUBTS * DOUBT**2 + off
        self._settled = OLD * self._settled + (1 - OLD) * DOUBTS + 1

    @property
    def worth(self) -> float:
        """r: what came of chances, in parts of what they promised."""
        return (BELIEF + self._kept) / (BELIEF + self._promised)

    # ---- what is to come

    @property
    def why_not(self) -> str:
        """Why there is no forecast, in words; "" if there is one."""
        if self._strategy is None:
            return NO_CHANCES
        return TOO_EARLY if self.fetches < EVERY else ""

    def look_if_due(self, frontier: LaneFrontier) -> None:
        """After a fetch: look at what waits, if it is time to. It will be compared with what comes."""
        if self._strategy and self.fetches >= self._next:
            self._next = self.fetches + EVERY
            self.look(frontier)
            if self._last and self._last.fetches == self._ahead:
                self._pending.append(self._last)

    def look(self, frontier: LaneFrontier) -> None:
        """Look at the best that waits."""
        self._last = None if self.why_not else self._promise(frontier.waiting_scores)

    def _promise(self, scores: Floats) -> Promise:
        best = scores if len(scores) <= self._ahead else np.partition(scores, -self._ahead)[-self._ahead :]
        seeds = int(np.count_nonzero(best == FIRST_OF_ALL))
        return Promise(self.fetches, self.found, len(best), *_moments(self._chances(best)), seeds)

    def _chances(self, scores: Floats) -> Chances:
        """q of each link that waits; of a seed, by what came of seeds."""
        assert self._strategy is not None
        chances = self._strategy.chances(scores).astype(np.float64)
        seed = (self._good_seeds + 1) / (self._seeds + 2)
        return np.where(scores == FIRST_OF_ALL, seed, np.minimum(1.0, self.worth * chances))

    def too_little(self, least: float | None) -> str:
        """Why it is not worth to go on, if less than this share of what was last looked at will be relevant; else "".
        Nothing is said before as many fetches as are forecast, or while seeds wait."""
        last = self._last
        check_yield(least, self._strategy)
        if least is None or last is None or last.seeds or last.made < self._ahead:
            return ""
        if last.expected >= least * last.fetches:
            return ""
        promise = f"the next {last.fetches} fetches promise {last.expected:.1f} relevant pages"
        return f"{promise}, a yield of less than {least:g}"

    def forecast(self, frontier: LaneFrontier) -> Forecast | None:
        """A forecast from all that waits. None: `why_not` says why."""
        if self.why_not:
            return None
        scores = frontier.waiting_scores
        promise, (rest, by_chance) = self._promise(scores), _moments(self._chances(scores))
        doubt = max(0.0, self._off / self._settled) + 1 / (BELIEF + self._kept)
        low, high = interval(promise.expected, promise.by_chance + doubt * (promise.expected + 1) ** 2)
        least, most = interval(rest, by_chance + (doubt + TAIL**2) * (rest + 1) ** 2)
        return Forecast(
            made=self.fetches,
            fetches=promise.fetches,
            expected=promise.expected,
            low=low,
            high=high,
            found=self.found,
            share=_share(self.found, rest),
            share_low=_share(self.found, most + UNFOUND * self.found),
            share_high=_share(self.found, least),
        )

    # ---- keeping

    def parts(self) -> Parts:
        """What a checkpoint keeps of it."""
        sums = [self._promised, self._kept, self._off, self._settled]
        counts = [self.fetches, self.found, self._seeds, self._good_seeds, self._next]
        return {"sums": sums, "counts": counts, "pending": [list(each) for each in self._pending]}

    def recall(self, parts: Parts) -> None:
        """Know again what `parts` knew."""
        self._promised, self._kept, self._off, self._settled = map(float, parts["sums"])
        self.fetches, self.found, self._seeds, self._good_seeds, self._next = map(int, parts["counts"])
        self._pending = deque(Promise(*each) for each in parts["pending"])


def check_yield(least: float | None, strategy: Strategy | None) -> None:
    """Refuse a `[stop] yield` that would never stop the crawl."""
    if least is not None and not isinstance(strategy, GivesChances):
        raise ForagerError(f"stop.yield: {NO_CHANCES}; use the strategy default, or leave the key out")


def _moments(chances: Chances) -> tuple[float, float]:
    """Mean and variance of how many of these come true."""
    return float(chances.sum()), float((chances * (1 - chances)).sum())


def interval(mean: float, variance: float) -> tuple[float, float]:
    """Between which numbers a count lies with a chance of 80 %."""
    width = WIDTH * sqrt(variance)
    return max(0.0, mean - width), mean + width


def _share(found: int, rest: float) -> float:
    return found / (found + rest) if found else 0.0
