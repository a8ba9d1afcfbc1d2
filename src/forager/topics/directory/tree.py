"""A directory as a tree of folders with saved pages in them: `Arts/Music/bach.html` is in the category Arts.Music.

The URL of a listing is the file's (`file:///…`). Title and description are what the beginning of the page declares.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

from forager.errors import ForagerError
from forager.topics.directory.listing import Listing, Reading, Skip, dotted, one_line

PAGES = frozenset({".html", ".htm", ".xhtml", ".shtml", ".txt"})
BEGINNING = 1 << 16  # bytes in which title and description are looked for
_TITLE = re.compile(r"<title\b[^>]*>([^<]*)", re.IGNORECASE)
_META = re.compile(r"<meta\b[^>]*>", re.IGNORECASE)
_NAMED = re.compile(r"""\bname\s*=\s*["']?description["'\s/>]""", re.IGNORECASE)
_CONTENT = re.compile(r"""\bcontent\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)


def read_tree(folder: Path, reading: Reading) -> Iterator[Listing]:
    """In order of the paths. Hidden files are not seen, links to folders not followed."""
    for above, folders, files in os.walk(folder, onerror=_cannot):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        category = dotted(map(_name, Path(above).relative_to(folder).parts))
        for name in sorted(name for name in files if not name.startswith(".")):
            file = Path(above, name)
            if file.suffix.lower() not in PAGES or not file.is_file():
                reading.skip(Skip.NOT_A_PAGE)
            elif not category:
                reading.skip(Skip.NO_CATEGORY)
            else:
                yield _listing(file, category, reading)


def _name(part: str) -> str:
    """A folder's name as text, whatever bytes it has."""
    return os.fsencode(part).decode("utf-8", "replace")


def _cannot(error: OSError) -> None:
    raise ForagerError(f"{error.filename} cannot be read: {error.strerror}")


def _listing(file: Path, category: str, reading: Reading) -> Listing:
    try:
        with file.open("rb") as stream:
            beginning = stream.read(BEGINNING)
    except OSError as error:
        raise ForagerError(f"{file} cannot be read: {error.strerror}") from None
    reading.advance(len(beginning))
    text = _decoded(beginning)
    title = _TITLE.search(text)
    return Listing(file.absolute().as_uri(), category, one_line(unescape(title[1])) if title else "", _described(text))


def _decoded(beginning: bytes) -> str:
    """UTF-8 if it is, with a last character that may be cut; else the encoding that most other pages have."""
    try:
        return beginning.decode("utf-8")
    except UnicodeDecodeError as error:
        cut = len(beginning) == BEGINNING and error.start >= len(beginning) - 3
        return beginning.decode("utf-8", "ignore") if cut else beginning.decode("cp1252", "replace")


def _described(text: str) -> str:
    for tag in _META.findall(text):
        content = _CONTENT.search(tag) if _NAMED.search(tag) else None
        if content:
            return one_line(unescape(content[1] or content[2] or ""))
    return ""
