"""A hostile web over HTTP, on one port of this machine: each kind of host goes wrong, or attacks, in a way of its own.

As a process: `python -m forager_lab.webs.hostile --log requests.log`
In a program: `async with HostileServer() as server: print(server.places)`

`KINDS` has them all by name, with what a crawl must make of each (`Wanted`). `verdicts` compares this with what a crawl
has made of them.

A kind is a function in one of the modules here, which are the groups of kinds. `bench.faults` crawls all of them beside
good hosts. It needs Linux: the server stands for the public network, at 127.0.0.9.
"""

from __future__ import annotations

from forager_lab.webs.hostile import (
    addresses,
    bodies,
    connections,
    directives,
    heads,
    listings,
    pages,
    redirects,
    robots,
    traps,
)
from forager_lab.webs.hostile.kinds import KINDS, Kind, Wanted, kind_of
from forager_lab.webs.hostile.server import HostileServer, Listeners
from forager_lab.webs.hostile.verdicts import KindReport, judged, reports

GROUPS = (heads, bodies, connections, redirects, robots, pages, traps, listings, directives, addresses)

__all__ = [
    "GROUPS",
    "KINDS",
    "HostileServer",
    "Kind",
    "KindReport",
    "Listeners",
    "Wanted",
    "judged",
    "kind_of",
    "reports",
]
