"""Any source, told apart by what it is: a folder, XML, or else a table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from forager.errors import ForagerError
from forager.files import open_bytes
from forager.topics.directory.listing import Item, Reading
from forager.topics.directory.rdf import read_rdf
from forager.topics.directory.table import read_table
from forager.topics.directory.tree import read_tree


def read_source(source: Path, reading: Reading, *, separator: str = ".") -> Iterator[Item]:
    """What a source holds, one at a time. `separator` is for the categories of a table."""
    if not source.exists():
        raise ForagerError(f"there is no {source}: name an RDF dump, a table with url and category, or a folder")
    if source.is_dir():
        return read_tree(source, reading)
    with open_bytes(source) as stream:
        beginning = stream.read(512).removeprefix(b"\xef\xbb\xbf").lstrip()
    return read_rdf(source, reading) if beginning.startswith(b"<") else read_table(source, reading, separator)
