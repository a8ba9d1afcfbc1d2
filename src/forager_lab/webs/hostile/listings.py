"""Sitemaps and feeds that are too large, go round, or explode."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable

from forager_lab.webs.hostile.kinds import (
    Call,
    Fixed,
    Reply,
    Wanted,
    a_page,
    answer,
    hostile,
    page,
    robots,
)

ENTRIES = 50_000
XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
FEED = '<link rel="alternate" type="application/rss+xml" href="/feed.xml">'
OUT = "out"  # paths that begin with this are out of the scope of a crawl
FEW = [f"/only-listed/{n}" for n in range(3)]  # pages that no page links to
MANY = [*FEW, *(f"/{OUT}/{n}" for n in range(ENTRIES))]


def sitemap(urls: Iterable[str]) -> bytes:
    entries = "".join(f"<url><loc>{url}</loc></url>\n" for url in urls)
    return f'{XML}<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</urlset>\n'.encode()


def index(urls: Iterable[str]) -> bytes:
    entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>\n" for url in urls)
    return f'{XML}<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</sitemapindex>'.encode()


def feed(urls: Iterable[str]) -> bytes:
    items = "".join(f"<item><title>news</title><link>{url}</link></item>\n" for url in urls)
    return f'{XML}<rss version="2.0"><channel><title>news</title>\n{items}</channel></rss>'.encode()


def packed(*parts: tuple[bytes, int]) -> bytes:
    """Each part so many times, as gzip."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    pieces = [packer.compress(piece) for piece, times in parts for _ in range(times)]
    return b"".join([*pieces, packer.flush()])


class _Listed:
    """A host with a home page, a listing, and pages that only the listing names."""

    def __init__(self, listing: Fixed, head: str) -> None:
        self.prepare, self._listing, self._head = listing.prepare, listing, head

    def __call__(self, call: Call) -> Reply:
        if call.path == "/":
            return page(call, head=self._head)
        return self._listing(call) if ".xml" in call.path else page(call)


def listed(
    name: str,
    does: str,
    wanted: Wanted,
    make: Callable[[str], bytes],
    kind: str = "application/xml",
    heavy: bool = False,
) -> None:
    """Register a host with a home page and a listing: a feed if its name says so, else a sitemap."""
    is_feed, root = name.startswith("feed"), f"http://{name}.test"
    act = _Listed(Fixed(lambda: make(root), kind=kind), FEED if is_feed else "")
    named = [] if is_feed else [f"Sitemap: {root}/sitemap.xml"]
    rules = robots("User-agent: *", *named)
    hostile(name, does, wanted, robots=rules, heavy=heavy, group=__name__)(act)


def _on(root: str, paths: Iterable[str]) -> list[str]:
    return [root + path for path in paths]


# ---- sitemaps -------------------------------------------------------------------------------------------------------

listed("sitemap", "three pages that only a sitemap names", a_page(6, pages=4), lambda root: sitemap(_on(root, FEW)))
listed(
    "sitemap-gzip",
    "the same as a gzip file",
    a_page(6, pages=4),
    lambda root: packed((sitemap(_on(root, FEW)), 1)),
    kind="application/gzip",
)
listed(
    "sitemap-50000",
    "a sitemap of 50,000 URLs",
    a_page(6, pages=4),
    lambda root: sitemap(_on(root, MANY)),
    heavy=True,
)
listed(
    "sitemap-bomb",
    "a sitemap of 100 MB in a gzip file",
    a_page(6, pages=(1, 4)),
    lambda root: packed((sitemap(_on(root, FEW)).replace(b"</urlset>", b""), 1), (b" " * 1_000_000, 100)),
    kind="application/gzip",
)
listed(
    "sitemap-index-bomb",
    "an index of a million sitemaps, in gzip",
    a_page(6, pages=1),
    lambda root: packed((index([]).replace(b"</sitemapindex>", b""), 1), (_many_indexes(root), 200)),
    kind="application/gzip",
    heavy=True,
)


def _many_indexes(root: str) -> bytes:
    return "".join(f"<sitemap><loc>{root}/{OUT}/{n}.xml</loc></sitemap>\n" for n in range(5_000)).encode()


listed(
    "sitemap-loop",
    "indexes of sitemaps that name each other",
    a_page(12, pages=1),
    lambda root: index(_on(root, [f"/{n}.xml" for n in range(5)])),
)
listed(
    "sitemap-laughs",
    "a sitemap whose entities would become a billion words",
    a_page(8, pages=(1, 5)),
    lambda root: _laughs(sitemap([*_on(root, FEW), "&l9;"])),
)


def _laughs(body: bytes) -> bytes:
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "ha"}">\n' for n in range(10))
    return body.replace(XML.encode(), f"{XML}<!DOCTYPE urlset [\n{entities}]>\n".encode())


listed(
    "sitemap-file",
    "a sitemap that wants to include a file of the crawler's machine",
    a_page(8, pages=(1, 5)),
    lambda root: sitemap([*_on(root, FEW), "&file;"]).replace(
        XML.encode(), f'{XML}<!DOCTYPE urlset [<!ENTITY file SYSTEM "file:///etc/passwd">]>\n'.encode()
    ),
)
listed("sitemap-none", "a sitemap that is none", a_page(3), lambda root: b"\0\1\2" * 10_000)
listed("sitemap-cut", "a sitemap that is cut off", a_page(6, pages=(1, 4)), lambda root: sitemap(_on(root, FEW))[:-60])


# ---- feeds ----------------------------------------------------------------------------------------------------------

listed(
    "feed",
    "three pages that only a feed names",
    a_page(6, pages=4),
    lambda root: feed(_on(root, FEW)),
    kind="application/rss+xml",
)
listed(
    "feed-50000",
    "a feed of 50,000 entries",
    a_page(6, pages=4),
    lambda root: feed(_on(root, MANY)),
    kind="application/rss+xml",
    heavy=True,
)
listed(
    "feed-laughs",
    "a feed whose entities would become a billion words",
    a_page(8, pages=(1, 5)),
    lambda root: _laughs(feed([*_on(root, FEW), "&l9;"])),
    kind="application/rss+xml",
)


@hostile("feed-endless", "each feed names another feed", a_page(60, pages=1))
def feed_endless(call: Call) -> Reply:
    if call.path == "/":
        return page(call, head='<link rel="alternate" type="application/atom+xml" href="/feed/0">')
    number = int(call.path.rpartition("/")[2])
    entry = f'<entry><link href="/feed/{number + 1}"/></entry>'
    return answer(
        f'{XML}<feed xmlns="http://www.w3.org/2005/Atom">{entry}</feed>'.encode(), kind="application/atom+xml"
    )
