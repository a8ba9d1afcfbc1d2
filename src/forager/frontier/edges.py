"""Every link found on a visited page, with what the strategy gave it. Append-only; an edge is a row number."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.frontier.columns import AnyIds, Column
from forager.frontier.spool import Spool
from forager.types import Floats, Ids, Ragged, ScoredLinks

# The newest edge of the chain gone along last, and all its edges.
Walked: TypeAlias = tuple[int, AnyIds]
_NOWHERE: Walked = (-1, np.empty(0, np.intp))


class Edges:
    """Columns source, target, score, state, clue, weight; the edges into one target are chained through `before`.

    Invariant: `last[v]` is the newest edge into v, `before[e]` the next older one into the same target, -1 at the end.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """Clues lie in a file in that folder, or in memory."""
        self._source, self._target = Column(np.int32), Column(np.int32)
        self._score = Column(np.float32)
        self._before = Column(np.int32)
        self._last = Column(np.int32, fill=-1)  # by target id
        self._clues: Spool | Column[np.uint32] = Spool(folder) if folder else Column(np.uint32)
        self._clue_offsets = Column(np.int64)
        self._clue_offsets.resize(1)
        self._weight: Column[np.float32] | None = None  # only for strategies that weigh edges
        self._state: Column[np.float32] | None = None  # only for strategies that carry state
        self._walked = _NOWHERE

    def __len__(self) -> int:
        return len(self._source)

    @property
    def sources(self) -> Ids:
        return self._source.view

    @property
    def targets(self) -> Ids:
        return self._target.view

    @property
    def scores(self) -> Floats:
        return self._score.view

    @property
    def weights(self) -> Floats:
        return np.ones(len(self), np.float32) if self._weight is None else self._weight.view

    def state(self, rows: AnyIds) -> Floats:
        return np.empty((len(rows), 0), np.float32) if self._state is None else self._state.view[rows]

    def clues(self, rows: AnyIds) -> Ragged:
        if not len(self._clues):  # most strategies give none
            return Ragged(np.empty(0, np.uint32), np.zeros(len(rows) + 1, np.int64))
        offsets = self._clue_offsets.view
        if isinstance(self._clues, Spool):
            starts = offsets[rows]
            return self._clues.take(starts, offsets[rows + 1] - starts)
        return Ragged(self._clues.view, offsets).take(rows)

    def keep_largest(self, rows: AnyIds, columns: tuple[int, ...], state: Floats) -> None:
        """Raise the given columns of the rows' state to at least the given values."""
        if self._state is not None:
            for column in columns:
                np.maximum.at(self._state.view[:, column], rows, state[:, column])

    def append(self, source: int, targets: Ids, scored: ScoredLinks) -> Ids:
        """Record the links of one page; returns their row numbers."""
        first, count = len(self), len(targets)
        rows = np.arange(first, first + count, dtype=np.int32)
        self._source.repeat(source, count)
        self._target.extend(targets)
        self._score.extend(scored.scores)
        self._append_given(scored, first, count)
        if count:
            self._chain(targets.astype(np.intp), rows)
        return rows

    def _append_given(self, scored: ScoredLinks, first: int, count: int) -> None:
        if scored.clues is None:
            self._clue_offsets.repeat(len(self._clues), count)
        else:
            self._clue_offsets.extend(len(self._clues) + scored.clues.offsets[1:])
            self._clues.extend(scored.clues.values)
        if scored.state is not None:
            if self._state is None:
                self._state = Column(np.float32, width=scored.state.shape[1])
                self._state.resize(first)
            self._state.extend(scored.state)
        if scored.edge_weight is not None:
            if self._weight is None:
                self._weight = Column(np.float32, fill=1)
                self._weight.resize(first)
            self._weight.extend(scored.edge_weight)

    def _chain(self, targets: AnyIds, rows: AnyIds) -> None:
        order = targets.argsort(kind="stable")
        ordered = targets[order]
        self._last.cover(int(ordered[-1]) + 1)
        before = self._last.view[targets]
        again = (ordered[1:] == ordered[:-1]).nonzero()[0]  # a target that the page links to more than once
        before[order[again + 1]] = rows[order[again]]
        self._last.view[targets] = rows  # of a target's rows the last one stays
        self._before.extend(before)

    def into(self, target: int) -> AnyIds:
        """The edges into a target, oldest first."""
        newest = self._last.view.item(target) if target < len(self._last) else -1
        if newest != self._walked[0]:  # a page's trace and then its judgement ask for the same
            self._walked = newest, self._walk(newest)
        return self._walked[1]

    def _walk(self, row: int) -> AnyIds:
        rows: list[int] = []
        before = self._before.view.item
        while row >= 0:
            rows.append(row)
            row = before(row)
        return np.array(rows[::-1], np.intp)

    def newest_into(self, targets: Ids, most: int) -> tuple[Ids, Ids]:
        """The newest edges into each of the targets, at most so many: the places of the targets, ascending, and the
        edges, oldest first."""
        places = np.flatnonzero(targets < len(self._last)).astype(np.int32)
        rows = self._last.view[targets[places]]
        found: list[tuple[Ids, Ids]] = []
        for _ in range(most):
            places, rows = places[rows >= 0], rows[rows >= 0]
            if not len(rows):
                break
            found.append((places, rows))
            rows = self._before.view[rows]
        if not found:
            return np.empty(0, np.int32), np.empty(0, np.int32)
        at, into = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.lexsort((into, at))
        return at[order], into[order]

    def redirect(self, source: int, target: int) -> None:
        """Let the edges into `source` be edges into `target`: they led there all along."""
        moved = self.into(source)
        if len(moved) == 0:
            return
        kept = self.into(target)
        self._target.view[moved] = target
        chain = np.sort(np.concatenate((kept, moved)))
        self._before.view[chain[0]] = -1
        self._before.view[chain[1:]] = chain[:-1]
        self._last.cover(target + 1)
        self._last.view[source], self._last.view[target] = -1, chain[-1]
        self._walked = _NOWHERE

    def csr(self, nodes: int) -> tuple[NDArray[np.int64], Ids, Floats]:
        """Offsets, targets and weights of the graph over `nodes` ids, rows by source."""
        order = np.argsort(self.sources, kind="stable")
        offsets = np.concatenate(([0], np.cumsum(np.bincount(self.sources, minlength=nodes))))
        return offsets, self.targets[order], self.weights[order]
