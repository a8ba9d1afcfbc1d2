"""From a page to its typed parts: by its headings, if all is on one page, and by its anchors, if each part has a page.

A heading's part is what stands under it, up to the next heading. Its type is the one that the heading names, else that
of the heading it stands under: <h2>Lectures</h2> … <h3>Sorting</h3> has two parts, both lectures. An anchor's part is
the page it leads to; its type is the one that the anchor names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from forager.collection.courses.headings import BOLD_LEVEL, Title, clip, headings
from forager.collection.courses.kinds import Kind
from forager.collection.courses.naming import named
from forager.types import Page, Url

TEXT, LINKS = 4_000, 200  # characters and links of a part
MOST, MOST_LINKS = 1_000, 20_000  # parts of a page of each sort; links of it that are looked at
_LEAVES = 2_000  # of a part that are read
_NAME = 200  # characters of an anchor that are kept


class Found(StrEnum):
    """What says the type of a part."""

    HEADING = "heading"
    ANCHOR = "anchor"


@dataclass(frozen=True, slots=True)
class Reference:
    """A link in a part."""

    anchor: str
    url: Url


@dataclass(frozen=True, slots=True)
class Part:
    type: Kind
    name: str  # the heading or anchor, as written
    found: Found
    source: Url  # the page that it stands on
    target: Url | None  # the page that an anchor leads to
    text: str  # what stands under the heading; of an anchor's part none is known here
    links: tuple[Reference, ...]


def parts_of(page: Page) -> list[Part]:
    """The typed parts of a page, in its order: those of headings first."""
    return [*heading_parts(page), *anchor_parts(page)]


def heading_parts(page: Page) -> Iterator[Part]:
    """One for each heading of a type."""
    titles = _dividing(headings(page))[:MOST]
    ends = [*(title.first for title in titles[1:]), len(page.leaves)]
    for title, kind, end in zip(titles, _kinds(titles), ends, strict=False):  # no title, no end
        if kind is not Kind.NONE:
            first = title.last + 1
            text = clip(page.leaves[first : min(end, first + _LEAVES)], TEXT).lstrip(": ")
            yield Part(kind, title.text, Found.HEADING, page.url, None, text, references(page, title.first, end))


def anchor_parts(page: Page) -> Iterator[Part]:
    """One for each link whose anchor names a type; links that say the same of the same page count once."""
    seen: set[tuple[str, Url]] = set()
    for anchor, target in zip(page.links.anchors[:MOST_LINKS], page.links.targets, strict=False):
        kind = named(anchor)
        if kind is None or kind is Kind.NONE or (anchor, target) in seen:
            continue
        seen.add((anchor, target))
        yield Part(kind, anchor[:_NAME], Found.ANCHOR, page.url, target, "", (Reference(anchor[:_NAME], target),))
        if len(seen) == MOST:
            return


def references(page: Page, first: int, end: int) -> tuple[Reference, ...]:
    """The links that begin in these leaves."""
    links = page.links
    low, high = np.searchsorted(links.first_leaf, [first, end])
    rows = range(int(low), min(int(high), int(low) + LINKS))
    return tuple(Reference(links.anchors[row][:_NAME], links.targets[row]) for row in rows)


def _dividing(titles: Sequence[Title]) -> list[Title]:
    """Without bold lines that name nothing, unless they end a part that another bold line began."""
    kept: list[Title] = []
    for title in titles:
        if title.level < BOLD_LEVEL or named(title.text) is not None or (kept and kept[-1].level >= BOLD_LEVEL):
            kept.append(title)
    return kept


def _kinds(titles: Sequence[Title]) -> Iterator[Kind]:
    """The type of each heading: its own, or that of the one above it."""
    above: list[tuple[int, Kind]] = []
    for title in titles:
        while above and above[-1][0] >= title.level:
            above.pop()
        own = named(title.text)
        kind = own if own is not None else above[-1][1] if above else Kind.NONE
        above.append((title.level, kind))
        yield kind
