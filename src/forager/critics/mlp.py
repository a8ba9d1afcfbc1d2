"""Learns from examples and counter-examples (a neural network): for the same as svm, slower to train.

One hidden layer.

    h(u)      = max(0, x(u) W + b)                             x: TF-IDF over the most frequent terms -> learn/tfidf
    Pr(c|u)   = softmax over the classes of h(u) V + d
    raw       = sum over the classes c in focus of Pr(c|u)
    z         = log raw - log (1 - raw)
    relevance = sigmoid(slope z + bias)                        fitted to z of pages left out, in 5 folds

The weights minimise the log-loss + decay |W, V|^2 / 2 over the number of pages, by L-BFGS, in a bounded number of
steps. To judge is two products with the weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax

from forager.critics.corpus import Corpus
from forager.critics.from_examples import FromExamples, LeftOut, PageEvidence, in_one_thread, shared_out
from forager.errors import ForagerError
from forager.learn.calibration import Places, Platt, cross_validated
from forager.learn.linear import Reals
from forager.learn.naive_bayes import log_odds
from forager.learn.tfidf import TfidfColumns
from forager.types import Bag, Floats, Mask, Parts

PRECISION = 1e-4  # the training ends where the slope is so small


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
        seen, codes = np.unique(codes, return_inverse=True)
        hidden, hidden_bias, out, out_bias = self._trained(x, np.eye(len(seen))[codes])
        whole, bias = np.zeros((self._hidden, classes), np.float32), np.full(classes, -np.inf, np.float32)
        whole[:, seen], bias[seen] = out, out_bias
        return _Layers(hidden.astype(np.float32), hidden_bias.astype(np.float32), whole, bias)

    def _trained(self, x: Any, truth: Reals) -> list[Reals]:
        """W, b, V, d, for the classes of the columns of `truth`. They begin as in Glorot & Bengio 2010."""
        words, k, classes = x.shape[1], self._hidden, truth.shape[1]
        shapes = ((words, k), (k,), (k, classes), (classes,))
        ends = np.cumsum([math.prod(shape) for shape in shapes])

        def cut(numbers: Reals) -> list[Reals]:
            parts = np.split(numbers, ends[:-1])
            return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

        def loss(numbers: Reals) -> tuple[float, Reals]:
            lost, slope = loss_and_slope(x, truth, self._decay, cut(numbers))
            return lost, np.concatenate(slope, axis=None)

        reach = np.sqrt(6 / np.array([words + k, words + k, k + classes, k + classes]))
        draw = np.random.default_rng(self._seed % (1 << 64)).uniform(-1, 1, ends[-1])
        first = draw * np.repeat(reach, np.diff(ends, prepend=0))
        options = {"maxiter": self._steps, "gtol": PRECISION}
        with in_one_thread():
            return cut(minimize(loss, first, jac=True, method="L-BFGS-B", options=options).x)


def loss_and_slope(x: Any, truth: Reals, decay: float, layers: Sequence[Reals]) -> tuple[float, list[Reals]]:
    """What is minimised, and its slope by W, b, V and d. `truth`: (n, c), with a one in each row."""
    n, (w, b, v, d) = len(truth), layers
    h = np.maximum(0, x @ w + b)
    log_chances = log_softmax(h @ v + d, axis=1)
    error = (np.exp(log_chances) - truth) / n
    below = error @ v.T * (h > 0)
    slope = [x.T @ below + decay / n * w, below.sum(axis=0), h.T @ error + decay / n * v, error.sum(axis=0)]
    squares = float((w**2).sum() + (v**2).sum())
    return decay / n * squares / 2 - float((truth * log_chances).sum()) / n, slope
