"""Directories of topics: read from dumps, tables and folders, kept in one file, pruned to classes for a critic."""

from forager.topics.directory.catalogue import Counted, Directory, Shown, import_directory
from forager.topics.directory.listing import Category, Fault, Item, Listing, Reading, Relation, Skip
from forager.topics.directory.prune import OTHER, Pruned, balanced, prune
from forager.topics.directory.sources import read_source

__all__ = [
    "OTHER",
    "Category",
    "Counted",
    "Directory",
    "Fault",
    "Item",
    "Listing",
    "Pruned",
    "Reading",
    "Relation",
    "Shown",
    "Skip",
    "balanced",
    "import_directory",
    "prune",
    "read_source",
]
