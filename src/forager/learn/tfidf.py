"""TF-IDF vectors over hashed terms, their cosine, and the query that stands for a topic.

    idf(t)   = log((N + 1) / (df(t) + 1))      N pages of a frozen sample, df(t) of them with t; unseen: df = 0
    w(t,d)   = (1 + log n(t,d)) idf(t)
    cos(a,b) = sum over t of w(t,a) w(t,b) / (|a| |b|), 0 where one of them is empty

The query q of a topic is made of the words of its name and of the strongest TF-IDF terms of its examples, each once.
sim(q,d) = cos(q,d), with the same idf everywhere in a crawl.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from forager.types import Bag, Floats, Mask, Page, Parts, Ragged, Terms
from forager.web.text import count, terms, words

STRONGEST = 20  # terms of the examples that go into a query
SHORTEST = 2  # letters of a word that may be one of them


@dataclass(frozen=True, slots=True, eq=False)
class Idf:
    """How rare each term is in a sample, frozen when the crawl begins."""

    terms: Terms  # ascending
    weights: Floats
    unseen: float  # weight of all other terms

    @classmethod
    def of(cls, bags: Iterable[Terms]) -> Self:
        """From the terms of each page of a sample. Without any page every term weighs 1."""
        distinct = [np.unique(bag) for bag in bags]
        if not distinct:
            return cls(np.empty(0, np.uint32), np.empty(0, np.float32), 1.0)
        seen, df = count(np.concatenate(distinct))
        weights = np.log((len(distinct) + 1) / (df + 1)).astype(np.float32)
        return cls(seen, weights, float(np.log(len(distinct) + 1)))

    def __call__(self, terms: Terms) -> Floats:
        """The weight of each term."""
        if not len(self.terms):
            return np.full(len(terms), self.unseen, np.float32)
        at, known = find(terms, self.terms)
        return np.where(known, self.weights[at], np.float32(self.unseen))


def find(wanted: Terms, among: Terms) -> tuple[NDArray[np.intp], Mask]:
    """Where each term is among ascending ones, and whether it is there at all."""
    at = np.searchsorted(among, wanted)
    at[at == len(among)] = 0
    return at, among[at] == wanted if len(among) else np.zeros(len(wanted), bool)


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """Rows of TF-IDF weights, each of length 1 or empty; terms ascend within a row."""

    rows: NDArray[np.intp]  # (e,) ascending
    terms: Terms  # (e,)
    weights: Floats  # (e,)
    count: int  # rows in all

    @classmethod
    def of(cls, bags: Ragged, idf: Idf) -> Self:
        rows = np.repeat(np.arange(len(bags), dtype=np.uint64), bags.lengths)
        keys, n = np.unique(rows << np.uint64(32) | bags.values, return_counts=True)
        at, distinct = (keys >> np.uint64(32)).astype(np.intp), keys.astype(np.uint32)
        weights = ((1 + np.log(n)) * idf(distinct)).astype(np.float32)
        norms = np.sqrt(np.bincount(at, weights * weights, len(bags))).astype(np.float32)
        norms[norms == 0] = 1
        return cls(at, distinct, weights / norms[at], len(bags))

    @classmethod
    def of_bag(cls, bag: Bag, idf: Idf) -> Self:
        """Of one page, whose words are counted."""
        weights = ((1 + np.log(bag.counts)) * idf(bag.terms)).astype(np.float32)
        norm = np.float32(np.sqrt(weights @ weights)) or np.float32(1)
        return cls(np.zeros(len(weights), np.intp), bag.terms, weights / norm, 1)


class Targets:
    """Pages to be similar to."""

    def __init__(self, bags: Ragged, idf: Idf) -> None:
        weighed = Weighed.of(bags, idf)
        self.idf, self.bags = idf, bags
        self._terms, at = np.unique(weighed.terms, return_inverse=True)
        self._weights = csr_matrix((weighed.weights, (at, weighed.rows)), (len(self._terms), len(bags)))

    def parts(self) -> Parts:
        idf = {"idf_terms": self.idf.terms, "idf_weights": self.idf.weights, "idf_unseen": self.idf.unseen}
        return {"values": self.bags.values, "offsets": self.bags.offsets, **idf}

    @classmethod
    def from_parts(cls, parts: Parts) -> Self:
        idf = Idf(np.asarray(parts["idf_terms"]), np.asarray(parts["idf_weights"]), float(parts["idf_unseen"]))
        return cls(Ragged(np.asarray(parts["values"]), np.asarray(parts["offsets"])), idf)

    def __len__(self) -> int:
        return int(self._weights.shape[1])

    def cosines(self, bags: Ragged) -> Floats:
        """(bags, targets)"""
        weighed = Weighed.of(bags, self.idf)
        at, known = find(weighed.terms, self._terms)
        given = csr_matrix((weighed.weights[known], (weighed.rows[known], at[known])), (len(bags), len(self._terms)))
        return np.asarray((given @ self._weights).toarray(), np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """What we look for, in words."""

    words: tuple[str, ...]
    terms: Terms  # theirs, ascending
    weights: Floats  # of length 1
    idf: Idf

    @classmethod
    def of(cls, texts: Iterable[str], examples: Sequence[Page] = (), idf: Idf | None = None) -> Self:
        """From the names or keywords of a topic and from pages of it."""
        idf = idf or Idf.of([])
        said = dict.fromkeys(word for text in texts for word in words(text.replace("_", " ")))
        chosen = tuple(dict.fromkeys([*said, *strongest(examples, idf)]))
        hashed = np.unique(terms([" ".join(chosen)])[0])
        weights = idf(hashed)
        return cls(chosen, hashed, weights / max(float(np.linalg.norm(weights)), 1e-9), idf)

    def sims(self, bags: Ragged) -> Floats:
        """sim(q, d) for each row d."""
        weighed = Weighed.of(bags, self.idf)
        at, known = find(weighed.terms, self.terms)
        if not known.any():
            return np.zeros(len(bags), np.float32)
        shared = weighed.weights[known] * self.weights[at[known]]
        return np.bincount(weighed.rows[known], shared, len(bags)).astype(np.float32)

    def counts(self, bags: Ragged) -> NDArray[np.int64]:
        """How many words of each row are words of the query."""
        _, known = find(bags.values, self.terms)
        return (
            np.add.reduceat(np.append(known, False), bags.offsets[:-1]) * (bags.lengths > 0)
            if len(bags)
            else (np.zeros(0, np.int64))
        )


def strongest(pages: Sequence[Page], idf: Idf, most: int = STRONGEST) -> list[str]:
    """The words with the largest sum of TF-IDF over the pages: letters only, at least two of them."""
    if not pages:
        return []
    weighed = Weighed.of(Ragged.of([page.terms.values for page in pages]), idf)
    distinct, at = np.unique(weighed.terms, return_inverse=True)
    sums = np.bincount(at, weighed.weights)
    order = distinct[np.lexsort((distinct, -sums))]
    spelt = _spelling(pages, order[: 4 * most])
    return [spelt[term] for term in order.tolist() if term in spelt][:most]


def _spelling(pages: Sequence[Page], wanted: Terms) -> dict[int, str]:
    """The words behind terms, where they are words one would search for."""
    missing, found = set(wanted.tolist()), {}
    for page in pages:
        here = missing.intersection(page.terms.values.tolist())
        if not here:
            continue
        spoken = words("\n".join(page.leaves))
        for word, term in zip(spoken, terms(["\n".join(page.leaves)])[0].tolist(), strict=True):
            if term in here and term not in found and len(word) >= SHORTEST and word.isalpha():
                found[term] = word
        missing -= here
    return found
