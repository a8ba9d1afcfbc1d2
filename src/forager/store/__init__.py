"""Storing only stores: a crawl's records go to disk in groups, and come back in order.

`Store` writes, one for each project. `Catalogue` and `SearchIndex` read, also while a crawl runs.
"""

from forager.store.catalogue import Catalogue, Entry, Status, Way
from forager.store.commit import Store
from forager.store.records import NewUrl, Outcome, Record, Rejudged, Session, Stored, StoreFull, UrlColumns
from forager.store.redirected import aliases
from forager.store.search import Hit, SearchIndex

__all__ = [
    "Catalogue",
    "Entry",
    "Hit",
    "NewUrl",
    "Outcome",
    "Record",
    "Rejudged",
    "SearchIndex",
    "Session",
    "Status",
    "Store",
    "StoreFull",
    "Stored",
    "UrlColumns",
    "Way",
    "aliases",
]
