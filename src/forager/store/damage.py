"""Damage: what the disk gives back is not what was written. It is noticed by checksums, told, and never passed on.

A row has a checksum of its values, a piece of a flat file has one in its row, and the URLs of a group have one
together. A WARC record is a gzip member, which brings its own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from xxhash import xxh3_64, xxh3_64_intdigest

from forager.errors import ForagerError
from forager.types import Floats, Ids

T = TypeVar("T")
_BITS = 0xFFFF_FFFF  # four bytes in a row are enough: of four thousand million flips one goes unseen
_encode = msgspec.msgpack.Encoder().encode
# Our statements are right, so an error in one of them means that the tables are not as we made them.
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR", "SQLITE_CONSTRAINT", "SQLITE_MISMATCH", "SQLITE_FORMAT")
_NO_TEXT = "Could not decode to UTF-8"


class DamagedError(ForagerError):
    """Something that was stored cannot be read any more. Only what the message names is lost."""


class DamageWarning(UserWarning):
    """A reading went on without something that is damaged. The line says how much, and how to learn more."""


def row_checksum(values: Sequence[Any]) -> int:
    """The checksum of the values of a row, as SQLite gives them back."""
    return int(xxh3_64_intdigest(_encode(values)) & _BITS)


def piece_checksum(piece: bytes) -> int:
    """The checksum of a piece of a flat file."""
    return int(xxh3_64_intdigest(piece) & _BITS)


def real(value: float | None) -> float | None:
    """A number as SQLite gives it back: null for nan, and no negative zero."""
    return None if value is None or value != value else float(value) + 0.0


class UrlsChecksum:
    """The checksum of some URLs with consecutive ids, which may come in several parts."""

    def __init__(self) -> None:
        self._texts, self._hosts, self._scores = xxh3_64(), xxh3_64(seed=1), xxh3_64(seed=2)

    def add(self, texts: Sequence[str], hosts: Ids, scores: Floats) -> None:
        if texts:
            self._texts.update(("\n".join(texts) + "\n").encode())
            self._hosts.update(np.ascontiguousarray(hosts, "<i4").data)
            self._scores.update(np.where(np.isnan(scores), np.float32(np.nan), scores).astype("<f4").data)

    @property
    def value(self) -> int:
        return int((self._texts.intdigest() ^ self._hosts.intdigest() ^ self._scores.intdigest()) & _BITS)


# ---- SQLite ---------------------------------------------------------------------------------------------------------


def _telling(call: Callable[..., T]) -> Callable[..., T]:
    def told(cursor: sqlite3.Cursor, *given: Any) -> T:
        try:
            return call(cursor, *given)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # its message may be no text either
            damaged = _told(error, cursor.connection)
            if damaged is None:
                raise
            raise damaged from error

    return told


class _Cursor(sqlite3.Cursor):
    """Raises a `DamagedError` where a damaged file makes SQLite fail; other errors come as they are."""

    execute = _telling(sqlite3.Cursor.execute)
    executemany = _telling(sqlite3.Cursor.executemany)
    fetchone = _telling(sqlite3.Cursor.fetchone)
    fetchmany = _telling(sqlite3.Cursor.fetchmany)
    fetchall = _telling(sqlite3.Cursor.fetchall)
    __next__ = _telling(sqlite3.Cursor.__next__)


class Database(sqlite3.Connection):
    """A connection that says in one line what is wrong with its file."""

    path: Path | None = None  # for messages
    reading = False  # nobody handles errors of the disk here

    def execute(self, *given: Any) -> Any:
        return self.cursor(_Cursor).execute(*given)

    def executemany(self, *given: Any) -> Any:
        return self.cursor(_Cursor).executemany(*given)


def _told(error: sqlite3.DatabaseError | UnicodeDecodeError, db: sqlite3.Connection) -> ForagerError | None:
    """The error to be raised in the place of this one, if there is a better one."""
    name, path = getattr(error, "sqlite_errorname", ""), getattr(db, "path", None)
    if isinstance(error, UnicodeDecodeError) or name.startswith(_DAMAGED) or _NO_TEXT in str(error):
        return damaged_database(path, str(error))
    return ForagerError(f"{path} cannot be read: {error}") if name and getattr(db, "reading", False) else None


def damaged_database(path: Path | None, how: str) -> DamagedError:
    """The error for a database that is damaged."""
    place, folder = (path or "the database"), (path.parent if path else "PROJECT")
    cure = f"restore it from a copy, or run forager recover {folder}, which builds it again from the archive"
    return DamagedError(f"{place} is damaged ({' '.join(how.split())}): {cure}")
