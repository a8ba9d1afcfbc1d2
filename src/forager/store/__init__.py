"""The store of a project: the records of a crawl go to disk in groups, and come back in order.

`Store` writes; a project has one at a time. `Catalogue` and `SearchIndex` read, also while a crawl runs.
"""

from forager.store.catalogue import Catalogue, Entry, PageChange, Waypoint, aliases
from forager.store.commit import Store
from forager.store.damage import DamagedError, DamageWarning
from forager.store.history import SeenPage
from forager.store.rebuild import OldCatalogue, RebuiltStore, old_catalogue
from forager.store.recorded import RecordedProject
from forager.store.records import (
    CrawlSession,
    NewUrl,
    Record,
    RecordOutcome,
    Rejudged,
    ReturnedUrl,
    Stored,
    StoreFull,
    UrlColumns,
)
from forager.store.search import Hit, SearchIndex
from forager.store.status import ProjectStatus, SessionFigures
from forager.store.verify import CheckResult, Finding

__all__ = [
    "Catalogue",
    "CheckResult",
    "CrawlSession",
    "DamageWarning",
    "DamagedError",
    "Entry",
    "Finding",
    "Hit",
    "NewUrl",
    "OldCatalogue",
    "PageChange",
    "ProjectStatus",
    "RebuiltStore",
    "Record",
    "RecordOutcome",
    "RecordedProject",
    "Rejudged",
    "ReturnedUrl",
    "SearchIndex",
    "SeenPage",
    "SessionFigures",
    "Store",
    "StoreFull",
    "Stored",
    "UrlColumns",
    "Waypoint",
    "aliases",
    "old_catalogue",
]
