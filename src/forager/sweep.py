"""A sweep beside the loop: the strategy scores all that waits in a worker thread, while the crawl goes on.

What waits when it begins is gone through in batches. Each batch is made on the loop, where facts and frontier are
whole between two steps, and scored in the thread; the new scores are swapped in at the end, in one step. A link that
was taken meanwhile, or whose score has changed because it was found again, keeps what it has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import numpy as np

from forager.frontier.facts import BATCH, Facts
from forager.types import Floats, Frontier, Ids, Rescores, WaitingBatch


class Sweep:
    def __init__(self, strategy: Rescores, facts: Facts, frontier: Frontier) -> None:
        self._strategy, self._facts, self._frontier = strategy, facts, frontier
        self._ids = frontier.waiting
        self._stopped = False

    def stop(self) -> None:
        """Let it end at the next batch, without effect."""
        self._stopped = True

    async def run(self) -> tuple[Ids, Floats]:
        """The ids whose new scores may be swapped in, and those scores."""
        batches = _Batches(asyncio.get_running_loop(), self)
        scored = self._strategy.rescore(batches, self._facts.graph())
        scores = await asyncio.to_thread(_all_of, scored)
        if self._stopped:
            return self._ids[:0], scores[:0]
        same = self._frontier.scores(self._ids) == np.concatenate([_NOTHING, *batches.before])
        return self._ids[same], scores[same]

    async def batch(self, start: int) -> WaitingBatch | None:
        """The batch that begins there; None: there is none, or no need any more."""
        if self._stopped or start >= len(self._ids):
            return None
        return self._facts.batch(self._ids[start : start + BATCH], self._frontier)


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


def _all_of(scored: Iterator[Floats]) -> Floats:
    return np.concatenate([_NOTHING, *scored])
