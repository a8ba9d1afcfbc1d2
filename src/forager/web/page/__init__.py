"""A page is parsed once. `parse` gives its leaves, links, regions and terms, or the reason why there is no page.

Leaves are numbered over the whole document, from <html> down, the head included. A leaf is a text node with a visible
character, or an element with nothing visible inside: no children, or only white space and comments. So every element
covers at least one leaf, and an empty anchor is a leaf of its own. The content of <script>, <style>, <template>,
<iframe> and <noframes> does not count: these are empty leaves. The text of a leaf has no white space around it.

Links are <a href>, <area href>, and the src of <frame> and <iframe>. Links that are not http(s) are left out, and links
to the page itself (sections).

A hostile page costs no more than its size allows: a tag path keeps its first 4 and last 28 elements and 64 characters
of each, an anchor keeps its first 1,000 characters; see also bounds.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Final, Self

import numpy as np
from selectolax.lexbor import LexborHTMLParser

from forager.types import Failure, Fetch, Heading, Ids, Links, Page, Reason, Url
from forager.web import text
from forager.web.page.bounds import tame
from forager.web.page.decode import decode, is_binary
from forager.web.page.packed import pack, unpack
from forager.web.page.tree import DocumentParts, FoundLink, TreeWalk
from forager.web.urls import RULES, UrlRules

FEATURES: Final = 1  # version of what `parse` gives; cached pages and models carry it
LARGEST = 10_000_000  # bytes
LONGEST_ANCHOR = 1000  # characters
_ANCHOR_LEAVES = 200  # leaves of an anchor that are read, after its first

_HTML = ("text/html", "application/xhtml+xml")
_PERHAPS = ("", "text/xml", "application/xml", "application/octet-stream", "unknown/unknown")
_LOOKS_LIKE_HTML = re.compile(
    rb"<(?:!doctype\s+html|html|head|body|title|frameset|h1|p|a|div|table)[\s>]", re.IGNORECASE
)
_STARTS_AS_HTML = re.compile(r"\s*<(?:!doctype\s+html|html)[\s>]", re.IGNORECASE)  # though called text/plain
_MAGIC = (b"%PDF", b"\x89PNG", b"GIF8", b"PK\x03\x04", b"\xff\xd8\xff", b"\x1f\x8b", b"%!PS", b"RIFF", b"\x7fELF")


def parse(fetch: Fetch, rules: UrlRules = RULES, *, comments: bool = False, largest: int = LARGEST) -> Page | Failure:
    """The page in an answer, or why it has none. With `comments`, comments are leaves too, as in the apprentice
    paper."""
    refused = _refuse(fetch, largest)
    if refused:
        return Failure(fetch.url, *refused, seconds=fetch.seconds)
    content = decode(fetch.body, fetch.charset)
    if _type(fetch) == "text/plain" and not _STARTS_AS_HTML.match(content):
        return _plain(fetch.url, content)
    markup = tame(content)
    root = None if markup is None else LexborHTMLParser(markup).root
    if root is None:
        return Failure(fetch.url, Reason.UNREADABLE, "its markup would take too long to parse", seconds=fetch.seconds)
    return _page(fetch.url, TreeWalk(comments).over(root), rules)


def to_bytes(page: Page) -> bytes:
    """A page as bytes, for a cache on disk."""
    return pack(page, FEATURES)


def from_bytes(packed: bytes) -> Page:
    """The page that `to_bytes` was given. ValueError if another version packed it."""
    return unpack(packed, FEATURES)


def leaf_offsets(first: Ids | int, last: Ids | int, leaves: int) -> Ids:
    """The offset of every leaf from a link over first..last: 0 inside, negative before. (n, leaves) for n links."""
    at = np.arange(leaves, dtype=np.int32)
    before = at - np.asarray(first, np.int32)[..., None]
    after = at - np.asarray(last, np.int32)[..., None]
    offsets: Ids = np.minimum(before, 0) + np.maximum(after, 0)
    return offsets


def _type(fetch: Fetch) -> str:
    return fetch.content_type.partition(";")[0].strip().lower()


def _refuse(fetch: Fetch, largest: int) -> tuple[Reason, str] | None:
    kind, body = _type(fetch), fetch.body
    if len(body) > largest:
        return Reason.TOO_LARGE, f"{len(body):,} bytes, at most {largest:,} are read"
    if body.startswith(_MAGIC):
        return Reason.NOT_HTML, f"{kind or 'no type'}, but starts with {body[:4]!r}"
    if kind in _PERHAPS and not _LOOKS_LIKE_HTML.search(body[:2048].replace(b"\0", b"")):
        return Reason.NOT_HTML, f"{kind or 'no type'}, and does not look like HTML"
    if kind not in (*_HTML, *_PERHAPS, "text/plain"):
        return Reason.NOT_HTML, kind[:100]
    if is_binary(body):
        return Reason.UNREADABLE, "binary: NUL bytes throughout"
    return None


def _page(url: Url, found: DocumentParts, rules: UrlRules) -> Page:
    base = (found.base and rules.join(url, found.base)) or url
    leaves = tuple(found.leaves)
    return Page(
        url=url,
        title=_one_line(found.title or ""),
        leaves=leaves,
        tags=tuple(found.tags),
        terms=text.terms(found.leaves),
        regions=np.frombuffer(bytes(found.regions), np.uint8),
        links=_links(url, base, found, leaves, rules),
        headings=tuple([Heading(level, *span) for level, span in found.headings]),
        keywords=_one_line(found.keywords),
        description=_one_line(found.description),
        canonical=rules.join(base, found.canonical) if found.canonical else None,
        language=(found.language or found.fallback_language).strip().lower()[:35],
    )


def _links(url: Url, base: Url, found: DocumentParts, leaves: tuple[str, ...], rules: UrlRules) -> Links:
    hrefs = list(dict.fromkeys([link[0] for link in found.links]))  # many links of a page have the same one
    target_of = dict(zip(hrefs, rules.join_all(base, hrefs), strict=True))
    targets: list[Url] = []
    kept: list[FoundLink] = []
    for link in found.links:
        target = target_of[link[0]]
        if target is not None and target != url:
            targets.append(target)
            kept.append(link)
    _, spans, paths, rels = zip(*kept, strict=True) if kept else ((), (), (), ())
    first, last = (np.array([span[end] for span in spans], np.int32) for end in (0, 1))
    return ParsedLinks.of(leaves, tuple(targets), first, last, paths, rels)


class ParsedLinks(Links):
    """The links of a parsed page. Their anchors are made when somebody asks: many strategies never look at one."""

    _leaves: tuple[str, ...]  # of the page

    @classmethod
    def of(
        cls,
        leaves: tuple[str, ...],
        targets: tuple[Url, ...],
        first_leaf: Ids,
        last_leaf: Ids,
        tag_paths: tuple[str, ...],
        rels: tuple[str, ...],
    ) -> Self:
        links = cls.__new__(cls)
        given = {"targets": targets, "first_leaf": first_leaf, "last_leaf": last_leaf, "tag_paths": tag_paths}
        for name, value in {**given, "rels": rels, "_leaves": leaves}.items():
            object.__setattr__(links, name, value)  # frozen
        return links

    @cached_property
    def anchors(self) -> tuple[str, ...]:
        first, last, leaves = self.first_leaf.tolist(), self.last_leaf.tolist(), self._leaves
        anchors = [leaves[at] for at in first]
        together = "".join(anchors)
        plain = together.isprintable() and "  " not in together and max(map(len, anchors), default=0) <= LONGEST_ANCHOR
        others = [row for row, at in enumerate(first) if not plain or last[row] != at]  # few on most pages
        for row in others:
            anchors[row] = _anchor(leaves, first[row], last[row])
        return tuple(anchors)

    def take(self, rows: Sequence[int]) -> Links:
        if "anchors" in self.__dict__:  # they were made, or given to a copy with other columns
            return super().take(rows)
        at = np.asarray(rows, np.intp)
        targets = tuple([self.targets[i] for i in rows])
        paths, rels = tuple([self.tag_paths[i] for i in rows]), tuple([self.rels[i] for i in rows])
        return self.of(self._leaves, targets, self.first_leaf[at], self.last_leaf[at], paths, rels)


def _anchor(leaves: Sequence[str], first: int, last: int) -> str:
    return " ".join(" ".join(leaves[first : min(last, first + _ANCHOR_LEAVES) + 1])[:LONGEST_ANCHOR].split())


def _one_line(string: str) -> str:
    return " ".join(string.split())


def _plain(url: Url, content: str) -> Page:
    """Plain text is a page of one leaf."""
    found = DocumentParts()
    found.leaves, found.tags, found.regions = [content.strip()], ["body"], [0]
    return _page(url, found, RULES)
