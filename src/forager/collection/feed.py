"""New pages as an Atom feed (RFC 4287), which feed readers and other programs follow.

Ids are made from the id of the project and the URL, so that a reader knows an entry again whenever the feed is written.
Titles are strangers' text: what XML cannot hold, and signs that turn the direction of text, are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID, uuid5
from xml.etree import ElementTree

from forager.errors import plain
from forager.store.catalogue import Entry

ATOM = "http://www.w3.org/2005/Atom"


def atom_feed(project: str, title: str, pages: Sequence[Entry]) -> bytes:
    """The feed of a project, by its id, with these pages in this order. It is ASCII, so that it can go anywhere."""
    feed = ElementTree.Element("feed", xmlns=ATOM)
    newest = max((page.asked_at for page in pages), default=None) or datetime.now(UTC)
    _add(feed, id=UUID(project).urn, title=title, updated=_time(newest))
    _add(ElementTree.SubElement(feed, "author"), name=title)  # RFC 4287 wants one; who wrote the pages is not known
    _add(feed, generator="Forager")
    for page in pages:
        _add_entry(feed, UUID(project), page)
    ElementTree.indent(feed)
    return bytes(ElementTree.tostring(feed, encoding="us-ascii", xml_declaration=True)) + b"\n"


def _add_entry(feed: ElementTree.Element, project: UUID, page: Entry) -> None:
    entry, found = ElementTree.SubElement(feed, "entry"), _time(page.asked_at)
    _add(entry, id=uuid5(project, page.url).urn, title=plain(page.title).strip() or page.url)
    ElementTree.SubElement(entry, "link", rel="alternate", href=plain(page.url))
    _add(entry, published=found, updated=found)
    judged = "not judged" if math.isnan(page.relevance) else f"relevance {page.relevance:.3f}"
    _add(entry, summary=f"{judged}; found on {page.parent}" if page.parent else f"{judged}; a seed")


def _add(parent: ElementTree.Element, **texts: str) -> None:
    for name, text in texts.items():
        ElementTree.SubElement(parent, name).text = plain(text)


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
