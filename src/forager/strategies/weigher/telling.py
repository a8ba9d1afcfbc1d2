"""What the signals of a link say, in sentences.

`SENTENCES` has one for every signal, by its name without how it is pooled. Signals with the same sentence are told as
one line, with what they add together. A sentence says what is so; the number beside it says whether that helped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, expm1
from typing import TypeAlias

from forager.strategies.weigher.place import SHRINK
from forager.types import Floats

SMALL = 0.05  # of all that the lines add; smaller lines are told together
MOST = 9  # lines, besides the three below
FAINT = 0.05  # log-odds that say nothing
USUAL, OTHERS, CUT = "a usual link", "other signals", "a score is cut off where it is nearly sure"


@dataclass(frozen=True, slots=True)
class LinkSignals:
    """The signals of a link, and those of a usual one, by name."""

    values: Mapping[str, float]
    usual: Mapping[str, float]

    def best(self, name: str) -> float:
        """Over the pages that the link is on, if the signal is pooled like that."""
        return self.values[self._named(name, "largest", "mean")]

    def mean(self, name: str) -> float:
        return self.values[self._named(name, "mean", "largest")]

    def high(self, name: str) -> bool:
        """Whether a usual link has less."""
        key = self._named(name, "mean", "largest")
        return self.values[key] > self.usual[key]

    def _named(self, name: str, *ways: str) -> str:
        return next(key for key in (name, *(f"{name}, {way}" for way in ways)) if key in self.values)


Say: TypeAlias = Callable[[LinkSignals], str]


def tell(
    names: Sequence[str],
    signals: Floats,
    usual: Floats,
    added: Sequence[float],
    *,
    bias: float,
    score: float,
) -> list[tuple[str, float]]:
    """Sentences with what each adds to the score of a link, the strongest first, after what a usual link has (`bias`).
    Together they are the score. `added`: by each signal, beside a usual link."""
    link = LinkSignals(*(dict(zip(names, each.tolist(), strict=True)) for each in (signals, usual)))
    sums: dict[Say, float] = {}
    for name, weight in zip(names, added, strict=True):
        say = SENTENCES[signal_of(name)]
        sums[say] = sums.get(say, 0.0) + weight
    least = SMALL * sum(map(abs, sums.values()))
    told = sorted(
        ((say, weight) for say, weight in sums.items() if abs(weight) > least), key=lambda line: -abs(line[1])
    )
    lines = [(USUAL, bias), *((say(link), weight) for say, weight in told[:MOST])]
    small = f"{OTHERS} ({len(sums) - len(told[:MOST])} small ones)"
    others = sum(sums.values()) - sum(weight for _, weight in told[:MOST])
    cut = score - bias - sum(sums.values())
    return [*lines, *((name, rest) for name, rest in ((small, others), (CUT, cut)) if abs(rest) > 1e-4)]


def signal_of(name: str) -> str:
    """The name of a signal without how it is pooled."""
    return name.partition(",")[0]


# ---- sentences ------------------------------------------------------------------------------------------------------


def _chance(log_odds: float) -> float:
    return 1 / (1 + exp(-log_odds))


def _source(link: LinkSignals) -> str:
    best, mean = _chance(link.best("source")), _chance(link.mean("source"))
    found = "is relevant" if best >= 0.5 else "is not relevant"
    if best - mean < 0.01:
        return f"the page it is on {found} (critic: {best:.2f})"
    return f"the best page it is on {found} (critic: {best:.2f}; all of them: {mean:.2f})"


def _opinion(link: LinkSignals) -> str:
    chance = _chance(link.mean("opinion"))
    return f"the page it is on begins {'as' if chance >= 0.5 else 'not as'} wanted pages do (chance: {chance:.2f})"


def _by_sign(name: str, faint: str, good: str, bad: str) -> Say:
    """For log-odds: a sentence if they say nothing, one if they are above 0, and one if below."""

    def say(link: LinkSignals) -> str:
        odds = link.best(name)
        return faint if abs(odds) < FAINT else good if odds > 0 else bad

    return say


def _words(name: str, which: str) -> Say:
    """For the words at a link, by which pages of the sample have them."""
    told = (f"{which} are those of {pages} pages" for pages in ("wanted", "other"))
    return _by_sign(name, f"{which} say nothing about the topic", *told)


def _like(name: str, what: str) -> Say:
    """For a cosine: how near the words at a link are to some pages of the sample."""

    def say(link: LinkSignals) -> str:
        if not link.mean(name):
            return f"its words cannot be compared with {what}"
        return f"its words are {'like' if link.high(name) else 'little like'} {what} (likeness: {link.mean(name):.2f})"

    return say


def _prior(link: LinkSignals) -> str:
    return f"its words mean {'what' if link.high('prior') else 'little of what'} you look for"


def _company(link: LinkSignals) -> str:
    links = max(round(exp(link.best("parents"))), round(expm1(link.best("inlinks"))) + 1)
    return "1 link leads to it" if links == 1 else f"{links:,} links lead to it"


def _kin(link: LinkSignals) -> str:
    return f"the relevance of the pages with a link to it adds up to {expm1(link.best('kin')):.1f}"


def _menu(link: LinkSignals) -> str:
    share = link.mean("menu")
    return f"{share:.0%} of the pages of its host carry it" if share >= 0.01 else "hardly a page of its host carries it"


def _edge(link: LinkSignals) -> str:
    return "it stands in a menu or a footer" if link.mean("edge") >= 0.5 else "it stands in the text of the page"


def _same_host(link: LinkSignals) -> str:
    return f"it leads to {'the same' if link.mean('same host') >= 0.5 else 'another'} host"


def _depth(link: LinkSignals) -> str:
    depth = max(1, round(expm1(link.mean("depth"))))
    return f"it is {depth} {'link' if depth == 1 else 'links'} away from a seed"


def _links(link: LinkSignals) -> str:
    return f"the page it is on has {max(1, round(expm1(link.mean('links')))):,} links"


def _host(link: LinkSignals) -> str:
    pages = round(expm1(link.best("host pages")))
    if not pages:
        return "no page of its host has come so far"
    rate, base = _chance(link.best("host") + link.best("base")), _chance(link.best("base"))
    relevant = (rate * (pages + SHRINK) - base * SHRINK) / pages  # what made the rate, before it was shrunk
    return f"pages of its host so far: {min(max(relevant, 0), 1) * pages:.0f} of {pages:,} were relevant"


def _rate(name: str, what: str) -> Say:
    """For a place, by how good the pages were that came from it."""
    told = (f"{what}: {how} than others so far" for how in ("no better and no worse", "better", "worse"))
    return _by_sign(name, *told)


def _learnt(link: LinkSignals) -> str:
    good = link.high("learnt")
    return (
        f"its words mean {'the same as' if good else 'something else than'} those of links that led to relevant pages"
    )


def _so_far(link: LinkSignals) -> str:
    pages, share = round(expm1(link.best("pages"))), _chance(link.best("base"))
    return f"this crawl so far: {pages:,} pages, of relevance {share:.2f} on average"


SENTENCES: Mapping[str, Say] = {
    # source: the page that the link is on
    "source": _source,
    "opinion": _opinion,
    "links": _links,
    # words
    "anchor": _words("anchor", "the words of its anchor"),
    "url": _words("url", "the words of its URL"),
    "context": _words("context", "the words around it"),
    "heading": _words("heading", "the words of the heading above it"),
    "words": _by_sign(
        "words",
        "its words have not shown yet where they lead",
        "links with its words have led to relevant pages so far",
        "links with its words have led to other pages so far",
    ),
    # meaning
    "prior": _prior,
    "near": _like("near", "the titles of your examples"),
    "far": _like("far", "the titles of pages you do not want"),
    "like": _like("like", "the first lines of your examples"),
    "unlike": _like("unlike", "the first lines of pages you do not want"),
    "learnt": _learnt,
    # place: what came from there before
    "host": _host,
    "host pages": _host,
    "folder": _rate("folder", "pages of its folder"),
    "path": _rate("path", "pages behind links in the same place of a page"),
    "neighbours": _rate("neighbours", "pages behind the links beside it"),
    "page": _rate("page", "other pages that the page it is on links to"),
    # menus
    "menu": _menu,
    "edge": _edge,
    "same host": _same_host,
    # company
    "inlinks": _company,
    "parents": _company,
    "relevant inlinks": _kin,
    "kin": _kin,
    "few kin": _kin,
    # past
    "depth": _depth,
    "base": _so_far,
    "pages": _so_far,
}
