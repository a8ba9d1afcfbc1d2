"""A sweep: the strategy scores all that waits again, inline or in a worker thread while the crawl goes on.

What waits when it begins is gone through in batches. Beside the loop each batch is made on the loop, where facts and
frontier are whole between two steps, and scored in the thread into a second column of scores, which is swapped in at
the end, in one step. A link that was taken meanwhile, or whose score has changed because it was found again, keeps what
it has. A link that is about to be asked for is looked up in that column, or scored again by itself where the strategy
allows it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import numpy as np

from forager.frontier.facts import BATCH, Facts, WaitingSlice
from forager.types import Floats, Frontier, Graph, Ids, Policy, Rescores, WaitingBatch

WHOLE = 4  # of so many sweeps of the best links, one takes all
LINKS = 2_000  # waiting for each such sweep, where there are many


class Sweep:
    """Of the links `ids`; of all that wait, if none are given."""

    def __init__(
        self, strategy: Rescores, policy: Policy, facts: Facts, frontier: Frontier, ids: Ids | None = None
    ) -> None:
        self._strategy, self._policy, self._facts, self._frontier = strategy, policy, facts, frontier
        self._alone = bool(getattr(strategy, "alone", False))
        self._ids = frontier.waiting if ids is None else ids
        self._graph = NO_GRAPH if self._alone else facts.graph()
        self._scores = np.empty(len(self._ids), np.float32)  # the second column, filled from the left
        self._links = np.empty(len(self._ids), np.int32)  # by which each would be followed
        self._filled = 0
        self._stopped = False

    def stop(self) -> None:
        """Let it end at the next batch, without effect."""
        self._stopped = True

    def run_inline(self) -> tuple[Ids, Floats, Ids]:
        """Ids, new scores, and the links that have them."""
        slices = _Slices(self)
        self._fill(self._strategy.rescore(slices, self._graph), slices)
        return self._ids, self._scores, self._links

    async def run(self) -> tuple[Ids, Floats, Ids]:
        """The same beside the loop, for those whose new scores may be swapped in."""
        slices = _SlicesOfLoop(self, asyncio.get_running_loop())
        scored = self._strategy.rescore(slices, self._graph)
        await asyncio.to_thread(self._fill, scored, slices)
        if self._stopped:
            return self._ids[:0], self._scores[:0], self._links[:0]
        same = self._frontier.scores(self._ids) == np.concatenate([_NOTHING, *slices.before])
        return self._ids[same], self._scores[same], self._links[same]

    def score_now(self, id: int) -> tuple[Ids, Floats, Ids]:
        """The newest score of one link; nothing if it was found since, or must wait for the end of the sweep."""
        at = int(np.searchsorted(self._ids, id))
        here = slice(at, at + 1)
        if at == len(self._ids) or self._ids[at] != id or self._facts.comes_first(self._ids[here])[0]:
            here = slice(0, 0)
        elif at >= self._filled:
            if self._alone:
                return self._score_alone(self._ids[here])
            here = slice(0, 0)
        return self._ids[here], self._scores[here], self._links[here]

    def _score_alone(self, ids: Ids) -> tuple[Ids, Floats, Ids]:
        shown = self._facts.slice(ids, self._frontier)
        scores = next(self._strategy.rescore([shown.batch], self._graph))
        return ids, *shown.settle(scores, self._policy)

    def cut(self, start: int) -> WaitingSlice | None:
        """The slice that begins there; None: there is none, or no need any more."""
        if self._stopped or start >= len(self._ids):
            return None
        return self._facts.slice(self._ids[start : start + BATCH], self._frontier)

    def _fill(self, scored: Iterator[Floats], slices: _Slices) -> None:
        for scores in scored:
            shown = slices.shown.pop(0)
            end = self._filled + len(shown.ids)
            self._scores[self._filled : end], self._links[self._filled : end] = shown.settle(scores, self._policy)
            self._filled = end  # last, because the loop looks at it meanwhile


def swept(strategy: Rescores, frontier: Frontier, pages: int) -> Ids:
    """What a sweep takes after so many pages: all that waits, ascending. A strategy may have a `top`: then it takes the
    best so many, and all only now and then, the rarer the more there are. So its cost for a page does not grow."""
    ids, top = frontier.waiting, getattr(strategy, "top", None)
    rarely = strategy.every * max(WHOLE, len(ids) // LINKS)
    if not top or len(ids) <= top or pages % rarely == 0:
        return ids
    best = np.argpartition(-frontier.scores(ids), top)[:top]
    return ids[np.sort(best)]


class _Slices:
    """The batches as a strategy sees them; it may go through them more than once, but gives scores the last time."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self.shown: list[WaitingSlice] = []  # whose scores are still to come
        self.before: list[Floats] = []  # the scores all had

    def _cut(self, start: int) -> WaitingSlice | None:
        return self._sweep.cut(start)

    def __iter__(self) -> Iterator[WaitingBatch]:
        self.shown, self.before = [], []
        start = 0
        while (shown := self._cut(start)) is not None:
            self.shown.append(shown)
            self.before.append(shown.batch.scores[shown.starts])
            start += BATCH
            yield shown.batch


class _SlicesOfLoop(_Slices):
    """The same in another thread: each is asked of the loop."""

    def __init__(self, sweep: Sweep, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(sweep)
        self._loop = loop

    def _cut(self, start: int) -> WaitingSlice | None:
        async def cut() -> WaitingSlice | None:
            return self._sweep.cut(start)

        return asyncio.run_coroutine_threadsafe(cut(), self._loop).result()


_NOTHING = np.empty(0, np.float32)
NO_GRAPH = Graph(np.zeros(1, np.int64), np.empty(0, np.int32), _NOTHING, _NOTHING, np.empty(0, np.int32))
