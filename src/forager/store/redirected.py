"""Which URLs led to which pages by redirects."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from forager.store.reading import read_records, read_urls
from forager.store.schema import open_to_read


def aliases(project: Path, pages: Collection[str]) -> dict[str, str]:
    """The URLs that redirects led from to a page, with the page: the last of the way, however long it was."""
    db = open_to_read(project)
    try:
        urls = [text for chunk in read_urls(db, 10_000) for text in chunk.texts]
        pairs = [pair for stored in read_records(db, lambda at, length: b"", -1) for pair in stored.redirects]
    finally:
        db.close()
    onward = {urls[source]: urls[target] for source, target in pairs}
    ends = {source: _end(source, onward, pages) for source in onward if source not in pages}
    return {source: end for source, end in ends.items() if end is not None}


def _end(url: str, onward: Mapping[str, str], pages: Collection[str]) -> str | None:
    """The page that redirects lead to; None if there is none, or they go round in a circle."""
    for _ in range(len(onward) + 1):
        if url in pages:
            return url
        if url not in onward:
            return None
        url = onward[url]
    return None
