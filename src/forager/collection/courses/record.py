"""From the pages of a crawl to one record a course: its page, and the pages that belong to it.

A linked page belongs to a course
    if the course's page links to it by an anchor that names a type, wherever it lies,
    if it lies below the course's folder, and its anchor names a type or stands under a heading of a type,
    or if a page below the folder that belongs to it links to it in the same way, three links deep at most.
It has the type that its anchor names, else that of the heading. A page that could be a course itself belongs to another
one only if it lies below its folder and neither says another number: the syllabus of CS 302 is no course of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from forager.collection.courses.headings import clip
from forager.collection.courses.kinds import Kind
from forager.collection.courses.numbers import same_course
from forager.collection.courses.parts import Found, Part, Reference, anchor_parts, heading_parts, references
from forager.collection.courses.titles import course_name, course_number
from forager.types import Page, Url
from forager.web.urls import host, site

DEEPEST = 3  # links from the course's page
MOST_PAGES, MOST_PARTS = 200, 2_000  # of a course
TEXT = 4_000  # characters of a linked page
_LEAVES = 2_000

Find: TypeAlias = Callable[[Url], Page | None]  # the page of the crawl at a URL


@dataclass(frozen=True, slots=True)
class Course:
    url: Url
    title: str  # of its page
    name: str
    number: str  # as "CS 302"; "" if it has none
    site: str  # the registrable domain: "utexas.edu"
    parts: tuple[Part, ...]
    pages: tuple[Url, ...]  # those that the parts come from, its own first


def courses(urls: Iterable[Url], find: Find) -> Iterator[Course]:
    """One for each of these pages, except those that are part of another one."""
    candidates = dict.fromkeys(urls)
    claimed = {target for url in candidates for target in _claims(find(url), candidates)}
    taken: set[Url] = set()
    for url in sorted(candidates, key=lambda url: (url in claimed, url.count("/"))):  # home pages before their parts
        page = None if url in taken else find(url)
        if page is not None:
            course = course_of(page, find, candidates)
            taken.update(course.pages)
            yield course


def _claims(page: Page | None, candidates: Container[Url]) -> Iterator[Url]:
    """The other candidates that a page takes for its parts."""
    for part in anchor_parts(page) if page else ():
        if part.target in candidates and part.target is not None and part.target.startswith(folder(part.source)):
            yield part.target


def folder(url: Url) -> str:
    """Where a page lies, up to the last slash of its path."""
    return url.partition("?")[0].rpartition("/")[0] + "/"


def course_of(page: Page, find: Find, others: Container[Url] = ()) -> Course:
    """The record of the course that has this page. `others`: pages that may be courses of their own."""
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

    type: Kind
    name: str
    found: Found
    source: Url
    target: Url
    depth: int


class _Gathered:
    """The parts of a course, and the pages they come from."""

    def __init__(self, page: Page, find: Find, others: Container[Url]) -> None:
        self.number = course_number(page)
        self.pages = {page.url: None}  # in order
        self.parts: list[Part] = []
        self._folder = folder(page.url)
        self._find, self._others = find, others
        self._leads: deque[_Lead] = deque()
        self._seen: set[tuple[Url, Kind]] = set()
        self._open(page)
        while self._leads and len(self.parts) < MOST_PARTS:
            self._follow(self._leads.popleft())

    def _open(self, page: Page) -> None:
        """The course's own page; if it is only a frame around others, those are its page too."""
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

    def _note(self, page: Page, sections: Iterable[Part], depth: int) -> None:
        """The links of a page that may lead to others of the course: what anchors say goes before headings."""
        for part in anchor_parts(page):
            if part.target is not None and (depth == 1 or self._is_below(part.target)):
                self._lead(_Lead(part.type, part.name, Found.ANCHOR, page.url, part.target, depth))
        for part in sections:
            for link in part.links:
                if self._is_below(link.url) and not any((link.url, kind) in self._seen for kind in Kind):
                    self._lead(_Lead(part.type, link.anchor, Found.HEADING, page.url, link.url, depth))

    def _lead(self, lead: _Lead) -> None:
        asked = lead.target in self.pages or (lead.target, lead.type) in self._seen
        if not asked and len(self._seen) < MOST_PARTS:
            self._seen.add((lead.target, lead.type))
            self._leads.append(lead)

    def _follow(self, lead: _Lead) -> None:
        """Take the page if the crawl has it; of one that it has not, an anchor is all that is known."""
        page = self._find(lead.target) if len(self.pages) < MOST_PAGES else None
        if page is not None:
            if page.url != self.first and self._may_have(page):
                self._take(page, lead)
        elif lead.found is Found.ANCHOR:
            link = Reference(lead.name, lead.target)
            self.parts.append(Part(lead.type, lead.name, lead.found, lead.source, lead.target, "", (link,)))

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


def _says_more(part: Part) -> bool:
    """A heading that is nothing but a link is left to the link."""
    return len(part.links) > 1 or any(link.anchor != part.name for link in part.links)


def _whole(page: Page, lead: _Lead) -> Part:
    """A page as one part."""
    said = [leaf for leaf, tag in zip(page.leaves[:_LEAVES], page.tags, strict=False) if tag != "title"]
    links = references(page, 0, len(page.leaves))
    return Part(lead.type, lead.name, lead.found, lead.source, lead.target, clip(said, TEXT), links)
