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
FEW = 256  # rows that are read one by one; more are gathered through a map of the file
_SIZE = 4  # bytes of a value


class Spool:
    """Rows of terms that are only added to. The file has no name: it ends with the process.

    Written and read with calls, not through a map, so that it is the system's cache that holds what is used, not the
    process; the map that serves a sweep is given back after each batch.
    """

    def __init__(self, folder: Path) -> None:
        with tempfile.TemporaryFile(dir=folder) as file:
            self._file = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._file)
        self._written = 0  # values
        self._tail = np.empty(TAIL, np.uint32)  # what follows them
        self._waiting = 0  # values in the tail

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
        read = [
            os.pread(file, size * _SIZE, at * _SIZE) if at < written else tail[at - written : at - written + size]
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


def _write_all(file: int, left: memoryview, at: int) -> None:
    while left:
        done = os.pwrite(file, left, at)
        left, at = left[done:], at + done
