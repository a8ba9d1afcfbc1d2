"""Parse once: leaves, links, regions and terms of a page, or the reason why there is none.

Leaves are numbered over the whole document, from <html> down, head included. A leaf is a text node with a character
that is not space, or an element with nothing visible inside: one without children, or with white space and comments
only, so that every element covers at least one leaf and an empty anchor is its own. What <script>, <style>, <template>,
<iframe> and <noframes> hold is not content: they are empty leaves. The text of a leaf is stripped.

Links are <a href>, <area href>, and the src of <frame> and <iframe>. Left out: what is not http(s), and links to the
page itself (sections).

Bounds, so that a hostile page costs no more than its size: a tag path keeps its first 4 and last 28 elements and 64
characters of each, an anchor its first 1,000 characters; see also bounds.py.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np
from selectolax.lexbor import LexborHTMLParser

from forager.types import Failure, Fetch, Heading, Ids, Links, Page, Reason, Url
from forager.web import text
from forager.web.page.bounds import tame
from forager.web.page.decode import decode, is_binary
from forager.web.page.links import ParsedLinks
from forager.web.page.packed import pack, unpack
from forager.web.page.tree import FoundLink, Tree, Walk
from forager.web.urls import RULES, UrlRules

FEATURES: Final = 1  # what `parse` yields; cached pages and models are keyed by it
LARGEST = 10_000_000  # bytes

_HTML = ("text/html", "application/xhtml+xml")
_PERHAPS = ("", "text/xml", "application/xml", "application/octet-stream", "unknown/unknown")
_LOOKS_LIKE_HTML = re.compile(
    rb"<(?:!doctype\s+html|html|head|body|title|frameset|h1|p|a|div|table)[\s>]", re.IGNORECASE
)
_STARTS_AS_HTML = re.compile(r"\s*<(?:!doctype\s+html|html)[\s>]", re.IGNORECASE)  # old servers say text/plain of all
_MAGIC = (b"%PDF", b"\x89PNG", b"GIF8", b"PK\x03\x04", b"\xff\xd8\xff", b"\x1f\x8b", b"%!PS", b"RIFF", b"\x7fELF")


def parse(fetch: Fetch, rules: UrlRules = RULES, *, comments: bool = False, largest: int = LARGEST) -> Page | Failure:
    """The page of an answer. With `comments`, comments are leaves too, as in the apprentice paper."""
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
    return _page(fetch.url, Walk(comments).over(root), rules)


def to_bytes(page: Page) -> bytes:
    """For a cache on disk."""
    return pack(page, FEATURES)


def from_bytes(packed: bytes) -> Page:
    """What `to_bytes` was given. ValueError if that was another version's page."""
    return unpack(packed, FEATURES)


def leaf_offsets(first: Ids | int, last: Ids | int, leaves: int) -> Ids:
    """The offset of every leaf from a link over first..last: 0 within, negative before. (n, leaves) for n links."""
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


def _page(url: Url, tree: Tree, rules: UrlRules) -> Page:
    base = (tree.base and rules.join(url, tree.base)) or url
    leaves = tuple(tree.leaves)
    return Page(
        url=url,
        title=_one_line(tree.title or ""),
        leaves=leaves,
        tags=tuple(tree.tags),
        terms=text.terms(tree.leaves),
        regions=np.frombuffer(bytes(tree.regions), np.uint8),
        links=_links(url, base, tree, leaves, rules),
        headings=tuple([Heading(level, *span) for level, span in tree.headings]),
        keywords=_one_line(tree.keywords),
        description=_one_line(tree.description),
        canonical=rules.join(base, tree.canonical) if tree.canonical else None,
        language=(tree.language or tree.fallback_language).strip().lower()[:35],
    )


def _links(url: Url, base: Url, tree: Tree, leaves: tuple[str, ...], rules: UrlRules) -> Links:
    hrefs = list(dict.fromkeys([link[0] for link in tree.links]))  # many links of a page say the same
    target_of = dict(zip(hrefs, rules.join_all(base, hrefs), strict=True))
    targets: list[Url] = []
    kept: list[FoundLink] = []
    for link in tree.links:
        target = target_of[link[0]]
        if target is not None and target != url:
            targets.append(target)
            kept.append(link)
    _, spans, paths, rels = zip(*kept, strict=True) if kept else ((), (), (), ())
    first, last = (np.array([span[end] for span in spans], np.int32) for end in (0, 1))
    return ParsedLinks.of(leaves, tuple(targets), first, last, paths, rels)


def _one_line(string: str) -> str:
    return " ".join(string.split())


def _plain(url: Url, content: str) -> Page:
    """Plain text is a page of one leaf."""
    tree = Tree()
    tree.leaves, tree.tags, tree.regions = [content.strip()], ["body"], [0]
    return _page(url, tree, RULES)
