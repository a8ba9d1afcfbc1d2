"""Clues of links in a file instead of in memory: a hundred numbers a link are too many to hold for millions of them."""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from forager.types import Ragged, Terms

TAIL = 1 << 16  # values written together
FEW = 256  # rows that are read one by one; more are gathered at once
LEAST = 1 << 20  # bytes of the file at first; it doubles, and what is not written yet takes no room
HELD = 1 << 24  # bytes read after which the process lets go of what it has read
_SIZE = 4  # bytes of a value


class Spool:
    """Rows of terms that are only added to. The file has no name: it ends with the process.

    Written with calls, read through a map: a call for each row would take three times as long. Still it is the system's
    cache that holds what is used, not the process: what was read is let go every now and then.
    """

    def __init__(self, folder: Path) -> None:
        with tempfile.TemporaryFile(dir=folder) as file:
            self._file = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._file)
        self._written = 0  # values
        self._tail = np.empty(TAIL, np.uint32)  # what follows them
        self._waiting = 0  # values in the tail
        self._room = 0  # bytes of the file
        self._map: mmap.mmap | None = None  # of all of them
        self._held = 0  # bytes read

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
            read = self._read(starts, lengths)
        else:
            self._flush()
            read = self._gather(np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths))
        self._let_go(read.nbytes)
        return Ragged(read, offsets)

    def _read(self, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Terms:
        written, tail = self._written * _SIZE, self._tail.view(np.uint8).data
        file = memoryview(self._map or b"")
        ends = ((starts + lengths) * _SIZE).tolist()
        read = [
            file[at:end] if at < written else tail[at - written : end - written]
            for at, end in zip((starts * _SIZE).tolist(), ends, strict=True)
        ]
        return np.frombuffer(b"".join(read), np.uint32)

    def _gather(self, places: NDArray[np.int64]) -> Terms:
        return np.frombuffer(self._map or b"", np.uint32).take(places)

    def _let_go(self, read: int) -> None:
        self._held += read
        if self._held > HELD and self._map is not None:
            self._held = 0
            if hasattr(self._map, "madvise"):  # not on every system
                self._map.madvise(mmap.MADV_DONTNEED)

    def _flush(self) -> None:
        self._write(self._tail[: self._waiting])
        self._waiting = 0

    def _write(self, values: Terms) -> None:
        if not len(values):
            return
        end = (self._written + len(values)) * _SIZE
        if end > self._room:
            self._room = max(end, 2 * self._room, LEAST)
            os.ftruncate(self._file, self._room)
            self._map = mmap.mmap(self._file, self._room, access=mmap.ACCESS_READ)
        _write_all(self._file, values.data.cast("B"), self._written * _SIZE)
        self._written += len(values)


def _write_all(file: int, left: memoryview, at: int) -> None:
    while left:
        done = os.pwrite(file, left, at)
        left, at = left[done:], at + done
