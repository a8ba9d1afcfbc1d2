"""From a directory of topics, such as the Open Directory, to classes for a critic.

listing     the words: listings, categories, and the progress of an import
sources     reads a table or a folder of pages, and knows which source is which
rdf         reads the dumps of the Open Directory
catalogue   an imported directory: one SQLite file
levels      on which level of a path a page is, by its categories
prune       merges small categories until every class has enough examples
"""

from collections.abc import Iterator
from pathlib import Path

from forager.errors import ForagerError
from forager.files import open_bytes
from forager.topics.directory.catalogue import CategoryCount, CategoryDetails, Directory, import_directory
from forager.topics.directory.levels import DIRECTORY, directory_levels
from forager.topics.directory.listing import (
    Category,
    DirectoryItem,
    ImportProgress,
    Listing,
    Relation,
    SkipReason,
    SourceFault,
)
from forager.topics.directory.prune import OTHER, PrunedClasses, balanced, prune
from forager.topics.directory.rdf import read_rdf
from forager.topics.directory.sources import read_folder, read_table

__all__ = [
    "DIRECTORY",
    "OTHER",
    "Category",
    "CategoryCount",
    "CategoryDetails",
    "Directory",
    "DirectoryItem",
    "ImportProgress",
    "Listing",
    "PrunedClasses",
    "Relation",
    "SkipReason",
    "SourceFault",
    "balanced",
    "directory_levels",
    "import_directory",
    "prune",
    "read_source",
]

_BOM = b"\xef\xbb\xbf"


def read_source(source: Path, progress: ImportProgress, *, separator: str = ".") -> Iterator[DirectoryItem]:
    """The listings and categories of a source, one at a time: of a folder of pages, an RDF dump, or else a table.

    `separator` is for the categories of a table.
    """
    if not source.exists():
        raise ForagerError(f"there is no {source}: name an RDF dump, a table with url and category, or a folder")
    if source.is_dir():
        return read_folder(source, progress)
    with open_bytes(source) as stream:
        beginning = stream.read(512).removeprefix(_BOM).lstrip()
    return read_rdf(source, progress) if beginning.startswith(b"<") else read_table(source, progress, separator)
