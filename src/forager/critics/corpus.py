"""What a critic keeps of the pages it learns from: how rare each term is, and a bounded sample of the pages.

    df(t)   pages with t among the N pages given, counted over all of them
    held    at most half of `most` pages of each side, wanted and other: those whose words have the smallest hashes

Neither depends on the order of the pages, and both can be joined: df adds up, and the sample of two corpora together is
the sample of the whole. So a critic that is a function of its corpus can be merged exactly: join the corpora and learn
from the result. A page that somebody labels later is simply one page more.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
import xxhash
from numpy.typing import NDArray

from forager.errors import ForagerError, unknown
from forager.learn.counts import TermCounter, TermCounts
from forager.learn.focus import in_focus
from forager.learn.tfidf import Idf, TfidfColumns
from forager.types import Bag, Floats, Mask, Page, Parts, Terms

MOST_TERMS = 4_000_000  # beyond which the rarest terms have no df of their own
_ALL = ""  # the one class of the df table


# ---- the sample -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class HeldPage:
    """A training page that is kept, as a bag of words."""

    order: int  # hash of the page's words
    label: str
    bag: Bag

    @classmethod
    def of(cls, terms: Terms, label: str, seed: int) -> Self:
        return cls(_hash(terms, seed), label, Bag.of(terms))

    def __lt__(self, other: HeldPage) -> bool:  # the first in a heap is the next to go
        return (self.order, self.label) > (other.order, other.label)


class PageSample:
    """At most `size` pages, half of each side: those with the smallest hashes of their words."""

    def __init__(self, size: int, seed: int = 0) -> None:
        self._room = size // 2
        self._seed = seed
        self._sides: dict[bool, list[HeldPage]] = {True: [], False: []}

    def offer(self, terms: Terms, label: str, *, wanted: bool) -> None:
        """Keep a page if its hash is small enough; no bag is made of it otherwise."""
        side = self._sides[wanted]
        if len(side) < self._room or (side and _hash(terms, self._seed) < side[0].order):
            self.keep(HeldPage.of(terms, label, self._seed), wanted=wanted)

    def keep(self, held: HeldPage, *, wanted: bool) -> None:
        side = self._sides[wanted]
        if len(side) < self._room:
            heapq.heappush(side, held)
        elif side:
            heapq.heappushpop(side, held)

    def held(self) -> tuple[HeldPage, ...]:
        return tuple(sorted((held for side in self._sides.values() for held in side), reverse=True))


def _hash(terms: Terms, seed: int) -> int:
    return xxhash.xxh3_64_intdigest(np.ascontiguousarray(terms).data, seed)


def held_to_parts(pages: Sequence[HeldPage]) -> dict[str, object]:
    ends = np.cumsum([0, *(len(page.bag.terms) for page in pages)])
    return {
        "held_order": np.array([page.order for page in pages], np.uint64),
        "held_labels": [page.label for page in pages],
        "held_ends": ends.astype(np.int64),
        "held_terms": np.concatenate([np.empty(0, np.uint32), *(page.bag.terms for page in pages)]),
        "held_counts": np.concatenate([np.empty(0, np.int32), *(page.bag.counts for page in pages)]),
    }


def held_from_parts(parts: Parts) -> tuple[HeldPage, ...]:
    ends, counts = parts["held_ends"], parts["held_counts"]
    bags = [Bag(parts["held_terms"][a:b], counts[a:b]) for a, b in pairwise(ends.tolist())]
    orders, labels = parts["held_order"].tolist(), parts["held_labels"]
    return tuple(HeldPage(*page) for page in zip(orders, labels, bags, strict=True))


# ---- the corpus -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Corpus:
    """All that a critic learns from."""

    pages: dict[str, int]  # class -> pages of it among all that were given
    table: TermCounts[str]  # of a single class: entries are df(t)
    held: tuple[HeldPage, ...]

    @cached_property
    def classes(self) -> tuple[str, ...]:
        return tuple(sorted(self.pages))

    @cached_property
    def codes(self) -> NDArray[np.intp]:
        """(h,) the class of each page held, as its place in `classes`."""
        place = {name: i for i, name in enumerate(self.classes)}
        return np.array([place[page.label] for page in self.held], np.intp)

    @cached_property
    def bags(self) -> list[Bag]:
        """(h,) of the pages held."""
        return [page.bag for page in self.held]

    @cached_property
    def idf(self) -> Idf:
        return Idf.counted(self.table.terms, self.table.totals(), int(self.table.pages.sum()))

    def weights(self, focus: Mask) -> NDArray[np.float64]:
        """(h,) how many of the given pages each page held stands for; it is the same for all pages of a side."""
        given, wanted = np.array([self.pages[name] for name in self.classes]), focus[self.codes]
        per_side = [given[side].sum() / max(1, held.sum()) for side, held in ((~focus, ~wanted), (focus, wanted))]
        return np.array(per_side, np.float64)[wanted.astype(np.intp)]

    def frequent_columns(self, most: int) -> TfidfColumns:
        """The terms that are on the most pages."""
        return TfidfColumns.frequent(self.idf, self.table.totals(), most)

    def rows_left_out(self, columns: TfidfColumns) -> Any:
        """(h, columns): a row times the vectors of other pages gives its cosines as if it were not in the corpus.

        Its words would be rarer then, in the page and in the pages it is compared with, as the words of new pages are.
        (The other vectors would also be a little longer; that is neglected.) `columns` are all terms of the corpus.
        """
        rarer = self._idf_without_one
        rows = columns.with_idf(rarer).rows(self.bags)
        rows.data *= (rarer / np.maximum(columns.idf, 1e-9))[rows.indices]
        return rows

    @property
    def _idf_without_one(self) -> Floats:
        """The idf of each term in the corpus without one of the pages that have it."""
        return np.log(max(1, int(self.table.pages.sum())) / self.table.totals()).astype(np.float32)

    def to_parts(self) -> dict[str, object]:
        return {
            "pages_of": dict(sorted(self.pages.items())),
            **self.table.columns("df_"),
            **held_to_parts(self.held),
        }

    @classmethod
    def from_parts(cls, parts: Parts) -> Self:
        return cls(dict(parts["pages_of"]), TermCounts.of_columns([_ALL], parts, "df_"), held_from_parts(parts))


@dataclass(frozen=True, slots=True)
class CorpusMaker:
    """Makes corpora, all by the same rule."""

    focus: tuple[str, ...]
    most: int
    seed: int

    def gathered(self, pages: Iterable[Page], labels: Iterable[str]) -> Corpus:
        """The corpus of these pages. Each page is read once and not kept."""
        counter, sample, counted = TermCounter[str](), PageSample(self.most), Counter[str]()
        for page, label in zip(pages, labels, strict=True):
            held = self._held(page, label)
            counter.add(held.bag.terms, _ALL)
            sample.keep(held, wanted=in_focus(label, self.focus))
            counted[label] += 1
        return Corpus(dict(counted), counter.counts(MOST_TERMS), sample.held())

    def joined(self, corpora: Sequence[Corpus]) -> Corpus:
        """The corpus of the pages of all of them."""
        counter, sample, counted = TermCounter[str](), PageSample(self.most), Counter[str]()
        for corpus in corpora:
            counter.absorb(corpus.table)
            counted.update(corpus.pages)
            for held in corpus.held:
                sample.keep(held, wanted=in_focus(held.label, self.focus))
        return Corpus(dict(counted), counter.counts(MOST_TERMS), sample.held())

    def labelled(self, corpus: Corpus, pages: Sequence[Page], labels: Sequence[str]) -> Corpus:
        """The corpus with pages added. A page that is held already takes its new label, and is not there twice."""
        orders = [self._held(page, label).order for page, label in zip(pages, labels, strict=True)]
        newest = dict(zip(orders, labels, strict=True))
        held = tuple(replace(page, label=newest.get(page.order, page.label)) for page in corpus.held)
        counted = Counter(corpus.pages)
        counted.update(page.label for page in held)
        counted.subtract(page.label for page in corpus.held)
        known = {page.order for page in held}
        fresh = {order: page for order, page in zip(orders, pages, strict=True) if order not in known}
        turned = Corpus(dict(counted), corpus.table, held)
        return self.joined([turned, self.gathered(fresh.values(), [newest[order] for order in fresh])])

    def _held(self, page: Page, label: str) -> HeldPage:
        return HeldPage.of(page.terms.values, label, self.seed)


def focus_of(classes: Sequence[str], focus: Sequence[str]) -> Mask:
    """Which classes are in focus. At least one must be, and at least one must not."""
    if not classes:
        raise ForagerError("no pages to train on: give labelled pages")
    mask = np.array([in_focus(name, focus) for name in classes])
    if not mask.any():
        raise unknown("class at or below a focus", ", ".join(focus), classes)
    if mask.all():
        raise ForagerError(f"all pages are of {', '.join(classes[:3])}, in focus: give pages that are not wanted, too")
    return mask
