"""How similar a page is to what the wanted pages have in common: for few examples that are much alike.

Rocchio (1971).

    q'        = alpha q + beta mean of x over the wanted pages - gamma mean of x over the others, nowhere below 0
    raw       = z = cos(p, q')
    relevance = sigmoid(slope z + bias)                       or z itself if `calibrate` is off

x is a page's TF-IDF vector of length 1, with idf from all training pages (`forager.learn.tfidf`); q is that of `words`,
or 0 if there are none. Relevance feedback is `feedback(pages, wanted)`: each page joins one mean or the other. For the
calibration each page is taken out of its mean when it is scored. The classes of a side share its probability in
proportion to e^(45 cos), where cos is that with the mean of the class: the odds that such a cosine usually means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack

from forager.critics.corpus import Corpus
from forager.critics.from_examples import FromWords, LeftOut, PageEvidence, shared_out
from forager.errors import ForagerError
from forager.learn.calibration import Places, Platt
from forager.learn.linear import Reals
from forager.learn.tfidf import Query, TfidfColumns
from forager.types import Bag, Floats, Mask, Parts, Terms

USUAL = Platt(slope=45.0, bias=-6.0)


@dataclass(frozen=True, slots=True)
class _Rule:
    alpha: float
    beta: float
    gamma: float

    def learn(self, rows: Any, left: Any, query: Reals, wanted: Mask) -> tuple[Reals, Reals]:
        """q' of length 1, and the cosine of each row with the q' of the other rows; nan if that q' is 0.

        `left` are the rows as they would be if the page were not in the corpus.
        """
        sides = rows[wanted], rows[~wanted]
        sums = [np.asarray(side.sum(axis=0)).ravel() for side in sides]
        counts = [side.shape[0] for side in sides]
        weights = self.beta, -self.gamma
        terms = [weight * total / max(1, n) for weight, total, n in zip(weights, sums, counts, strict=True)]
        centroid = np.maximum(0, self.alpha * query + terms[0] + terms[1])
        left_out = np.empty(len(wanted))
        for i, where in enumerate((wanted, ~wanted)):
            step = weights[i] / max(1, counts[i] - 1)  # a row counts so much in the mean without one of the rows
            total = self.alpha * query + terms[1 - i] + step * sums[i]
            left_out[where] = _cosines_without(total, sides[i], left[where], step)
        return centroid / max(float(np.linalg.norm(centroid)), 1e-9), left_out


def _cosines_without(total: Reals, rows: Any, left: Any, step: float) -> Reals:
    """The cosine of each row of `left` with max(0, total - step x), x being the row of `rows`. That vector differs from
    max(0, total) only where x is not 0."""
    of = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    with_row, without = np.maximum(0, total[rows.indices]), np.maximum(0, total[rows.indices] - step * rows.data)
    lengths = np.maximum(0, total @ np.maximum(0, total) + np.bincount(of, without**2 - with_row**2, rows.shape[0]))
    products = np.bincount(of, left.data * without, rows.shape[0])
    return np.where(lengths > 1e-12, products / np.sqrt(np.maximum(lengths, 1e-12)), np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class _Centroid:
    """q' and the means of the classes."""

    columns: TfidfColumns
    weights: Reals  # (v,) of q', of length 1
    means: Any  # (v, 1 + c), sparse: q', then the mean of each class, all of length 1
    focus: Mask  # (c,)

    @classmethod
    def of(cls, columns: TfidfColumns, rows: Any, weights: Reals, codes: Places, focus: Mask) -> _Centroid:
        members = csr_matrix((np.ones(len(codes)), (codes, np.arange(len(codes)))), (len(focus), len(codes)))
        all_of = vstack([csr_matrix(weights), members @ rows]).tocsr()
        lengths = np.sqrt(np.asarray(all_of.multiply(all_of).sum(axis=1)).ravel())
        return cls(columns, weights, csr_matrix(all_of.T.multiply(1 / np.maximum(lengths, 1e-9))), focus)

    def evidence(self, bag: Bag) -> PageEvidence:
        z, *near = np.clip(self.columns.times(bag, self.means), 0, 1)  # rounding may give more than 1
        return PageEvidence(float(z), float(z), shared_out(np.exp(USUAL.slope * np.array(near)), self.focus))

    def word_weights(self, terms: Terms) -> Floats:
        """q' itself: the cosine of a page of one word with it."""
        return self.columns.of_terms(terms, self.weights)

    def parts(self) -> dict[str, object]:
        return {"centroid": self.weights}


class Rocchio(FromWords):
    """`words` are what one would type into a search engine. The means are those of at most `most` training pages, half
    of each side, chosen by `seed`."""

    name = "rocchio"
    usual = USUAL

    def __init__(
        self,
        *,
        focus: Sequence[str],
        words: Sequence[str] = (),
        alpha: float = 1.0,
        beta: float = 1.0,
        gamma: float = 2.0,
        calibrate: bool = True,
        most: int = 2_000,
        seed: int = 0,
    ) -> None:
        super().__init__(focus, calibrate=calibrate, most=most, seed=seed)
        if min(alpha, beta, gamma) < 0 or beta == 0:
            raise ForagerError(
                f"rocchio with alpha {alpha}, beta {beta}, gamma {gamma}: give none below 0, and beta above it"
            )
        self._words = (words,) if isinstance(words, str) else tuple(words)
        self._rule = _Rule(alpha, beta, gamma)

    def _learn(self, corpus: Corpus, focus: Mask) -> tuple[_Centroid, LeftOut]:
        columns, rows = _rows(corpus)
        query = np.zeros(len(columns.terms))
        at, x = columns.row(Bag.of(Query.of(self._words).terms))
        query[at] = x
        weights, left_out = self._rule.learn(rows, corpus.rows_left_out(columns), query, focus[corpus.codes])
        return _Centroid.of(columns, rows, weights, corpus.codes, focus), LeftOut(left_out, left_out)

    def _load(self, corpus: Corpus, focus: Mask, parts: Parts) -> _Centroid:
        return _Centroid.of(*_rows(corpus), parts["centroid"], corpus.codes, focus)


def _rows(corpus: Corpus) -> tuple[TfidfColumns, Any]:
    columns = TfidfColumns.all(corpus.idf)
    return columns, columns.rows(corpus.bags).astype(np.float64)
