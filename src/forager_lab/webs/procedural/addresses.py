"""From a URL to what it names, and back.

To read a URL, guess what it may name and write the URL of that guess. The thing exists only if both URLs are the same
text. So the two directions cannot disagree, and a URL that somebody invents is not found.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from math import gcd
from typing import NamedTuple
from urllib.parse import parse_qsl

from forager.types import Url
from forager_lab.webs.procedural.chance import digest
from forager_lab.webs.procedural.hosts import OFFICES, Host, Hosts, Segment
from forager_lab.webs.procedural.prose import Prose
from forager_lab.webs.procedural.vocabulary import STAFF


class SpotKind(StrEnum):
    """The kinds of things that a host serves. The values go into the hash of each page: do not change them."""

    HOME = "home"
    OFFICE = "office"  # a: which of OFFICES
    OFFER = "offer"
    LIST = "list"  # a: section, b: page from 1
    ARTICLE = "article"  # a: article
    PRINT = "print"  # a: article
    HUB = "hub"  # a: which
    TUNNEL = "chain"  # a: which, b: step from 0
    FRESH = "fresh"  # a: any number below 2**64
    CALENDAR = "calendar"  # a: year * 12 + month - 1
    BROWSE = "browse"  # a: visitor number below 2**48, b: page
    FILES = "files"  # text: directories
    CATALOGUE = "catalogue"  # a: combination of facets, b: page
    MOVED = "moved"  # a redirect; a: article, b: 1 or 2 redirects to it
    OUT = "out"  # a redirect; a: host, b: article there
    LOOP = "loop"  # a redirect; a: 0 or 1
    BROKEN = "broken"  # a server error; a: any number
    FILE = "file"  # a document, not HTML; a: article
    ROBOTS = "robots"
    SITEMAP = "sitemap"


TRAPPED = frozenset({SpotKind.CALENDAR, SpotKind.BROWSE, SpotKind.FILES, SpotKind.CATALOGUE})
BRANDS = ("acme", "borealis", "corvus", "delta", "elan", "fortis", "gala", "halo")
COLOURS = ("black", "blue", "green", "grey", "red", "white", "yellow")
SORTS = ("newest", "price", "rating")
_TUNNEL_NAMES = ("department", "staff", "reading")
_FIRST_ID = 1000
_LONGEST_PATH = 1500  # bytes; a longer path is not found


class Spot(NamedTuple):
    """What a URL names: a page, or another thing that a host serves. The kind says what a, b and text mean."""

    host: int
    kind: SpotKind
    a: int = 0
    b: int = 0
    text: str = ""


class ArticleCard(NamedTuple):
    """What a link to an article needs to know about it."""

    leaf: int
    title: str
    path: str


class AddressBook:
    """The URL of each spot, and the spot of each URL."""

    def __init__(self, seed: int, hosts: Hosts, prose: Prose) -> None:
        self._seed, self._hosts, self._prose = seed, hosts, prose
        self.card = lru_cache(maxsize=1 << 14)(self._card)  # popular pages are linked to again and again

    # ---- writing ----------------------------------------------------------------------------------------------------

    def url(self, spot: Spot) -> Url:
        """The URL of a spot."""
        return Url(f"http://{self._hosts.host(spot.host).name}{self.path(spot)}")

    def path(self, spot: Spot) -> str:
        """The path and query of a spot."""
        host, kind = self._hosts.host(spot.host), spot.kind
        if kind is SpotKind.ARTICLE:
            return self.card(spot.host, spot.a).path
        if kind is SpotKind.LIST:
            return f"/{host.sections[spot.a].name}" + (f"?page={spot.b}" if spot.b > 1 else "")
        if kind is SpotKind.TUNNEL:
            return self._tunnel_path(host, spot)
        if kind is SpotKind.CATALOGUE:
            brand, colour, sort = facets(spot.a)
            return f"/catalogue?brand={brand}&colour={colour}&page={spot.b}&sort={sort}"
        return _plain_path(host, spot)

    def _tunnel_path(self, host: Host, spot: Spot) -> str:
        name = _TUNNEL_NAMES[spot.b - host.tunnels[spot.a].length]  # the last step is always the reading list
        person = STAFF[(host.number + spot.a) % len(STAFF)]
        return f"/{name}/{person}-{spot.a + 1}" if name == "staff" else f"/{name}/{spot.a + 1}"

    def _card(self, number: int, article: int) -> ArticleCard:
        host = self._hosts.host(number)
        bits = digest(self._seed, "article", number, article)
        leaf = host.segments[host.segment_of(article)].leaf
        title = self._prose.title(leaf, bits)
        return ArticleCard(
            leaf, title, self._article_path(host, article, title, digest(self._seed, "path", number, article))
        )

    def _article_path(self, host: Host, article: int, title: str, bits: int) -> str:
        name, slug = public_id(host, article), title.lower().replace(" ", "-")
        if host.paths in (0, 5):
            section = (
                host.segment_of(article) if bits % 8 < 4 else bits >> 8
            )  # many stand in a directory of another topic
            directory = host.directories[section % len(host.directories)]
            return f"/{directory}/{name}.html" if host.paths else f"/{directory}/{slug}-{name}.html"
        if host.paths == 1:
            return f"/{1996 + bits % 28}/{1 + (bits >> 8) % 12:02}/{slug}-{name}"
        if host.paths == 4:
            return f"/~{STAFF[(host.segment_of(article) + bits % 3) % len(STAFF)]}/{slug}-{name}.html"
        return f"/node/{name}" if host.paths == 2 else f"/view?item={name}"

    # ---- reading ----------------------------------------------------------------------------------------------------

    def spot(self, url: str) -> Spot | None:
        """What the URL names; None if it names nothing."""
        name, slash, path = url.removeprefix("http://").partition("/")
        number = self._hosts.number(name)
        if number is None or not slash or len(path) > _LONGEST_PATH:
            return None
        host = self._hosts.host(number)
        guess = self._guess(host, path)
        if guess is None or not self._exists(host, guess):
            return None
        return guess if self.path(guess) == "/" + path else None

    def known_host(self, url: str) -> bool:
        """True if the host of the URL exists."""
        return self._hosts.number(url.removeprefix("http://").partition("/")[0]) is not None

    def _guess(self, host: Host, path: str) -> Spot | None:
        first, _, rest = path.partition("?")[0].partition("/")
        words = [section.name for section in host.sections]
        if not rest and first in words:
            page = re.fullmatch(r"[a-z]+\?page=(\d{1,9})", path)
            return Spot(host.number, SpotKind.LIST, words.index(first), int(page[1]) if page else 1)
        if path in _WHOLE_PATHS:
            return _WHOLE_PATHS[path]._replace(host=host.number)
        if first in _NUMBERED:
            return _NUMBERED[first](host, rest)
        if first in ("browse", "catalogue"):
            return _guess_query(host, first, path)
        match = re.search(r"(\d{4,18})(?:\.html)?$", path)
        return Spot(host.number, SpotKind.ARTICLE, article_of(host, int(match[1]))) if match else None

    def _exists(self, host: Host, spot: Spot) -> bool:
        a, b, kind = spot.a, spot.b, spot.kind
        if kind in TRAPPED:
            return host.trap == kind.value
        if kind in (SpotKind.ARTICLE, SpotKind.PRINT, SpotKind.MOVED, SpotKind.FILE):
            return 0 <= a < host.articles and (
                kind is not SpotKind.PRINT or has_print(host, a, self._hosts.plan.duplicates)
            )
        if kind is SpotKind.OUT:
            return 0 <= a < self._hosts.plan.hosts and 0 <= b < self._hosts.host(a).articles
        if kind is SpotKind.LIST:
            return 1 <= b <= host.sections[a].pages
        if kind is SpotKind.TUNNEL:
            return 0 <= a < len(host.tunnels) and 0 <= b < host.tunnels[a].length
        if kind is SpotKind.FRESH:
            return self._hosts.plan.fresh > 0
        return kind is not SpotKind.HUB or 0 <= a < len(host.hubs)


def public_id(host: Host, article: int) -> int:
    """The number of an article in its URL. Articles of a topic are neighbours, and these numbers must not show it."""
    return _FIRST_ID + (article * host.multiplier + host.shift) % host.modulus


def article_of(host: Host, public: int) -> int:
    """The article with this number in its URL."""
    return (public - _FIRST_ID - host.shift) * pow(host.multiplier, -1, host.modulus) % host.modulus


def has_print(host: Host, article: int, share: float) -> bool:
    """True if the article has a print version; `share` of all articles have one."""
    return share > 0 and (article + host.traits) % round(1 / share) == 0


def prints_in(host: Host, segment: Segment, share: float) -> int:
    """How many articles of a segment have a print version."""
    if share <= 0:
        return 0
    every, start = round(1 / share), segment.first + host.traits
    return (start + segment.size - 1) // every - (start - 1) // every


def mixed(host: Host, place: int) -> int:
    """The article at a place of a section that is not sorted by topic: a shuffle of the open articles."""
    n = host.open_articles
    step = next(m for m in range(int(n * 0.618) + 1, 2 * n + 2) if gcd(m, n) == 1)
    return (place * step + host.shift) % n


def facets(combination: int) -> tuple[str, str, str]:
    """Brand, colour and order of a combination."""
    rest, brand = divmod(combination, len(BRANDS))
    rest, colour = divmod(rest, len(COLOURS))
    return BRANDS[brand], COLOURS[colour], SORTS[rest % len(SORTS)]


def _plain_path(host: Host, spot: Spot) -> str:
    """Paths that follow from the spot alone."""
    kind, a, b = spot.kind, spot.a, spot.b
    match kind:
        case SpotKind.HOME:
            return "/"
        case SpotKind.OFFICE:
            return f"/{OFFICES[a]}"
        case SpotKind.PRINT:
            return f"/print/{public_id(host, a)}"
        case SpotKind.HUB:
            return f"/links/{a + 1}"
        case SpotKind.FRESH:
            return f"/entry/{a:016x}"
        case SpotKind.CALENDAR:
            return f"/calendar/{a // 12}/{a % 12 + 1:02}"
        case SpotKind.BROWSE:
            return f"/browse?page={b}&sid={a:012x}"
        case SpotKind.FILES:
            return f"/files/{spot.text}" if spot.text else "/files"
        case SpotKind.MOVED:
            return f"/{'older' if b > 1 else 'old'}/{public_id(host, a)}.html"
        case SpotKind.OUT:
            return f"/out/{a}/{b}"
        case SpotKind.LOOP:
            return f"/welcome/{a}"
        case SpotKind.BROKEN:
            return f"/live/{a}"
        case SpotKind.FILE:
            return f"/docs/{public_id(host, a)}.{'pdf' if a % 3 else 'jpg'}"
        case SpotKind.OFFER:
            return "/offer"
        case SpotKind.ROBOTS:
            return "/robots.txt"
        case _:
            return "/sitemap.xml"


_WHOLE_PATHS = {
    "": Spot(0, SpotKind.HOME),
    "offer": Spot(0, SpotKind.OFFER),
    "files": Spot(0, SpotKind.FILES),
    "robots.txt": Spot(0, SpotKind.ROBOTS),
    "sitemap.xml": Spot(0, SpotKind.SITEMAP),
    **{name: Spot(0, SpotKind.OFFICE, i) for i, name in enumerate(OFFICES)},
}


def _numbers(text: str) -> list[int]:
    return [int(word) for word in re.findall(r"\d{1,18}", text)] or [0]


def _guess_out(host: Host, rest: str) -> Spot:
    there, article = (*_numbers(rest), 0)[:2]
    return Spot(host.number, SpotKind.OUT, there, article)


def _guess_moved(host: Host, rest: str, hops: int) -> Spot:
    return Spot(host.number, SpotKind.MOVED, article_of(host, _numbers(rest)[0]), hops)


def _guess_tunnel(host: Host, rest: str, name: int) -> Spot | None:
    which = _numbers(rest)[-1] - 1
    if not 0 <= which < len(host.tunnels):
        return None
    return Spot(host.number, SpotKind.TUNNEL, which, name + host.tunnels[which].length - len(_TUNNEL_NAMES))


def _guess_calendar(host: Host, rest: str) -> Spot:
    year, month = (*_numbers(rest), 0)[:2]
    return Spot(host.number, SpotKind.CALENDAR, year * 12 + month - 1)


def _guess_fresh(host: Host, rest: str) -> Spot | None:
    return Spot(host.number, SpotKind.FRESH, int(rest, 16)) if re.fullmatch(r"[0-9a-f]{16}", rest) else None


def _guess_files(host: Host, rest: str) -> Spot | None:
    return Spot(host.number, SpotKind.FILES, text=rest) if re.fullmatch(r"[a-z]+(/[a-z]+)*", rest) else None


def _guess_query(host: Host, kind: str, path: str) -> Spot | None:
    query = dict(parse_qsl(path.partition("?")[2]))
    page = _numbers(query.get("page", ""))[0]
    if kind == "browse":
        sid = query.get("sid", "")
        return Spot(host.number, SpotKind.BROWSE, int(sid, 16), page) if re.fullmatch(r"[0-9a-f]{12}", sid) else None
    combination = _COMBINATIONS.get(tuple(query.get(name, "") for name in ("brand", "colour", "sort")))
    return None if combination is None else Spot(host.number, SpotKind.CATALOGUE, combination, page)


_COMBINATIONS: dict[tuple[str, ...], int] = {facets(i): i for i in range(len(BRANDS) * len(COLOURS) * len(SORTS))}
_NUMBERED: dict[str, Callable[[Host, str], Spot | None]] = {
    "old": lambda host, rest: _guess_moved(host, rest, 1),
    "older": lambda host, rest: _guess_moved(host, rest, 2),
    "out": _guess_out,
    "welcome": lambda host, rest: Spot(host.number, SpotKind.LOOP, _numbers(rest)[0] % 2),
    "live": lambda host, rest: Spot(host.number, SpotKind.BROKEN, _numbers(rest)[0]),
    "print": lambda host, rest: Spot(host.number, SpotKind.PRINT, article_of(host, _numbers(rest)[0])),
    "docs": lambda host, rest: Spot(host.number, SpotKind.FILE, article_of(host, _numbers(rest)[0])),
    "links": lambda host, rest: Spot(host.number, SpotKind.HUB, _numbers(rest)[0] - 1),
    "department": lambda host, rest: _guess_tunnel(host, rest, 0),
    "staff": lambda host, rest: _guess_tunnel(host, rest, 1),
    "reading": lambda host, rest: _guess_tunnel(host, rest, 2),
    "calendar": _guess_calendar,
    "entry": _guess_fresh,
    "files": _guess_files,
}
