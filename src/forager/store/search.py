"""Full-text search over the pages of a project. Its index is a file of its own and can be made again at any time.

Queries are FTS5's: `deep learning`, `"deep learning"`, `deep OR machine`, `learning NOT deep`, `learn*`, `title: deep`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Self, TypeVar

from forager.errors import ForagerError
from forager.store.catalogue import Catalogue, Entry
from forager.store.schema import open_as_it_is

T = TypeVar("T")
FILE = "search.sqlite"
VERSION = 1
TITLE_WEIGHT = 5.0  # a word in the title counts as much as so many in the text
BATCH = 64
_ROWS = "SELECT seq, url, title, relevance, bm25(page, ?2, 1.0) AS rank, snippet(page, 1, ?3, ?4, '…', 16) FROM page"


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that was found."""

    seq: int
    url: str
    title: str
    relevance: float | None
    rank: float  # by bm25: larger is better
    snippet: str


class SearchIndex:
    """The index of one project. Invariant: it has each page with seq <= `indexed` as it was last seen, and no
    others."""

    def __init__(self, folder: Path) -> None:
        self._catalogue = Catalogue(folder)
        self._path = folder / FILE
        # In a folder that cannot be written, the index goes when it is closed.
        self._kept = os.access(folder, os.W_OK) and (os.access(self._path, os.W_OK) or not self._path.exists())
        try:
            self._db = self._open()
        except BaseException:
            self._catalogue.close()
            raise

    def _open(self) -> sqlite3.Connection:
        """The index, if it is undamaged and of this project; else an empty one in its place."""
        if not self._kept:
            return self._copied() or self._anew()
        db = sqlite3.connect(self._path, isolation_level=None, timeout=30)
        try:
            if self._usable(db):
                return db
        except sqlite3.OperationalError as error:
            db.close()
            raise ForagerError(f"{self._path} cannot be used: {error}") from error
        except sqlite3.DatabaseError:  # damaged, so it is made again
            pass
        db.close()
        return self._anew()

    def _copied(self) -> sqlite3.Connection | None:
        """A copy of the index that is there, if there is one that can be used."""
        if not self._path.exists():
            return None
        db = _nameless()
        try:
            with closing(open_as_it_is(self._path)) as found:
                found.backup(db)
            if self._usable(db):
                return db
        except (sqlite3.DatabaseError, ForagerError):
            pass
        db.close()
        return None

    def _anew(self) -> sqlite3.Connection:
        if not self._kept:
            db = _nameless()
        else:
            for suffix in ("", "-wal", "-shm"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
            db = sqlite3.connect(self._path, isolation_level=None, timeout=30)
        self._make(db)
        return db

    def _usable(self, db: sqlite3.Connection) -> bool:
        if db.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            return False
        row = db.execute("SELECT project, indexed FROM upto").fetchone()
        return bool(row and row[0] == self._catalogue.project and row[1] <= self._catalogue.last_seq)

    def _make(self, db: sqlite3.Connection) -> None:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = OFF")  # can be made again
        db.execute("BEGIN IMMEDIATE")
        db.execute(
            "CREATE VIRTUAL TABLE page USING fts5(title, text, url UNINDEXED, relevance UNINDEXED, seq UNINDEXED,"
            " tokenize = 'unicode61 remove_diacritics 2')"
        )
        db.execute("CREATE TABLE upto(project TEXT NOT NULL, indexed INTEGER NOT NULL)")
        db.execute("INSERT INTO upto VALUES (?, -1)", (self._catalogue.project,))
        db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute("COMMIT")

    @property
    def indexed(self) -> int:
        """The last seq that is in the index."""
        return int(self._db.execute("SELECT indexed FROM upto").fetchone()[0])

    @property
    def behind(self) -> int:
        """How many pages were stored since the last update."""
        return self._catalogue.count(after=self.indexed)

    def update(self, tell: Callable[[int], None] = lambda pages: None) -> int:
        """Add the pages that were stored since the last update; returns how many. If it is interrupted, the next update
        goes on from there. `tell` is called with the number of pages done."""
        return self._mended(lambda: self._update(tell))

    def _mended(self, ask: Callable[[], T]) -> T:
        """What `ask` gives. If the index is damaged, it is made again first."""
        try:
            return ask()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            self._db.close()
            self._db = self._anew()
            self._update(lambda pages: None)
            return ask()

    def _update(self, tell: Callable[[int], None]) -> int:
        upto, count = self._catalogue.last_seq, 0
        pages = self._catalogue.pages(after=self.indexed)
        while batch := list(islice(pages, BATCH)):
            self._take_in(batch, batch[-1].seq)
            count += len(batch)
            tell(count)
        self._take_in([], max(upto, self.indexed))
        return count

    def _take_in(self, entries: list[Entry], upto: int) -> None:
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        try:
            # The row number is the id of the URL, so that a page that was fetched again replaces its old row.
            db.executemany("DELETE FROM page WHERE rowid = ?", [(entry.id,) for entry in entries])
            db.executemany(
                "INSERT INTO page (rowid, title, text, url, relevance, seq) VALUES (?, ?, ?, ?, ?, ?)",
                ((e.id, e.title, self._catalogue.text(e), e.url, e.relevance, e.seq) for e in entries),
            )
            db.execute("UPDATE upto SET indexed = max(indexed, ?)", (upto,))
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise

    def search(
        self, query: str, limit: int = 20, *, min_relevance: float | None = None, marks: tuple[str, str] = ("[", "]")
    ) -> list[Hit]:
        """The pages that match, the best first. In snippets the words that were found are between the marks."""
        if not query.strip():
            raise ForagerError("nothing to search for: give a word, or a phrase in double quotes")
        least = "" if min_relevance is None else "AND relevance >= ?5"
        given: tuple[Any, ...] = (query, TITLE_WEIGHT, *marks, min_relevance, limit)
        sql = f"{_ROWS} WHERE page MATCH ?1 {least} ORDER BY rank, seq LIMIT ?6"
        try:
            return self._mended(lambda: list(_hits(self._db.execute(sql, given))))
        except sqlite3.OperationalError as error:
            told = str(error).removeprefix("fts5: ")
            raise ForagerError(f"cannot search for {query!r} ({told}): put words with signs in double quotes") from None

    def close(self) -> None:
        self._db.close()
        self._catalogue.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _nameless() -> sqlite3.Connection:
    """A database without a name, which goes when it is closed."""
    return sqlite3.connect("", isolation_level=None)


def _hits(rows: sqlite3.Cursor) -> Iterator[Hit]:
    for seq, url, title, relevance, rank, snippet in rows:
        yield Hit(seq, url, title, relevance, -rank, snippet)
