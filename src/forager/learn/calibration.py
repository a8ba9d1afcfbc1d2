"""From evidence to a probability that means what it says, and how good that probability is.

Naive Bayes takes every word for new evidence. So its log-odds z grow with the length of the page, and its probabilities
are nearly all close to 0 or 1. Besides, z drifts with every word, because the classes were trained on unequal amounts
of text. For a page of n known words we therefore take

    Pr(relevant) = sigmoid((slope * z + drift * n) / (n + SHORT) + bias)                                 `Calibration`

The evidence counts per word; a page much shorter than SHORT words says little. At equal length the order is that of z.
Evidence that does not grow with the page needs no more than

    Pr(relevant) = sigmoid(slope * z + bias)                                                 `Platt`, after Platt 1999

The numbers are those that maximise the likelihood of pages the model has not seen. The targets are Platt's,
(n+ + 1)/(n+ + 2) and 1/(n- + 2) instead of 1 and 0: they keep the slope finite where the two sides do not overlap.

Measured on pages held out (log-loss, ROC AUC; 40 wanted pages and 600 others to train on; 12 topics of wikispeedia,
6 of webkb, 3 samples each, two classes): as it is 1.30 .884 and 2.10 .684; sigmoid(a z + b) .171 .884 and .304 .684;
a z / n .096 .974 and .258 .856; a z / sqrt(n) .123 .942 and .278 .765; the first formula .093 .975 and .237 .870.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.learn.linear import Reals
from forager.learn.logistic import logistic
from forager.types import Mask

Places: TypeAlias = NDArray[np.intp]

SHORT = 50  # words; 30 to 100 do equally well
FEWEST = 8  # pages of each side; with fewer nothing is fitted
RIDGE = 0.1  # on the standardised weights: where all pages are equally long, drift and bias cannot be told apart
FOLDS = 5


@dataclass(frozen=True, slots=True)
class Calibration:
    """For evidence that grows with the length of the page."""

    slope: float = 8.0  # the default is typical of what is fitted
    drift: float = 0.0
    bias: float = 0.0

    def log_odds(self, z: float, n: int) -> float:
        return (self.slope * z + self.drift * n) / (n + SHORT) + self.bias

    def halfway(self, z: Reals, n: Reals, wanted: Mask) -> Self:
        """As that of `Platt`."""
        return replace(self, bias=_halfway((self.slope * z + self.drift * n) / (n + SHORT), wanted, self.bias))


@dataclass(frozen=True, slots=True)
class Quality:
    """How well wanted pages and others were told apart. Each page was left out of the training when it was scored."""

    positives: int
    negatives: int
    roc_auc: float  # the chance that a wanted page scores higher than another one
    average_precision: float
    log_loss: float  # nats a page, calibrated on the other half of these pages
    raw_log_loss: float  # of the probability before calibration


def calibrate(z: Reals, n: Reals, wanted: Mask, weights: Reals, fewest: int = FEWEST) -> Calibration | None:
    """The most likely calibration; None if a side has fewer than `fewest` pages, or if more evidence means less."""
    if min(wanted.sum(), (~wanted).sum()) < fewest:
        return None
    positives, negatives = wanted.sum(), (~wanted).sum()
    targets = np.where(wanted, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    features = np.stack([z, n], axis=1) / (n + SHORT)[:, None]
    centre, scale = features.mean(axis=0), features.std(axis=0) + 1e-9
    x = np.column_stack([(features - centre) / scale, np.ones(len(z))])
    fitted = logistic(x, targets, np.array([RIDGE, RIDGE, 1e-9]), weight=weights)
    slope, drift = fitted[:-1] / scale
    bias = fitted[-1] - np.dot((slope, drift), centre)
    return Calibration(float(slope), float(drift), float(bias)) if slope > 0 else None


def quality(z: Reals, n: Reals, wanted: Mask, weights: Reals) -> Quality | None:
    """Each half of the pages is judged with the calibration of the other half; None if that cannot be fitted."""
    odds, even = np.empty(len(z)), np.empty(len(z), np.bool_)
    even[np.argsort(wanted, kind="stable")] = np.arange(len(z)) % 2 == 0  # every other page of each side
    for half in (even, ~even):
        found = calibrate(z[~half], n[~half], wanted[~half], weights[~half], FEWEST // 2)
        if found is None:
            return None
        odds[half] = [found.log_odds(*page) for page in zip(z[half], n[half], strict=True)]
    order = roc_auc(odds, wanted), average_precision(odds, wanted)
    losses = _log_loss(odds, wanted, weights), _log_loss(z, wanted, weights)
    return Quality(int(wanted.sum()), int((~wanted).sum()), *order, *losses)


@dataclass(frozen=True, slots=True)
class Platt:
    """For evidence that does not grow with the length of the page: a `Calibration` of pages of length 0."""

    slope: float
    bias: float

    @classmethod
    def fitted(cls, z: Reals, wanted: Mask, weights: Reals) -> Self | None:
        """None as in `calibrate`. Pages whose z is nan are passed over."""
        z, wanted, weights = z[np.isfinite(z)], wanted[np.isfinite(z)], weights[np.isfinite(z)]
        found = calibrate(SHORT * z, np.zeros(len(z)), wanted, weights)
        return cls(found.slope, found.bias) if found else None

    def halfway(self, z: Reals, wanted: Mask) -> Self:
        """The same slope, with even odds halfway between the means of the two sides; unchanged if a side is empty."""
        return replace(self, bias=_halfway(self.slope * z, wanted, self.bias))

    def log_odds(self, z: float) -> float:
        return self.slope * z + self.bias


def _halfway(odds: Reals, wanted: Mask, otherwise: float) -> float:
    """The bias that brings even odds halfway between the means of the two sides."""
    if not wanted.any() or wanted.all():
        return otherwise
    return float(-(odds[wanted].mean() + odds[~wanted].mean()) / 2)


def platt_quality(z: Reals, raw: Reals, wanted: Mask, weights: Reals) -> Quality | None:
    """`quality` of evidence z that is calibrated by `Platt`; `raw` are the probabilities before calibration."""
    found = quality(SHORT * z, np.zeros(len(z)), wanted, weights)
    if found is None:
        return None
    truth = np.clip(np.where(wanted, raw, 1 - raw), 1e-15, 1)  # the probability given to what is true
    return replace(found, raw_log_loss=float(np.average(-np.log(truth), weights=weights)))


def cross_validated(codes: Places, focus: Mask, scored: Callable[[Places, Places], Reals]) -> Reals:
    """(h,) for each row what `scored(training rows, other rows)` gives it when it is trained on the other folds.

    `codes` are the classes of the rows. Each class and each side is spread evenly over the folds; nan for all rows if a
    side has fewer than two.
    """
    wanted = focus[codes]
    scores = np.full(len(codes), np.nan)
    folds = min(FOLDS, int(wanted.sum()), int((~wanted).sum()))
    fold = np.empty(len(codes), np.intp)
    fold[np.lexsort((codes, wanted))] = np.arange(len(codes)) % folds
    for i in range(folds if folds > 1 else 0):
        scores[fold == i] = scored(np.flatnonzero(fold != i), np.flatnonzero(fold == i))
    return scores


def sigmoid(log_odds: float) -> float:
    """1 / (1 + e^-x)"""
    if log_odds >= 0:
        return 1 / (1 + math.exp(-log_odds))
    odds = math.exp(log_odds)  # this way nothing overflows, and small values keep their digits
    return odds / (1 + odds)


def roc_auc(scores: Reals, wanted: Mask) -> float:
    """The chance that a wanted page has the higher score; equal scores count half. nan if there is only one side."""
    if wanted.all() or not wanted.any():
        return math.nan
    good, others = np.sort(scores[wanted]), np.sort(scores[~wanted])
    below, not_above = (others.searchsorted(good, side).sum() for side in ("left", "right"))
    return float((below + not_above) / 2 / (len(good) * len(others)))


def average_precision(scores: Reals, wanted: Mask) -> float:
    """Mean over the wanted pages of the share of wanted pages among those that score at least as high; nan if there are
    none."""
    if not wanted.any():
        return math.nan
    good, every = np.sort(scores[wanted]), np.sort(scores)
    among_wanted, among_all = (len(rows) - rows.searchsorted(good) for rows in (good, every))
    return float((among_wanted / among_all).mean())


def _log_loss(log_odds: Reals, wanted: Mask, weights: Reals) -> float:
    return float(np.average(np.logaddexp(0, np.where(wanted, -log_odds, log_odds)), weights=weights))
