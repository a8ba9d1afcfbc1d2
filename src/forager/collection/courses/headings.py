"""The headings of a page: h1 to h6, and what pages use instead: bold lines, terms of lists, lines with a colon.

A `Page` has its leaves and the element of each, but not its layout. So where a line ends is often a guess:
    surely     at <br>, <hr>, an empty paragraph, an image; between two texts directly in blocks; where a link is in
               another kind of block than the text beside it
    perhaps    around a bold text: if the sentence before it has ended and the next one begins; if it names something
               and surely ends, unless the sentence before it is unfinished
A text counts as a heading if it is short, is not a sentence, begins like a heading, and has a line of its own or ends
with a colon. A text that is not bold must also name a type. Three or more bold texts in a row are the head of a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, islice

import numpy as np

from forager.collection.courses.naming import named_type
from forager.collection.courses.part_types import PartType
from forager.types import Page

BOLD_LEVEL, TERM_LEVEL, LINE_LEVEL = 7, 8, 9  # below h6
MOST, MOST_LEAVES = 2_000, 100_000  # headings and leaves of a page that are read
LONGEST, LONGEST_BOLD, LONGEST_LINE = 160, 80, 40  # characters
_LEAVES_OF_ONE = 40
_MENU = 3  # a heading with so many links is a row of links

_BOLD = frozenset(["b", "strong", "big", "u", "dt"])
_MARKED = _BOLD | {"i", "em", "font", "blink"}  # the added ones need a line of their own
_LINES = frozenset(["p", "body", "center", "div", "dd", "blockquote", "section", "article", "main", "form", "address"])
_CELLS = frozenset(["td", "li", "th", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "menu", "caption"])
_ITEMS = frozenset(["td", "dd"])
_BLOCKS = _LINES | _CELLS | {"dt", "title"}
_BREAKS = frozenset(["br", "hr", "p", "img", "div", "center", "head", "meta", "link", "base", "title"])
_ENDS = tuple('.!?:;)]}"”*|')
_UNFINISHED = re.compile(r"(?:,|\b(?:the|an?|my|your|our|this|that|of|to|for|in|on|at|by|with|and|or|is|are))$", re.I)
_SENTENCE = re.compile(
    r"\b(?:is|are|was|were|will|has|have|can|must|may|should|please)\b|(?:\S+\s+){4}\S+\.$|^\d+ ?%", re.I
)


@dataclass(frozen=True, slots=True)
class PageHeading:
    """A heading, with the leaves that it covers."""

    level: int
    first: int
    last: int
    text: str


@lru_cache(maxsize=4)  # parts, name and number of a page are asked for one after the other
def headings(page: Page) -> tuple[PageHeading, ...]:
    """The headings of a page, in its order. None is inside another."""
    lines = _Lines(page)
    found = [*lines.marked_up(), *islice(lines.written(), MOST)]
    return tuple(sorted(found, key=lambda title: title.first)[:MOST])


def clip(leaves: Sequence[str], longest: int) -> str:
    """The text of leaves on one line, at most so many characters."""
    words: list[str] = []
    size = 0
    for leaf in leaves:
        part = leaf[:longest].split()
        words += part
        size += sum(map(len, part)) + len(part)
        if size > longest:
            break
    return " ".join(words)[:longest]


class _Lines:
    """The leaves of a page, and where lines begin."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._leaves, self._tags = page.leaves[:MOST_LEAVES], page.tags[:MOST_LEAVES]
        self._taken = np.zeros(len(self._leaves), bool)  # by headings
        self._linked: dict[int, str] = {}  # the block around a leaf that belongs to a link
        links = page.links
        for first, last, path in zip(links.first_leaf.tolist(), links.last_leaf.tolist(), links.tag_paths, strict=True):
            if first < len(self._leaves):
                self._linked.update(dict.fromkeys(range(first, min(last + 1, first + _LEAVES_OF_ONE)), _block(path)))

    def marked_up(self) -> list[PageHeading]:
        """The headings h1 to h6. One that is too long, for instance because it has no end, is cut to its first line."""
        found: list[PageHeading] = []
        for heading in self._page.headings[:MOST]:
            first, last = heading.first_leaf, min(heading.last_leaf, len(self._leaves) - 1)
            if first > last or self._taken[first]:
                continue
            text = self._text(first, last)
            if len(text) > LONGEST or self._links(first, last) >= _MENU:
                last = self._line_end(first, last)
                text = self._text(first, last)
            if any(map(str.isalpha, text)) and len(text) <= LONGEST and self._links(first, last) < _MENU:
                found.append(PageHeading(heading.level, first, last, text))
                self._taken[first : last + 1] = True
        return found

    def _text(self, first: int, last: int) -> str:
        return clip(self._leaves[first : min(last + 1, first + _LEAVES_OF_ONE)], LONGEST + 1)

    def _links(self, first: int, last: int) -> int:
        low, high = np.searchsorted(self._page.links.first_leaf, [first, last + 1])
        return int(high - low)

    def _line_end(self, first: int, last: int) -> int:
        """The last leaf of the first line that has text."""
        for at in range(first + 1, min(last, first + _LEAVES_OF_ONE) + 1):
            if self._cut(at) and any(self._leaves[first:at]):
                return at - 1
        return last

    def written(self) -> Iterator[PageHeading]:
        """Texts that serve as headings, among the leaves that h1 to h6 do not cover."""
        rows = self._in_rows()
        for at, (leaf, tag) in enumerate(zip(self._leaves, self._tags, strict=True)):
            if not leaf or len(leaf) > LONGEST_BOLD or self._taken[at] or at in self._linked or at in rows:
                continue
            if not (tag in _MARKED or tag in _LINES or tag == "td") or not _begins(leaf) or _SENTENCE.search(leaf):
                continue
            text = " ".join(leaf.split())
            kind = named_type(text)
            if tag in _MARKED:
                if self._is_bold_heading(at, kind):
                    yield PageHeading(TERM_LEVEL if tag == "dt" else BOLD_LEVEL, at, at, text)
            elif kind not in (None, PartType.NONE) and self._is_line_heading(at):
                yield PageHeading(LINE_LEVEL, at, at, text)

    def _in_rows(self) -> set[int]:
        """Leaves in the same element, such as <b>, if three or more stand in a row."""
        marked = ((at, self._tags[at]) for at, leaf in enumerate(self._leaves) if leaf and self._tags[at] in _MARKED)
        runs = (list(run) for _, run in groupby(enumerate(marked), key=lambda pair: (pair[1][0] - pair[0], pair[1][1])))
        return {at for run in runs if len(run) >= 3 for _, (at, _) in run}

    def _is_bold_heading(self, at: int, kind: PartType | None) -> bool:
        tag, before = self._tags[at], self._leaves[at - 1] if at else ""
        if tag == "dt" and before and self._tags[at - 1] in _MARKED - {"dt"}:
            return False  # <dt><b>Instructor</b> Ada Byron
        begins, ends = self._cut(at), self._cut(at + 1) or self._colon(at)
        if tag not in _BOLD:
            return begins and ends
        begins = begins or before.endswith(_ENDS)
        if kind is not None and ends:
            return begins or not _UNFINISHED.search(before)
        return begins and (ends or (kind is not None and _begins(self._leaves[at + 1])))

    def _is_line_heading(self, at: int) -> bool:
        label, colon, content = self._leaves[at].partition(":")
        if content or len(label) > LONGEST_LINE or "%" in label or not self._cut(at):
            return False
        return bool(colon) or (self._tags[at] not in _ITEMS and self._cut(at + 1))

    def _colon(self, at: int) -> bool:
        return self._leaves[at].endswith(":") or (at + 1 < len(self._leaves) and self._leaves[at + 1].startswith(":"))

    def _cut(self, at: int) -> bool:
        """Whether a line surely ends before this leaf."""
        if at == 0 or at >= len(self._leaves) or self._taken[at - 1] or self._taken[at]:
            return True
        tags, leaves = self._tags, self._leaves
        if any(not leaves[i] and tags[i] in _BREAKS for i in (at - 1, at)) or tags[at - 1] == "title":
            return True
        before, here = (tags[i] if tags[i] in _BLOCKS else self._linked.get(i, "") for i in (at - 1, at))
        if tags[at - 1] in _BLOCKS and tags[at] in _BLOCKS:
            return True
        return bool(before and here and before != here)


def _begins(text: str) -> bool:
    """Whether a text begins like a heading or a sentence: with a capital letter or a number."""
    letter = next((character for character in text[:4] if character.isalnum() or character in ":,;-"), "")
    return letter.isupper() or letter.isdecimal() or (letter.isalpha() and not letter.islower())


def _block(path: str) -> str:
    """The innermost block of a tag path."""
    for part in reversed(path.split(" ")):
        name = part.partition("#")[0].partition(".")[0]
        if name in _BLOCKS:
            return name
    return "body"
