"""Links to articles: where they lead, and with which words. A focused crawler can learn from them.

Most links stay near the topic of their page, most anchors say something about their target, and the text around a link
is usually about the target. Each of these rules is broken often, so that none of them is enough.
"""

from __future__ import annotations

from typing import NamedTuple

from forager.types import Url
from forager_lab.webs.procedural.addresses import AddressBook, ArticleCard, Spot, SpotKind
from forager_lab.webs.procedural.chance import Dice, digest
from forager_lab.webs.procedural.hosts import SHARES, Host, Hosts
from forager_lab.webs.procedural.plan import WebPlan
from forager_lab.webs.procedural.prose import Prose
from forager_lab.webs.procedural.topics import TopicTree
from forager_lab.webs.procedural.vocabulary import USELESS


class Anchor(NamedTuple):
    """A link on a page. `about`: what the text around it is about, a leaf or a manner of `Prose`."""

    host: str
    path: str
    text: str
    about: int

    @property
    def url(self) -> Url:
        return Url(f"http://{self.host}{self.path}")


class ArticleLinks:
    """Makes the links of pages to articles."""

    def __init__(self, plan: WebPlan, topics: TopicTree, hosts: Hosts, addresses: AddressBook, prose: Prose) -> None:
        self._plan, self._topics, self._hosts = plan, topics, hosts
        self._addresses, self._prose = addresses, prose

    def to(self, host: Host, article: int, own: int, dice: Dice) -> Anchor:
        """A link to an article. Its words mostly, but not always, tell what the article is about."""
        card = self._addresses.card(host.number, article)
        return Anchor(host.name, card.path, self._anchor_text(card, dice), self._around(card.leaf, own, dice))

    def _anchor_text(self, card: ArticleCard, dice: Dice) -> str:
        roll = dice.roll()
        if roll < 0.42:
            return card.title
        if roll < 0.54:
            return self._prose.word(card.leaf, dice.below(4096))
        if roll < 0.8:
            return dice.pick(USELESS)
        if roll < 0.9:
            return self._prose.title(self._prose.general, int(roll * 1e15))
        return self._prose.word(dice.below(len(self._topics)), dice.below(4096))  # a misleading one

    def _around(self, leaf: int, own: int, dice: Dice) -> int:
        """What the sentences next to a link are about: usually its target."""
        roll = dice.roll()
        if roll < 0.55:
            return leaf
        if roll < 0.65:
            return own
        return self._prose.general if roll < 0.9 else dice.below(len(self._topics))

    def some(self, count: int, host: Host, leaf: int, dice: Dice, own: int = -1, hidden: int = -1) -> list[Anchor]:
        """`count` links of an article, to different articles if a few tries find them."""
        seen = {(host.number, own)}
        links = []
        for _ in range(count):
            there, article = self._target(host, leaf, dice, hidden)
            for _ in range(3):
                if (there.number, article) not in seen:
                    break
                there, article = self._target(host, leaf, dice, hidden)
            seen.add((there.number, article))
            links.append(self._link(host, there, article, leaf, dice))
        return links

    def _link(self, host: Host, there: Host, article: int, leaf: int, dice: Dice) -> Anchor:
        """A link to an article; now and then a dead link, a redirect, an error or a file."""
        plan, roll = self._plan, dice.roll()
        if roll >= plan.dead + plan.redirects + plan.errors + plan.files:
            return self.to(there, article, leaf, dice)
        link = self.to(there, article, leaf, dice)
        if roll < plan.dead:
            return self.to(there, there.articles + dice.below(there.articles), leaf, dice)
        if roll < plan.dead + plan.redirects:
            return self._redirected(host, there, article, link, dice)
        if roll < plan.dead + plan.redirects + plan.errors:
            spot = Spot(there.number, SpotKind.BROKEN, dice.below(1000))
        else:
            spot = Spot(there.number, SpotKind.FILE, article)
        return link._replace(path=self._addresses.path(spot))

    def _redirected(self, host: Host, there: Host, article: int, link: Anchor, dice: Dice) -> Anchor:
        roll = dice.roll()
        if roll < 0.04:
            return link._replace(path=self._addresses.path(Spot(there.number, SpotKind.LOOP, dice.below(2))))
        if roll < 0.4 and there.number != host.number:  # a redirect of this host that counts its leavers
            spot = Spot(host.number, SpotKind.OUT, there.number, article)
            return link._replace(host=host.name, path=self._addresses.path(spot))
        return link._replace(path=self._addresses.path(Spot(there.number, SpotKind.MOVED, article, 1 + (roll > 0.8))))

    def _target(self, host: Host, leaf: int, dice: Dice, hidden: int) -> tuple[Host, int]:
        """The host and article that a link leads to: about the leaf, a sibling, a cousin, or anything."""
        plan, roll, away = self._plan, dice.roll(), dice.chance(self._plan.cross_host)
        if roll < plan.local:
            wanted = leaf
            if hidden >= 0 and not away and host.segments[hidden].size > 1:
                segment = host.segments[hidden]  # only the tunnel leads to the first of them
                return host, segment.first + 1 + dice.below(segment.size - 1)
        elif roll < plan.local + plan.sibling:
            wanted = self._topics.sibling(leaf, dice.below(64))
        elif roll < plan.local + plan.sibling + plan.cousin:
            wanted = self._topics.cousin(leaf, dice.below(64))
        elif away:
            wanted = dice.below(len(self._topics))
        else:
            return host, dice.below(host.open_articles)
        return self.about(host, wanted, away, dice)

    def about(self, host: Host, wanted: int, away: bool, dice: Dice) -> tuple[Host, int]:
        """An article about the leaf, more often a popular one. Unless `away`, this host's own come first."""
        skew = dice.roll()
        if not away:
            for segment in host.segments[: len(SHARES)]:
                if segment.leaf == wanted and segment.size:
                    return host, segment.first + int(segment.size * skew * skew)
        found = self._hosts.some_holder(wanted, dice)
        if found is None:
            return host, dice.below(host.open_articles)
        there, segment = found
        return there, segment.first + int(segment.size * skew * skew)

    def fresh(self, dice: Dice, leaf: int) -> list[Anchor]:
        """Links to pages that nothing else links to."""
        links = []
        for _ in range(self._plan.fresh):
            host = self._hosts.host(dice.below(self._plan.hosts))
            spot = Spot(host.number, SpotKind.FRESH, int(dice.roll() * 2**53) << 11)
            about = self.fresh_leaf(host, spot)
            text = dice.pick(USELESS) if dice.chance(0.5) else self._prose.word(about, dice.below(4096))
            links.append(Anchor(host.name, self._addresses.path(spot), text, self._around(about, leaf, dice)))
        return links

    def fresh_leaf(self, host: Host, spot: Spot) -> int:
        """The topic of a fresh page."""
        bits = digest(self._plan.seed, "fresh", spot.a)
        return host.segments[bits % 4].leaf if bits & 1024 else (bits >> 16) % len(self._topics)
