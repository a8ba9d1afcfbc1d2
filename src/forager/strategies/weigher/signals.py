"""The signals of a link: numbers that may say whether it leads to a relevant page.

A link that was found on several pages has a row from each of them (at most 8). What a row says is pooled over the rows
of a target: the largest, or the mean.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forager.strategies.weigher.meaning import OUTCOME, PACKED, LearntMeaning, unpacked
from forager.strategies.weigher.place import LinkPlace, Success, folder_key, host_key, logit, neighbour_keys
from forager.strategies.weigher.words import IN_ANCHOR, IN_URL, LearntWords
from forager.types import Floats, Ids, Ragged, Terms

# What is known of a link when its page is scored. It travels with the link as its state.
FOUND = (
    "source",  # log-odds that the page it is on is relevant, by the critic
    "opinion",  # the same by how that page begins
    "anchor",
    "url",
    "context",
    "heading",
    "prior",
    "near",
    "far",
    "like",
    "unlike",
    "inlinks",  # log of 1 + pages that link to the target
    "relevant inlinks",  # log-odds that such a page is relevant
    "menu",  # share of the host's pages that carry the link
    "edge",  # it stands in a menu or a footer
    "same host",
    "depth",  # log of links from a seed
    "links",  # log of the links of the page
)
# How they are pooled over the pages that a target was found on.
LARGEST = ("source", "anchor", "url", "heading", "prior", "near", "like", "inlinks", "relevant inlinks")
MEAN = (
    "source",
    "opinion",
    "anchor",
    "context",
    "near",
    "far",
    "unlike",
    "menu",
    "edge",
    "same host",
    "depth",
    "links",
)
# What changes while the crawl goes on.
NOW = (
    "parents",  # log of the pages that link to it, at most 8
    "kin",  # log of 1 + how many of these are relevant
    "few kin",  # the same, a page with many links counting less
    "host",
    "host pages",
    "folder",
    "path",
    "neighbours",
    "page",
    "learnt",
    "words",
)
STATE = ("base", "pages")  # the same for all links
NAMES = (*(f"{name}, largest" for name in LARGEST), *(f"{name}, mean" for name in MEAN), *NOW, *STATE)
SOURCE = NAMES.index("source, largest")
KEYS, LEARNT = 4, IN_ANCHOR + IN_URL
WIDTH = PACKED + KEYS + LEARNT  # numbers of a clue

_LINKS = FOUND.index("links")
_AT_LARGEST, _AT_MEAN = ([FOUND.index(name) for name in names] for names in (LARGEST, MEAN))


@dataclass(frozen=True, slots=True, eq=False)
class LinkRows:
    """Links as rows, those to the same target one after the other."""

    found: Floats  # (n, FOUND)
    packed: Terms  # (n, PACKED) their vectors
    keys: Terms  # (n, KEYS) of places
    words: Terms  # (n, LEARNT)
    sources: Ids  # (n,) the pages they are on
    starts: NDArray[np.intp]  # (targets,) the first row of each

    @classmethod
    def of(cls, state: Floats, clues: Ragged, sources: Ids, starts: NDArray[np.intp]) -> LinkRows:
        """What travelled with the links. A link without a clue says nothing."""
        n, has = len(sources), clues.lengths == WIDTH
        found, rows = np.zeros((n, len(FOUND)), np.float32), np.zeros((n, WIDTH), np.uint32)
        if has.all() and n:
            found, rows = state, clues.values.reshape(n, WIDTH)
        elif has.any():
            found[has], rows[has] = state[has], clues.take(np.flatnonzero(has)).values.reshape(-1, WIDTH)
        vectors, keys, words = np.split(rows, (PACKED, PACKED + KEYS), axis=1)
        return cls(found, vectors, keys, words, sources, starts)

    @property
    def vectors(self) -> Floats:
        """(n, DIMENSIONS)"""
        return unpacked(self.packed)

    @property
    def counts(self) -> NDArray[np.intp]:
        """(targets,) rows of each"""
        return np.diff(self.starts, append=len(self.found))


@dataclass(slots=True, eq=False)
class CrawlSoFar:
    """What the crawl has shown so far."""

    success: Success
    meaning: LearntMeaning
    words: LearntWords

    def signals(self, rows: LinkRows) -> Floats:
        """(targets, NAMES)"""
        starts, counts, found = rows.starts, rows.counts, rows.found
        several = len(starts) < len(found)
        largest = np.maximum.reduceat(found[:, _AT_LARGEST], starts) if several else found[:, _AT_LARGEST]
        mean = self._of_rows(rows)
        if several:
            mean = np.asarray(np.add.reduceat(mean, starts) / counts[:, None], np.float32)
        pooled, places, last = np.split(mean, (len(MEAN), len(MEAN) + len(LinkPlace)), axis=1)
        learnt, words, relevant, few = last.T
        now = (
            np.log(counts),
            np.log1p(relevant * counts),
            np.log1p(100 * few * counts),
            places[:, LinkPlace.HOST],
            np.log1p(self.success.seen(LinkPlace.HOST, rows.keys[starts, LinkPlace.HOST])),
            *places.T[LinkPlace.FOLDER :],
            learnt,
            words,
            np.full(len(starts), logit(self.success.base)),
            np.full(len(starts), np.log1p(self.success.pages)),
        )
        return np.concatenate((largest, pooled, np.array(now, np.float32).T), axis=1)

    def _of_rows(self, rows: LinkRows) -> Floats:
        """What is averaged over the rows of a target: (rows, MEAN and the places and learnt, words, relevant, few)."""
        relevant = 1 / (1 + np.exp(-rows.found[:, 0]))
        columns = (
            self.meaning.signal(rows.vectors),
            self.words.signal(rows.words),
            relevant,
            relevant * np.exp(-rows.found[:, _LINKS]),
        )
        places = self.success.signals(np.column_stack((rows.keys, rows.sources.astype(np.uint32))))
        return np.concatenate((rows.found[:, _AT_MEAN], places, np.array(columns, np.float32).T), axis=1)

    def snapshot(self) -> CrawlSoFar:
        """What is known now. What is learnt later does not change it."""
        return CrawlSoFar(self.success.snapshot(), copy(self.meaning), self.words.snapshot())

    def learn(self, rows: LinkRows, relevance: float, opening: Floats) -> None:
        """A page came by these links, all to the same target. It begins with words of this vector."""
        for place in (LinkPlace.HOST, LinkPlace.FOLDER):
            self.success.learn(place, rows.keys[:1, place], relevance)
        for place in (LinkPlace.PATH, LinkPlace.NEIGHBOURS):
            self.success.learn(place, rows.keys[:, place], relevance)
        self.success.learn(LinkPlace.PAGE, rows.sources.astype(np.uint32), relevance)
        self.success.count(relevance)
        self.meaning.learn(rows.vectors.mean(axis=0), relevance, OUTCOME)
        self.meaning.learn(opening, relevance, 1.0)
        self.words.learn(rows.words.ravel(), relevance)

    def learn_seed(self, url: str, relevance: float) -> None:
        """A page came that nothing led to."""
        for place, key in ((LinkPlace.HOST, host_key), (LinkPlace.FOLDER, folder_key)):
            self.success.learn(place, np.array([key(url)], np.uint32), relevance)
        self.success.count(relevance)

    def learn_known(self, page: int, relevance: Floats) -> None:
        """Of the pages that a page links to, these had come before it; nan for others."""
        known = np.flatnonzero(~np.isnan(relevance))
        if len(known):
            keys = neighbour_keys(page, len(relevance))[known]
            self.success.learn_each(LinkPlace.NEIGHBOURS, keys, relevance[known])
            self.success.learn_each(LinkPlace.PAGE, np.full(len(known), page, np.uint32), relevance[known])

    def learn_miss(self, rows: LinkRows) -> None:
        """No page came by these links: links with such words, in such places, are not worth a request."""
        self.success.learn(LinkPlace.PATH, rows.keys[:, LinkPlace.PATH], 0.0)
        self.words.learn(rows.words.ravel(), 0.0)
