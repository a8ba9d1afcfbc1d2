"""A sweep beside the loop: the strategy scores all that waits in a worker thread, while the crawl goes on.

What waits when it begins is gone through in batches. Each batch is made on the loop, where facts and frontier are
whole between two steps, and scored in the thread into a second column of scores, which is swapped in at the end, in one
step. A link that was taken meanwhile, or whose score has changed because it was found again, keeps what it has. A link
that is about to be asked for is looked up in that column, or scored again by itself where the strategy allows it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import numpy as np

from forager.frontier.facts import BATCH, Facts
from forager.types import Floats, Frontier, Graph, Ids, Rescores, WaitingBatch


class Sweep:
    def __init__(self, strategy: Rescores, facts: Facts, frontier: Frontier) -> None:
        self._strategy, self._facts, self._frontier = strategy, facts, frontier
        self._alone = bool(getattr(strategy, "alone", False))
        self._ids = frontier.waiting
        self._graph = NO_GRAPH if self._alone else facts.graph()
        self._scores = np.empty(len(self._ids), np.float32)  # the second column, filled from the left
        self._filled = 0
        self._stopped = False

    def stop(self) -> None:
        """Let it end at the next batch, without effect."""
        self._stopped = True

    async def run(self) -> tuple[Ids, Floats]:
        """The ids whose new scores may be swapped in, and those scores."""
        batches = _Batches(asyncio.get_running_loop(), self)
        scored = self._strategy.rescore(batches, self._graph)
        await asyncio.to_thread(self._fill, scored)
        if self._stopped:
            return self._ids[:0], self._scores[:0]
        same = self._frontier.scores(self._ids) == np.concatenate([_NOTHING, *batches.before])
        return self._ids[same], self._scores[same]

    def score_now(self, id: int) -> float | None:
        """The newest score of a link; None: it was found since, or must wait for the end of the sweep."""
        at = int(np.searchsorted(self._ids, id))
        if at == len(self._ids) or self._ids[at] != id or self._facts.is_seed(self._ids[at : at + 1])[0]:
            return None
        if at < self._filled:
            return float(self._scores[at])
        if not self._alone:
            return None
        batch = self._facts.batch(self._ids[at : at + 1], self._frontier)
        return float(next(self._strategy.rescore([batch], self._graph))[0])

    async def batch(self, start: int) -> WaitingBatch | None:
        """The batch that begins there; None: there is none, or no need any more."""
        if self._stopped or start >= len(self._ids):
            return None
        return self._facts.batch(self._ids[start : start + BATCH], self._frontier)

    def _fill(self, scored: Iterator[Floats]) -> None:
        for scores in scored:
            end = self._filled + len(scores)
            self._scores[self._filled : end] = scores
            self._filled = end  # last, because the loop looks at it meanwhile


class _Batches:
    """The batches as a strategy sees them in its thread: each is asked of the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, sweep: Sweep) -> None:
        self._loop, self._sweep = loop, sweep
        self.before: list[Floats] = []  # the scores they had

    def __iter__(self) -> Iterator[WaitingBatch]:
        self.before = []
        start = 0
        while (batch := asyncio.run_coroutine_threadsafe(self._sweep.batch(start), self._loop).result()) is not None:
            self.before.append(batch.scores)
            start += BATCH
            yield batch


_NOTHING = np.empty(0, np.float32)
NO_GRAPH = Graph(np.zeros(1, np.int64), np.empty(0, np.int32), _NOTHING, _NOTHING, np.empty(0, np.int32))
