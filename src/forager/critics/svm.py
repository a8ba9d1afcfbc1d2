"""Learns from examples and counter-examples (a linear SVM): the default, for a few of each.

A linear support vector machine with calibrated probabilities.

    f(u)      = w . x(u) + b                                   x: TF-IDF over the most frequent terms -> learn/tfidf
    w, b      = argmin |w|^2 / 2 + C sum over the pages of s(u) max(0, 1 - y f(u))^2  y = 1 in focus, else -1
    raw       = sigmoid(f)
    relevance = sigmoid(slope f + bias)                        Platt 1999; fitted to f of pages left out, in 5 folds

s(u) makes both sides weigh the same: it is half the number of all pages, over the number of pages of its side. If there
are more than two classes, each class has a machine f_c of its own, against all others, and p_c = sigmoid(7 f_c + 1).
The classes in focus share the relevance in proportion to p_c, and the others share the rest in the same way. (A sigmoid
fitted to each class takes three to four times as long to train and is hardly better: on 16 subjects of wikispeedia,
1,000 pages to train on, 82 % of the others are given their own subject instead of 81 %, log-loss .57 instead of .58.)

b counts as one more weight. To judge is a product with the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import hstack
from scipy.special import expit

from forager.critics.corpus import Corpus
from forager.critics.from_examples import FromWords, LeftOut, PageEvidence, in_one_thread, shared_out
from forager.errors import ForagerError
from forager.learn.calibration import Places, Platt, cross_validated, sigmoid
from forager.learn.linear import Reals
from forager.learn.tfidf import TfidfColumns
from forager.types import Bag, Floats, Mask, Parts, Terms

USUAL = Platt(slope=7.0, bias=1.0)
ROUNDS = 100  # steps of Newton's method, at most
PRECISION = 1e-5  # the gradient is to become so much shorter


@dataclass(frozen=True, slots=True, eq=False)
class _Machines:
    """The first machine is that of the focus; those of the classes follow if there are more than two classes."""

    columns: TfidfColumns
    weights: Floats  # (v, m) w of each machine
    bias: Floats  # (m,)
    focus: Mask  # (c,)

    def evidence(self, bag: Bag) -> PageEvidence:
        at, x = self.columns.row(bag)
        f, *each = (x @ self.weights.take(at, axis=0) + self.bias).tolist()
        chances = expit(USUAL.slope * np.array(each, np.float32) + USUAL.bias) if each else np.ones(2, np.float32)
        return PageEvidence(f, sigmoid(f), shared_out(chances, self.focus))

    def word_weights(self, terms: Terms) -> Floats:
        """w of the focus: x of a page of one word is 1."""
        return self.columns.of_terms(terms, self.weights[:, 0])

    def parts(self) -> dict[str, object]:
        return {**self.columns.to_parts(), "weights": self.weights, "bias": self.bias}


class LinearSvm(FromWords):
    """`penalty` is C: the larger it is, the fewer training pages lie on the wrong side. It learns from at most `most`
    pages, half of each side, chosen by `seed`, and from the `terms` terms that are on the most pages."""

    name = "svm"
    usual = USUAL

    def __init__(
        self,
        *,
        focus: Sequence[str],
        penalty: float = 1.0,
        terms: int = 50_000,
        calibrate: bool = True,
        most: int = 10_000,
        seed: int = 0,
    ) -> None:
        super().__init__(focus, calibrate=calibrate, most=most, seed=seed)
        if penalty <= 0 or terms < 1:
            raise ForagerError(f"svm with penalty {penalty} and {terms} terms: give more than 0 of both")
        self._penalty, self._terms = penalty, terms

    def _learn(self, corpus: Corpus, focus: Mask) -> tuple[_Machines, LeftOut]:
        columns = corpus.frequent_columns(self._terms)
        x = columns.rows(corpus.bags)
        truth = focus[corpus.codes][:, None]

        def left_out(training: Places, others: Places) -> Reals:
            weights, bias = self._machines(x[training], truth[training])
            return np.asarray(x[others] @ weights + bias, np.float64)[:, 0]

        f = cross_validated(corpus.codes, focus, left_out)
        if len(focus) > 2:
            truth = np.hstack([truth, corpus.codes[:, None] == np.arange(len(focus))])
        return _Machines(columns, *self._machines(x, truth), focus), LeftOut(f, expit(f))

    def _load(self, corpus: Corpus, focus: Mask, parts: Parts) -> _Machines:
        return _Machines(TfidfColumns.from_parts(parts), parts["weights"], parts["bias"], focus)

    def _machines(self, x: Any, truth: Mask) -> tuple[Floats, Floats]:
        """w and b for each column of the truth. A column that is the same for all pages needs no training."""
        weights, bias = np.zeros((x.shape[1], truth.shape[1]), np.float32), np.where(truth.all(axis=0), 1, -1)
        bias = bias.astype(np.float32)
        with_bias = hstack((x, np.ones((x.shape[0], 1))), "csr", np.float64)
        with in_one_thread():
            for i in np.flatnonzero(truth.any(axis=0) & ~truth.all(axis=0)):
                machine = fit_machine(with_bias, truth[:, i], self._penalty)
                weights[:, i], bias[i] = machine[:-1], machine[-1]
        return weights, bias


def fit_machine(x: Any, wanted: Mask, penalty: float) -> Reals:
    """w for the rows of x, of which the last column is 1, by Newton's method. r = 1 - y f; sums are over r > 0:

    g = w - 2C sum of s r y x,    H v = v + 2C sum of s (x . v) x,    w -= step H^-1 g
    """
    y, positives = np.where(wanted, 1.0, -1.0), int(wanted.sum())
    costs = penalty * len(y) / np.where(wanted, positives, len(y) - positives)  # 2C s
    w, f, enough = np.zeros(x.shape[1]), np.zeros(len(y)), 0.0

    def loss(w: Reals, f: Reals) -> float:
        return float(w @ w + costs @ np.maximum(0, 1 - y * f) ** 2) / 2

    for _ in range(ROUNDS):
        r = 1 - y * f
        short = np.flatnonzero(r > 0)
        rows, cost = x[short], costs[short]
        gradient = w - rows.T @ (cost * (r * y)[short])
        enough = enough or PRECISION**2 * float(gradient @ gradient)
        if float(gradient @ gradient) <= enough:
            break
        way = _solved(rows, cost, -gradient)
        along, step, before = x @ way, 1.0, loss(w, f)
        while loss(w + step * way, f + step * along) > before and step > PRECISION:
            step /= 2
        w, f = w + step * way, f + step * along
    return w


def _solved(rows: Any, cost: Reals, b: Reals) -> Reals:
    """v with H v = b, nearly, by conjugate gradients."""
    v, rest, way, left = np.zeros_like(b), b, b, float(b @ b)
    enough = left / 100
    while left > enough:
        turned = way + rows.T @ (cost * (rows @ way))
        step = left / float(way @ turned)
        v, rest, before = v + step * way, rest - step * turned, left
        left = float(rest @ rest)
        way = rest + left / before * way
    return v
