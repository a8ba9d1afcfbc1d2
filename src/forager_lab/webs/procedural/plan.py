"""All numbers that shape a procedural web, in one frozen value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True, slots=True)
class WebPlan:
    """Webs with equal plans are equal to the byte. The defaults make about 3,000 pages on 40 hosts."""

    seed: int = 1
    hosts: int = 40
    pages_per_host: int = 75  # mean; a host has at least 10
    host_spread: float = 0.8  # sigma of the log of host sizes; 0: all alike
    topics: tuple[int, int, int] = (8, 4, 3)  # branching of the topic tree, at most this
    links: int = 40  # mean on an ordinary page, navigation and adverts included
    length: int = 12_000  # mean bytes of an ordinary page
    variety: float = 1.0  # how much pages differ in length and links; 0: not at all

    # where the links in the text of a page lead: the same leaf topic, a sibling of it, a cousin; the rest anywhere
    local: float = 0.62
    sibling: float = 0.12
    cousin: float = 0.08
    cross_host: float = 0.45  # share of those links that leave the host
    dead: float = 0.03
    redirects: float = 0.05
    errors: float = 0.01
    files: float = 0.02
    fresh: int = 0  # links on each page to pages that nothing else links to: the web never ends

    tunnels: float = 0.08  # share of the articles that can be reached only through pages about nothing
    hubs: float = 0.02  # share of the pages that are link lists
    duplicates: float = 0.04  # share of the articles with a print version
    adverts: int = 3  # on each page
    traps: float = 0.35  # share of the hosts with a part that never ends
    slow_hosts: float = 0.1

    def __post_init__(self) -> None:
        if not 1 <= self.hosts <= 1_000_000:
            raise ValueError(f"hosts must be 1..1,000,000, not {self.hosts}")
        if self.pages_per_host < 1 or self.links < 1 or min(self.topics) < 1:
            raise ValueError("pages_per_host, links and every number in topics must be at least 1")
        if not 0 <= self.tunnels <= 0.5:
            raise ValueError(f"tunnels must be 0..0.5, not {self.tunnels}: the rest of a host must stay reachable")

    @classmethod
    def reference(cls, *, open: bool = False, seed: int = 1) -> Self:
        """The web on which speed is measured: 3,000 pages of 43 KB with 80 links on 20 hosts, 20 topics.

        Closed, all links lead to those pages. Open, 25 of the 80 lead to pages that nothing else links to.
        """
        plain = cls(seed=seed, hosts=20, pages_per_host=150, host_spread=0.0, topics=(5, 2, 2), variety=0.0)
        busy = replace(plain, links=80, length=43_000, fresh=25 if open else 0, traps=0.0, slow_hosts=0.0)
        return replace(busy, dead=0.0, redirects=0.0, errors=0.0, files=0.0, duplicates=0.0)
