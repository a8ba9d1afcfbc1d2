"""What a critic keeps of the pages it learns from: how rare each term is, and a bounded sample of the pages as bags.

    df(t)   pages with t among the N given, counted over all of them
    held    at most half of `most` pages of each side, wanted and other, those whose words have the smallest hashes

Neither depends on the order of the pages, and both can be joined: df adds up, and the sample of two corpora together is
the sample of the whole. So a critic that is a function of its corpus merges exactly, by learning from the corpora
joined, and a page that somebody labels later is one page more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import xxhash
from numpy.typing import NDArray

from forager.critics import held_out
from forager.critics.held_out import Held, Sample
from forager.errors import ForagerError, unknown
from forager.learn.counts import Counts, Tally
from forager.learn.focus import in_focus
from forager.learn.tfidf import Idf
from forager.types import Bag, Floats, Mask, Page, Parts, Terms

MOST_TERMS = 4_000_000  # beyond which the rarest terms have no df of their own
_ALL = ""  # the one class of the df table
_TABLE = ("pages", "tokens", "terms", "offsets", "entries")  # of that table, as parts


@dataclass(frozen=True, eq=False)
class Corpus:
    """All that a critic of examples is made of."""

    pages: dict[str, int]  # class -> pages of it among all that were given
    table: Counts  # of a single class: entries are df(t)
    held: tuple[Held, ...]

    @cached_property
    def classes(self) -> tuple[str, ...]:
        return tuple(sorted(self.pages))

    @cached_property
    def codes(self) -> NDArray[np.intp]:
        """(h,) the class of each page held, as its place in `classes`."""
        place = {name: i for i, name in enumerate(self.classes)}
        return np.array([place[page.label] for page in self.held], np.intp)

    @cached_property
    def idf(self) -> Idf:
        n = int(self.table.pages.sum())
        weights = np.log((n + 1) / (self.table.totals() + 1)).astype(np.float32)
        return Idf(self.table.terms, weights, float(np.log(n + 1)))

    @property
    def idf_without(self) -> Floats:
        """The idf of each term in the corpus without one of the pages that have it."""
        return np.log(max(1, int(self.table.pages.sum())) / self.table.totals()).astype(np.float32)

    def weights(self, focus: Mask) -> NDArray[np.float64]:
        """(h,) how many of the pages given each page held stands for: those of its side are alike."""
        given, wanted = np.array([self.pages[name] for name in self.classes]), focus[self.codes]
        per_side = [given[side].sum() / max(1, held.sum()) for side, held in ((~focus, ~wanted), (focus, wanted))]
        return np.array(per_side, np.float64)[wanted.astype(np.intp)]

    def to_parts(self) -> dict[str, object]:
        columns = {f"df_{name}": getattr(self.table, name) for name in _TABLE}
        return {"pages_of": dict(sorted(self.pages.items())), **columns, **held_out.to_parts(self.held)}

    @classmethod
    def from_parts(cls, parts: Parts) -> Self:
        table = Counts((_ALL,), *(parts[f"df_{name}"] for name in _TABLE))
        return cls(dict(parts["pages_of"]), table, held_out.from_parts(parts))


@dataclass(frozen=True, slots=True)
class Gathering:
    """How corpora are made, all by the same rule."""

    focus: tuple[str, ...]
    most: int
    seed: int

    def of(self, pages: Iterable[Page], labels: Iterable[str]) -> Corpus:
        """Each page is looked at once and not kept."""
        tally, sample, counted = Tally(), Sample(self.most), Counter[str]()
        for page, label in zip(pages, labels, strict=True):
            held = self._held(page.terms.values, label)
            tally.add(held.bag.terms, _ALL)
            sample.keep(held, wanted=in_focus(label, self.focus))
            counted[label] += 1
        return Corpus(dict(counted), tally.counts(MOST_TERMS), sample.held())

    def joined(self, corpora: Sequence[Corpus]) -> Corpus:
        tally, sample, counted = Tally(), Sample(self.most), Counter[str]()
        for corpus in corpora:
            tally.absorb(corpus.table)
            counted.update(corpus.pages)
            for held in corpus.held:
                sample.keep(held, wanted=in_focus(held.label, self.focus))
        return Corpus(dict(counted), tally.counts(MOST_TERMS), sample.held())

    def labelled(self, corpus: Corpus, pages: Sequence[Page], labels: Sequence[str]) -> Corpus:
        """The corpus with pages added. One that is held already takes its new label instead of being there twice."""
        orders = [self._held(page.terms.values, label).order for page, label in zip(pages, labels, strict=True)]
        newest = dict(zip(orders, labels, strict=True))
        held = tuple(replace(page, label=newest.get(page.order, page.label)) for page in corpus.held)
        counted = Counter(corpus.pages)
        counted.update(page.label for page in held)
        counted.subtract(page.label for page in corpus.held)
        known = {page.order for page in held}
        fresh = {order: page for order, page in zip(orders, pages, strict=True) if order not in known}
        turned = Corpus(dict(counted), corpus.table, held)
        return self.joined([turned, self.of(fresh.values(), [newest[order] for order in fresh])])

    def _held(self, terms: Terms, label: str) -> Held:
        return Held(xxhash.xxh3_64_intdigest(np.ascontiguousarray(terms).data, self.seed), label, Bag.of(terms))


def focus_of(classes: Sequence[str], focus: Sequence[str]) -> Mask:
    """Which classes are in focus; some must be, and some must not."""
    if not classes:
        raise ForagerError("no pages to train on: give labelled pages")
    mask = np.array([in_focus(name, focus) for name in classes])
    if not mask.any():
        raise unknown("class at or below a focus", ", ".join(focus), classes)
    if mask.all():
        raise ForagerError(f"all pages are of {', '.join(classes[:3])}, in focus: give pages that are not wanted, too")
    return mask
