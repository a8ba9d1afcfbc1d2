"""Clues of links in a file instead of in memory: a hundred numbers a link are too many to hold for millions of them."""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from forager.types import Ragged, Terms, stretches

TAIL = 1 << 16  # values written together
WINDOW, AHEAD = 1 << 24, 1 << 22  # values, the newest, that are mapped; so many of them are still to come
FEW = 4_096  # rows that are read one by one; more are gathered through a map of the whole file
_SIZE = 4  # bytes of a value
_ALIGNED = mmap.ALLOCATIONGRANULARITY // _SIZE  # where a map may begin


class Spool:
    """Rows of terms that are only added to. The file has no name: it ends with the process.

    A map of all of it would count as memory of the process, so only the newest values are mapped, 64 MB of them. Older
    ones are read with a call each, which takes four times as long, and so it is the system's cache that holds them, not
    the process; the map that serves a sweep is given back after each batch.
    """

    def __init__(self, folder: Path) -> None:
        with tempfile.TemporaryFile(dir=folder) as file:
            self._file = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._file)
        self._written = 0  # values
        self._tail = np.empty(TAIL, np.uint32)  # what follows them
        self._waiting = 0  # values in the tail
        self._first, self._window = 0, memoryview(b"")  # the values from there on that are mapped

    def __len__(self) -> int:
        return self._written + self._waiting

    def extend(self, values: Terms) -> None:
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
        """The rows that begin there and are so long."""
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
            del whole  # or the map could not be closed
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
        """Map the newest values, and room in the file for those to come."""
        first = max(0, self._written - WINDOW + AHEAD)
        self._first = first - first % _ALIGNED
        os.ftruncate(self._file, (self._first + WINDOW) * _SIZE)
        mapped = mmap.mmap(self._file, WINDOW * _SIZE, access=mmap.ACCESS_READ, offset=self._first * _SIZE)
        self._window = np.frombuffer(mapped, np.uint32).data  # which keeps the map, and lets it go


def _write_all(file: int, left: memoryview, at: int) -> None:
    while left:
        done = os.pwrite(file, left, at)
        left, at = left[done:], at + done
