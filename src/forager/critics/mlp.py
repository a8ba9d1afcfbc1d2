"""Learns from examples and counter-examples (a neural network): for the same as svm, slower to train.

One hidden layer.

    h(u)      = max(0, x(u) W + b)                             x: TF-IDF over the most frequent terms -> learn/tfidf
    Pr(c|u)   = softmax over the classes of h(u) V + d
    raw       = sum over the classes c in focus of Pr(c|u)
    z         = log raw - log (1 - raw)
    relevance = sigmoid(slope z + bias)                        fitted to z of pages left out, in 5 folds

The weights minimise the log-loss + decay |W, V|^2 / 2, by L-BFGS, in a bounded number of steps. scikit-learn trains,
and is imported only then. To judge is two products with the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from forager.critics.corpus import Corpus
from forager.critics.from_examples import FromExamples, LeftOut, PageEvidence, fitting, shared_out
from forager.errors import ForagerError
from forager.learn.calibration import Places, Platt, cross_validated
from forager.learn.linear import Reals
from forager.learn.naive_bayes import log_odds
from forager.learn.tfidf import TfidfColumns
from forager.types import Bag, Floats, Mask, Parts


@dataclass(frozen=True, slots=True, eq=False)
class _Layers:
    hidden: Floats  # (v, k) W
    hidden_bias: Floats  # (k,) b
    out: Floats  # (k, c) V
    out_bias: Floats  # (c,) d; -inf for a class without training pages

    def scores(self, summed: Floats) -> Reals:
        """(…, c) log Pr(c|u), but for a constant; `summed` is x W."""
        return np.asarray(np.maximum(summed + self.hidden_bias, 0) @ self.out + self.out_bias, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class _Net:
    columns: TfidfColumns
    layers: _Layers
    focus: Mask  # (c,)

    def evidence(self, bag: Bag) -> PageEvidence:
        at, x = self.columns.row(bag)
        scores = self.layers.scores(x @ self.layers.hidden.take(at, axis=0))
        z = log_odds(scores, self.focus)
        chances = np.exp(scores - np.where(self.focus, scores[self.focus].max(), scores[~self.focus].max()))
        return PageEvidence(z, float(expit(z)), shared_out(chances.astype(np.float32), self.focus))

    def parts(self) -> dict[str, object]:
        return {**self.columns.to_parts(), **{name: getattr(self.layers, name) for name in _Layers.__slots__}}


class Mlp(FromExamples):
    """`hidden` units, trained in at most `steps` steps. It learns from at most `most` pages, half of each side, chosen
    by `seed`, and from the `terms` terms that are on the most pages."""

    name = "mlp"
    usual = Platt(slope=1.0, bias=1.0)

    def __init__(
        self,
        *,
        focus: Sequence[str],
        hidden: int = 16,
        steps: int = 30,
        decay: float = 0.1,
        terms: int = 8_000,
        calibrate: bool = True,
        most: int = 4_000,
        seed: int = 0,
    ) -> None:
        super().__init__(focus, calibrate=calibrate, most=most, seed=seed)
        if min(hidden, steps, terms) < 1 or decay < 0:
            told = f"{hidden} hidden units, {steps} steps, {terms} terms and decay {decay}"
            raise ForagerError(f"mlp with {told}: give at least 1 of the first three, and a decay not below 0")
        self._hidden, self._steps, self._decay, self._terms = hidden, steps, decay, terms

    def _learn(self, corpus: Corpus, focus: Mask) -> tuple[_Net, LeftOut]:
        columns, codes, classes = corpus.frequent_columns(self._terms), corpus.codes, len(focus)
        x = columns.rows(corpus.bags)

        def left_out(training: Places, others: Places) -> Reals:
            layers = self._layers(x[training], codes[training], classes)
            scores = layers.scores(x[others] @ layers.hidden)
            return np.array([log_odds(row, focus) for row in scores])

        z = cross_validated(codes, focus, left_out)
        return _Net(columns, self._layers(x, codes, classes), focus), LeftOut(z, expit(z))

    def _load(self, corpus: Corpus, focus: Mask, parts: Parts) -> _Net:
        return _Net(TfidfColumns.from_parts(parts), _Layers(*(parts[name] for name in _Layers.__slots__)), focus)

    def _layers(self, x: Any, codes: Places, classes: int) -> _Layers:
        from sklearn.neural_network import MLPClassifier  # takes a second to import

        net = MLPClassifier(
            (self._hidden,),
            solver="lbfgs",
            alpha=self._decay,
            max_iter=self._steps,
            random_state=self._seed % (1 << 32),
        )
        with fitting():
            net.fit(x, codes)
        out, bias = np.zeros((self._hidden, classes), np.float32), np.full(classes, -np.inf, np.float32)
        # of two classes scikit-learn gives only the log-odds of the second; Pr is the softmax of 0 and these
        seen = net.classes_[-net.n_outputs_ :]
        bias[net.classes_] = 0
        out[:, seen], bias[seen] = net.coefs_[1], net.intercepts_[1]
        return _Layers(net.coefs_[0].astype(np.float32), net.intercepts_[0].astype(np.float32), out, bias)
