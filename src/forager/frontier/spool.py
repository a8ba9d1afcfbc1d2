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
        self._written = 0  # bytes
        self._tail = bytearray()  # what follows them, not yet written

    def __len__(self) -> int:
        return (self._written + len(self._tail)) // _SIZE

    def extend(self, values: Terms) -> None:
        self._tail += np.ascontiguousarray(values, np.uint32).data
        if len(self._tail) >= TAIL * _SIZE:
            self._write()

    def take(self, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Ragged:
        """The rows that begin there and are so long."""
        offsets = np.zeros(len(lengths) + 1, np.int64)
        lengths.cumsum(out=offsets[1:])
        if len(starts) <= FEW:
            return Ragged(self._read(starts, lengths), offsets)
        self._write()
        return Ragged(self._gather(np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)), offsets)

    def _read(self, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Terms:
        file, written, tail = self._file, self._written, self._tail
        places = zip((starts * _SIZE).tolist(), (lengths * _SIZE).tolist(), strict=True)
        read = [
            os.pread(file, size, at) if at < written else tail[at - written : at - written + size]
            for at, size in places
            if size
        ]
        return np.frombuffer(b"".join(read), np.uint32)

    def _gather(self, places: NDArray[np.int64]) -> Terms:
        if not len(places):
            return np.empty(0, np.uint32)
        with mmap.mmap(self._file, self._written, access=mmap.ACCESS_READ) as mapped:
            whole = np.frombuffer(mapped, np.uint32)
            found = whole[places]
            del whole  # or the map could not be closed
        return found

    def _write(self) -> None:
        if self._tail:
            _write_all(self._file, self._tail, self._written)
            self._written += len(self._tail)
            self._tail = bytearray()


def _write_all(file: int, content: bytearray, at: int) -> None:
    left = memoryview(content)
    while left:
        done = os.pwrite(file, left, at)
        left, at = left[done:], at + done
