"""A web made from a seed. Its pages are computed from their URLs when somebody asks for them; none is stored.

`ProceduralWeb(WebPlan(hosts=100))` answers any URL, knows the label of every page, and is a Fetcher. Begin with
`plan.py`; then `hosts.py` (which hosts there are), `addresses.py` (which URLs), `layout.py` (what stands on a page) and
`markup.py` (its HTML).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from forager.types import Answer, Failure, Fetch, Reason, Redirect, Url
from forager_lab.webs.procedural.addresses import TRAPPED, AddressBook, Spot, SpotKind, has_print, mixed, prints_in
from forager_lab.webs.procedural.chance import Dice, digest
from forager_lab.webs.procedural.hosts import OFFICES, Host, Hosts
from forager_lab.webs.procedural.layout import PageLayouts
from forager_lab.webs.procedural.markup import page_bytes
from forager_lab.webs.procedural.plan import WebPlan
from forager_lab.webs.procedural.prose import prose_of
from forager_lab.webs.procedural.topics import NONE, topic_tree, within

__all__ = ["ProceduralWeb", "WebPlan", "WebResponse"]

_REDIRECTS = frozenset({SpotKind.MOVED, SpotKind.OUT, SpotKind.LOOP})
_NOT_PAGES = _REDIRECTS | {SpotKind.BROKEN, SpotKind.FILE, SpotKind.ROBOTS, SpotKind.SITEMAP}
_MOST_IN_SITEMAP = 1000
_HTML = {"content-type": "text/html; charset=utf-8"}


class WebResponse(NamedTuple):
    """What a server would send. Status 0: there is no such host, so nobody answers."""

    status: int
    headers: dict[str, str]  # names in lower case
    body: bytes
    seconds: float  # that the answer would take


class ProceduralWeb:
    """A web of any size. A page exists only while somebody asks for it. It is also a Fetcher."""

    def __init__(self, plan: WebPlan | None = None) -> None:
        self.plan = plan or WebPlan()
        self._topics = topic_tree(self.plan.topics)
        self._prose = prose_of(self.plan.topics)
        self._hosts = Hosts(self.plan, self._topics)
        self._addresses = AddressBook(self.plan.seed, self._hosts, self._prose)
        self._layouts = PageLayouts(self.plan, self._topics, self._hosts, self._addresses, self._prose)

    # ---- answers ----------------------------------------------------------------------------------------------------

    async def fetch(self, url: Url) -> Answer:
        """What a fetcher would report. Documents and pictures are refused because of their type."""
        response = self.respond(url)
        status, headers, seconds = response.status, response.headers, response.seconds
        if status == 0:
            return Failure(url, Reason.UNREACHABLE, "no such host", seconds=seconds)
        if "location" in headers:
            return Redirect(url, Url(headers["location"]), status, seconds)
        if status >= 500:
            return Failure(url, Reason.SERVER_ERROR, f"status {status}", 10.0, seconds, status)
        if status >= 400:
            return Failure(url, Reason.NOT_FOUND, f"status {status}", seconds=seconds)
        kind, _, charset = headers["content-type"].partition("; charset=")
        if kind in ("application/pdf", "image/jpeg"):
            return Failure(url, Reason.NOT_HTML, kind, seconds=seconds)
        return Fetch(url, response.body, kind, charset, status, seconds)

    def respond(self, url: str) -> WebResponse:
        """The response to a GET request. It is the same at any time and in any process."""
        spot = self._addresses.spot(url)
        if spot is None:
            if not self._addresses.known_host(url):
                return WebResponse(0, {}, b"", 0.0)
            return WebResponse(404, dict(_HTML), b"<html><title>Not found</title><h1>Not found</h1></html>", 0.05)
        host = self._hosts.host(spot.host)
        seconds = round(host.seconds * (0.5 + digest(self.plan.seed, "seconds", url) % 1024 / 1024), 4)
        if spot.kind in _NOT_PAGES:
            status, headers, body = self._not_a_page(host, spot)
            return WebResponse(status, headers, body, seconds)
        canonical = self._canonical(host, spot)
        return WebResponse(200, dict(_HTML), page_bytes(self._layouts.of(spot), host, self._prose, canonical), seconds)

    def _not_a_page(self, host: Host, spot: Spot) -> tuple[int, dict[str, str], bytes]:
        match spot.kind:
            case SpotKind.BROKEN:
                return 500, dict(_HTML), b"<html><h1>Something went wrong</h1></html>"
            case SpotKind.FILE if spot.a % 3:
                return 200, {"content-type": "application/pdf"}, b"%PDF-1.4\n%%EOF\n"
            case SpotKind.FILE:
                return 200, {"content-type": "image/jpeg"}, b"\xff\xd8\xff\xd9"
            case SpotKind.ROBOTS:
                return 200, {"content-type": "text/plain; charset=utf-8"}, self._robots(host).encode()
            case SpotKind.SITEMAP:
                return 200, {"content-type": "application/xml; charset=utf-8"}, self._sitemap(host).encode()
            case _:
                status = 301 if spot.kind is SpotKind.MOVED and spot.b == 1 else 302
                return status, {**_HTML, "location": self._addresses.url(self._next(spot))}, b""

    def _next(self, spot: Spot) -> Spot:
        """Where a redirect leads."""
        if spot.kind is SpotKind.LOOP:
            return spot._replace(a=1 - spot.a)
        if spot.kind is SpotKind.OUT:
            return Spot(spot.a, SpotKind.ARTICLE, spot.b)
        return spot._replace(b=1) if spot.b > 1 else Spot(spot.host, SpotKind.ARTICLE, spot.a)

    def _canonical(self, host: Host, spot: Spot) -> str:
        if spot.kind not in (SpotKind.ARTICLE, SpotKind.PRINT) or not host.trait(5, 0.5):
            return ""
        return self._addresses.url(Spot(spot.host, SpotKind.ARTICLE, spot.a))

    def _robots(self, host: Host) -> str:
        lines = ["User-agent: *", "Disallow: /login"]
        if host.trap and host.trait(6, 0.6):
            lines.append(f"Disallow: /{host.trap}")
        if host.trait(7, 0.3):
            lines.append("Disallow: /print/")
        if host.number % 7 == 3:
            lines.append(f"Crawl-delay: {1 + host.number % 4}")
        return "\n".join([*lines, f"Sitemap: http://{host.name}/sitemap.xml", ""])

    def _sitemap(self, host: Host) -> str:
        """The home page and the open articles. If it had the hidden ones too, there would be no tunnels."""
        count = min(host.open_articles, _MOST_IN_SITEMAP)
        articles = (Spot(host.number, SpotKind.ARTICLE, mixed(host, i)) for i in range(count))
        spots = [Spot(host.number, SpotKind.HOME), *articles]
        entries = "".join(f"<url><loc>{self._addresses.url(spot)}</loc></url>\n" for spot in spots)
        opening = (
            '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        )
        return f"{opening}{entries}</urlset>\n"

    # ---- truth ------------------------------------------------------------------------------------------------------

    def topics(self) -> tuple[str, ...]:
        """The leaf topics. Any prefix of whole parts of one is a topic too."""
        return self._topics.paths

    def label(self, url: str) -> str:
        """The topic of the page that a URL leads to; "_none" if there is no page or no topic."""
        final = self.final(url)
        spot = self._addresses.spot(final) if final else None
        return NONE if spot is None or spot.kind in _NOT_PAGES else self._layouts.label(spot)

    def final(self, url: str) -> Url | None:
        """The URL that redirects lead to; None if they form a loop. Whether anything is there is not checked."""
        spot = self._addresses.spot(url)
        if spot is None:
            return Url(url)
        if spot.kind is SpotKind.LOOP:
            return None
        while spot.kind in _REDIRECTS:
            spot = self._next(spot)
        return self._addresses.url(spot)

    def original(self, url: str) -> Url:
        """The URL of the article if this is its print version; any other URL unchanged."""
        spot = self._addresses.spot(url)
        return (
            self._addresses.url(spot._replace(kind=SpotKind.ARTICLE))
            if spot and spot.kind is SpotKind.PRINT
            else Url(url)
        )

    def endless(self, url: str) -> bool:
        """True for a page of a trap."""
        spot = self._addresses.spot(url)
        return spot is not None and spot.kind in TRAPPED

    def links(self, url: str) -> list[Url]:
        """The links of a page in document order, repeated ones too; an empty list if it is not a page."""
        spot = self._addresses.spot(url)
        if spot is None or spot.kind in _NOT_PAGES:
            return []
        return [anchor.url for anchor in self._layouts.of(spot).anchors]

    def anchors(self, url: str) -> list[tuple[Url, str]]:
        """The links of a page with their anchor texts."""
        spot = self._addresses.spot(url)
        if spot is None or spot.kind in _NOT_PAGES:
            return []
        return [(anchor.url, anchor.text) for anchor in self._layouts.of(spot).anchors]

    def homes(self) -> Iterator[Url]:
        """The home page of each host."""
        for number in range(self.plan.hosts):
            yield self._addresses.url(Spot(number, SpotKind.HOME))

    def labels(self) -> Iterator[tuple[Url, str]]:
        """Every page with its label, in a fixed order. Pages of traps are left out, because they never end."""
        for number in range(self.plan.hosts):
            for spot in self._spots(self._hosts.host(number)):
                yield self._addresses.url(spot), self._layouts.label(spot)

    def _spots(self, host: Host) -> Iterator[Spot]:
        n = host.number
        yield Spot(n, SpotKind.HOME)
        yield Spot(n, SpotKind.OFFER)
        yield from (Spot(n, SpotKind.OFFICE, i) for i in range(len(OFFICES)))
        yield from (
            Spot(n, SpotKind.LIST, i, p + 1) for i, section in enumerate(host.sections) for p in range(section.pages)
        )
        yield from (Spot(n, SpotKind.HUB, i) for i in range(len(host.hubs)))
        yield from (
            Spot(n, SpotKind.TUNNEL, i, step) for i, tunnel in enumerate(host.tunnels) for step in range(tunnel.length)
        )
        yield from (Spot(n, SpotKind.ARTICLE, i) for i in range(host.articles))
        copied = (i for i in range(host.articles) if has_print(host, i, self.plan.duplicates))
        yield from (Spot(n, SpotKind.PRINT, i) for i in copied)

    def relevant(self, topic: str) -> int:
        """How many pages of `labels()` are in a topic. They are counted without being made."""
        leaves = frozenset(self._topics.under(topic))
        return sum(self._relevant_on(self._hosts.host(number), topic, leaves) for number in range(self.plan.hosts))

    def _relevant_on(self, host: Host, topic: str, leaves: frozenset[int]) -> int:
        wanted = [i for i, segment in enumerate(host.segments) if segment.leaf in leaves]
        articles = sum(host.segments[i].size + prints_in(host, host.segments[i], self.plan.duplicates) for i in wanted)
        lists = sum(section.pages for section in host.sections if section.segment in wanted)
        hubs = sum(leaf in leaves for leaf in host.hubs)
        home = within(self._layouts.label(Spot(host.number, SpotKind.HOME)), topic)
        return articles + lists + hubs + home

    def seeds(self, topic: str, n: int, rng_seed: int = 0) -> list[Url]:
        """n different open articles about a topic, or all if there are fewer. The same rng_seed gives the same ones."""
        holders = [self._open(*found) for leaf in self._topics.under(topic) for found in self._hosts.holders(leaf)]
        sizes = [len(articles) for _, articles in holders]
        dice, total = Dice(digest(rng_seed, "seeds", topic)), sum(sizes)
        chosen: dict[int, None] = {}
        while len(chosen) < min(n, total):
            chosen[dice.below(total)] = None
        return [self._nth(holders, place) for place in chosen]

    def _open(self, number: int, slot: int) -> tuple[int, range]:
        segment = self._hosts.host(number).segments[slot]
        return number, range(segment.first, segment.first + segment.size)

    def _nth(self, holders: list[tuple[int, range]], place: int) -> Url:
        for number, articles in holders:
            if place < len(articles):
                return self._addresses.url(Spot(number, SpotKind.ARTICLE, articles[place]))
            place -= len(articles)
        raise IndexError(place)
