"""From the pages of a crawl to one record for each course: its own page, and the pages that belong to it.

A linked page belongs to a course
    if the course's page links to it with an anchor that names a type, on any host,
    if it lies below the course's folder, and its anchor names a type or stands under a heading of a type,
    or if a page of the course below that folder links to it in the same way, at most three links deep.
It has the type that its anchor names, else the type of the heading. A page that could be a course itself belongs to
another course only if it lies below its folder and has no other number: the syllabus of CS 302 is not a course.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, TypeAlias

from forager.collection.courses.headings import clip, headings
from forager.collection.courses.naming import named_type
from forager.collection.courses.numbers import number_in_url, number_of, same_course, without_number
from forager.collection.courses.part_types import PartType
from forager.collection.courses.parts import CoursePart, FoundBy, PartLink, anchor_parts, heading_parts, references
from forager.types import Page, Url
from forager.web.urls import host, site

DEEPEST = 3  # links from the course's page
MOST_PAGES, MOST_PARTS = 200, 2_000  # of a course
TEXT = 4_000  # characters of a linked page
_LEAVES = 2_000

Find: TypeAlias = Callable[[Url], Page | None]  # the page of the crawl at a URL


@dataclass(frozen=True, slots=True)
class Course:
    """The record of one course."""

    url: Url
    title: str  # of its page
    name: str
    number: str  # as "CS 302"; "" if it has none
    site: str  # the registrable domain: "utexas.edu"
    parts: tuple[CoursePart, ...]
    pages: tuple[Url, ...]  # the pages of the parts; its own page is the first


def courses(urls: Iterable[Url], find: Find) -> Iterator[Course]:
    """The courses of these pages. A page that is a part of another course gets no record."""
    candidates = dict.fromkeys(urls)
    claimed = {target for url in candidates for target in _claims(find(url), candidates)}
    taken: set[Url] = set()
    for url in sorted(
        candidates, key=lambda url: (url in claimed, url.count("/"))
    ):  # home pages come before their parts
        page = None if url in taken else find(url)
        if page is not None:
            course = course_of(page, find, candidates)
            taken.update(course.pages)
            yield course


def _claims(page: Page | None, candidates: Container[Url]) -> Iterator[Url]:
    """The other candidates that this page has as its parts."""
    for part in anchor_parts(page) if page else ():
        if part.target in candidates and part.target is not None and part.target.startswith(folder(part.source)):
            yield part.target


def folder(url: Url) -> str:
    """The URL up to the last slash of its path."""
    return url.partition("?")[0].rpartition("/")[0] + "/"


def course_of(page: Page, find: Find, others: Container[Url] = ()) -> Course:
    """The record of the course with this page. `others` are pages that may be courses themselves."""
    gathered = _Gathered(page, find, others)
    return Course(
        url=page.url,
        title=page.title,
        name=course_name(page),
        number=gathered.number,
        site=site(host(page.url)),
        parts=tuple(gathered.parts[:MOST_PARTS]),
        pages=tuple(gathered.pages),
    )


class _Lead(NamedTuple):
    """A link to a page that may belong to the course."""

    type: PartType
    name: str
    found: FoundBy
    source: Url
    target: Url
    depth: int


class _Gathered:
    """Gathers the parts of a course, and the pages they come from."""

    def __init__(self, page: Page, find: Find, others: Container[Url]) -> None:
        self.number = course_number(page)
        self.pages = {page.url: None}  # in order
        self.parts: list[CoursePart] = []
        self._folder = folder(page.url)
        self._find, self._others = find, others
        self._leads: deque[_Lead] = deque()
        self._seen: set[tuple[Url, PartType]] = set()
        self._open(page)
        while self._leads and len(self.parts) < MOST_PARTS:
            self._follow(self._leads.popleft())

    def _open(self, page: Page) -> None:
        """Read the course's own page, and the pages in its frames."""
        for inner in (page, *self._frames(page)):
            self.pages[inner.url] = None
            sections = list(heading_parts(inner))
            self.parts += [part for part in sections if part.text or _says_more(part)]
            self._note(inner, sections, 1)

    def _frames(self, page: Page) -> Iterator[Page]:
        frames = [row for row, path in enumerate(page.links.tag_paths) if path.rpartition(" ")[2][:5] == "frame"]
        for row in frames[:DEEPEST]:
            inner = self._find(page.links.targets[row])
            if inner is not None and inner.url != page.url:
                yield inner

    def _note(self, page: Page, sections: Iterable[CoursePart], depth: int) -> None:
        """Add the links of a page that may lead to other pages of the course; anchors come before headings."""
        for part in anchor_parts(page):
            if part.target is not None and (depth == 1 or self._is_below(part.target)):
                self._lead(_Lead(part.type, part.name, FoundBy.ANCHOR, page.url, part.target, depth))
        for part in sections:
            for link in part.links:
                if self._is_below(link.url) and not any((link.url, kind) in self._seen for kind in PartType):
                    self._lead(_Lead(part.type, link.anchor, FoundBy.HEADING, page.url, link.url, depth))

    def _lead(self, lead: _Lead) -> None:
        asked = lead.target in self.pages or (lead.target, lead.type) in self._seen
        if not asked and len(self._seen) < MOST_PARTS:
            self._seen.add((lead.target, lead.type))
            self._leads.append(lead)

    def _follow(self, lead: _Lead) -> None:
        """Add the linked page as a part; if the crawl does not have it, only its anchor is known."""
        page = self._find(lead.target) if len(self.pages) < MOST_PAGES else None
        if page is not None:
            if page.url != self.first and self._may_have(page):
                self._take(page, lead)
        elif lead.found is FoundBy.ANCHOR:
            link = PartLink(lead.name, lead.target)
            self.parts.append(CoursePart(lead.type, lead.name, lead.found, lead.source, lead.target, "", (link,)))

    def _take(self, page: Page, lead: _Lead) -> None:
        self.parts.append(_whole(page, lead))
        if page.url not in self.pages:
            self.pages[page.url] = None
            if lead.depth < DEEPEST and self._is_below(page.url):
                self._note(page, heading_parts(page), lead.depth + 1)

    @property
    def first(self) -> Url:
        return next(iter(self.pages))

    def _is_below(self, url: Url) -> bool:
        return url.startswith(self._folder)

    def _may_have(self, page: Page) -> bool:
        if page.url not in self._others:
            return True
        return self._is_below(page.url) and same_course(self.number, course_number(page))


def _says_more(part: CoursePart) -> bool:
    """Whether a heading is more than a single link, which becomes a part of its own."""
    return len(part.links) > 1 or any(link.anchor != part.name for link in part.links)


def _whole(page: Page, lead: _Lead) -> CoursePart:
    """A page as one part."""
    said = [leaf for leaf, tag in zip(page.leaves[:_LEAVES], page.tags, strict=False) if tag != "title"]
    links = references(page, 0, len(page.leaves))
    return CoursePart(lead.type, lead.name, lead.found, lead.source, lead.target, clip(said, TEXT), links)


# ---- number and name ------------------------------------------------------------------------------------------------

NUMBERED, NAMED = 2, 5  # headings in which the number and the name are searched
LONGEST_NAME = 120  # characters

_TERM = r"(?:fall|autumn|winter|spring|summer)"
_NOISE = re.compile(
    rf"\b{_TERM}\b(?:\s+(?:semester|quarter|term|session))?(?:\s+i{{1,2}}\b)?[\s,]*['’]?(?:\d{{2,4}}(?:\s*[-/]\s*\d{{2,4}})?\b)?"
    rf"|\b(?:19|20)\d\d\b\s*(?:{_TERM}\b)?"
    r"|\bwelcome\s+to(?:\s+the)?\b"
    r"|\b(?:the\s+)?(?:official\s+)?(?:course|class)?\s*(?:home|web|main)[\s-]*(?:page|site)s?\b(?:\s+(?:for|of))?"
    r"|\b(?:course|class)\s+(?:description|information|info|outline|overview|pages?|materials?|syllabus)\b(?:\s+for\b)?"
    r"|\b(?:syllabus|semester|quarter|sections?\s+\S+)\b(?:\s+for\b)?|^\s*(?:course|class)\s*:",
    re.IGNORECASE,
)
_EMPTY = re.compile(r"\([\W\d]*\)")  # brackets whose content was removed
_EDGES = " -–—:;,./|<>*#'\"!=~_&"
_NO_NAME = re.compile(
    r"\b(?:universit|college|department|dept\b|institute|school of|last (?:modified|updated))|©", re.I
)
_GENERAL = re.compile(
    r"\b(?:pages?|home|course|class|general|specific|administrative|information|items?|index|html?|no|title|welcome|the"
    r"|to|for|of|on|line|online|available|new|what|contents?)\b|\W|\d",
    re.IGNORECASE,
)


def course_number(page: Page) -> str:
    """The number of a course, as "CS 302", from the title, the first headings or the URL of its page; else ""."""
    return next(filter(None, map(number_of, _title_and_headings(page, NUMBERED))), "") or number_in_url(page.url)


def course_name(page: Page) -> str:
    """The name of a course, without number, term and "home page"; the whole title if nothing else is left."""
    return next(filter(None, map(_name, _title_and_headings(page, NAMED))), page.title[:LONGEST_NAME])


def _title_and_headings(page: Page, count: int) -> list[str]:
    return [page.title, *(heading.text for heading in islice(headings(page), count))]


def _name(text: str) -> str:
    bare = _EMPTY.sub(" ", _NOISE.sub(" ", without_number(text[: 2 * LONGEST_NAME])))
    bare = " ".join(bare.split()).strip(_EDGES)
    if bare.count("(") != bare.count(")"):
        bare = " ".join(re.sub(r"[()]", " ", bare).split()).strip(_EDGES)
    if len(_GENERAL.sub("", bare)) < 4 or _NO_NAME.search(bare) or named_type(bare) not in (None, PartType.NONE):
        return ""
    return bare[:LONGEST_NAME]
