"""Weighs the signals of a link, with weights that were learnt on other webs, and trusts them as far as they are right.

Several experts say how likely a link leads to a relevant page, each as log-odds z of the signals f; x is f brought to
mean 0 and spread 1:

    source    a0 + a1 f[source]                        what best-first goes by
    learnt k  b_k + w_k.x                              weights learnt beforehand on web k: no two webs are alike
    adapted   (what the learnt ones say) + v.x         v: a ridge logistic on the outcomes of this crawl

Each is calibrated to this crawl, z' = s z + t, with s and t drawn to 1 and 0. Their weights follow from how well each
has predicted the pages of this crawl before they came; l is the log-loss of a page, and old pages are forgotten:

    L = DECAY L + l;      trust = e^-L / sum of e^-L;      score = sum of trust z'
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import copy
from importlib.resources import files
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from forager.errors import ForagerError
from forager.files import text_of
from forager.learn.linear import Reals
from forager.learn.logistic import logistic
from forager.strategies.weigher.signals import NAMES, SOURCE
from forager.types import Floats, Parts

DOUBT = {"source": 3.0, "learnt": 0.0, "adapted": 1.0}  # L before the first page
DECAY = 0.99
RIDGE = 30.0  # draws the adapted weights to 0
STIFF = (10.0, 1.0)  # draws s and t to 1 and 0
FIRST_FIT, REFIT = 30, 10  # pages before the first fit; between two, or a twentieth of all that came
STEPS = 3  # of Newton in a fit: it begins where the last one ended
MOST, RECENT = 2_000, 500  # outcomes that are remembered; those that calibrate, as older ones hardly count
SURE = 8.0  # log-odds are not larger


def load_weights(file: str = "") -> Mapping[str, Any]:
    """The weights in a file, or those of the package."""
    try:
        text = text_of(file) if file else (files("forager.strategies.weigher") / "weights.json").read_text("utf-8")
        loaded: Mapping[str, Any] = json.loads(text)
    except (OSError, ValueError) as error:
        raise ForagerError(
            f"{file}: no weights can be read from it ({error}); `make pretrain` makes such a file"
        ) from None
    if loaded.get("names") != list(NAMES):
        raise ForagerError(f"{file}: these weights are for other signals; make them again with `make pretrain`")
    return loaded


class Combiner:
    """All experts: first the source, then those learnt on other webs, last the adapted one.

    `wary`: only the source is heard. What pleases a critic that is mostly wrong deserves no trust.
    """

    def __init__(
        self, weights: Mapping[str, Any], *, adapt: bool = True, guard: bool = True, wary: bool = False
    ) -> None:
        self._mean, self._scale = np.array(weights["mean"], np.float32), np.array(weights["scale"], np.float32)
        self._a0, self._a1 = weights["source"]
        learnt = list(weights["webs"].values())
        self._w = np.array([web["w"] for web in learnt], np.float32)
        self._b = np.array([web["b"] for web in learnt], np.float32)[:, None]
        self._heard = np.array([guard or wary, *(not wary for _ in learnt), adapt and not wary])
        self.v = np.zeros(len(NAMES))
        self.loss = np.array([DOUBT["source"], *(DOUBT["learnt"] for _ in learnt), DOUBT["adapted"]])
        self.calibration = np.tile([1.0, 0.0], (len(self.loss), 1))
        self._signals, self._outcomes = np.zeros((0, len(NAMES)), np.float32), np.zeros(0)
        self._seen = 0

    @property
    def trust(self) -> Reals:
        """The weight of each expert."""
        return _trust(np.where(self._heard, self.loss, np.inf))

    def __call__(self, signals: Floats) -> Floats:
        """(n,) log-odds, for (n, NAMES) signals"""
        return (self.trust @ self._calibrated(self._opinions(signals))).astype(np.float32)

    @property
    def usual(self) -> Floats:
        """(NAMES,) the signals of a usual link"""
        return self._mean

    def added(self, signals: Floats) -> Reals:
        """(NAMES,) what each signal of a link adds to its score, beside that of a usual link"""
        x, trust = (signals - self._mean) / self._scale, self.trust * self.calibration[:, 0]
        added = (trust[1:-1] + trust[-1] * self._shares) @ self._w * x + trust[-1] * self.v * x
        added[SOURCE] += trust[0] * self._a1 * (signals[SOURCE] - self._mean[SOURCE])
        return np.asarray(added)

    def learn(self, signals: Floats, outcome: float) -> None:
        """From one link that was followed, with its signals as they were when it was."""
        (z,) = self._calibrated(self._opinions(signals[None])).T
        self.loss = DECAY * self.loss + np.logaddexp(0, z) - outcome * z
        self.loss = self.loss - self.loss.min()
        self._signals = np.concatenate((self._signals, signals[None]))[-MOST:]
        self._outcomes = np.append(self._outcomes, outcome)[-MOST:]
        self._seen += 1
        if self._seen >= FIRST_FIT and self._seen % (REFIT * max(1, self._seen // (20 * REFIT))) == 0:
            self._fit()

    @property
    def _shares(self) -> Reals:
        """How much of what the learnt experts say together is each one's."""
        return np.asarray(_trust(self.loss[1:-1]) * self.calibration[1:-1, 0])

    def _opinions(self, signals: Floats) -> Reals:
        """(experts, n)"""
        x = (signals - self._mean) / self._scale
        learnt = self._w @ x.T + self._b
        together = self._together(learnt)
        return np.concatenate(([self._a0 + self._a1 * signals[:, SOURCE]], learnt, [together + x @ self.v]))

    def _together(self, learnt: NDArray[np.floating]) -> Reals:
        """(n,) what the learnt experts say, by their trust."""
        return np.asarray(self._shares @ learnt + _trust(self.loss[1:-1]) @ self.calibration[1:-1, 1])

    def _calibrated(self, z: Reals) -> Reals:
        return np.asarray(np.clip(self.calibration[:, :1] * z + self.calibration[:, 1:], -SURE, SURE))

    def _fit(self) -> None:
        y, x = self._outcomes, ((self._signals - self._mean) / self._scale).astype(np.float64)
        if self._heard[-1]:
            said = self._together(self._w @ x.T + self._b)
            self.v = logistic(x, y, np.full(x.shape[1], RIDGE), start=self.v, offset=said, steps=STEPS)
        newest = y[-RECENT:]
        age = np.arange(len(newest), dtype=np.float64)[::-1]
        for expert, z in enumerate(self._opinions(self._signals[-RECENT:])):
            both = np.column_stack((z, np.ones(len(z))))
            begin = {"prior": _NONE, "start": self.calibration[expert]}
            s, t = logistic(both, newest, np.array(STIFF), weight=np.power(DECAY, age), steps=STEPS, **begin)
            self.calibration[expert] = np.clip(s, 0.2, 3.0), np.clip(t, -3.0, 3.0)

    def snapshot(self) -> Self:
        """What is known now. What is learnt later does not change it."""
        other = copy(self)
        other.calibration = self.calibration.copy()
        return other

    def parts(self) -> Parts:
        learnt = {"v": self.v, "loss": self.loss, "calibration": self.calibration}
        return {**learnt, "signals": self._signals, "outcomes": self._outcomes, "seen": self._seen}

    def from_parts(self, parts: Parts) -> Self:
        if len(parts["loss"]) != len(self.loss):  # learnt with other weights than these
            return self
        other = copy(self)
        other.v, other.loss, other.calibration = (np.array(parts[name]) for name in ("v", "loss", "calibration"))
        other._signals, other._outcomes = np.array(parts["signals"], np.float32), np.array(parts["outcomes"])
        other._seen = int(parts["seen"])
        return other


def _trust(loss: Reals) -> Reals:
    weight = np.exp(loss.min() - loss)
    return np.asarray(weight / weight.sum())


_NONE = np.array([1.0, 0.0])  # s and t that change nothing
