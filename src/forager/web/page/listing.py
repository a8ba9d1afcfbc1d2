"""Listings: sitemaps and feeds. A listing becomes a page whose links are its entries, in their order.

Sitemaps (XML, an index of sitemaps, or plain text), RSS 0.9x, 1.0 and 2.0, and Atom are read, also as gzip. XML from
the web is often wrong and sometimes hostile. So it is not parsed: regular expressions find the tags that matter, in
time that is linear in the size. Nesting means nothing to them. Of entities only those of XML itself and numbers are
replaced, each by one character, so nothing expands. What makes no sense is left out, and the rest is kept.
"""

from __future__ import annotations

import html
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import TypeAlias

import numpy as np

from forager.types import Fetch, Links, Page, Url
from forager.web import text
from forager.web.page.bounds import cut
from forager.web.page.decode import decode
from forager.web.urls import RULES, UrlRules

LARGEST = 10_000_000  # bytes of a listing, decompressed
MOST = 50_000  # entries, as sitemaps.org allows
LONGEST_TITLE = 1_000  # characters
_TAGS = 4 * MOST  # that are looked at; the same number of comments and CDATA sections
_MARKS = 20 * MOST  # "<" that are read; a million takes a fifth of a second, even if no tag follows
_LONGEST = 20_000  # characters of a text or of attributes that are read
_HEAD = 10_000  # bytes in which the first element must begin
_SLICE = 100_000  # characters that are searched at once, because a search holds up all threads
_GZIP = b"\x1f\x8b"
_PIECE = 1_000_000  # bytes that are decompressed at once
_PIECES = 200  # pieces and members of a gzip file that are read

_ROOT = re.compile(
    r"\s*+(?>(?:<!--(?s:.*?)-->|<\?[^>]*+>|<!DOCTYPE[^>\[]*+(?:\[[^\]]*+\])?+\s*+>)\s*+)*+"
    r"<(?:[\w.-]++:)?(urlset|sitemapindex|rss|feed|rdf)(?=[\s>])([^<>]*+)>",
    re.IGNORECASE,
)
_TAG = r"<(%s)([\w.-]++:)?(%s)(?=[\s>/])([^<>]*+)>([^<]*+)(?=<)"  # without a tag after it, the text may be cut off
_LOC = re.compile(_TAG % ("", "loc"), re.IGNORECASE)
_PART = re.compile(  # of the tags that close, only those of entries
    _TAG % (r"/(?=(?:[\w.-]++:)?(?:item|entry)[\s>])|", "item|entry|title|link|guid"), re.IGNORECASE
)
_ATTRIBUTE = re.compile(r"""([\w:.-]++)\s*+=\s*+(?:"([^"]*+)|'([^']*+))""")
_REFERENCE = re.compile(r"&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos));")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_MARKUP = re.compile(r"<[^<>]*+>")
_LINE = re.compile(r"https?://\S+", re.IGNORECASE)

_NO_PAGES = {"image:", "video:"}  # prefixes of a `loc` that is a file of a page
_RSS_IN_RDF = ("purl.org/rss/", "netscape.com/rdf/simple")
_PATHS = {
    "urlset": "urlset url loc",
    "sitemapindex": "sitemapindex sitemap loc",
    "rss": "rss channel item link",
    "rdf": "rdf item link",
    "feed": "feed entry link",
}
_Found: TypeAlias = tuple[str, str]  # the reference and the title of an entry
_Tag: TypeAlias = tuple[str, str, str, str, str]  # "/" if it closes, prefix, name, attributes, and the text after it


def parse_listing(fetch: Fetch, rules: UrlRules = RULES, *, largest: int = LARGEST) -> Page | None:
    """The listing in an answer as a page, None if there is none. Of a long one the beginning is read."""
    packed = fetch.body.startswith(_GZIP)
    body = _unpacked(fetch.body, largest) if packed else fetch.body[:largest]
    head = decode(body[:_HEAD], fetch.charset)
    root = _ROOT.match(head)
    if root is not None:
        return _read(root[1].lower(), root[2], decode(body, fetch.charset), fetch.url, rules)
    is_text = packed or fetch.content_type.partition(";")[0].strip().lower() == "text/plain"
    body = body[: body.rfind(b"\n")] if len(body) >= largest else body  # the last line may be cut off
    entries = _lines(decode(body, fetch.charset)) if is_text and _LINE.match(head.lstrip()) else []
    return _page(fetch.url, fetch.url, "", entries, "text", rules) if entries else None


def _read(name: str, attributes: str, content: str, url: Url, rules: UrlRules) -> Page | None:
    """The listing whose first element has this name."""
    if name == "rdf" and not any(space in attributes for space in _RSS_IN_RDF):
        return None
    base = rules.join(url, _attributes(attributes).get("xml:base", "")) or url
    plain = _without_sections(cut(content, _MARKS))
    title, found = ("", _locations(plain)) if name in ("urlset", "sitemapindex") else _feed(plain)
    return _page(url, base, title, islice(found, MOST), _PATHS[name], rules)


def _page(url: Url, base: Url, title: str, found: Iterable[_Found], path: str, rules: UrlRules) -> Page:
    entries = list(found)
    targets = rules.join_all(base, [href for href, _ in entries])
    pairs = zip(targets, [words for _, words in entries], strict=True)
    kept = [(target, words) for target, words in pairs if target is not None and target != url]
    titles = tuple([words for _, words in kept])
    leaves = np.arange(len(kept), dtype=np.int32)  # every entry is a leaf
    return Page(
        url=url,
        title=title,
        leaves=titles,
        tags=(path.rpartition(" ")[2],) * len(kept),
        terms=text.terms(titles),
        regions=np.zeros(len(kept), np.uint8),
        links=Links(
            tuple([target for target, _ in kept]),
            titles,
            leaves,
            leaves,
            (path,) * len(kept),
            ("",) * len(kept),
        ),
        headings=(),
        keywords="",
        description="",
        canonical=None,
        language="",
        is_listing=True,
    )


def _unpacked(body: bytes, largest: int) -> bytes:
    """What is in a gzip file, up to a limit or to the first damage."""
    found, member = bytearray(), zlib.decompressobj(wbits=31)
    for _ in range(_PIECES):
        try:
            found += member.decompress(body, min(_PIECE, largest - len(found)))
        except zlib.error:
            break
        body = member.unused_data if member.eof else member.unconsumed_tail
        if not body or len(found) >= largest:
            break
        if member.eof:
            member = zlib.decompressobj(wbits=31)
    return bytes(found)


# ---- entries --------------------------------------------------------------------------------------------------------


def _lines(content: str) -> list[_Found]:
    """The URLs of a sitemap in plain text: a line each, and nothing else."""
    found: list[_Found] = []
    for line in map(str.strip, content.split("\n", MOST)[:MOST]):
        if line and not _LINE.fullmatch(line):
            return []
        found += [(line, "")] if line else []
    return found


def _locations(content: str) -> Iterator[_Found]:
    for _, prefix, _, _, value in _tags(_LOC, content):
        href = _plain(value)
        if href and prefix not in _NO_PAGES:
            yield href, ""


@dataclass(slots=True)
class _Entry:
    """An entry of a feed, while it is read. The first of each part counts."""

    prefix: str  # of its tag; tags with another one are of another vocabulary
    id: str  # a URL that will do if there is no link
    href: str = ""
    title: str = ""


def _feed(content: str) -> tuple[str, Iterator[_Found]]:
    """The title of a feed and its entries."""
    first = next((tag for tag in _tags(_PART, content) if tag[2] in ("title", "item", "entry")), None)
    title = _words(first[4]) if first and first[2] == "title" else ""
    entries = islice(_entries(content), MOST) if first else ()
    return title, ((entry.href or entry.id, entry.title) for entry in entries if entry.href or entry.id)


def _entries(content: str) -> Iterator[_Entry]:
    entry: _Entry | None = None
    for closing, prefix, name, attributes, value in _tags(_PART, content):
        if name in ("item", "entry"):
            if entry is not None:
                yield entry
            entry = None if closing else _Entry(prefix, _attributes(attributes).get("rdf:about", ""))
        elif entry is not None and not closing and prefix == entry.prefix:
            if name == "title":
                entry.title = entry.title or _words(value)
            else:
                _note_link(entry, name, _attributes(attributes), _plain(value))
    if entry is not None:
        yield entry


def _note_link(entry: _Entry, name: str, attributes: dict[str, str], value: str) -> None:
    if name == "guid":
        if attributes.get("ispermalink", "true").lower() != "false" and _LINE.fullmatch(value):
            entry.id = entry.id or value
    elif attributes.get("rel", "alternate") == "alternate":
        entry.href = entry.href or attributes.get("href", "") or value


# ---- XML ------------------------------------------------------------------------------------------------------------


def _without_sections(content: str) -> str:
    """XML without comments, and with CDATA as plain text. What is never closed goes on to the end."""
    pieces: list[str] = []
    at = 0
    for _ in range(_TAGS):
        start = content.find("<!", at)
        if start < 0:
            break
        pieces.append(content[at:start])
        if content.startswith("<!--", start):
            _, at = _section(content, start + 4, "-->")
        elif content.startswith("<![CDATA[", start):
            raw, at = _section(content, start + 9, "]]>")
            pieces.append(raw[:_LONGEST].replace("&", "&amp;").replace("<", "&lt;"))
        else:
            at = start + 2  # some declaration
    return "".join([*pieces, content[at:]]) if pieces else content


def _section(content: str, start: int, end: str) -> tuple[str, int]:
    """What stands before `end`, and where it goes on after it."""
    at = content.find(end, start)
    return (content[start:], len(content)) if at < 0 else (content[start:at], at + len(end))


def _tags(pattern: re.Pattern[str], content: str) -> Iterator[_Tag]:
    for found in islice(chain.from_iterable(map(pattern.finditer, _slices(content))), _TAGS):
        closing, prefix, name, attributes, value = found.groups("")
        yield closing, prefix.lower(), name.lower(), attributes[:_LONGEST], value[:_LONGEST]


def _slices(content: str) -> Iterator[str]:
    """The content in slices. Each ends with the first character of a tag, and the next begins with it."""
    at = 0
    while at < len(content):
        end = content.find("<", at + _SLICE)
        yield content[at : end + 1 if end >= 0 else len(content)]
        at = end if end >= 0 else len(content)


def _attributes(written: str) -> dict[str, str]:
    return {name.lower(): _plain(double or single) for name, double, single in _ATTRIBUTE.findall(written)}


def _plain(written: str) -> str:
    """The text that stands in XML, without white space around it."""
    return (_REFERENCE.sub(_replaced, written) if "&" in written else written).strip()


def _replaced(found: re.Match[str]) -> str:
    decimal, hexadecimal, name = found.groups()
    if name is not None:
        return _NAMED[name]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(code) if 0 < code < 0xD800 or 0xE000 <= code < 0x110000 else "\ufffd"


def _words(written: str) -> str:
    """A title, which may be HTML inside of XML, as one line of plain text."""
    return " ".join(html.unescape(_MARKUP.sub(" ", _plain(written))).split())[:LONGEST_TITLE]
