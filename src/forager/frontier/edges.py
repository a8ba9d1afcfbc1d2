"""Every link that was found on a visited page, with what the strategy gave it. Rows are only added; an edge is the
number of its row."""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.frontier.columns import AnyIds, Column
from forager.types import Floats, Ids, Ragged, ScoredLinks, Terms, stretches

TAIL = 1 << 16  # values written together
WINDOW, AHEAD = 1 << 24, 1 << 22  # values that are mapped, the newest; so many of them are still to come
FEW = 4_096  # rows that are read one by one; more are read through a map of the whole file
_SIZE = 4  # bytes of a value
_ALIGNED = mmap.ALLOCATIONGRANULARITY // _SIZE  # a map must begin at a multiple of this

Walked: TypeAlias = tuple[int, AnyIds]  # the newest edge of a chain, and all its edges
_NOWHERE: Walked = (-1, np.empty(0, np.intp))


class Edges:
    """Columns of source, target, score, state, clue and weight. The edges into one target are a chain.

    Invariant: `_last[v]` is the newest edge into v; `_before[e]` is the next older edge into the same target, or -1.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """With a folder, clues are in a file there; else in memory."""
        self._source, self._target = Column(np.int32), Column(np.int32)
        self._score = Column(np.float32)
        self._before = Column(np.int32)
        self._last = Column(np.int32, fill=-1)  # by target id
        self._clues: ClueFile | Column[np.uint32] = ClueFile(folder) if folder else Column(np.uint32)
        self._clue_offsets = Column(np.int64)
        self._clue_offsets.resize(1)
        self._weight: Column[np.float32] | None = None  # only for strategies that weigh edges
        self._state: Column[np.float32] | None = None  # only for strategies that carry state
        self._walked = _NOWHERE  # the chain that was asked for last

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
        if isinstance(self._clues, ClueFile):
            starts = offsets[rows]
            return self._clues.take(starts, offsets[rows + 1] - starts)
        return Ragged(self._clues.view, offsets).take(rows)

    def keep_largest(self, rows: AnyIds, columns: tuple[int, ...], state: Floats) -> None:
        """Raise these columns of the rows' state to at least the given values."""
        if self._state is not None:
            for column in columns:
                np.maximum.at(self._state.view[:, column], rows, state[:, column])

    def append(self, source: int, targets: Ids, scored: ScoredLinks) -> Ids:
        """Add the links of one page; returns their row numbers."""
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
        if scored.state is not None and self._state is None:
            self._state = Column(np.float32, width=scored.state.shape[1])
            self._state.resize(first)
        if self._state is not None:
            self._state.repeat(0, count) if scored.state is None else self._state.extend(scored.state)
        if scored.edge_weight is not None and self._weight is None:
            self._weight = Column(np.float32, fill=1)
            self._weight.resize(first)
        if self._weight is not None:
            self._weight.repeat(1, count) if scored.edge_weight is None else self._weight.extend(scored.edge_weight)

    def _chain(self, targets: AnyIds, rows: AnyIds) -> None:
        order = targets.argsort(kind="stable")
        ordered = targets[order]
        self._last.cover(int(ordered[-1]) + 1)
        before = self._last.view[targets]
        again = (ordered[1:] == ordered[:-1]).nonzero()[0]  # targets that the page links to more than once
        before[order[again + 1]] = rows[order[again]]
        self._last.view[targets] = rows  # of several rows of a target the last one stays
        self._before.extend(before)

    def into(self, target: int) -> AnyIds:
        """The edges into a target, oldest first."""
        newest = self._last.view.item(target) if target < len(self._last) else -1
        if newest != self._walked[0]:  # the trace of a page and then its judgement ask for the same
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
        """The newest edges into each target, at most so many of each. Two columns: the place of the target in
        `targets`, ascending, and the edge, oldest first."""
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
        """Make the edges into `source` edges into `target`, because `source` redirects there."""
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
        """The graph over `nodes` ids, a row for each source: offsets, targets and weights."""
        order = np.argsort(self.sources, kind="stable")
        offsets = np.concatenate(([0], np.cumsum(np.bincount(self.sources, minlength=nodes))))
        return offsets, self.targets[order], self.weights[order]


class ClueFile:
    """Clues in a file instead of in memory: a hundred numbers a link are too many to keep for millions of links.

    Rows of terms are only added. The file has no name, so it goes when the process ends. If all of it were mapped, it
    would count as memory of the process; so only the newest values are mapped, 64 MB of them. Older rows are read with
    one call each, which takes four times as long: the cache of the system keeps them, not the process. For a sweep the
    whole file is mapped, but only for one batch at a time.
    """

    def __init__(self, folder: Path) -> None:
        with tempfile.TemporaryFile(dir=folder) as file:
            self._file = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._file)
        self._written = 0  # values in the file
        self._tail = np.empty(TAIL, np.uint32)  # the values after them, not written yet
        self._waiting = 0  # how many of those
        self._first, self._window = 0, memoryview(b"")  # the mapped values, and the number of the first

    def __len__(self) -> int:
        return self._written + self._waiting

    def extend(self, values: Terms) -> None:
        """Put values at the end."""
        end = self._waiting + len(values)
        if end > len(self._tail):
            self._flush()
            end = len(values)
        if end > len(self._tail):
            self._write(np.ascontiguousarray(values, np.uint32))
        else:
            self._tail[self._waiting : end] = values
            self._waiting = end

    def take(self, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Ragged:
        """The rows with these beginnings and lengths."""
        offsets = np.zeros(len(lengths) + 1, np.int64)
        lengths.cumsum(out=offsets[1:])
        if len(starts) <= FEW:
            return Ragged(self._read(starts, lengths), offsets)
        self._flush()
        return Ragged(self._gather(stretches(starts, lengths)), offsets)

    def _read(self, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Terms:
        file, written, tail = self._file, self._written, self._tail.data
        first, window, upto = self._first, self._window, self._first + len(self._window)
        read = [
            tail[at - written : at - written + size]
            if at >= written
            else window[at - first : at - first + size]
            if at >= first and at + size <= upto
            else os.pread(file, size * _SIZE, at * _SIZE)
            for at, size in zip(starts.tolist(), lengths.tolist(), strict=True)
            if size
        ]
        return np.frombuffer(b"".join(read), np.uint32)

    def _gather(self, places: NDArray[np.int64]) -> Terms:
        if not len(places):
            return np.empty(0, np.uint32)
        with mmap.mmap(self._file, self._written * _SIZE, access=mmap.ACCESS_READ) as mapped:
            whole = np.frombuffer(mapped, np.uint32)
            found = whole[places]
            del whole  # else the map could not be closed
        return found

    def _flush(self) -> None:
        self._write(self._tail[: self._waiting])
        self._waiting = 0

    def _write(self, values: Terms) -> None:
        if len(values):
            _write_all(self._file, values.data.cast("B"), self._written * _SIZE)
            self._written += len(values)
            if self._written > self._first + len(self._window):
                self._slide()

    def _slide(self) -> None:
        """Map the newest values, and space in the file for the next ones."""
        first = max(0, self._written - WINDOW + AHEAD)
        self._first = first - first % _ALIGNED
        os.ftruncate(self._file, (self._first + WINDOW) * _SIZE)
        mapped = mmap.mmap(self._file, WINDOW * _SIZE, access=mmap.ACCESS_READ, offset=self._first * _SIZE)
        self._window = np.frombuffer(mapped, np.uint32).data  # the view keeps the map alive


def _write_all(file: int, left: memoryview, at: int) -> None:
    while left:
        done = os.pwrite(file, left, at)
        left, at = left[done:], at + done
