"""What a directory says about the level of a page on a topic path, as if it were a judge.

It is the lowest level whose topic one of the categories of the page is, or lies under; outside if there is none. A page
that is not listed has no such level.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from forager.learn.focus import below
from forager.store.verdicts import OUTSIDE, PageVerdict, VerdictUse
from forager.topics.directory.catalogue import Directory

DIRECTORY = "the directory"  # its name as a judge


def directory_levels(directory: Directory, path: Sequence[str], urls: Iterable[str]) -> dict[str, PageVerdict]:
    """What the directory says about those of the pages that it lists, as if it were a judge."""
    wanted, found = frozenset(urls), dict[str, int]()
    for listing in directory.listings():
        if listing.url in wanted:
            here = (level for level, topic in enumerate(path, 1) if below(listing.category, topic))
            found[listing.url] = min(next(here, len(path) + 1), found.get(listing.url, len(path) + 1))
    named = {url: OUTSIDE if level > len(path) else str(level) for url, level in found.items()}
    return {url: PageVerdict(url, said, DIRECTORY, None, "", VerdictUse.LEVEL) for url, said in named.items()}
