"""What stands on each page, before any HTML is made: title, topic, and links with their anchors.

The links are in the order of the page, so that `ProceduralWeb.links` needs no parser.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from forager_lab.webs.procedural.addresses import (
    BRANDS,
    COLOURS,
    SORTS,
    TRAPPED,
    AddressBook,
    Spot,
    SpotKind,
    facets,
    has_print,
    mixed,
)
from forager_lab.webs.procedural.chance import Dice, digest
from forager_lab.webs.procedural.hosts import DOMAIN, OFFICES, PER_LIST, SHARES, Host, Hosts
from forager_lab.webs.procedural.linking import Anchor, ArticleLinks
from forager_lab.webs.procedural.plan import WebPlan
from forager_lab.webs.procedural.prose import Prose
from forager_lab.webs.procedural.topics import NONE, TopicTree
from forager_lab.webs.procedural.vocabulary import GENERAL, LURES, split

_MONTHS = split("January February March April May June July August September October November December")
_FIRST_YEAR = 2024
_COMBINATIONS = len(BRANDS) * len(COLOURS) * len(SORTS)


@dataclass(frozen=True, slots=True)
class PageLayout:
    """Everything that decides the HTML of a page."""

    key: int  # seed of everything else that is random on the page
    title: str
    leaf: int  # what the page is about
    strength: float  # share of its sentences that are about the leaf
    second: int  # a second subject
    second_strength: float
    top: tuple[Anchor, ...]  # navigation
    body: tuple[Anchor, ...]
    inline: int  # so many of the body's links stand in the text; the others in a list
    adverts: tuple[Anchor, ...]
    bottom: tuple[Anchor, ...]  # footer
    room: int  # bytes left for text

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        """All links in the order of the page."""
        return self.top + self.body + self.adverts + self.bottom


class PageBody(NamedTuple):
    """The part of a layout that depends on the kind of page."""

    title: str
    leaf: int
    links: list[Anchor]
    strength: float = 0.3
    inline: int = 0  # so many of the links stand in the text
    second: int = -1  # -1: nothing
    second_strength: float = 0.0
    length: float = 0.35  # of the plan's


class PageLayouts:
    """Makes the layout of any page."""

    def __init__(self, plan: WebPlan, topics: TopicTree, hosts: Hosts, addresses: AddressBook, prose: Prose) -> None:
        self._plan, self._topics, self._hosts = plan, topics, hosts
        self._addresses, self._prose = addresses, prose
        self._links = ArticleLinks(plan, topics, hosts, addresses, prose)
        self._frame = lru_cache(maxsize=2048)(self._frame_of)
        self._bodies: dict[SpotKind, Callable[[Host, Spot, Dice], PageBody]] = {
            SpotKind.HOME: self._home,
            SpotKind.OFFICE: self._office,
            SpotKind.OFFER: self._offer,
            SpotKind.LIST: self._list,
            SpotKind.ARTICLE: self._article,
            SpotKind.PRINT: self._article,
            SpotKind.HUB: self._hub,
            SpotKind.TUNNEL: self._tunnel,
            SpotKind.FRESH: self._fresh,
            **dict.fromkeys(TRAPPED, self._trap),
        }

    def of(self, spot: Spot) -> PageLayout:
        """The layout of a page."""
        host = self._hosts.host(spot.host)
        # a print version has the text of its article, so it uses the same random numbers
        kind = SpotKind.ARTICLE if spot.kind is SpotKind.PRINT else spot.kind
        key = digest(self._plan.seed, "page", spot.host, kind.value, spot.a, spot.b, spot.text)
        dice = Dice(key)
        body = self._bodies[spot.kind](host, spot, dice)
        if not self._plan.variety:
            body = self._alike(host, body, dice)
        framed = spot.kind is not SpotKind.PRINT
        top, bottom = self._frame(host.number) if framed else ((), ())
        return PageLayout(
            key=key,
            title=body.title,
            leaf=body.leaf,
            strength=body.strength,
            second=self._prose.general if body.second < 0 else body.second,
            second_strength=body.second_strength,
            top=top,
            body=tuple(body.links),
            inline=min(body.inline, len(body.links)),
            adverts=self._adverts(body.leaf, dice) if framed else (),
            bottom=bottom,
            room=self._room(host, body),
        )

    def _room(self, host: Host, body: PageBody) -> int:
        """Bytes for text. An estimate, so that a print version, with less around it, has the same text."""
        return round(self._plan.length * body.length) - 300 - 80 * (self._furniture(host) + len(body.links))

    def label(self, spot: Spot) -> str:
        """The topic of a page. Pages of traps, offices, offers and tunnels are about nothing."""
        host = self._hosts.host(spot.host)
        match spot.kind:
            case SpotKind.ARTICLE | SpotKind.PRINT:
                return self._topics.paths[host.segments[host.segment_of(spot.a)].leaf]
            case SpotKind.HUB:
                return self._topics.paths[host.hubs[spot.a]]
            case SpotKind.LIST:
                segment = host.sections[spot.a].segment
                return NONE if segment is None else self._topics.paths[host.segments[segment].leaf]
            case SpotKind.FRESH:
                return self._topics.paths[self._links.fresh_leaf(host, spot)]
            case SpotKind.HOME:
                return self._topics.parent(host.main) if host.trait(0, 0.5) else NONE
            case _:
                return NONE

    # ---- what every page of a host has ------------------------------------------------------------------------------

    def _at(self, spot: Spot, text: str) -> Anchor:
        return Anchor(self._hosts.host(spot.host).name, self._addresses.path(spot), text, self._prose.general)

    def _here(self, host: Host, kind: SpotKind, text: str, a: int = 0, b: int = 0) -> Anchor:
        return self._at(Spot(host.number, kind, a, b), text)

    def _frame_of(self, number: int) -> tuple[tuple[Anchor, ...], tuple[Anchor, ...]]:
        host = self._hosts.host(number)
        return self._navigation(host), self._footer(host)

    def _navigation(self, host: Host) -> tuple[Anchor, ...]:
        sections = [self._here(host, SpotKind.LIST, s.name.capitalize(), i, 1) for i, s in enumerate(host.sections[:4])]
        links = [self._here(host, SpotKind.HOME, "Home"), *sections, self._here(host, SpotKind.OFFICE, "About us", 0)]
        if host.trap:
            links.append(self._at(*_trap_door(host)))
        links.append(self._here(host, SpotKind.OFFICE, "Links", 4))
        links.append(self._here(host, SpotKind.OFFICE, "Log in", 2))
        return tuple(links)

    def _footer(self, host: Host) -> tuple[Anchor, ...]:
        partner = self._hosts.host(digest(self._plan.seed, "partner", host.number) % self._plan.hosts)
        terms = self._here(host, SpotKind.OFFICE, "Terms of use", 3)
        contact = self._here(host, SpotKind.OFFICE, "Contact", 1)
        return terms, contact, self._here(partner, SpotKind.HOME, f"Partner of {partner.name}")

    def _adverts(self, leaf: int, dice: Dice) -> tuple[Anchor, ...]:
        """Links to any host, with words of advertising; some also have a word of the page's topic."""
        adverts = []
        for _ in range(self._plan.adverts):
            host = self._hosts.host(dice.below(self._plan.hosts))
            text = dice.pick(LURES)
            if leaf < len(self._topics) and dice.chance(0.4):
                text = f"{self._prose.word(leaf, dice.below(4096)).capitalize()}: {text.lower()}"
            kind = SpotKind.OFFER if dice.chance(0.6) else SpotKind.HOME
            adverts.append(self._here(host, kind, text))
        return tuple(adverts)

    def _furniture(self, host: Host) -> int:
        top, bottom = self._frame(host.number)
        return len(top) + len(bottom) + self._plan.adverts

    def _alike(self, host: Host, body: PageBody, dice: Dice) -> PageBody:
        """The same page with exactly the plan's links and length."""
        wanted = max(1, self._plan.links - self._furniture(host))
        more = self._links.some(wanted - len(body.links), host, host.main, dice)
        return body._replace(links=(body.links + more)[:wanted], length=1.0)

    # ---- kinds of pages ---------------------------------------------------------------------------------------------

    def _article(self, host: Host, spot: Spot, dice: Dice) -> PageBody:
        card = self._addresses.card(host.number, spot.a)
        at = host.segment_of(spot.a)
        body = self._text(host, card.title, card.leaf, dice, spot.a, at if at >= len(SHARES) else -1)
        if has_print(host, spot.a, self._plan.duplicates):
            back = spot.kind is SpotKind.PRINT
            kind, text = (SpotKind.ARTICLE, "Screen version") if back else (SpotKind.PRINT, "Print version")
            body.links.append(self._here(host, kind, text, spot.a))
        if at < len(SHARES) and host.hubs and dice.chance(0.1):
            body.links.append(self._here(host, SpotKind.HUB, "Links on this", dice.below(len(host.hubs))))
        return body

    def _fresh(self, host: Host, spot: Spot, dice: Dice) -> PageBody:
        leaf = self._links.fresh_leaf(host, spot)
        return self._text(host, self._prose.title(leaf, digest(self._plan.seed, "title", spot.a)), leaf, dice)

    def _text(self, host: Host, title: str, leaf: int, dice: Dice, own: int = -1, hidden: int = -1) -> PageBody:
        """An article: most are clear and long, some are weak, some are about two topics, some are short."""
        form, vary = dice.roll(), self._plan.variety
        strength, second, drift, thin = 0.1 + 0.3 * dice.roll(), 0.15 * dice.roll(), 0.05, 1.0
        if form < 0.15:
            strength, second, drift = 0.03 * dice.roll(), 0.35, 0.65
        elif form < 0.35:
            strength, second, drift = 0.02 + 0.1 * dice.roll(), 0.2, 0.3
        elif form < 0.5:
            thin = 1 - 0.8 * vary
        size = (1 + vary * (dice.roll() + dice.roll() - 1)) * thin
        wanted = max(3, round(self._plan.links * size) - self._furniture(host) - self._plan.fresh)
        apart = self._topics.sibling(leaf, dice.below(64)) if dice.chance(0.3) else dice.below(len(self._topics))
        drifting = round(wanted * drift)  # links about the second subject
        links = self._links.some(drifting, host, apart, dice, own)
        links += self._links.some(wanted - drifting, host, leaf, dice, own, hidden) + self._links.fresh(dice, leaf)
        links.sort(key=lambda _: dice.roll())  # the place of a link must not tell where it leads
        inline = round(len(links) * (0.3 + 0.6 * dice.roll()))
        return PageBody(title, leaf, links, strength, inline, apart, second, size)

    def _home(self, host: Host, spot: Spot, dice: Dice) -> PageBody:
        lists = [self._here(host, SpotKind.LIST, s.name.capitalize(), i, 1) for i, s in enumerate(host.sections)]
        featured = [self._links.to(host, dice.below(host.open_articles), host.main, dice) for _ in range(10)]
        tunnels = [self._tunnel_link(host, i, 0) for i in range(len(host.tunnels)) if i % 2 == 0]
        friends = []
        for _ in range(4):
            friend = self._hosts.host(dice.below(self._plan.hosts))
            friends.append(self._here(friend, SpotKind.HOME, friend.name.removesuffix(DOMAIN)))
        title = host.name.partition(".")[0].replace("-", " ").capitalize()
        return PageBody(title, host.main, lists + featured + tunnels + friends, 0.2, 4, host.segments[1].leaf, 0.2)

    def _office(self, host: Host, spot: Spot, dice: Dice) -> PageBody:
        links = [self._links.to(host, dice.below(host.open_articles), self._prose.office, dice) for _ in range(2)]
        if spot.a == 0:
            links += [self._tunnel_link(host, i, 0) for i in range(len(host.tunnels))]
        if spot.a == 4:
            links += [self._here(host, SpotKind.HUB, self._hub_title(host, i), i) for i in range(len(host.hubs))]
            others = [self._hosts.host(dice.below(self._plan.hosts)) for _ in range(6)]
            links += [self._here(other, SpotKind.HOME, other.name) for other in others]
        return PageBody(OFFICES[spot.a].capitalize(), self._prose.office, links, 0.6)

    def _offer(self, host: Host, spot: Spot, dice: Dice) -> PageBody:
        links = [
            self._here(self._hosts.host(dice.below(self._plan.hosts)), SpotKind.OFFER, dice.pick(LURES)) for _ in "abc"
        ]
        lure = dice.pick(LURES)
        return PageBody(lure, self._prose.office, links, 0.4, 2, dice.below(len(self._topics)), 0.15)

    def _list(self, host: Host, spot: Spot, dice: Dice) -> PageBody:
        section = host.sections[spot.a]
        places = range((spot.b - 1) * PER_LIST, min(spot.b * PER_LIST, section.articles))
        segment = None if section.segment is None else host.segments[section.segment]
        leaf = host.main if segment is None else segment.leaf
        articles = [mixed(host, place) if segment is None else segment.first + place for place in places]
        links = [self._links.to(host, article, leaf, dice) for article in articles]
        links += [self._links.to(host, dice.below(host.open_articles), leaf, dice) for _ in range(3)]
        pages = {"previous": spot.b - 1, "next": spot.b + 1, "last": section.pages}
        pages = {text: page for text, page in pages.items() if 1 <= page <= section.pages and page != spot.b}
        links += [self._here(host, SpotKind.LIST, text, spot.a, page) for text, page in pages.items()]
        return PageBody(f"{section.name.capitalize()} {spot.b}", leaf, links, 0.1, length=0.1)

    def _hub_title(self, host: Host, which: int) -> str:
        return self._prose.title(host.hubs[which], digest(self._plan.seed, "hub", host.number, which), 0.5)

    def _hub(self, host: Host, spot: Spot, dice: Dice) -> PageBody:
        leaf = host.hubs[spot.a]
        links = []
        for _ in range(15 + dice.below(20)):
            wanted = leaf if dice.chance(0.72) else dice.below(len(self._topics))
            there, article = self._links.about(host, wanted, dice.chance(0.7), dice)
            links.append(self._links.to(there, article, leaf, dice))
        return PageBody(self._hub_title(host, spot.a), leaf, links, 0.1, length=0.15)

    def _tunnel_link(self, host: Host, which: int, step: int) -> Anchor:
        tunnel = host.tunnels[which]
        text = ("Department", "Staff", "Reading list")[step - tunnel.length]
        parent = self._topics.parent(host.segments[tunnel.segment].leaf).rpartition(".")[2]
        if text == "Department" and which % 2:
            text = f"Department of {parent}"
        return self._here(host, SpotKind.TUNNEL, text, which, step)._replace(about=self._prose.department)

    def _tunnel(self, host: Host, spot: Spot, dice: Dice) -> PageBody:
        """Department, staff, reading list: only the last page links to the articles, and to all of them."""
        tunnel = host.tunnels[spot.a]
        links = [self._links.to(host, dice.below(host.open_articles), self._prose.department, dice) for _ in range(3)]
        links += [self._tunnel_link(host, i, 0) for i in range(len(host.tunnels)) if i != spot.a and dice.chance(0.5)]
        segment = host.segments[tunnel.segment]
        if spot.b + 1 < tunnel.length:
            links.append(self._tunnel_link(host, spot.a, spot.b + 1))
        else:
            articles = range(segment.first, segment.first + segment.size)
            links += [self._links.to(host, article, self._prose.department, dice) for article in articles]
        title = self._tunnel_link(host, spot.a, spot.b).text
        return PageBody(title, self._prose.department, links, 0.5, 4, segment.leaf, 0.05)

    def _trap(self, host: Host, spot: Spot, dice: Dice) -> PageBody:
        links = [self._at(further, text) for further, text in _trap_links(spot)]
        links += [self._links.to(host, dice.below(host.open_articles), host.main, dice) for _ in range(2)]
        return PageBody(_trap_title(spot), host.main, links, 0.08, length=0.25)


# ---- traps: parts of a host that never end -------------------------------------------------------------------------


def _trap_door(host: Host) -> tuple[Spot, str]:
    """The link to the trap of a host that all its pages have."""
    n = host.number
    doors = {
        "calendar": (Spot(n, SpotKind.CALENDAR, _FIRST_YEAR * 12), "Calendar"),
        "browse": (Spot(n, SpotKind.BROWSE, digest(n, "visitor") >> 16, 1), "Browse"),
        "files": (Spot(n, SpotKind.FILES), "Files"),
        "catalogue": (Spot(n, SpotKind.CATALOGUE, n % _COMBINATIONS, 1), "Catalogue"),
    }
    return doors[host.trap]


def _trap_title(spot: Spot) -> str:
    match spot.kind:
        case SpotKind.CALENDAR:
            return f"Events in {_MONTHS[spot.a % 12]} {spot.a // 12}"
        case SpotKind.BROWSE:
            return f"Browse the collection, page {spot.b}"
        case SpotKind.FILES:
            return f"Index of {spot.text or 'files'}"
        case _:
            return " ".join(facets(spot.a)).capitalize()


def _trap_links(spot: Spot) -> list[tuple[Spot, str]]:
    """The links of a page of a trap: they lead further into it."""
    match spot.kind:
        case SpotKind.CALENDAR:
            steps = {"next": 1, "previous": -1, "next year": 12}
            months = {text: spot.a + step for text, step in steps.items()}
            return [(spot._replace(a=month), text) for text, month in months.items() if month > 0]
        case SpotKind.BROWSE:
            visitor = digest(spot.a, "next visitor", spot.b) >> 16
            pages = [(spot._replace(a=visitor, b=spot.b + step), f"page {spot.b + step}") for step in (1, 2, 3)]
            return [*pages, (spot._replace(a=visitor), "reload")]
        case SpotKind.FILES:
            names = [GENERAL[digest(0, spot.text, i) % len(GENERAL)] for i in range(4)]
            return [(spot._replace(text=f"{spot.text}/{name}".lstrip("/")), name) for name in dict.fromkeys(names)]
        case _:
            others = [(spot.a + step) % _COMBINATIONS for step in (1, len(BRANDS), len(BRANDS) * len(COLOURS))]
            further = [(spot._replace(a=other, b=1), " ".join(facets(other))) for other in others]
            return [(spot._replace(b=spot.b + 1), "next"), *further]
