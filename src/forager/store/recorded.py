"""What is acknowledged of a crawl, for those who read it: records, URLs, and what is in the archive."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from forager.store.aside import LINKS
from forager.store.damage import DamagedError
from forager.store.history import SeenPage, seen_pages
from forager.store.links import LinkPieces
from forager.store.reading import (
    MissedUrl,
    answer_at,
    read_hosts,
    read_misses,
    read_records,
    read_returns,
    read_sessions,
    read_urls,
)
from forager.store.records import CrawlSession, ReturnedUrl, Stored, UrlColumns
from forager.store.schema import open_to_read
from forager.types import Fetch
from forager.web.urls import RULES, UrlRules


class StoredCrawl:
    """The part of a project that can be read. Whoever makes one opens `_db` and says how `links.bin` is read."""

    _db: sqlite3.Connection
    known: int  # how many URLs there are

    def __init__(self, folder: Path, rules: UrlRules = RULES) -> None:
        """`rules` are those by which the links of a page are read again, if what was stored of them is damaged."""
        self.folder, self._rules = folder, rules
        self.warnings: list[str] = []

    def _read_links(self, at: int, length: int) -> bytes:
        raise NotImplementedError

    def records(self, after: int = -1) -> Iterator[Stored]:
        """The acknowledged records after `after`, in order. Those that are damaged are passed over, so that a crawl
        asks for their pages again; `warnings` gets a line about them at the end."""
        pieces, lost = LinkPieces(self._db, self.folder, self._read_links, self._rules), list[int]()
        yield from read_records(self._db, pieces.of, after, lost.append)
        told = f"; forager verify {self.folder} tells more"
        if pieces.again:
            self.warnings.append(f"the links of {len(pieces.again)} pages were damaged: read again from them{told}")
        if lost:
            some = f"{', '.join(map(str, lost[:5]))}{', …' if len(lost) > 5 else ''}"
            self.warnings.append(f"{len(lost)} records are damaged ({some}): their pages are asked for again{told}")

    def urls(self, chunk: int = 65_536) -> Iterator[UrlColumns]:
        """All acknowledged URLs in order of id."""
        return read_urls(self._db, chunk)

    def returns(self) -> dict[int, list[ReturnedUrl]]:
        """The URLs that wait again, by the last record before that."""
        return read_returns(self._db)

    def misses(self) -> Iterator[MissedUrl]:
        """The URLs whose last answer was no page, and which do not wait again yet."""
        return read_misses(self._db)

    def pages(self) -> Iterator[SeenPage]:
        """The pages that were there when they were last asked for, with how often they have changed."""
        return seen_pages(self._db)

    def hosts(self) -> list[str]:
        """Host names by number."""
        return read_hosts(self._db)

    def sessions(self) -> list[CrawlSession]:
        """All runs, oldest first."""
        return read_sessions(self._db)

    def answer_of(self, seq: int) -> Fetch | None:
        """The answer of a record as it came. None if it had no body. A `DamagedError` if it is damaged."""
        return answer_at(self._db, self.folder, seq)

    def holds(self, seq: int, *, whole: bool = False) -> bool:
        """Whether the answer of a record can be read; if it must be `whole`, also whether its body was kept. If it is
        damaged, `warnings` gets a line."""
        try:
            return self.answer_of(seq) is not None or not whole
        except DamagedError as error:
            self.warnings.append(f"{error}; it is asked for again")
            return False


class RecordedProject(StoredCrawl):
    """A project that is only read; a crawl may be running at the same time."""

    def __init__(self, folder: Path, rules: UrlRules = RULES) -> None:
        super().__init__(folder, rules)
        self._db = open_to_read(folder)
        self.known = int(self._db.execute("SELECT coalesce(max(id), -1) + 1 FROM url").fetchone()[0])
        self._links = os.open(folder / LINKS, os.O_RDONLY | os.O_CLOEXEC)

    def _read_links(self, at: int, length: int) -> bytes:
        return os.pread(self._links, length, at)

    def close(self) -> None:
        os.close(self._links)
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
