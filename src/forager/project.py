"""A project: a folder with a topic, a crawl that can be stopped and resumed, and the collection it brings home."""

from __future__ import annotations

from forager.crawl.folder import CONFIG as CONFIG
from forager.crawl.folder import CrawlFolder
from forager.crawl.folder import empty_folder as empty_folder
from forager.crawl.folder import read_seeds as read_seeds


class Project(CrawlFolder):
    """A folder with a topic, a crawl and its collection."""
