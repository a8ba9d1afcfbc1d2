"""Append-only files. The database says up to which length they are valid."""

from __future__ import annotations

import os
from pathlib import Path

from forager.errors import ForagerError


class FlatFile:
    """Pieces are queued, then written, and then either accepted or cut off again.

    Invariant: bytes before `committed` never change. Bytes after it do not count; the next write replaces them, or the
    next opening of the project removes them. The place of a piece is known when it is queued, because `write` writes
    all pieces in order.
    """

    def __init__(self, path: Path, committed: int) -> None:
        self.path, self.committed = path, committed
        self._queue: list[bytes] = []
        self._end = committed
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        found = os.fstat(self._file).st_size
        if found < committed:
            os.close(self._file)
            cure = "restore it from a copy, or let forager recover take in what is whole"
            raise ForagerError(f"{path} has {found} of the {committed} bytes it should: {cure}")

    @property
    def end(self) -> int:
        """The length of the file with everything that is queued."""
        return self._end

    def queue(self, piece: bytes) -> int:
        """Queue a piece; returns where it will begin."""
        at = self._end
        self._queue.append(piece)
        self._end += len(piece)
        return at

    def write(self, *, sync: bool) -> None:
        """Give everything that is queued to the operating system, with `sync` to the disk."""
        if self._queue:
            rest = memoryview(b"".join(self._queue))
            at = self.committed
            while rest:
                written = os.pwrite(self._file, rest, at)
                rest, at = rest[written:], at + written
            if sync:
                os.fsync(self._file)

    def accept(self) -> None:
        """What was written is valid from now on."""
        self._queue.clear()
        self.committed = self._end

    def cut(self) -> None:
        """Take back what `write` wrote. It stays queued."""
        os.ftruncate(self._file, self.committed)

    def read(self, at: int, length: int) -> bytes:
        return os.pread(self._file, length, at)

    def close(self) -> None:
        os.close(self._file)
