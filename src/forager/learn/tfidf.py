"""TF-IDF vectors over hashed terms, their cosine, and the query that stands for a topic.

    idf(t)   = log((N + 1) / (df(t) + 1))      N pages of a frozen sample, df(t) of them with t; unseen: df = 0
    w(t,d)   = (1 + log n(t,d)) idf(t)
    cos(a,b) = sum over t of w(t,a) w(t,b) / (|a| |b|), 0 where one of them is empty

`TfidfRows` are vectors over all terms; `TfidfColumns` make vectors over a fixed vocabulary, for models that have a
weight for each term of it. The query q of a topic is made of the words of its name and of the terms of its examples
with the largest TF-IDF, each once. sim(q,d) = cos(q,d), with the same idf everywhere in a crawl.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from forager.errors import ForagerError
from forager.learn.sample import TopicSample
from forager.types import Bag, Floats, Mask, Page, Parts, Ragged, Terms
from forager.web.term_index import TermIndex
from forager.web.text import count, terms, words

STRONGEST = 20  # terms of the examples that go into a query
SHORTEST = 2  # letters of a word that may be one of them
FEWEST_PAGES = 2  # a word of a single page tells nothing of another one


@dataclass(frozen=True, slots=True, eq=False)
class Idf:
    """How rare each term is in a sample of pages. It does not change while a crawl runs."""

    terms: Terms  # ascending
    weights: Floats
    unseen: float  # weight of all other terms

    @classmethod
    def of(cls, bags: Iterable[Terms]) -> Self:
        """From the terms of each page of a sample. Without any page every term weighs 1."""
        distinct = [np.unique(bag) for bag in bags]
        if not distinct:
            return cls(np.empty(0, np.uint32), np.empty(0, np.float32), 1.0)
        return cls.counted(*count(np.concatenate(distinct)), len(distinct))

    @classmethod
    def counted(cls, terms: Terms, df: NDArray[np.integer[Any]], pages: int) -> Self:
        """From the number of pages that have each term, of so many pages."""
        return cls(terms, np.log((pages + 1) / (df + 1)).astype(np.float32), float(np.log(pages + 1)))

    def __call__(self, terms: Terms) -> Floats:
        """The weight of each term."""
        if not len(self.terms):
            return np.full(len(terms), self.unseen, np.float32)
        at, known = find(terms, self.terms)
        return np.where(known, self.weights[at], np.float32(self.unseen))


def find(wanted: NDArray[Any], among: NDArray[Any]) -> tuple[NDArray[np.intp], Mask]:
    """Where each value is among ascending ones, and whether it is there at all."""
    at = np.searchsorted(among, wanted)
    at[at == len(among)] = 0
    return at, among[at] == wanted if len(among) else np.zeros(len(wanted), bool)


@dataclass(frozen=True, slots=True, eq=False)
class TfidfRows:
    """Rows of TF-IDF weights, one entry after the other. A row has length 1 or is empty; terms ascend within a row."""

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
        """One row: that of a page."""
        weights = ((1 + np.log(bag.counts)) * idf(bag.terms)).astype(np.float32)
        norm = np.float32(np.sqrt(weights @ weights)) or np.float32(1)
        return cls(np.zeros(len(weights), np.intp), bag.terms, weights / norm, 1)


class TfidfColumns:
    """Makes TF-IDF vectors over a vocabulary: terms, ascending, each with its idf and a column of its own.

        x(t,u) = (1 + log n(u,t)) idf(t) / length of the row

    Other terms have no column. They have the idf `unseen`, which counts in the length of the row.
    """

    def __init__(self, terms: Terms, idf: Floats, unseen: float = 0.0) -> None:
        self.terms, self.idf, self._unseen = terms, idf, unseen
        self._index = TermIndex(terms)

    @classmethod
    def all(cls, idf: Idf) -> Self:
        """All terms of the sample. Rows are then the vectors of `TfidfRows`."""
        return cls(idf.terms, idf.weights, idf.unseen)

    @classmethod
    def frequent(cls, idf: Idf, df: NDArray[np.integer[Any]], most: int) -> Self:
        """The `most` terms that are on the most pages (`df`), on two pages at least if any term is. Others are taken
        for absent."""
        if not len(df):
            raise ForagerError("the pages to train on have no words: give pages with text")
        frequent = np.argsort(-df, kind="stable")[:most]
        chosen = np.sort(frequent[df[frequent] >= min(FEWEST_PAGES, df.max())])
        return cls(idf.terms[chosen], idf.weights[chosen])

    @classmethod
    def from_parts(cls, parts: Parts) -> Self:
        return cls(parts["columns"], parts["columns_idf"])

    def to_parts(self) -> dict[str, object]:
        return {"columns": self.terms, "columns_idf": self.idf}

    def with_idf(self, idf: Floats) -> TfidfColumns:
        """The same terms with another idf."""
        return TfidfColumns(self.terms, idf, self._unseen)

    def row(self, bag: Bag) -> tuple[NDArray[np.int32], Floats]:
        """The columns of the terms of a page, and x in them."""
        at, known = self._index.find(bag.terms)
        tf = 1 + np.log(bag.counts, dtype=np.float32)
        at, x, other = at[known], tf[known] * self.idf[at[known]], self._unseen * tf[~known]
        return at.astype(np.int32), x / max(float(np.sqrt(x @ x + other @ other)), 1e-9)

    def rows(self, bags: Sequence[Bag]) -> Any:
        """x of several pages, (bags, columns), sparse."""
        rows = [self.row(bag) for bag in bags]
        ends = np.cumsum([0, *(len(at) for at, _ in rows)])
        at = np.concatenate([np.empty(0, np.int32), *(at for at, _ in rows)])
        x = np.concatenate([np.empty(0, np.float32), *(x for _, x in rows)])
        return csr_matrix((x, at, ends), (len(bags), len(self.terms)))

    def of_terms(self, terms: Terms, values: NDArray[Any]) -> Floats:
        """For each term the value of its column; 0 for a term without one."""
        at, known = self._index.find(terms)
        found = np.zeros(len(terms), np.float32)
        found[known] = values[at[known]]
        return found

    def times(self, bag: Bag, weights: Any) -> Floats:
        """x of a page times a sparse matrix with a row for each column."""
        at, x = self.row(bag)
        row = csr_matrix((x, at, np.array([0, len(at)])), (1, len(self.terms)))
        summed: Floats = (row @ weights).toarray().astype(np.float32)[0]
        return summed


class Targets:
    """Example pages, ready to be compared with others."""

    def __init__(self, bags: Ragged, idf: Idf) -> None:
        weighed = TfidfRows.of(bags, idf)
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
        """The cosine of each row with each target, (bags, targets)."""
        weighed = TfidfRows.of(bags, self.idf)
        at, known = find(weighed.terms, self._terms)
        given = csr_matrix((weighed.weights[known], (weighed.rows[known], at[known])), (len(bags), len(self._terms)))
        return np.asarray((given @ self._weights).toarray(), np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A topic as a list of words."""

    words: tuple[str, ...]
    terms: Terms  # the hashes of the words, ascending
    weights: Floats  # of length 1
    idf: Idf
    sample: TopicSample  # what the topic was learnt from

    @classmethod
    def of(
        cls,
        texts: Iterable[str],
        examples: Sequence[Page] = (),
        idf: Idf | None = None,
        sample: TopicSample | None = None,
    ) -> Self:
        """From the names or keywords of a topic and from example pages. Without a `sample` these words are all that is
        known of it."""
        idf = idf or Idf.of([])
        said = dict.fromkeys(word for text in texts for word in words(text.replace("_", " ")))
        chosen = tuple(dict.fromkeys([*said, *strongest(examples, idf)]))
        hashed = np.unique(terms([" ".join(chosen)])[0])
        weights = idf(hashed)
        sample = sample or TopicSample.of((), (), tuple(said))
        return cls(chosen, hashed, weights / max(float(np.linalg.norm(weights)), 1e-9), idf, sample)

    def sims(self, bags: Ragged) -> Floats:
        """sim(q, d) for each row d."""
        weighed = TfidfRows.of(bags, self.idf)
        at, known = find(weighed.terms, self.terms)
        if not known.any():
            return np.zeros(len(bags), np.float32)
        shared = weighed.weights[known] * self.weights[at[known]]
        return np.bincount(weighed.rows[known], shared, len(bags)).astype(np.float32)

    def counts(self, bags: Ragged) -> NDArray[np.int64]:
        """How many words of each row are words of the query."""
        _, known = find(bags.values, self.terms)
        if not len(bags):
            return np.zeros(0, np.int64)
        return np.add.reduceat(np.append(known, False), bags.offsets[:-1]) * (bags.lengths > 0)


def strongest(pages: Sequence[Page], idf: Idf, most: int = STRONGEST) -> list[str]:
    """The words with the largest sum of TF-IDF over the pages: letters only, at least two of them."""
    if not pages:
        return []
    weighed = TfidfRows.of(Ragged.of([page.terms.values for page in pages]), idf)
    distinct, at = np.unique(weighed.terms, return_inverse=True)
    sums = np.bincount(at, weighed.weights)
    order = distinct[np.lexsort((distinct, -sums))]
    spelt = _spelling(pages, order[: 4 * most])
    return [spelt[term] for term in order.tolist() if term in spelt][:most]


def _spelling(pages: Sequence[Page], wanted: Terms) -> dict[int, str]:
    """How the terms are spelt on the pages; only words of letters, and at least `SHORTEST` of them."""
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
