"""A directory as a table: CSV, or TSV without quoting, with a head that names the columns.

`url` and `category` must be there, `title` and `description` may; others are passed over.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from forager.errors import ForagerError
from forager.files import open_bytes
from forager.topics.directory.listing import Fault, Listing, Reading, Skip, dotted, one_line
from forager.web.urls import RULES

NEEDED, WELCOME = ("url", "category"), ("title", "description")
LONGEST = 1 << 20  # bytes of a line: what has no lines is not read into memory
_BOM = b"\xef\xbb\xbf"


def read_table(file: Path, reading: Reading, separator: str = ".") -> Iterator[Listing]:
    """A listing a row. `separator` is what stands between the levels of a category."""
    with open_bytes(file) as stream:
        yield from _Table(str(file), reading, separator).listings(stream)


class _Table:
    def __init__(self, source: str, reading: Reading, separator: str) -> None:
        self._source, self._reading, self._separator = source, reading, separator
        self._line = self._byte = 0  # of what was read
        self._at = (1, 0)  # line and byte at which the row began

    def listings(self, stream: BinaryIO) -> Iterator[Listing]:
        head = stream.readline(LONGEST).removeprefix(_BOM)
        self._line, self._byte = 1, stream.tell()
        tabs = b"\t" in head
        columns = self._columns(head, tabs)
        for row in self._rows(stream, tabs):
            listing = self._listing(row, columns) if row else None
            if listing is not None:
                yield listing

    def _columns(self, head: bytes, tabs: bool) -> Mapping[str, int]:
        names = next(csv.reader([head.decode("utf-8", "replace")], delimiter="\t" if tabs else ","), [])
        places = {name.strip().lower(): place for place, name in enumerate(names)}
        missing = [name for name in NEEDED if name not in places]
        if missing:
            found = ", ".join(one_line(name)[:30] for name in names[:8]) or "nothing"
            raise ForagerError(
                f"{self._source} has no column {' and no column '.join(missing)}: its first line must name the columns "
                f"({', '.join((*NEEDED, *WELCOME))}), and has {found}"
            )
        return {name: places[name] for name in (*NEEDED, *WELCOME) if name in places}

    def _rows(self, stream: BinaryIO, tabs: bool) -> Iterator[list[str]]:
        lines = self._lines(stream)
        rows = csv.reader(lines, delimiter="\t" if tabs else ",", quoting=csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL)
        while True:
            self._at = (self._line + 1, self._byte)
            try:
                yield next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                self._fault(str(error))

    def _lines(self, stream: BinaryIO) -> Iterator[str]:
        while raw := stream.readline(LONGEST):
            self._line, self._byte = self._line + 1, self._byte + len(raw)
            self._reading.advance(len(raw))
            try:
                yield raw.decode("utf-8")
            except UnicodeDecodeError as error:
                self._at = (self._line, self._byte - len(raw))
                self._fault(f"not UTF-8 ({error.reason})")
                self._at = (self._line + 1, self._byte)

    def _fault(self, what: str) -> None:
        self._reading.fault(Fault(self._source, *self._at, what))

    def _listing(self, row: list[str], columns: Mapping[str, int]) -> Listing | None:
        fields = {name: row[place] for name, place in columns.items() if place < len(row)}
        if not fields.keys() >= set(NEEDED):
            self._fault(f"the row has {len(row)} fields, too few for {' and '.join(NEEDED)}")
            return None
        url = RULES.canonical(fields["url"].strip())
        category = dotted(fields["category"].split(self._separator))
        if url is None or not category:
            self._reading.skip(Skip.NOT_HTTP if url is None else Skip.NO_CATEGORY)
            return None
        return Listing(url, category, one_line(fields.get("title")), one_line(fields.get("description")))
