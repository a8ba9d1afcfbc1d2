"""Pages as rows of TF-IDF weights over a bounded vocabulary, and evidence turned into probability.

    x(t,u)  = (1 + log n(u,t)) idf(t) / length of the row
    Pr(u)   = sigmoid(slope z(u) + bias)                             Platt 1999

z is the evidence that some model has for a page it was not trained on: evidence that does not grow with the page needs
no more than a slope and a bias, which is what calibration.py fits to pages of length 0.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from forager.critics.corpus import Corpus
from forager.errors import ForagerError
from forager.learn.calibration import SHORT, Quality, Reals, calibrate, quality
from forager.learn.tfidf import Idf
from forager.types import Bag, Floats, Mask, Parts, Terms
from forager.web.term_index import TermIndex

Places: TypeAlias = NDArray[np.intp]

FOLDS = 5
FEWEST_PAGES = 2  # a word of a single page tells nothing of another one


class Columns:
    """The vocabulary: terms, ascending, each with its idf. Other terms have no column, but an idf of `unseen`."""

    def __init__(self, terms: Terms, idf: Floats, unseen: float = 0.0) -> None:
        self.terms, self.idf, self._unseen = terms, idf, unseen
        self._index = TermIndex(terms)

    @classmethod
    def all(cls, idf: Idf) -> Self:
        """Rows over these are the vectors of similarity.py."""
        return cls(idf.terms, idf.weights, idf.unseen)

    @classmethod
    def frequent(cls, corpus: Corpus, most: int) -> Self:
        """At most so many terms, those on the most pages, at least two if any is; the others are taken for absent."""
        df = corpus.table.totals()
        if not len(df):
            raise ForagerError("the pages to train on have no words: give pages with text")
        frequent = np.argsort(-df, kind="stable")[:most]
        chosen = np.sort(frequent[df[frequent] >= min(FEWEST_PAGES, df.max())])
        return cls(corpus.table.terms[chosen], corpus.idf.weights[chosen])

    @classmethod
    def from_parts(cls, parts: Parts) -> Self:
        return cls(parts["columns"], parts["columns_idf"])

    def with_idf(self, idf: Floats) -> Columns:
        return Columns(self.terms, idf, self._unseen)

    def to_parts(self) -> dict[str, object]:
        return {"columns": self.terms, "columns_idf": self.idf}

    def row(self, bag: Bag) -> tuple[NDArray[np.int32], Floats]:
        """The columns of the terms of a page, and x in them."""
        at, known = self._index.find(bag.terms)
        tf = 1 + np.log(bag.counts, dtype=np.float32)
        at, x, other = at[known], tf[known] * self.idf[at[known]], self._unseen * tf[~known]
        return at.astype(np.int32), x / max(float(np.sqrt(x @ x + other @ other)), 1e-9)

    def times(self, bag: Bag, weights: Any) -> Floats:
        """A page times a sparse matrix with a row for each column of ours."""
        at, x = self.row(bag)
        row = csr_matrix((x, at, np.array([0, len(at)])), (1, len(self.terms)))
        summed: Floats = (row @ weights).toarray().astype(np.float32)[0]
        return summed

    def rows(self, bags: Sequence[Bag]) -> Any:
        """(bags, columns), sparse"""
        rows = [self.row(bag) for bag in bags]
        ends = np.cumsum([0, *(len(at) for at, _ in rows)])
        at = np.concatenate([np.empty(0, np.int32), *(at for at, _ in rows)])
        x = np.concatenate([np.empty(0, np.float32), *(x for _, x in rows)])
        return csr_matrix((x, at, ends), (len(bags), len(self.terms)))


def rows_left_out(columns: Columns, corpus: Corpus) -> Any:
    """(h, columns): times vectors of other pages held, each gives its cosines as if it were not in the corpus.

    Its words would be rarer then, in the page and in what it is compared with: new pages meet words that are. (That the
    other vectors would be a little longer is left out.) `columns` are all of the corpus.
    """
    rarer = corpus.idf_without
    rows = columns.with_idf(rarer).rows([page.bag for page in corpus.held])
    rows.data *= (rarer / np.maximum(columns.idf, 1e-9))[rows.indices]
    return rows


@dataclass(frozen=True, slots=True)
class Platt:
    slope: float
    bias: float

    @classmethod
    def fitted(cls, z: Reals, wanted: Mask, weights: Reals) -> Self | None:
        """None where there is too little to learn from, or nothing; a z of nan says nothing."""
        z, wanted, weights = z[np.isfinite(z)], wanted[np.isfinite(z)], weights[np.isfinite(z)]
        found = calibrate(SHORT * z, np.zeros(len(z)), wanted, weights)
        return cls(found.slope, found.bias) if found else None

    def halfway(self, z: Reals, wanted: Mask) -> Self:
        """The same slope, with even odds halfway between the two sides; as it is where one of them has no page."""
        if not wanted.any() or wanted.all():
            return self
        return replace(self, bias=float(-self.slope * (z[wanted].mean() + z[~wanted].mean()) / 2))

    def log_odds(self, z: float) -> float:
        return self.slope * z + self.bias


def measured(z: Reals, raw: Reals, wanted: Mask, weights: Reals) -> Quality | None:
    """How well z tells the wanted pages, and what their raw probabilities are worth; None where pages are too few."""
    found = quality(SHORT * z, np.zeros(len(z)), wanted, weights)
    if found is None:
        return None
    told = np.clip(np.where(wanted, raw, 1 - raw), 1e-15, 1)
    return replace(found, raw_log_loss=float(np.average(-np.log(told), weights=weights)))


def cross_validated(codes: Places, focus: Mask, scored: Callable[[Places, Places], Reals]) -> Reals:
    """(h,) what `scored(training rows, other rows)` says of each row, trained on the rows of other folds.

    Every class is spread over the folds, and each side over all of them; nan where a side has a single page.
    """
    wanted = focus[codes]
    said = np.full(len(codes), np.nan)
    folds = min(FOLDS, int(wanted.sum()), int((~wanted).sum()))
    fold = np.empty(len(codes), np.intp)
    fold[np.lexsort((codes, wanted))] = np.arange(len(codes)) % folds
    for i in range(folds if folds > 1 else 0):
        said[fold == i] = scored(np.flatnonzero(fold != i), np.flatnonzero(fold == i))
    return said


@contextmanager
def fitting() -> Iterator[None]:
    """In one thread, because several wait for each other where others compute too, and without the warning that a
    fitting was stopped before it was done: it is bounded on purpose."""
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
