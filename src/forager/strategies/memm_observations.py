"""What a path model sees of pages and links: hashed features, a row each, in three blocks.

    page       of a page that was fetched
    arriving   of a link, for the page that it leads to: all that is known of that page before it is fetched
    leaving    of a link, for the page that it is on

The paper's observations, as binary features (`Sets.PAPER`); w runs over the keywords, which are the words of the topic
and of title, headings, keywords and description of the targets:

    O1         largest cosine of the page to a target          page: one feature for each tenth that it reaches
    O2         cosine of its description to those of targets   page: the same
    Ow         word w is on the page                           page
    O3         a link of the page has a keyword in its URL     page
    O4         the URL that leads here has a keyword           arriving
    O5,w       w is in the anchor, or near it                  arriving
    O6,w       the same of the link that is followed next      leaving

Ours (`Sets.OURS`): Ow; all words near a link and in its anchor, URL and nearest heading, not only keywords, numbers
alike ("cs302" is "cs0"); extension and depth of the URL, and how it lies to that of the page; title, headings and URL
of the page that the link is on (arriving), and of the page itself. Similarities, which cost most, are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

import numpy as np
from numpy.typing import NDArray

from forager.similarity import Idf, Targets, find
from forager.strategies.around import beside
from forager.strategies.shark import around
from forager.text import count, mix, term, terms, url_terms
from forager.types import Links, Mask, Page, Parts, Ragged, Terms, Url
from forager.urls import host

VERSION = 1
NEAR, CLOSE = 10, 4  # words on either side of an anchor: ours, and the paper's least
TENTHS = np.arange(0.1, 1.0, 0.1)
MOST_TARGETS = 250  # that a page is compared with
_DIGITS = re.compile(r"\d+")
(
    TEXT, DESCRIPTION, WORD, LINKED, LED, ANCHOR_IN, ANCHOR_OUT,
    A_IN, A_OUT, B_IN, B_OUT, C_IN, C_OUT, H_IN, H_OUT, U_IN, U_OUT, L_IN, L_OUT, RELATION,
    TITLE_IN, HEAD_IN, URL_IN, SIZE_IN, TITLE, HEAD, URL, SIZE,
) = range(28)  # fmt: skip


class Sets(StrEnum):
    """Which observations are made."""

    OURS = "ours"
    PAPER = "all"
    WORDS = "words"  # Ow alone
    TEXT = "text"  # all but Ow


@dataclass(frozen=True, slots=True, eq=False)
class Observer:
    """Sees pages and links as in training."""

    sets: Sets
    keywords: Terms  # ascending
    targets: Targets
    described: Targets

    # ---- of a page

    def page(self, page: Page) -> Terms:
        parts = [np.empty(0, np.uint32)]
        if self.sets is not Sets.TEXT:
            parts.append(mix(self._keywords(page.terms.values), WORD))
        if self.sets in (Sets.PAPER, Sets.TEXT):
            parts += [
                _tenths(_largest(self.targets, page.terms.values), TEXT),
                _tenths(_largest(self.described, terms([page.description])[0]), DESCRIPTION),
                _flag(bool(len(self._keywords(url_terms(page.links.targets).values))), LINKED),
            ]
        if self.sets is Sets.OURS:
            parts += [mix(rows, place) for rows, place in zip(_about(page), (TITLE, HEAD, URL, SIZE), strict=True)]
        return np.unique(np.concatenate(parts))

    # ---- of all links of a page

    def links(self, page: Page, links: Links) -> tuple[Ragged, Ragged, Terms]:
        """Leaving and arriving features of each link, and those arriving that all links of the page have."""
        nothing = np.empty(0, np.uint32)
        if self.sets is Sets.WORDS:
            empty = Ragged.of([()] * len(links))
            return empty, empty, nothing
        if self.sets is Sets.OURS:
            return self._ours(page, links)
        near = self._only_keywords(around(page, links, CLOSE))
        held = self._only_keywords(url_terms(links.targets))
        led = _where(held.lengths > 0, _flag(True, LED))
        return _marked(near, ANCHOR_OUT), beside([_marked(near, ANCHOR_IN), led]), nothing

    def _ours(self, page: Page, links: Links) -> tuple[Ragged, Ragged, Terms]:
        said = self._said(page, links)
        relations = _marked(terms([_relation(page.url, target) for target in links.targets]), RELATION)
        leaving = beside(_marked_each(said, (A_OUT, B_OUT, C_OUT, H_OUT, U_OUT, L_OUT)))
        arriving = beside([*_marked_each(said, (A_IN, B_IN, C_IN, H_IN, U_IN, L_IN)), relations])
        places = (TITLE_IN, HEAD_IN, URL_IN, SIZE_IN)
        common = [mix(rows, place) for rows, place in zip(_about(page), places, strict=True)]
        return leaving, arriving, np.unique(np.concatenate(common))

    def _said(self, page: Page, links: Links) -> list[Ragged]:
        """Words of the anchor, before and behind it, of the heading before it, of the URL, and of its last part."""
        paths = [_alike(_path(target)) for target in links.targets]
        return [
            terms([_alike(anchor) for anchor in links.anchors]),
            *_sides(page, links, NEAR),
            _heading_before(page, links),
            url_terms(paths),
            url_terms([path.rstrip("/").rpartition("/")[2] for path in paths]),
        ]

    def _keywords(self, seen: Terms) -> Terms:
        return seen[find(seen, self.keywords)[1]]

    def _only_keywords(self, rows: Ragged) -> Ragged:
        known = find(rows.values, self.keywords)[1]
        ends = np.concatenate(([0], np.cumsum(known)))[rows.offsets]
        return Ragged(rows.values[known], ends)

    # ---- learning and keeping

    @classmethod
    def of(cls, sets: Sets, topic: Iterable[str], targets: Sequence[Page], idf: Idf, most: int, seed: int) -> Self:
        """`topic`: words of it; `most`: keywords besides them."""
        drawn = np.random.default_rng(seed).permutation(len(targets))[:MOST_TARGETS]
        some = [targets[i] for i in np.sort(drawn).tolist()]
        described = [bag for page in some if len(bag := terms([page.description])[0])]
        bags = Ragged.of([page.terms.values for page in some])
        keywords = np.union1d(np.array([term(word) for word in topic], np.uint32), _keywords_of(targets, most))
        return cls(sets, keywords, Targets(bags, idf), Targets(Ragged.of(described), idf))

    def parts(self) -> Parts:
        return {
            "sets": self.sets.value,
            "keywords": self.keywords,
            **{f"text.{name}": part for name, part in self.targets.parts().items()},
            **{f"description.{name}": part for name, part in self.described.parts().items()},
        }

    @classmethod
    def from_parts(cls, parts: Parts) -> Self:
        text, described = (
            Targets.from_parts({name.removeprefix(kind): part for name, part in parts.items() if name.startswith(kind)})
            for kind in ("text.", "description.")
        )
        return cls(Sets(parts["sets"]), np.asarray(parts["keywords"], np.uint32), text, described)


def _keywords_of(targets: Sequence[Page], most: int) -> Terms:
    """Of title, headings, keywords and description; those that most targets have, the smaller hash in a tie."""
    said = [terms([page.title, page.keywords, page.description, *_texts(page)]).values for page in targets]
    if not said:
        return np.empty(0, np.uint32)
    found, times = count(np.concatenate([np.unique(each) for each in said]))
    return np.sort(found[np.argsort(-times, kind="stable")[:most]])


def _texts(page: Page) -> list[str]:
    return [page.text(heading.first_leaf, heading.last_leaf) for heading in page.headings]


def _headings(page: Page) -> Ragged:
    return terms([_alike(text) for text in _texts(page)])


def _sides(page: Page, links: Links, words: int) -> tuple[Ragged, Ragged]:
    """So many words before each anchor, and behind it."""
    begin, end = page.terms.offsets[links.first_leaf], page.terms.offsets[links.last_leaf + 1]
    before, behind = np.maximum(begin - words, 0), np.minimum(end + words, len(page.terms.values))
    return _spans(page.terms.values, before, begin), _spans(page.terms.values, end, behind)


def _spans(values: Terms, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> Ragged:
    offsets = np.concatenate(([0], np.cumsum(ends - starts)))
    return Ragged(values[np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], ends - starts)], offsets)


def _about(page: Page) -> tuple[Terms, Terms, Terms, Terms]:
    """Words of title, headings and URL, and the size."""
    return terms([_alike(page.title)])[0], _headings(page).values, _address(page.url), _size(page)


def _heading_before(page: Page, links: Links) -> Ragged:
    """The words of the last heading before each link; none before the first."""
    ends = np.array([heading.last_leaf for heading in page.headings], np.int64)
    rows = Ragged.concat([Ragged.of([()]), _headings(page)])
    return rows.take(np.searchsorted(ends, links.first_leaf))


def _alike(text: str) -> str:
    """Numbers are all the same: "CS302" is "CS0"."""
    return _DIGITS.sub("0", text)


def _path(url: Url) -> str:
    return "/" + url.partition("://")[2].partition("/")[2]


def _address(url: Url) -> Terms:
    return url_terms([_alike(url)])[0]


def _size(page: Page) -> Terms:
    """How many links and words a page has, by powers of two."""
    links, words = int(np.log2(len(page.links) + 1)), int(np.log2(len(page.terms.values) + 1))
    return terms([f"links{links} words{words}"])[0]


def _relation(source: Url, target: Url) -> str:
    """Extension, depth, and where a URL lies, seen from another."""
    path = _path(target).partition("?")[0]
    last = path.rpartition("/")[2]
    extension = last.rpartition(".")[2].lower() if "." in last else "none" if last else "folder"
    here = source[: source.rfind("/") + 1]
    if host(source) != host(target):
        place = "elsewhere"
    elif target.startswith(here):
        place = "below" if "/" in target[len(here) :] else "beside"
    else:
        place = "above" if source.startswith(target[: target.rfind("/") + 1]) else "across"
    return f"ext_{extension} depth{path.count('/')} {place} {'home' if '~' in path else ''}"


def _largest(targets: Targets, bag: Terms) -> float:
    """max over d of cos(bag, d)"""
    if not len(targets) or not len(bag):
        return 0.0
    return float(targets.cosines(Ragged(bag, np.array([0, len(bag)], np.int64))).max())


def _tenths(value: float, place: int) -> Terms:
    reached = np.arange(int((value >= TENTHS).sum()), dtype=np.uint32)
    return mix(reached, place)


def _flag(said: bool, place: int) -> Terms:
    return mix(np.zeros(int(said), np.uint32), place)


def _marked(rows: Ragged, place: int) -> Ragged:
    return Ragged(mix(rows.values, place), rows.offsets)


def _marked_each(rows: Sequence[Ragged], places: Sequence[int]) -> list[Ragged]:
    return [_marked(each, place) for each, place in zip(rows, places, strict=True)]


def _where(said: Mask, feature: Terms) -> Ragged:
    """The feature in each row of which it is said."""
    return Ragged(np.repeat(feature, int(said.sum())), np.concatenate(([0], np.cumsum(said))))
