"""From a page to its typed parts: by its headings, and by the anchors of links to pages that are parts.

The part of a heading is the text under it, up to the next heading. Its type is the one that the heading names, else the
type of the heading above it: <h2>Lectures</h2> … <h3>Sorting</h3> are two parts, both lectures. The part of an anchor
is the page that it leads to, and its type is the one that the anchor names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from forager.collection.courses.headings import BOLD_LEVEL, PageHeading, clip, headings
from forager.collection.courses.naming import named_type
from forager.collection.courses.part_types import PartType
from forager.types import Page, Url

TEXT, LINKS = 4_000, 200  # characters and links of a part
MOST, MOST_LINKS = 1_000, 20_000  # parts of a page by headings, and as many by anchors; links of a page that are read
_LEAVES = 2_000  # leaves of a part that are read
_NAME = 200  # characters of an anchor


class FoundBy(StrEnum):
    """What names the type of a part."""

    HEADING = "heading"
    ANCHOR = "anchor"


@dataclass(frozen=True, slots=True)
class PartLink:
    """A link in a part."""

    anchor: str
    url: Url


@dataclass(frozen=True, slots=True)
class CoursePart:
    """A part of a course, such as an assignment or the syllabus."""

    type: PartType
    name: str  # the heading or anchor, as written
    found: FoundBy
    source: Url  # the page with the heading or anchor
    target: Url | None  # the page that an anchor leads to
    text: str  # the text under the heading; "" for the part of an anchor
    links: tuple[PartLink, ...]


def parts_of(page: Page) -> list[CoursePart]:
    """The typed parts of a page, in its order; those of headings come first."""
    return [*heading_parts(page), *anchor_parts(page)]


def heading_parts(page: Page) -> Iterator[CoursePart]:
    """One part for each heading with a type."""
    titles = _dividing(headings(page))[:MOST]
    ends = [*(title.first for title in titles[1:]), len(page.leaves)]
    for title, kind, end in zip(titles, _kinds(titles), ends, strict=False):  # without headings there is still one end
        if kind is not PartType.NONE:
            first = title.last + 1
            text = clip(page.leaves[first : min(end, first + _LEAVES)], TEXT).lstrip(": ")
            yield CoursePart(
                kind, title.text, FoundBy.HEADING, page.url, None, text, references(page, title.first, end)
            )


def anchor_parts(page: Page) -> Iterator[CoursePart]:
    """One part for each link whose anchor names a type. Links with the same anchor and target count once."""
    seen: set[tuple[str, Url]] = set()
    for anchor, target in zip(page.links.anchors[:MOST_LINKS], page.links.targets, strict=False):
        kind = named_type(anchor)
        if kind is None or kind is PartType.NONE or (anchor, target) in seen:
            continue
        seen.add((anchor, target))
        yield CoursePart(
            kind, anchor[:_NAME], FoundBy.ANCHOR, page.url, target, "", (PartLink(anchor[:_NAME], target),)
        )
        if len(seen) == MOST:
            return


def references(page: Page, first: int, end: int) -> tuple[PartLink, ...]:
    """The links that begin in the leaves from `first` up to `end`."""
    links = page.links
    low, high = np.searchsorted(links.first_leaf, [first, end])
    rows = range(int(low), min(int(high), int(low) + LINKS))
    return tuple(PartLink(links.anchors[row][:_NAME], links.targets[row]) for row in rows)


def _dividing(titles: Sequence[PageHeading]) -> list[PageHeading]:
    """The headings that divide the page: bold lines that name nothing count only after another bold line."""
    kept: list[PageHeading] = []
    for title in titles:
        if title.level < BOLD_LEVEL or named_type(title.text) is not None or (kept and kept[-1].level >= BOLD_LEVEL):
            kept.append(title)
    return kept


def _kinds(titles: Sequence[PageHeading]) -> Iterator[PartType]:
    """The type of each heading: its own, or that of the heading above it."""
    above: list[tuple[int, PartType]] = []
    for title in titles:
        while above and above[-1][0] >= title.level:
            above.pop()
        own = named_type(title.text)
        kind = own if own is not None else above[-1][1] if above else PartType.NONE
        above.append((title.level, kind))
        yield kind
