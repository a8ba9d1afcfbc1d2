"""The hosts: names, sizes, topics and parts. A host is computed from its number, and the number from the name.

A block has as many hosts as there are leaf topics. Within a block each leaf is the main topic of one host, and each of
a host's other topics is a rotation of the main one that is fixed for the block. So arithmetic answers both questions:
what is this host about, and which hosts are about this topic?
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from forager_lab.webs.procedural.chance import Dice, digest, unit
from forager_lab.webs.procedural.plan import WebPlan
from forager_lab.webs.procedural.topics import TopicTree, turn
from forager_lab.webs.procedural.vocabulary import DIRECTORIES, HOST_FIRST, HOST_SECOND, SITE_KINDS, SUBDOMAINS

DOMAIN = ".web.test"
PER_LIST = 20  # articles on one page of a section
OFFICES = ("about", "contact", "login", "terms", "links")
TRAPS = ("calendar", "browse", "files", "catalogue")
# a host's topics: main, second, a sibling and a cousin of the main one, four others
SHARES = (0.28, 0.16, 0.12, 0.10, 0.09, 0.09, 0.08, 0.08)
_FIXED = 2 + len(OFFICES)  # pages of every host: home, offer, offices
_NAME = re.compile(r"(?:(?P<sub>[a-z]+)\.)?(?P<stem>[a-z]+(?:-[a-z]+)*?)(?P<number>\d*)")


class Segment(NamedTuple):
    """Articles of one topic on one host, numbered first..first+size-1."""

    leaf: int
    first: int
    size: int


class HostSection(NamedTuple):
    """A list of articles, PER_LIST on a page: those of one segment, or (None) all of them, mixed."""

    name: str
    segment: int | None
    articles: int

    @property
    def pages(self) -> int:
        """Number of pages of the list."""
        return max(1, -(-self.articles // PER_LIST))


class Tunnel(NamedTuple):
    """Pages about nothing that are the only way to the articles of a segment."""

    length: int
    segment: int


@dataclass(frozen=True, slots=True)
class Host:
    """Everything that is decided once for a host."""

    number: int
    name: str
    main: int  # leaf
    segments: tuple[Segment, ...]  # one a share, then one a tunnel
    sections: tuple[HostSection, ...]
    tunnels: tuple[Tunnel, ...]
    hubs: tuple[int, ...]  # leaf of each
    directories: tuple[str, ...]
    trap: str  # "" or one of TRAPS
    modulus: int  # of public article ids
    multiplier: int
    shift: int
    paths: int  # how articles are addressed, 0..5
    markup: int  # how pages are built, 0..2
    seconds: float  # that a typical answer takes
    traits: int  # random bits, see trait()
    open_articles: int  # so many articles, the first ones, are listed; the others are at the end of tunnels
    articles: int

    def trait(self, number: int, p: float) -> bool:
        """Does the host have the trait of this number, one that a share p of all hosts has?"""
        return (self.traits >> 8 * number & 255) < p * 256

    def segment_of(self, article: int) -> int:
        """The index of the segment that has the article."""
        for i, segment in enumerate(self.segments):
            if article < segment.first + segment.size:
                return i
        return 0  # an article that does not exist: a dead link needs a topic too


class Hosts:
    """All hosts of a web."""

    def __init__(self, plan: WebPlan, topics: TopicTree) -> None:
        self.plan, self.topics = plan, topics
        self._leaves = len(topics)
        self._stride = next(m for m in range(int(self._leaves * 0.618) + 1, 10**9) if math.gcd(m, self._leaves) == 1)
        self._stride_back = pow(self._stride, -1, self._leaves) if self._leaves > 1 else 0
        self._leaf_words = _leaf_words(topics)
        self._word_leaf = {word: leaf for leaf, words in enumerate(self._leaf_words) for word in words}
        # so that the 40 links of a page do not compute the same host 40 times
        self.host = lru_cache(maxsize=8192)(self._host)
        self.holder = lru_cache(maxsize=1 << 15)(self._holder)
        self._steps = lru_cache(maxsize=8192)(self._turns_of_block)

    # ---- topics of hosts, hosts of topics ---------------------------------------------------------------------------

    def _turns_of_block(self, block: int) -> tuple[int, ...]:
        """The rotation of the block, then one step for each share."""
        return tuple(digest(self.plan.seed, "turn", block, slot) >> 8 for slot in range(len(SHARES) + 1))

    def _turned(self, leaf: int, block: int, slot: int, back: bool = False) -> int:
        _, middles, few = self.topics.branching
        unit_, group = {0: (1, 1), 2: (1, few), 3: (few, middles)}.get(slot, (1, self._leaves))
        if group == 1:
            return leaf
        step = 1 + self._steps(block)[slot + 1] % (group - 1)
        return turn(leaf, unit_, group, -step if back else step)

    def leaf(self, number: int, slot: int) -> int:
        """The topic of a host's slot-th share."""
        block, rest = divmod(number, self._leaves)
        main = (rest * self._stride + self._steps(block)[0]) % self._leaves
        return self._turned(main, block, slot)

    def _holder(self, leaf: int, block: int, slot: int) -> int:
        """The host of the block whose slot-th share is about the leaf. The number may be beyond the last host."""
        main = self._turned(leaf, block, slot, back=True)
        return block * self._leaves + (main - self._steps(block)[0]) * self._stride_back % self._leaves

    @property
    def blocks(self) -> int:
        """Number of blocks of hosts."""
        return -(-self.plan.hosts // self._leaves)

    def holders(self, leaf: int) -> list[tuple[int, int]]:
        """Every (host, segment) with open articles about the leaf."""
        found = []
        for block in range(self.blocks):
            for slot in range(len(SHARES)):
                number = self.holder(leaf, block, slot)
                if number < self.plan.hosts and self.host(number).segments[slot].size:
                    found.append((number, slot))
        return found

    def some_holder(self, leaf: int, dice: Dice) -> tuple[Host, Segment] | None:
        """A host with open articles about the leaf, large shares more often. None if a few tries fail."""
        first = _slot(dice.roll())
        for attempt in range(2 * len(SHARES)):
            slot = (first + attempt) % len(SHARES)
            number = self.holder(leaf, dice.below(self.blocks), slot)
            if number < self.plan.hosts:
                host = self.host(number)
                if host.segments[slot].size:
                    return host, host.segments[slot]
        return None

    # ---- names ------------------------------------------------------------------------------------------------------

    def name(self, number: int) -> str:
        """The name of a host."""
        traits = digest(self.plan.seed, "name", number)
        if number % 2 and traits % 4 == 0:  # a subdomain of its neighbour
            return f"{SUBDOMAINS[traits // 4 % len(SUBDOMAINS)]}.{self._own_name(number - 1)}{DOMAIN}"
        return self._own_name(number) + DOMAIN

    def _own_name(self, number: int) -> str:
        traits = digest(self.plan.seed, "name", number)
        if traits & 16:
            block, leaf = number // self._leaves, self.leaf(number, 0)
            words = self._leaf_words[leaf]
            again, kind = divmod(block, len(SITE_KINDS))
            stem = f"{words[(traits >> 8) % len(words)]}-{SITE_KINDS[(kind * 7 + leaf) % len(SITE_KINDS)]}"
        else:
            again, at = divmod(number, len(HOST_FIRST) * len(HOST_SECOND))
            at = (at * 347 + digest(self.plan.seed, "names")) % (len(HOST_FIRST) * len(HOST_SECOND))
            stem = HOST_FIRST[at // len(HOST_SECOND)] + HOST_SECOND[at % len(HOST_SECOND)]
        return stem + (str(again + 1) if again else "")

    def number(self, name: str) -> int | None:
        """The number of the host with this name. The name of the candidate is made again and compared."""
        match = _NAME.fullmatch(name.removesuffix(DOMAIN)) if name.endswith(DOMAIN) else None
        if match is None:
            return None
        again = int(match["number"] or 1) - 1
        own = self._topical_number(match["stem"], again) if "-" in match["stem"] else self._plain(match["stem"], again)
        if own is None:
            return None
        found = own + 1 if match["sub"] else own
        return found if found < self.plan.hosts and self.name(found) == name else None

    def _topical_number(self, stem: str, again: int) -> int | None:
        word, _, kind = stem.rpartition("-")
        if kind not in SITE_KINDS or word not in self._word_leaf:
            return None
        leaf, kinds = self._word_leaf[word], len(SITE_KINDS)
        block = again * kinds + (SITE_KINDS.index(kind) - leaf) * pow(7, -1, kinds) % kinds
        return self.holder(leaf, block, 0) if block < self.blocks else None

    def _plain(self, stem: str, again: int) -> int | None:
        at = _PLAIN_NAMES.get(stem)
        if at is None:
            return None
        whole = len(_PLAIN_NAMES)
        return again * whole + (at - digest(self.plan.seed, "names")) * pow(347, -1, whole) % whole

    # ---- what a host has --------------------------------------------------------------------------------------------

    def _host(self, number: int) -> Host:
        plan, dice = self.plan, Dice(digest(self.plan.seed, "host", number))
        size = self._size(number)
        hubs = int(size * plan.hubs + dice.roll())
        tunnels = [1 + dice.below(3) for _ in range(int(size * plan.tunnels / 5 + dice.roll()))] if plan.tunnels else []
        spare = size - _FIXED - hubs - sum(tunnels)
        articles = max(3, round(spare / (1 + plan.duplicates + 1 / PER_LIST)))
        segments = self._segments(number, articles, len(tunnels), dice)
        sections = self._sections(segments, dice)
        modulus = 10 ** len(str(8 * articles))
        slow = dice.chance(plan.slow_hosts)
        return Host(
            number=number,
            name=self.name(number),
            main=segments[0].leaf,
            segments=segments,
            sections=sections,
            tunnels=tuple(Tunnel(length, len(SHARES) + i) for i, length in enumerate(tunnels)),
            hubs=tuple(segments[0].leaf if i % 2 else dice.below(self._leaves) for i in range(hubs)),
            directories=_directories(sections, dice),
            trap=dice.pick(TRAPS) if dice.chance(plan.traps) else "",
            modulus=modulus,
            multiplier=dice.pick((3, 7, 11, 13, 17, 19, 23)) * 1001 + 10 * dice.below(50),
            shift=dice.below(modulus),
            paths=dice.below(6),
            markup=dice.below(3),
            seconds=2.0 + 4.0 * dice.roll() if slow else 0.02 + 0.2 * dice.roll() ** 2,
            traits=digest(plan.seed, "traits", number),
            open_articles=sum(segment.size for segment in segments[: len(SHARES)]),
            articles=articles,
        )

    def _size(self, number: int) -> int:
        """Log-normal around the mean: a few hosts are large, most are small."""
        mean, spread = self.plan.pages_per_host, self.plan.host_spread
        u, v = (unit(digest(self.plan.seed, "size", number, which)) for which in "uv")
        normal = math.sqrt(-2 * math.log(1 - u)) * math.cos(2 * math.pi * v)
        return max(_FIXED + 3, min(25 * mean, round(mean * math.exp(spread * normal - spread * spread / 2))))

    def _segments(self, number: int, articles: int, tunnels: int, dice: Dice) -> tuple[Segment, ...]:
        """Shares of the open articles, and a hidden segment for each tunnel."""
        hidden = [min(2 + dice.below(7), max(1, articles // (2 * tunnels))) for _ in range(tunnels)]
        tilt = 0.6 + 0.8 * dice.roll()  # some hosts write more about their main topic than others
        weights = [SHARES[0] * tilt, *(share * (2 - tilt) for share in SHARES[1:])]
        left, total = articles - sum(hidden), sum(weights)
        ends = [round(left * sum(weights[:slot]) / total) for slot in range(len(SHARES) + 1)]
        leaves = [self.leaf(number, slot) for slot in range(len(SHARES))]
        for count in hidden:
            ends.append(ends[-1] + count)
            leaves.append(dice.below(self._leaves))
        return tuple(Segment(leaf, ends[i], ends[i + 1] - ends[i]) for i, leaf in enumerate(leaves))

    def _sections(self, segments: tuple[Segment, ...], dice: Dice) -> tuple[HostSection, ...]:
        """Half of the hosts sort their articles by topic, under names that tell it or not. The others do not."""
        names = list(DIRECTORIES)
        if dice.chance(0.5):
            total = sum(segment.size for segment in segments[: len(SHARES)])
            return (HostSection(names[dice.below(len(names))], None, total),)
        telling = dice.chance(0.5)
        sections: dict[str, HostSection] = {}
        for i, segment in enumerate(segments[: len(SHARES)]):
            plain = names.pop(dice.below(len(names)))
            name = self.topics.name(segment.leaf).lower() if telling else plain
            if segment.size:
                name = plain if name in sections else name
                sections[name] = HostSection(name, i, segment.size)
        return tuple(sections.values())


def _directories(sections: tuple[HostSection, ...], dice: Dice) -> tuple[str, ...]:
    if len(sections) > 1:
        return tuple(section.name for section in sections)
    return tuple(dict.fromkeys(dice.pick(DIRECTORIES) for _ in range(3)))


def _slot(u: float) -> int:
    """A share, more often a large one."""
    for slot, share in enumerate(SHARES):
        u -= share
        if u < 0:
            return slot
    return 0


def _leaf_words(topics: TopicTree) -> tuple[tuple[str, ...], ...]:
    """Words that may stand in the name of a host. No two leaves share one, so that a name tells its leaf."""
    taken = {topics.name(leaf).lower() for leaf in range(len(topics))}
    found = []
    for leaf in range(len(topics)):
        words = [topics.name(leaf).lower()]
        for word in topics.words[leaf][:4]:
            plain = word.replace(" ", "-")
            if plain not in taken:
                taken.add(plain)
                words.append(plain)
        found.append(tuple(words))
    return tuple(found)


_PLAIN_NAMES = {
    first + second: i * len(HOST_SECOND) + j
    for i, first in enumerate(HOST_FIRST)
    for j, second in enumerate(HOST_SECOND)
}
