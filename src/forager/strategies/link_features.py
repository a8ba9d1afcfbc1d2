"""Features of a page and of its links, for path models (CRF, MEMM): words, each marked with its kind.

A *kind* is a small number that says where a word stands or what it tells, such as "in the anchor" or "in the title". A
word and its kind together are a *code*, a 64-bit number. A *feature* is a 32-bit hash of a code, and models have
weights for features (`code` and `mixed` in forager/web/text.py).

The words of a link come from several sources:

    BEFORE, AFTER    the words of the page before and after the anchor
    ANCHOR           the words of the anchor, as they stand on the page
    HEADING          the words of the last heading before the link, from its first word on
    ANCHOR_TEXT      the words of the anchor once more, hashed together with URLs, with digits zeroed if wanted
    URL              the words of its URL, from the last one backwards

The codes of n links are a block with n columns. The block is cut out of the words of the page, looked up and summed in
one go: no loop runs over the links.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.learn.chains.vocabulary import FeatureWeights
from forager.types import Floats, Links, Page, Ragged, Terms
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


class WordSource(IntEnum):
    """Where the words of a link come from, as listed at the top of this file."""

    BEFORE = 0
    AFTER = 1
    ANCHOR = 2
    HEADING = 3
    ANCHOR_TEXT = 4
    URL = 5


Codes: TypeAlias = NDArray[np.uint64]
Indices: TypeAlias = NDArray[np.integer[Any]]
Template: TypeAlias = tuple[WordSource, Sequence[int], int]  # a source, positions in it, and a kind for these words

NO_WORD = 0  # the term where there is no word

_PLACES = ("elsewhere", "on the site", "in the folder")  # where a target lies, seen from the page
_MORE = range(-3, 5)  # words that the URL of a link has more than the URL of the page
_PLACES_AND_MORE = tuple(f"{place}, {more:+d} words" for place in _PLACES for more in _MORE)
_DEEPEST = 15
_DEPTHS = (*(f"{depth} words" for depth in range(_DEEPEST)), f"{_DEEPEST} words or more")
_ZEROS = bytes.maketrans(b"123456789", b"000000000")


@dataclass(frozen=True, slots=True, eq=False)
class FeatureCodes:
    """The codes of a page and of n of its links."""

    links: Codes  # (s, n) a column for each link; a code may stand in a column twice and still counts once
    page: Codes  # (e,) each code once

    @classmethod
    def scattered(cls, codes: Codes, rows: Indices, links: int) -> FeatureCodes:
        """From codes in any order. `rows`: what each code belongs to, link 0 to `links` - 1, or the page, `links`."""
        order = np.argsort(rows, kind="stable")
        codes, rows = codes[order], rows[order]
        starts = np.searchsorted(rows, np.arange(links + 1))
        block = np.zeros((int(np.diff(starts).max(initial=0)), links), np.uint64)
        of_links = rows[: starts[-1]]
        block[np.arange(len(of_links)) - starts[of_links], of_links] = codes[: starts[-1]]
        return cls(block, np.unique(codes[starts[-1] :]))

    def sums(self, weights: FeatureWeights) -> tuple[Floats, Floats]:
        """The sum of the weights of each link, (n, c), and of the page, (c,)."""
        return weights.sums(mixed(np.concatenate((self.links.ravel(), self.page))), *self.links.shape)

    def once(self) -> tuple[Codes, Indices]:
        """All codes, and the row of each: link 0 to n - 1, or n, the page. Ordered by row, each code once in a row."""
        height, columns = self.links.shape
        codes = np.append(self.links, self.page)
        rows = np.append(np.tile(np.arange(columns), height), np.full(len(self.page), columns))
        order = np.lexsort((codes, rows))
        codes, rows = codes[order], rows[order]
        new = np.append(True, (codes[1:] != codes[:-1]) | (rows[1:] != rows[:-1]))[: len(codes)]
        new &= decoded(codes)[0] != NO_WORD
        return codes[new], rows[new]


@dataclass(frozen=True, slots=True, eq=False)
class PageWords:
    """All words of a page, and the words of its title, meta data and URLs and of n anchors, hashed together."""

    page: Page
    links: Links
    words: Terms  # those of the page, those of the texts, and NO_WORD
    texts: Indices  # (2n + 5,) where each text begins: title, meta data, host, n anchors, n URLs, own URL; and the end

    @classmethod
    def of(cls, page: Page, links: Links, *, zero_digits: bool) -> PageWords:
        """`zero_digits`: every digit of the texts becomes 0, so that "cs412" and "cs302" are the same word."""
        text = texts_of(page, links)
        hashed, own = row_terms(zeroed(text) if zero_digits else text), page.terms.values
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
    def url(self) -> Terms:
        """The words of the URL of the page, without its host."""
        return self.words[self.texts[-2] : self.texts[-1]]

    @property
    def depths(self) -> Indices:
        """(n,) the number of words in the URL of each link."""
        return np.diff(self.texts[3 + len(self.links) : -1])

    @property
    def of_links(self) -> Ragged:
        """The words of each link: those of its anchor, then those of its URL."""
        n, at = len(self.links), self.texts
        anchors, urls = (
            Ragged(self.words[at[first] : at[first + n]], at[first : first + n + 1] - at[first]) for first in (3, 3 + n)
        )
        return side_by_side([anchors, urls])

    @property
    def headings(self) -> Terms:
        spans = [self.page.terms.span(heading.first_leaf, heading.last_leaf) for heading in self.page.headings]
        return np.concatenate(spans) if spans else self.words[:0]

    def spans(self, chosen: Sequence[WordSource]) -> Indices:
        """(3, k, n) for k sources and each link: where positions count from, the first word, and the end."""
        n, own = len(self.links), self.page.terms.offsets
        begin, end = own.take(self.links.first_leaf), own.take(self.links.last_leaf + 1)
        starts, ends = self.texts[3:-2], self.texts[4:-1]
        found = {
            WordSource.BEFORE: (begin, np.zeros(n, np.int64), begin),
            WordSource.AFTER: (end, end, np.full(n, own[-1])),
            WordSource.ANCHOR: (begin, begin, end),
            WordSource.ANCHOR_TEXT: (starts[:n], starts[:n], ends[:n]),
            WordSource.URL: (ends[n:], starts[n:], ends[n:]),
        }
        if WordSource.HEADING in chosen:
            found[WordSource.HEADING] = self._above()
        return np.array([found[source] for source in chosen]).swapaxes(0, 1)

    def _above(self) -> tuple[Indices, Indices, Indices]:
        """The span of the last heading before each link."""
        headings, own = self.page.headings, self.page.terms.offsets
        spans = np.array([(0, 0), *((heading.first_leaf, heading.last_leaf + 1) for heading in headings)]).T
        before = spans[1, 1:].searchsorted(self.links.first_leaf, side="right")
        begin, end = own.take(spans.take(before, axis=1))
        return begin, begin, end


class LinkTemplates:
    """Says which words of a link become codes of which kind."""

    def __init__(self, templates: Sequence[Template]) -> None:
        self._chosen = sorted({source for source, _, _ in templates})
        each = [(self._chosen.index(source), place, kind) for source, places, kind in templates for place in places]
        which, places, kinds = np.array(each).T
        self._which, self._places, self._salts = which, places[:, None], salt_part(kinds)[:, None]

    def codes(self, found: PageWords) -> Codes:
        """(s, n) the codes of n links, a row for each position of the templates. No word there: a code of NO_WORD."""
        start, first, end = found.spans(self._chosen).take(self._which, axis=1)
        at = start + self._places
        codes = term_part(found.words.take(np.where((at >= first) & (at < end), at, -1)))
        codes += self._salts
        return codes


class UrlPosition:
    """Says where the URLs of links lie: on the site or in the folder of the page, how deep, how much deeper than it."""

    names = (*_PLACES, *_PLACES_AND_MORE, *_DEPTHS)

    def __init__(self, place: int, depth: int) -> None:
        """`place`, `depth`: the kinds of the codes."""
        self._place, self._place_and_more, self._depth = (
            np.array([code(name, kind) for name in names], np.uint64)
            for names, kind in ((_PLACES, place), (_PLACES_AND_MORE, place), (_DEPTHS, depth))
        )

    def codes(self, found: PageWords) -> Codes:
        """(3, n)"""
        url, depths = found.page.url, found.depths
        site, folder = _both_schemes(root_of(url)), _both_schemes(url[: url.rfind("/") + 1])
        within = [target.startswith(site) + target.startswith(folder) for target in found.links.targets]
        place, more = np.array(within, np.intp), depths - len(found.url)
        both = place * len(_MORE) + np.minimum(np.maximum(more, _MORE[0]), _MORE[-1]) - _MORE[0]
        depth = np.minimum(depths, _DEEPEST)
        return np.array((self._place.take(place), self._place_and_more.take(both), self._depth.take(depth)))


def codes_of(words: Sequence[tuple[int, Terms]]) -> Codes:
    """The codes of words given as (kind, words of that kind), each code once."""
    kinds, parts = zip(*words, strict=True)
    salts = salt_part(np.array(kinds)).repeat([len(part) for part in parts])
    return distinct(term_part(np.concatenate(parts)) + salts)


def in_words(codes: Codes, names: Mapping[int, str], phrases: Sequence[str]) -> list[str]:
    """What each code means, for people. `names`: words by their terms; `phrases`: one a kind, with {} for the word."""
    pairs = zip(*(each.tolist() for each in decoded(codes)), strict=True)
    return [phrases[kind].format(names.get(word, "…")) for word, kind in pairs]


def side_by_side(parts: Sequence[Ragged]) -> Ragged:
    """Row i of the result: row i of each part, one after the other."""
    if len(parts) == 1:
        return parts[0]
    count = len(parts[0])
    rows = np.arange(count * len(parts)).reshape(len(parts), count).T.ravel()
    mixed = Ragged.concat(parts).take(rows)
    return Ragged(mixed.values, mixed.offsets[:: len(parts)])


# ---- texts ----------------------------------------------------------------------------------------------------------


def texts_of(page: Page, links: Links) -> str:
    """The texts of a page and of n links as one, with ROW_END between them. One text is faster than many.

    They are title, meta data, host, n anchors, n URLs and the URL of the page. A URL on the same host is its path
    alone. In URLs escapes are undone and "_" separates words; "~svc" becomes "_" and "_svc".
    """
    root = root_of(page.url)
    texts = [page.title, f"{page.keywords} {page.description}", root.partition("/")[2], *links.anchors]
    joined = ROW_END.join(texts)
    if joined.count(ROW_END) >= len(texts):
        joined = ROW_END.join([text.replace(ROW_END, " ") for text in texts])
    urls = ROW_END.join((*links.targets, page.url))
    for own in _both_schemes(root):
        urls = urls.replace(own, "/")
    if "%" in urls:
        urls = ROW_END.join([unescaped(url).replace(ROW_END, " ") for url in urls.split(ROW_END)])
    return joined + ROW_END + urls.replace("_", " ").replace("~", " _ _")


def root_of(url: str) -> str:
    """The URL up to its host, with the slash after it."""
    return url[: url.find("/", 8) + 1]


def _both_schemes(start: str) -> tuple[str, str]:
    """The start of a URL with http and with https: both are the same place."""
    rest = start.partition(":")[2]
    return f"http:{rest}", f"https:{rest}"


def zeroed(text: str) -> str:
    """The text with 0 for every digit from 1 to 9."""
    return text.encode("utf-8", "surrogatepass").translate(_ZEROS).decode("utf-8", "surrogatepass")


def spellings(page: Page, links: Links, names: Iterable[str]) -> dict[int, str]:
    """The words of a page and of its texts, and these names, by their terms."""
    texts = texts_of(page, links)
    found = {term(word): word for text in (*page.leaves, texts, zeroed(texts)) for word in words(text)}
    return found | {term(name): name for name in names}
