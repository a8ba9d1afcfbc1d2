"""Pages that are made to break whoever reads them."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import count, islice

from xxhash import xxh3_64_intdigest

from forager_lab.webs.hostile.kinds import (
    Call,
    Fixed,
    Reply,
    Wanted,
    a_miss,
    a_page,
    answer,
    hostile,
    html,
    page,
    robots,
)

LARGEST = 10_000_000  # bytes that a crawl reads
MOST_LINKS, MOST_HOSTS = 5_000, 100  # of a page that a crawl follows
CLOSED = robots("User-agent: *", "Disallow: /x")  # so that links cost no requests
EVIL = "\x1b]0;owned\x07\x1b[31mred \x9b2J [/b] [bold]\u202ecod\u2028 "  # a terminal would obey this


def _with_text(name: str, body: bytes) -> bytes:
    return html(name).replace(b"</body></html>", b"") + body


# ---- many links -----------------------------------------------------------------------------------------------------


def _many_links() -> bytes:
    return _with_text("links-520000", b"".join(b"<a href=/x%05x>" % n for n in range(600_000)))[:LARGEST]


hostile(
    "links-520000",
    "520,000 links to one host on a page",
    Wanted(outcome="page", pages=(1, 1), urls=MOST_LINKS + 1),
    robots=CLOSED,
    heavy=True,
    group=__name__,
)(Fixed(_many_links))


def _many_hosts() -> bytes:
    return _with_text("hosts-520000", b"".join(b"<a href=//%x.hosts-520000.test/>" % n for n in range(520_000)))[
        :LARGEST
    ]


def _closed_but_home(call: Call) -> Reply:
    home = call.host == "hosts-520000.test"
    return robots("User-agent: *", "Disallow:" if home else "Disallow: /")


hostile(
    "hosts-520000",
    "links to hundreds of thousands of hosts on a page",
    Wanted(outcome="page", pages=(1, 1), requests=2 + MOST_HOSTS, urls=MOST_HOSTS + 1),
    robots=_closed_but_home,
    heavy=True,
    group=__name__,
)(Fixed(_many_hosts))


def _flood() -> bytes:
    """All these URLs have the same low bits under a hash that anybody can compute."""
    urls = (f"http://hash-flood.test/x{number}" for number in count())
    chosen = islice((url for url in urls if xxh3_64_intdigest(url.encode()) & 0xFF == 7), 20_000)
    return _with_text("hash-flood", "".join(f"<a href='{url}'>y</a>" for url in chosen).encode())


hostile(
    "hash-flood",
    "20,000 links that are chosen to fall together in a table with a known hash",
    Wanted(outcome="page", pages=(1, 1), urls=MOST_LINKS + 1),
    robots=CLOSED,
    heavy=True,
    group=__name__,
)(Fixed(_flood))


# ---- much of something else -----------------------------------------------------------------------------------------

_UNREADABLE = {
    "nested-divs": ("200,000 nested elements", lambda: b"<div>" * 200_000),
    "nested-lists": ("100,000 nested lists", lambda: b"<ul><li>" * 100_000),
    "attributes": (
        "an element with 100,000 attributes",
        lambda: b"<p><a href=/x %s>link</a>" % b" ".join(b"a%d=1" % n for n in range(100_000)),
    ),
}
for _name, (_does, _make) in _UNREADABLE.items():
    hostile(_name, _does, a_miss("unreadable"), group=__name__)(Fixed(_make))

_READABLE: dict[str, tuple[str, Callable[[], bytes]]] = {
    "formatting": (
        "5,000 formatting elements that are never closed",
        lambda: b"".join(b"<p><font color=%d>word%d <b>bold" % (n, n) for n in range(5_000)),
    ),
    "title-large": ("a title of 9.6 MB", lambda: b"<title>" + b"long title " * 870_000 + b"</title><p>hello"),
    "text-large": ("10 MB of text", lambda: b"hello world " * (LARGEST // 12)),
    "text-word": ("a word of 5 MB", lambda: _with_text("text-word", b"x" * 5_000_000)),
    "text-words": (
        "a million different words",
        lambda: b" ".join(b"%x" % (n * 2_654_435_761 % (1 << 32)) for n in range(1_000_000)),
    ),
    "entities": ("a million entities", lambda: _with_text("entities", b"&amp;&lt;&#x41;" * 500_000)),
    "comment-open": ("a comment of 5 MB that is never closed", lambda: _with_text("comment", b"<!-- " * 1_000_000)),
    "script-open": ("a script of 5 MB that is never closed", lambda: _with_text("script", b"<script>x" * 550_000)),
    "leaves": ("a million empty elements", lambda: _with_text("leaves", b"<br><hr>" * 500_000)),
    "tables": ("20,000 tables with nothing closed", lambda: _with_text("tables", b"<table><tr><td>x" * 1_000)),
    "anchors-nested": (
        "2,000 links that lie in each other",
        lambda: _with_text("anchors", b"<a href=#x><object>" * 2_000 + b"word " * 10_000),
    ),
    "class-large": (
        "a class of 100 KB around 5,000 links",
        lambda: b"<body class='%s'>" % (b"x" * 100_000) + html("class") + b"<p><a href=#x>y</a>" * 5_000,
    ),
}
for _name, (_does, _make) in _READABLE.items():
    hostile(_name, _does, a_page(), heavy=True, group=__name__)(Fixed(_make))


# ---- bytes ----------------------------------------------------------------------------------------------------------

_NO_TEXT: dict[str, tuple[str, str, Callable[[], bytes]]] = {
    "bytes-random": ("100 KB of random bytes", "unreadable", lambda: random.Random(1).randbytes(100_000)),
    "bytes-nul": ("100 KB of NUL bytes", "unreadable", lambda: b"\0" * 100_000),
    "bytes-mixed": ("NUL bytes throughout", "unreadable", lambda: bytes(range(256)) * 2 + b"\0\1" * 5_000),
    "bytes-pdf": ("a PDF file", "not-html", lambda: b"%PDF-1.7\n" + b"1 0 obj << /Type /Catalog >> endobj\n" * 100),
    "bytes-png": ("a picture", "not-html", lambda: b"\x89PNG\r\n\x1a\n" + random.Random(2).randbytes(10_000)),
    "bytes-gzip": ("a gzip file", "not-html", lambda: b"\x1f\x8b\x08\x00" + random.Random(3).randbytes(10_000)),
    "bytes-zip": ("a zip file", "not-html", lambda: b"PK\x03\x04" + random.Random(4).randbytes(10_000)),
}
for _name, (_does, _reason, _make) in _NO_TEXT.items():
    hostile(_name, f"{_does} that is called a page", a_miss(_reason), group=__name__)(Fixed(_make))

_ODD_TEXT: dict[str, tuple[str, Callable[[], bytes]]] = {
    "utf-16": ("a page in UTF-16", lambda: html("utf-16").decode().encode("utf-16")),
    "utf-16-no-mark": ("UTF-16 without a mark", lambda: html("utf-16-no-mark").decode().encode("utf-16-be")),
    "utf-16-surrogates": (
        "UTF-16 with halves of characters",
        lambda: html("surrogates").decode().encode("utf-16") + b"\x00\xd8x\x00\x00\xdc" * 3 + b"\x00",
    ),
    "utf-16-called": (
        "ASCII that calls itself UTF-16",
        lambda: html("called", head="<meta charset=utf-16>"),
    ),
    "utf-7": ("a script in UTF-7", lambda: html("utf-7", head="<meta charset=utf-7>") + b"+ADw-script+AD4-"),
    "charsets": (
        "three charsets that disagree",
        lambda: html("charsets", head="<meta charset=shift_jis>") + "Grüße".encode("cp1252") * 100,
    ),
    "unicode-broken": (
        "characters that do not exist",
        lambda: html("broken") + b"&#xd800;&#0;&#x110000;&#99999999999;&nosuch;\xed\xa0\x80\xff",
    ),
}
for _name, (_does, _make) in _ODD_TEXT.items():
    hostile(_name, _does, a_page(), group=__name__)(Fixed(_make))


@hostile("empty", "a page of no bytes", a_page())
def empty(call: Call) -> Reply:
    return answer(b"")


# ---- what a terminal would obey -------------------------------------------------------------------------------------


@hostile("title-escape", "a title with commands for a terminal", a_page())
def title_escape(call: Call) -> Reply:
    return answer(html("title-escape").replace(b"<title>", f"<title>{EVIL}".encode()))


@hostile("url-markup", "URLs with markup of a progress display in them", a_page(4, pages=3))
def url_markup(call: Call) -> Reply:
    return page(call, "/[/b]1", "/[bold]2[/x]")


@hostile("header-escape", "headers with commands for a terminal", a_miss("not-html"))
def header_escape(call: Call) -> Reply:
    return answer(b"x", kind="application/\x1b[31mred[/b]")
