"""Pages parsed once and kept on disk, so that a second run of the laboratory does not parse again."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from xxhash import xxh3_128_digest

from forager.types import Failure, Fetch, Page
from forager.web.page import FEATURES, from_bytes, parse, to_bytes

GROUP = 64  # pages written in one transaction


def cache_folder() -> Path:
    """`$FORAGER_CACHE`, else `forager` in the user's cache folder."""
    chosen = os.environ.get("FORAGER_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "forager"


class PageCache:
    """A reader of answers that parses each body once. Several processes may share one file.

    The key is the body with everything else that decides how it is parsed, so that a changed recording or a new version
    of the parser is never served old pages.
    """

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._pages = sqlite3.connect(file, timeout=60, isolation_level=None)
        self._pages.execute("pragma journal_mode = wal")
        self._pages.execute("pragma synchronous = off")  # a cache may be lost
        self._pages.execute("create table if not exists page(key blob primary key, parsed blob) without rowid")
        self._unwritten: list[tuple[bytes, bytes]] = []

    def read(self, answer: Fetch) -> Page | Failure:
        key = _key(answer)
        row = self._pages.execute("select parsed from page where key = ?", (key,)).fetchone()
        if row is not None:
            return from_bytes(row[0])
        page = parse(answer)
        if isinstance(page, Page):
            self._unwritten.append((key, to_bytes(page)))
            if len(self._unwritten) >= GROUP:
                self.write()
        return page

    def write(self) -> None:
        """Put what was parsed on disk; another process may have been first."""
        with self._pages:
            self._pages.execute("begin immediate")
            self._pages.executemany("insert or ignore into page values(?, ?)", self._unwritten)
        self._unwritten.clear()

    def close(self) -> None:
        self.write()
        self._pages.close()


def _key(answer: Fetch) -> bytes:
    about = f"{FEATURES}\0{answer.url}\0{answer.content_type}\0{answer.charset}\0"
    return xxh3_128_digest(about.encode() + answer.body)
