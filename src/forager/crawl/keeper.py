"""Keeps what a crawl takes in: records go to the store in groups, and what the strategy has learnt goes beside them."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from forager.clock import Clock
from forager.crawl.state import CrawlState
from forager.store import NewUrl, Store
from forager.store.journal import checkpoint_of, record_of
from forager.types import FIRST_OF_ALL, Answer, Persists, Strategy, Taken

CHECKPOINT = 1_000  # pages between two checkpoints of a strategy
FORECASTER = "forecaster"  # the part of a checkpoint that it is


class Keeper(Protocol):
    """Where what was taken in goes, in groups."""

    @property
    def pending(self) -> int:
        """How many were taken in and are not committed."""

    def keep(self, taken: Taken) -> None: ...
    def keep_aside(self, answer: Answer) -> None:
        """Put an answer into the archive that is no page of the crawl, such as robots.txt."""

    def keep_seeds(self, first: int) -> None:
        """Keep the URLs from this id on, which were found on no page."""

    def due(self, now: float) -> bool: ...
    def commit(self) -> None: ...
    def checkpoint(self, *, now: bool = False) -> None:
        """After a commit, between two steps: save what the strategy knows, if it is time to, or `now`."""


class LastCheckpoint(NamedTuple):
    """Where the newest checkpoint of a strategy was made."""

    seq: int = -1  # the last record that it has seen
    pages: int = 0  # that the crawl had then


class StoreKeeper:
    """The keeper of a crawl with a store: it has a group in memory until it is committed."""

    def __init__(
        self,
        store: Store,
        state: CrawlState,
        strategy: Strategy,
        clock: Clock,
        last: LastCheckpoint = LastCheckpoint(),  # noqa: B008 - frozen
    ) -> None:
        self._store, self._state, self._clock, self._last = store, state, clock, last
        self._learner = strategy if isinstance(strategy, Persists) else None

    @property
    def pending(self) -> int:
        return self._store.pending

    def keep(self, taken: Taken) -> None:
        seq = self._store.last_seq + self._store.pending + 1
        self._store.add(record_of(taken, self._state.facts.addresses, seq=seq, at=self._clock.utc()))

    def keep_aside(self, answer: Answer) -> None:
        self._store.archive(answer, "robots.txt", self._clock.utc())

    def keep_seeds(self, first: int) -> None:
        names = self._state.facts.addresses
        self._store.add_urls([NewUrl(id, names[id], names.host(id), FIRST_OF_ALL) for id in range(first, len(names))])

    def due(self, now: float) -> bool:
        return self._store.due(now)

    def commit(self) -> None:
        self._store.commit()

    def checkpoint(self, *, now: bool = False) -> None:
        """After a commit: save what the strategy knows, if enough pages have come since the last time; or `now`."""
        if self._learner is None or self._store.last_seq == self._last.seq:
            return
        if not now and self._state.stats.pages < self._last.pages + CHECKPOINT:
            return
        frontier, seq = self._state.frontier, self._store.last_seq
        waiting = frontier.waiting
        parts = checkpoint_of(self._learner.parts(), waiting, frontier.scores(waiting))
        self._store.checkpoint(seq, {**parts, FORECASTER: self._state.forecaster.parts()})
        self._last = LastCheckpoint(seq, self._state.stats.pages)
