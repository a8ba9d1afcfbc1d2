"""What the words at a link say: whether wanted pages have them, and how good the pages were behind links with them.

    q(t)  = (df(t) + 1) / (N + 2)                                  df(t) of the N pages of the sample have the word t
    lo(t) = log (df+(t) + a q) / (n+ + a) - log (df-(t) + a q) / (n- + a)       a = SHRINK; + wanted pages, - others

    anchor, url, context, heading = sum of lo over the words there / (number of the words + 1)

The context is `AROUND` words on either side of the anchor; the heading is the last one before the link. The same is
learnt from the crawl: then df+(t) is the sum of r over the pages whose link had the word t in anchor or URL, df-(t) is
that of 1 - r, and words that were never met say nothing. It begins with the links between the pages of the sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Self

import numpy as np
from numpy.typing import NDArray

from forager.learn.linear import Reals
from forager.learn.sample import TopicSample
from forager.strategies.link_features import side_by_side
from forager.types import Floats, Ids, Links, Page, Parts, Ragged, Terms
from forager.web.term_index import TermIndex
from forager.web.text import count, terms, unescaped

SHRINK = 4.0
LARGEST = 4.0  # of a word
KEYWORD = 3.0  # of a word that names the topic
AROUND = 10
IN_ANCHOR, IN_URL = 5, 3  # words of a link that are learnt: the first of its anchor, the last of its URL
SLOTS = 1 << 18
PARENTS = 8  # links to one page of the sample that are learnt from


class TopicWords:
    """The log-odds of words in the sample."""

    def __init__(self, sample: TopicSample) -> None:
        known, odds = _log_odds(sample)
        self._index, self._odds = TermIndex(known), np.append(odds, np.float32(0))

    def __call__(self, words: Terms) -> Floats:
        return self._odds.take(self._index.places(words))

    def signals(self, page: Page, links: Links, urls: Ragged) -> Floats:
        """(links, 2): anchor, url. `urls`: the words of the targets' URLs."""
        start, end = spans(page, links)
        anchors = Ragged.cut(page.terms.values, start, end - start)
        return np.stack([self._means(rows) for rows in (anchors, urls)], axis=1)

    def _means(self, rows: Ragged) -> Floats:
        sums = np.diff(_running(self(rows.values))[rows.offsets])
        return np.asarray(sums / (rows.lengths + 1), np.float32)

    def around(self, page: Page, links: Links) -> Floats:
        """(links, 2): context, heading."""
        sums = _running(self(page.terms.values))
        start, end = spans(page, links)
        before, after = np.maximum(start - AROUND, 0), np.minimum(end + AROUND, len(page.terms.values))
        signals = np.empty((len(links), 2), np.float32)
        odds, words = sums[start] - sums[before] + sums[after] - sums[end], start - before + after - end
        signals[:, 0] = odds / (words + 1)
        signals[:, 1] = _headings(page, links.first_leaf, sums)
        return signals


def _log_odds(sample: TopicSample) -> tuple[Terms, Floats]:
    """All words of the sample and of the topic's name, ascending, and their log-odds."""
    wanted = sample.wanted
    sides = [count(sample.bags.take(np.flatnonzero(side)).values) for side in (~wanted, wanted)]
    named = np.unique(terms(sample.words).values) if sample.words else np.empty(0, np.uint32)
    known = np.unique(np.concatenate([sides[0][0], sides[1][0], named])).astype(np.uint32)
    df = np.zeros((2, len(known)))
    for side, (found, counts) in enumerate(sides):
        df[side, np.searchsorted(known, found)] = counts
    odds = odds_of(df[1], df[0], int(wanted.sum()), int((~wanted).sum()))
    at = np.searchsorted(known, named)
    odds[at] = np.maximum(odds[at], KEYWORD)
    return known, odds


def odds_of(good: NDArray[np.floating], bad: NDArray[np.floating], goods: float, bads: float) -> Floats:
    """lo(t), from df+, df-, n+ and n-."""
    q = (good + bad + 1) / (goods + bads + 2)
    chances = [(df + SHRINK * q) / (n + SHRINK) for df, n in ((good, goods), (bad, bads))]
    return np.clip(np.log(chances[0] / chances[1]), -LARGEST, LARGEST).astype(np.float32)


def _headings(page: Page, first_leaf: Ids, sums: Reals) -> Reals:
    if not page.headings:
        return np.zeros(len(first_leaf))
    first, last = (np.array([getattr(head, end) for head in page.headings]) for end in ("first_leaf", "last_leaf"))
    start, end = page.terms.offsets[first], page.terms.offsets[last + 1]
    means = np.append((sums[end] - sums[start]) / (end - start + 1), 0.0)
    return means[np.searchsorted(first, first_leaf, "right") - 1]  # -1, the last: no heading comes before


def spans(page: Page, links: Links) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the words of each anchor begin and end."""
    return page.terms.offsets[links.first_leaf], page.terms.offsets[links.last_leaf + 1]


def _running(values: Floats) -> Reals:
    return np.concatenate((np.zeros(1), np.cumsum(values, dtype=np.float64)))


# ---- learnt while crawling ------------------------------------------------------------------------------------------


class LearntWords:
    """How good the pages were behind links with each word."""

    def __init__(self) -> None:
        self.good, self.bad = np.zeros(SLOTS, np.float32), np.zeros(SLOTS, np.float32)
        self.goods = self.bads = 0.0

    def learn_sample(self, sample: TopicSample) -> None:
        """From the links between its pages."""
        urls = link_texts(sample.urls)
        anchors, paths = terms(sample.anchors), terms([urls[page] for page in sample.links[:, 1]])
        words = side_by_side([_first(anchors, IN_ANCHOR), _last(paths, IN_URL)])
        for page, links in grouped(sample.links[:, 1]):
            self.learn(words.take(links).values, float(sample.wanted[page]))

    def learn(self, words: Terms, relevance: float) -> None:
        slots = np.unique(words[words != 0]) & np.uint32(SLOTS - 1)
        self.good[slots] += np.float32(relevance)
        self.bad[slots] += np.float32(1 - relevance)
        self.goods, self.bads = self.goods + relevance, self.bads + 1 - relevance

    def signal(self, words: Terms) -> Floats:
        """(n,) for (n, IN_ANCHOR + IN_URL) words, 0 where there is none."""
        slots = words & np.uint32(SLOTS - 1)
        good, bad, there = self.good.take(slots), self.bad.take(slots), words != 0
        odds = np.where(there & (good + bad > 0), odds_of(good, bad, self.goods, self.bads), 0)
        return np.asarray(odds.sum(axis=1) / (there.sum(axis=1) + 1), np.float32)

    def snapshot(self) -> Self:
        other = copy(self)
        other.good, other.bad = self.good.copy(), self.bad.copy()
        return other

    def parts(self) -> Parts:
        return {"good": self.good, "bad": self.bad, "goods": self.goods, "bads": self.bads}

    def from_parts(self, parts: Parts) -> Self:
        other = type(self)()
        other.good, other.bad = np.array(parts["good"], np.float32), np.array(parts["bad"], np.float32)
        other.goods, other.bads = float(parts["goods"]), float(parts["bads"])
        return other


def words_to_learn(page: Page, links: Links, urls: Ragged) -> Terms:
    """(links, IN_ANCHOR + IN_URL) words, 0 where there is none."""
    start, end = spans(page, links)
    first, last = start[:, None] + np.arange(IN_ANCHOR), urls.offsets[1:, None] - np.arange(1, 1 + IN_URL)
    there = (first < end[:, None], last >= urls.offsets[:-1, None])
    words = np.concatenate((_at(page.terms, first), _at(urls, last)), axis=1)
    return np.where(np.concatenate(there, axis=1), words, np.uint32(0))


def _at(rows: Ragged, places: NDArray[np.int64]) -> Terms:
    """The values at these places of the flat array; anything for places beyond it."""
    return np.append(rows.values, np.uint32(0)).take(places, mode="clip")


def link_texts(urls: Sequence[str]) -> list[str]:
    """What the URLs of targets say, without their hosts."""
    return [unescaped(url.split("/", 3)[-1]).replace("_", " ") for url in urls]


def grouped(pages: Ids) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Each page, and which links lead to it, at most `PARENTS`."""
    if not len(pages):
        return
    order = np.argsort(pages, kind="stable")
    each, starts = np.unique(pages[order], return_index=True)
    for page, links in zip(each.tolist(), np.split(order, starts[1:]), strict=True):
        yield page, links[:PARENTS]


def _first(rows: Ragged, most: int) -> Ragged:
    return Ragged.cut(rows.values, rows.offsets[:-1], np.minimum(rows.lengths, most))


def _last(rows: Ragged, most: int) -> Ragged:
    lengths = np.minimum(rows.lengths, most)
    return Ragged.cut(rows.values, rows.offsets[1:] - lengths, lengths)
