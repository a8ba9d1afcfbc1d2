"""What is seen of a page and of its links: words, each of a kind, as features that models have weights for.

A word of a kind is a *code*, and a feature is a hash of that (`text.code`, `text.mixed`). What is seen of a link are
words of some stretches, so many of each, where there are as many:

    before, behind    the words of the page on either side of the anchor
    within            the words of the anchor
    above             the words of the last heading before it, from the first on
    said              the words of the anchor, read again together with URLs: see `Reading`
    address           the words of its URL, from the last on

So the codes of n links are a block of n columns, which is cut out of all words, looked up and added up at once: nothing
is done link by link.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.learn.chains.vocabulary import FeatureWeights
from forager.types import Floats, Links, Page, Terms
from forager.web.text import (
    ROW_END,
    code,
    decoded,
    distinct,
    mixed,
    row_terms,
    salt_part,
    term,
    term_part,
    unescaped,
    words,
)

Codes: TypeAlias = NDArray[np.uint64]
Places: TypeAlias = NDArray[np.integer[Any]]
Rows: TypeAlias = tuple[int, Sequence[int], int]  # a stretch, places in it counted from its start, and a kind

NO_WORD = 0  # a term, where there is none
BEFORE, BEHIND, WITHIN, ABOVE, SAID, ADDRESS = range(6)  # stretches

_PLACES = ("elsewhere", "on the site", "in the folder")  # of the page
_MORE = range(-3, 5)  # words that the URL of a link has more than that of the page
_LYING = tuple(f"{place}, {more:+d} words" for place in _PLACES for more in _MORE)
_DEEPEST = 15
_DEPTHS = (*(f"{depth} words" for depth in range(_DEEPEST)), f"{_DEEPEST} words or more")
_ZEROS = bytes.maketrans(b"123456789", b"000000000")


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """Of a page and n of its links."""

    links: Codes  # (s, n) a column each, in which a code may be more than once: that counts for nothing
    page: Codes  # (e,) each once

    @classmethod
    def scattered(cls, codes: Codes, rows: Places, links: int) -> Seen:
        """Of codes in any order, and whose each is: that of one of n links, 0 to n - 1, or of the page, n."""
        order = np.argsort(rows, kind="stable")
        codes, rows = codes[order], rows[order]
        starts = np.searchsorted(rows, np.arange(links + 1))
        block = np.zeros((int(np.diff(starts).max(initial=0)), links), np.uint64)
        of_links = rows[: starts[-1]]
        block[np.arange(len(of_links)) - starts[of_links], of_links] = codes[: starts[-1]]
        return cls(block, np.unique(codes[starts[-1] :]))

    def sums(self, weights: FeatureWeights) -> tuple[Floats, Floats]:
        """What the weights of each link add up to, (n, c), and those of the page, (c,)."""
        return weights.sums(mixed(np.concatenate((self.links.ravel(), self.page))), *self.links.shape)

    def once(self) -> tuple[Codes, Places]:
        """All codes of links, rows 0 to n - 1, and of the page, row n: each once in a row, in order of rows."""
        height, columns = self.links.shape
        codes = np.append(self.links, self.page)
        rows = np.append(np.tile(np.arange(columns), height), np.full(len(self.page), columns))
        order = np.lexsort((codes, rows))
        codes, rows = codes[order], rows[order]
        new = np.append(True, (codes[1:] != codes[:-1]) | (rows[1:] != rows[:-1]))[: len(codes)]
        new &= decoded(codes)[0] != NO_WORD
        return codes[new], rows[new]


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """All words of a page, and of the texts of n of its links: anchors and URLs, cut and hashed together."""

    page: Page
    links: Links
    words: Terms  # those of the page, those of the texts, and NO_WORD
    texts: (
        Places  # (2n + 5,) where they begin: title, meta data, host of the page, n anchors, n URLs, its URL, and an end
    )

    @classmethod
    def of(cls, page: Page, links: Links, *, alike: bool) -> Reading:
        """`alike`: numbers are, every digit of a text is a 0."""
        text = texts_of(page, links)
        hashed, own = row_terms(zeroed(text) if alike else text), page.terms.values
        every = np.concatenate((own, hashed.values, np.zeros(1, np.uint32)))
        return cls(page, links, every, hashed.offsets + len(own))

    @property
    def title(self) -> Terms:
        return self.words[self.texts[0] : self.texts[1]]

    @property
    def meta(self) -> Terms:
        """The words of keywords and description of the page."""
        return self.words[self.texts[1] : self.texts[2]]

    @property
    def host(self) -> Terms:
        return self.words[self.texts[2] : self.texts[3]]

    @property
    def address(self) -> Terms:
        """The words of the URL of the page, without its host."""
        return self.words[self.texts[-2] : self.texts[-1]]

    @property
    def depths(self) -> Places:
        """(n,) words of the URLs of links."""
        return np.diff(self.texts[3 + len(self.links) : -1])

    @property
    def headings(self) -> Terms:
        spans = [self.page.terms.span(heading.first_leaf, heading.last_leaf) for heading in self.page.headings]
        return np.concatenate(spans) if spans else self.words[:0]

    def stretches(self, chosen: Sequence[int]) -> Places:
        """For k of them and each link: where it starts, its first place, and the one behind its last; (3, k, n)."""
        n, own = len(self.links), self.page.terms.offsets
        begin, end = own.take(self.links.first_leaf), own.take(self.links.last_leaf + 1)
        starts, ends = self.texts[3:-2], self.texts[4:-1]
        found = {
            BEFORE: (begin, np.zeros(n, np.int64), begin),
            BEHIND: (end, end, np.full(n, own[-1])),
            WITHIN: (begin, begin, end),
            SAID: (starts[:n], starts[:n], ends[:n]),
            ADDRESS: (ends[n:], starts[n:], ends[n:]),
        }
        if ABOVE in chosen:
            found[ABOVE] = self._above()
        return np.array([found[stretch] for stretch in chosen]).swapaxes(0, 1)

    def _above(self) -> tuple[Places, Places, Places]:
        headings, own = self.page.headings, self.page.terms.offsets
        spans = np.array([(0, 0), *((heading.first_leaf, heading.last_leaf + 1) for heading in headings)]).T
        before = spans[1, 1:].searchsorted(self.links.first_leaf, side="right")
        begin, end = own.take(spans.take(before, axis=1))
        return begin, begin, end


class Plan:
    """Which words of links are codes of what kind."""

    def __init__(self, rows: Sequence[Rows]) -> None:
        self._chosen = sorted({stretch for stretch, _, _ in rows})
        each = [(self._chosen.index(stretch), place, kind) for stretch, places, kind in rows for place in places]
        which, places, kinds = np.array(each).T
        self._which, self._places, self._salts = which, places[:, None], salt_part(kinds)[:, None]

    def codes(self, reading: Reading) -> Codes:
        """(s, n)"""
        start, first, behind = reading.stretches(self._chosen).take(self._which, axis=1)
        at = start + self._places
        codes = term_part(reading.words.take(np.where((at >= first) & (at < behind), at, -1)))
        codes += self._salts
        return codes


class Lies:
    """How the URLs of links lie: where, how many words deep, and how much deeper than that of the page."""

    names = (*_PLACES, *_LYING, *_DEPTHS)

    def __init__(self, lies: int, depth: int) -> None:
        """`lies`, `depth`: kinds."""
        self._place, self._lying, self._depth = (
            np.array([code(name, kind) for name in names], np.uint64)
            for names, kind in ((_PLACES, lies), (_LYING, lies), (_DEPTHS, depth))
        )

    def codes(self, reading: Reading) -> Codes:
        """(3, n)"""
        url, depths = reading.page.url, reading.depths
        site, folder = _either(root_of(url)), _either(url[: url.rfind("/") + 1])
        within = [target.startswith(site) + target.startswith(folder) for target in reading.links.targets]
        place, more = np.array(within, np.intp), depths - len(reading.address)
        lying = place * len(_MORE) + np.minimum(np.maximum(more, _MORE[0]), _MORE[-1]) - _MORE[0]
        depth = np.minimum(depths, _DEEPEST)
        return np.array((self._place.take(place), self._lying.take(lying), self._depth.take(depth)))


def coded(said: Sequence[tuple[int, Terms]]) -> Codes:
    """Words, each of the kind it comes with, and each of a kind once."""
    kinds, parts = zip(*said, strict=True)
    salts = salt_part(np.array(kinds)).repeat([len(part) for part in parts])
    return distinct(term_part(np.concatenate(parts)) + salts)


def in_words(codes: Codes, names: Mapping[int, str], told: Sequence[str]) -> list[str]:
    """What codes stand for, by what is told of each kind, with {} for the word; words have names by their terms."""
    pairs = zip(*(each.tolist() for each in decoded(codes)), strict=True)
    return [told[kind].format(names.get(word, "…")) for word, kind in pairs]


def texts_of(page: Page, links: Links) -> str:
    """Texts of n links and of the page, ROW_END between them: to look at each takes longer.

    Of URLs of the same host the path is read, escapes are undone, "_" separates; "~svc" is "_" and "_svc".
    """
    root = root_of(page.url)
    said = [page.title, f"{page.keywords} {page.description}", root.partition("/")[2], *links.anchors]
    texts = ROW_END.join(said)
    if texts.count(ROW_END) >= len(said):
        texts = ROW_END.join([text.replace(ROW_END, " ") for text in said])
    urls = ROW_END.join((*links.targets, page.url))
    for own in _either(root):
        urls = urls.replace(own, "/")
    if "%" in urls:
        urls = ROW_END.join([unescaped(url).replace(ROW_END, " ") for url in urls.split(ROW_END)])
    return texts + ROW_END + urls.replace("_", " ").replace("~", " _ _")


def root_of(url: str) -> str:
    """Up to its host."""
    return url[: url.find("/", 8) + 1]


def _either(start: str) -> tuple[str, str]:
    """The start of a URL by either scheme: both are the same place."""
    rest = start.partition(":")[2]
    return f"http:{rest}", f"https:{rest}"


def zeroed(text: str) -> str:
    """With a 0 for every digit from 1 to 9."""
    return text.encode("utf-8", "surrogatepass").translate(_ZEROS).decode("utf-8", "surrogatepass")


def spelt(page: Page, links: Links, names: Iterable[str]) -> dict[int, str]:
    """Words of a page and of texts of its links, and names, by their terms."""
    texts = texts_of(page, links)
    found = {term(word): word for text in (*page.leaves, texts, zeroed(texts)) for word in words(text)}
    return found | {term(name): name for name in names}
