"""From a directory of topics, such as the Open Directory, to classes for a critic.

listing     the words: listings, categories, and the progress of an import
sources     reads a table or a folder of pages, and knows which source is which
rdf         reads the dumps of the Open Directory
catalogue   an imported directory: one SQLite file
prune       merges small categories until every class has enough examples
"""

from forager.topics.directory.catalogue import CategoryCount, CategoryDetails, Directory, import_directory
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
from forager.topics.directory.sources import read_source

__all__ = [
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
    "import_directory",
    "prune",
    "read_source",
]
