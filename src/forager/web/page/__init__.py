"""A page is parsed once. `parse` gives its leaves, links, regions and terms, or the reason why there is no page.

Leaves are numbered over the whole document, from <html> down, the head included. A leaf is a text node with a visible
character, or an element with nothing visible inside: no children, or only white space and comments. So every element
covers at least one leaf, and an empty anchor is a leaf of its own. The content of <script>, <style>, <template>,
<iframe> and <noframes> does not count: these are empty leaves. The text of a leaf has no white space around it.

Links are <a href>, <area href>, and the src of <frame> and <iframe>. Links that are not http(s) are left out, and links
to the page itself (sections). An <a> in a picture (SVG) may have xlink:href instead.

A hostile page costs no more than its size allows, and is read within `PageLimits`: `Page.left_out` says how much was
over. Besides, a tag path keeps its first 4 and last 28 elements and 64 characters of each, an anchor and a heading keep
their first 1,000 characters, and links that lie in each other are left out where they would multiply their text. See
also bounds.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Final, Self

import numpy as np
from selectolax.lexbor import LexborHTMLParser

from forager.types import Failure, Fetch, Heading, Ids, Links, Page, Ragged, Reason, Url
from forager.web import text
from forager.web.page.bounds import PageLimits, cut, tame
from forager.web.page.declared import Declarations, declarations
from forager.web.page.decode import MAGIC, decode, is_binary
from forager.web.page.listing import parse_listing
from forager.web.page.packed import pack, unpack
from forager.web.page.tree import DocumentParts, FoundLink, TreeWalk
from forager.web.urls import RULES, UrlRules

FEATURES: Final = 2  # version of what `parse` gives; cached pages and models carry it
LIMITS: Final = PageLimits()
LONGEST_ANCHOR = 1000  # characters
_ANCHOR_LEAVES = 200  # leaves of an anchor that are read, after its first
_MULTIPLE = 4  # of the page's words: what links or headings that lie in each other may have together

_HTML = ("text/html", "application/xhtml+xml")
_PERHAPS = ("", "text/xml", "application/xml", "application/octet-stream", "unknown/unknown")
_LOOKS_LIKE_HTML = re.compile(
    rb"<(?:!doctype\s+html|html|head|body|title|frameset|h1|p|a|div|table)[\s>]", re.IGNORECASE
)
_STARTS_AS_HTML = re.compile(r"\s*<(?:!doctype\s+html|html)[\s>]", re.IGNORECASE)  # though called text/plain
_CONTROLS = dict.fromkeys(code for code in (*range(32), *range(127, 160)) if not chr(code).isspace())


def parse(
    fetch: Fetch, rules: UrlRules = RULES, *, comments: bool = False, limits: PageLimits = LIMITS
) -> Page | Failure:
    """The page in an answer, or why it has none; a sitemap or a feed is a page of links (`is_listing`). With
    `comments`, comments are leaves too, as in the apprentice paper."""
    if fetch.rendered is not None:
        fetch = replace(fetch, body=fetch.rendered, content_type="text/html", charset="utf-8", rendered=None)
    listing = None if _type(fetch) in _HTML else parse_listing(fetch, rules, largest=limits.bytes)
    if listing is not None:
        return listing
    refused = _refuse(fetch, limits.bytes)
    if refused:
        return Failure(fetch.url, *refused, seconds=fetch.seconds)
    content = decode(fetch.body, fetch.charset)
    if _type(fetch) == "text/plain" and not _STARTS_AS_HTML.match(content):
        return _page(fetch.url, _plain(content, limits), rules, limits)
    head = cut(content, limits.tags)
    markup = tame(head)
    root = None if markup is None else LexborHTMLParser(markup).root
    if root is None:
        return Failure(fetch.url, Reason.UNREADABLE, "its markup would take too long to parse", seconds=fetch.seconds)
    found = TreeWalk(comments, limits).over(root)
    if len(head) < len(content):
        found.left_out["markup"] = len(content) - len(head)
    if len(head) > limits.text:
        found.left_out["text"] = _shorten(found.leaves, limits.text)
    return _page(fetch.url, found, rules, limits)


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
    if not body.startswith(b"<") and MAGIC.match(body):  # most do
        return Reason.NOT_HTML, f"{kind or 'no type'}, but starts with {body[:4]!r}"
    if kind in _PERHAPS and not _LOOKS_LIKE_HTML.search(body[:2048].replace(b"\0", b"")):
        return Reason.NOT_HTML, f"{kind or 'no type'}, and does not look like HTML"
    if kind not in (*_HTML, *_PERHAPS, "text/plain"):
        return Reason.NOT_HTML, kind[:100]
    if is_binary(body, fetch.charset):
        return Reason.UNREADABLE, "binary: bytes throughout that no text has"
    return None


def _shorten(leaves: list[str], longest: int) -> int:
    """Take the text from all leaves after so many characters. Gives how many were over."""
    left = longest
    for at, leaf in enumerate(leaves):
        left -= len(leaf)
        if left < 0:
            over = sum(map(len, leaves[at + 1 :])) - left
            leaves[at:] = [leaf[:left], *[""] * (len(leaves) - at - 1)]
            return over
    return 0


def _page(url: Url, found: DocumentParts, rules: UrlRules, limits: PageLimits) -> Page:
    base = (found.base and rules.join(url, found.base)) or url
    leaves, terms = tuple(found.leaves), text.terms(found.leaves)
    declared = declarations(found.said, url, base, rules) if found.said else Declarations(canonical=None)
    return Page(
        url=url,
        title=_one_line(found.title or "", limits.title),
        leaves=leaves,
        tags=tuple(found.tags),
        terms=terms,
        regions=np.frombuffer(bytes(found.regions), np.uint8),
        links=_links(url, base, found, leaves, terms, rules),
        headings=_headings(found, terms),
        keywords=_one_line(found.keywords, limits.description),
        description=_one_line(found.description, limits.description),
        language=(found.language or found.fallback_language).strip().lower()[:35],
        left_out={what: amount for what, amount in found.left_out.items() if amount},
        **declared,
    )


def _links(url: Url, base: Url, found: DocumentParts, leaves: tuple[str, ...], terms: Ragged, rules: UrlRules) -> Links:
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
    links = ParsedLinks.of(leaves, tuple(targets), first, last, paths, rels)
    if not (last[:-1] >= first[1:]).any():
        return links
    most = _affordable(first, last, terms)
    found.left_out["links"] += len(links) - most
    return links.take(range(most))


def _headings(found: DocumentParts, terms: Ragged) -> tuple[Heading, ...]:
    headings = [Heading(level, *span) for level, span in found.headings]
    if any(outer.last_leaf >= inner.first_leaf for outer, inner in pairwise(headings)):
        first, last = (np.array([span[end] for _, span in found.headings], np.int32) for end in (0, 1))
        most = _affordable(first, last, terms)
        found.left_out["headings"] += len(headings) - most
        del headings[most:]
    return tuple(headings)


def _affordable(first: Ids, last: Ids, terms: Ragged) -> int:
    """How many of these spans may be kept, the first ones. It is all of them, unless they lie in each other so often
    that the words inside, counted for each span, are many times those of the page."""
    covered = terms.offsets[last + 1] + last - terms.offsets[first] - first + 1
    return int(np.searchsorted(np.cumsum(covered), _MULTIPLE * (len(terms.values) + len(terms)), "right"))


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
        anchors = [leaves[at][: LONGEST_ANCHOR + 1] for at in first]
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
    covered = [leaf[:LONGEST_ANCHOR] for leaf in leaves[first : min(last, first + _ANCHOR_LEAVES) + 1]]
    return " ".join(" ".join(covered)[:LONGEST_ANCHOR].split())


def _one_line(string: str, longest: int) -> str:
    """The string without line breaks and control characters, and not longer than that."""
    return " ".join(string.lstrip()[: 4 * longest].translate(_CONTROLS).split())[:longest].rstrip() if string else ""


def _plain(content: str, limits: PageLimits) -> DocumentParts:
    """Plain text is a page of one leaf."""
    found = DocumentParts()
    found.leaves, found.tags, found.regions = [content.strip()], ["body"], [0]
    found.left_out["text"] = _shorten(found.leaves, limits.text)
    return found
