"""Parts of a host without end: a calendar, a visitor's number in every URL, ever deeper folders, combined facets."""

from __future__ import annotations

from forager_lab.webs.procedural.addresses import BRANDS, COLOURS, SORTS, Kind, Spot, facets
from forager_lab.webs.procedural.chance import digest
from forager_lab.webs.procedural.hosts import Host
from forager_lab.webs.procedural.vocabulary import GENERAL, split

_MONTHS = split("January February March April May June July August September October November December")
_FIRST_YEAR = 2024
_COMBINATIONS = len(BRANDS) * len(COLOURS) * len(SORTS)


def trap_door(host: Host) -> tuple[Spot, str]:
    """The link every page of the host has to its trap."""
    n = host.number
    doors = {
        "calendar": (Spot(n, Kind.CALENDAR, _FIRST_YEAR * 12), "Calendar"),
        "browse": (Spot(n, Kind.BROWSE, digest(n, "visitor") >> 16, 1), "Browse"),
        "files": (Spot(n, Kind.FILES), "Files"),
        "catalogue": (Spot(n, Kind.CATALOGUE, n % _COMBINATIONS, 1), "Catalogue"),
    }
    return doors[host.trap]


def trap_title(spot: Spot) -> str:
    match spot.kind:
        case Kind.CALENDAR:
            return f"Events in {_MONTHS[spot.a % 12]} {spot.a // 12}"
        case Kind.BROWSE:
            return f"Browse the collection, page {spot.b}"
        case Kind.FILES:
            return f"Index of {spot.text or 'files'}"
        case _:
            return " ".join(facets(spot.a)).capitalize()


def trap_links(spot: Spot) -> list[tuple[Spot, str]]:
    """Where a page of a trap leads: further in."""
    match spot.kind:
        case Kind.CALENDAR:
            steps = {"next": 1, "previous": -1, "next year": 12}
            months = {text: spot.a + step for text, step in steps.items()}
            return [(spot._replace(a=month), text) for text, month in months.items() if month > 0]
        case Kind.BROWSE:
            visitor = digest(spot.a, "next visitor", spot.b) >> 16
            pages = [(spot._replace(a=visitor, b=spot.b + step), f"page {spot.b + step}") for step in (1, 2, 3)]
            return [*pages, (spot._replace(a=visitor), "reload")]
        case Kind.FILES:
            names = [GENERAL[digest(0, spot.text, i) % len(GENERAL)] for i in range(4)]
            return [(spot._replace(text=f"{spot.text}/{name}".lstrip("/")), name) for name in dict.fromkeys(names)]
        case _:
            others = [(spot.a + step) % _COMBINATIONS for step in (1, len(BRANDS), len(BRANDS) * len(COLOURS))]
            further = [(spot._replace(a=other, b=1), " ".join(facets(other))) for other in others]
            return [(spot._replace(b=spot.b + 1), "next"), *further]
