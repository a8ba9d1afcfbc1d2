"""Directories of topics as tables and as folders of pages.

A table is CSV, or TSV without quotes, and its first line names the columns. It must have `url` and `category`, it may
have `title` and `description`, and other columns are ignored.

A folder has saved pages in folders that are the categories: `Arts/Music/bach.html` is in the category Arts.Music. The
URL of a listing is the file's (`file:///…`). Title and description are what the beginning of the page declares.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path
from typing import BinaryIO

from forager.errors import ForagerError
from forager.files import open_bytes
from forager.topics.directory.listing import (
    ImportProgress,
    Listing,
    SkipReason,
    SourceFault,
    dotted,
    one_line,
)
from forager.web.urls import RULES

_BOM = b"\xef\xbb\xbf"


# ---- tables ---------------------------------------------------------------------------------------------------------

NEEDED, OPTIONAL = ("url", "category"), ("title", "description")
LONGEST = 1 << 20  # bytes of a line, so that a file without lines is not read into memory


def read_table(file: Path, progress: ImportProgress, separator: str = ".") -> Iterator[Listing]:
    """One listing for each row. `separator` stands between the levels of a category."""
    with open_bytes(file) as stream:
        yield from _Table(str(file), progress, separator).listings(stream)


class _Table:
    def __init__(self, source: str, progress: ImportProgress, separator: str) -> None:
        self._source, self._progress, self._separator = source, progress, separator
        self._line = self._byte = 0  # read so far
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
                f"({', '.join((*NEEDED, *OPTIONAL))}), but it has {found}"
            )
        return {name: places[name] for name in (*NEEDED, *OPTIONAL) if name in places}

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
            self._progress.advance(len(raw))
            try:
                yield raw.decode("utf-8")
            except UnicodeDecodeError as error:
                self._at = (self._line, self._byte - len(raw))
                self._fault(f"not UTF-8 ({error.reason})")
                self._at = (self._line + 1, self._byte)

    def _fault(self, what: str) -> None:
        self._progress.fault(SourceFault(self._source, *self._at, what))

    def _listing(self, row: list[str], columns: Mapping[str, int]) -> Listing | None:
        fields = {name: row[place] for name, place in columns.items() if place < len(row)}
        if not fields.keys() >= set(NEEDED):
            self._fault(f"the row has {len(row)} fields, too few for {' and '.join(NEEDED)}")
            return None
        url = RULES.canonical(fields["url"].strip())
        category = dotted(fields["category"].split(self._separator))
        if url is None or not category:
            self._progress.skip(SkipReason.NOT_HTTP if url is None else SkipReason.NO_CATEGORY)
            return None
        return Listing(url, category, one_line(fields.get("title")), one_line(fields.get("description")))


# ---- folders --------------------------------------------------------------------------------------------------------

PAGES = frozenset({".html", ".htm", ".xhtml", ".shtml", ".txt"})
BEGINNING = 1 << 16  # bytes in which title and description are looked for
_TITLE = re.compile(r"<title\b[^>]*>([^<]*)", re.IGNORECASE)
_META = re.compile(r"<meta\b[^>]*>", re.IGNORECASE)
_NAMED = re.compile(r"""\bname\s*=\s*["']?description["'\s/>]""", re.IGNORECASE)
_CONTENT = re.compile(r"""\bcontent\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)


def read_folder(folder: Path, progress: ImportProgress) -> Iterator[Listing]:
    """The pages of a folder, in the order of their paths. Hidden files and links to folders are left out."""
    for above, folders, files in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        category = dotted(map(_folder_name, Path(above).relative_to(folder).parts))
        for name in sorted(name for name in files if not name.startswith(".")):
            file = Path(above, name)
            if file.suffix.lower() not in PAGES or not file.is_file():
                progress.skip(SkipReason.NOT_A_PAGE)
            elif not category:
                progress.skip(SkipReason.NO_CATEGORY)
            else:
                yield _page_listing(file, category, progress)


def _folder_name(part: str) -> str:
    """The name as text, whatever bytes it has."""
    return os.fsencode(part).decode("utf-8", "replace")


def _refuse(error: OSError) -> None:
    raise ForagerError(f"{error.filename} cannot be read: {error.strerror}")


def _page_listing(file: Path, category: str, progress: ImportProgress) -> Listing:
    try:
        with file.open("rb") as stream:
            beginning = stream.read(BEGINNING)
    except OSError as error:
        raise ForagerError(f"{file} cannot be read: {error.strerror}") from None
    progress.advance(len(beginning))
    text = _decoded(beginning)
    title = _TITLE.search(text)
    return Listing(
        file.absolute().as_uri(), category, one_line(unescape(title[1])) if title else "", _description(text)
    )


def _decoded(beginning: bytes) -> str:
    """As UTF-8, whose last character may be cut; if it is not UTF-8, in the encoding that is most common otherwise."""
    try:
        return beginning.decode("utf-8")
    except UnicodeDecodeError as error:
        cut = len(beginning) == BEGINNING and error.start >= len(beginning) - 3
        return beginning.decode("utf-8", "ignore") if cut else beginning.decode("cp1252", "replace")


def _description(text: str) -> str:
    for tag in _META.findall(text):
        content = _CONTENT.search(tag) if _NAMED.search(tag) else None
        if content:
            return one_line(unescape(content[1] or content[2] or ""))
    return ""
