"""Multinomial naive Bayes over the classes of a taxonomy, flat (Chakrabarti, Punera & Subramanyam 2002, eq. 1 and 2).

    theta[c,t]  = (1 + n(c,t)) / (|T| + n(c,*))
    Pr(c|u)     ~ Pr(c) * product over t in u of theta[c,t] ^ n(u,t)          -> multinomial.py
    Pr(c*|u)    = sum over the classes c in focus of Pr(c|u)                  -> Judgement.raw
    z           = log Pr(c*|u) - log (1 - Pr(c*|u))
    relevance   = sigmoid((slope z + drift n) / (n + SHORT) + bias)           -> calibration.py

n(c,t) is the number of times term t occurs in the training pages of class c, n = n(u,*) the length of page u in terms
of the training vocabulary T; other terms are ignored. A class is in focus if it is a focus name or below one.

The three numbers of the calibration are fitted to training pages, each scored by the model that never saw it: to leave
a page out is to subtract its counts, so no second pass over the pages is needed. `topics` is Pr(c|u) at the calibrated
temperature, (n + SHORT)/slope, within the focus and within the rest, the focus scaled to sum to the relevance exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from functools import cache
from typing import Self

import numpy as np
import xxhash

from forager.critics import held_out
from forager.critics.combine import Combines
from forager.critics.held_out import Held, Sample
from forager.errors import ForagerError, unknown
from forager.learn.calibration import SHORT, Calibration, Quality, calibrate, quality, sigmoid
from forager.learn.counts import Counts, Tally
from forager.learn.focus import in_focus
from forager.learn.naive_bayes import Multinomial, log_odds, log_sum
from forager.types import Judgement, Mask, Page, Parts

COLUMNS = ("pages", "tokens", "terms", "offsets", "entries")  # of Counts, as parts


@dataclass(frozen=True, slots=True, eq=False)
class _Trained:
    model: Multinomial
    focus: Mask  # (c,)
    held: tuple[Held, ...]
    calibration: Calibration | None  # None: raw probabilities
    told: str
    quality: Quality | None
    version: str

    @property
    def size(self) -> int:
        return self.model.size + sum(page.bag.terms.nbytes + page.bag.counts.nbytes for page in self.held)


class NaiveBayes(Combines):
    """Trained on pages of several classes, of which `focus` names those we look for.

    `held_out` pages are kept to calibrate on; a model has at most `max_pairs` pairs (term, class), 4 bytes each: beyond
    that the rarest terms are left out of T.
    """

    def __init__(
        self,
        *,
        focus: Sequence[str],
        calibrate: bool = True,
        held_out: int = 2_000,
        max_pairs: int = 32_000_000,
        seed: int = 0,
    ) -> None:
        self.focus = (focus,) if isinstance(focus, str) else tuple(focus)
        if not self.focus:
            raise ForagerError("naive-bayes without a focus: name the classes, or a class above them, that are wanted")
        self._calibrate = calibrate
        self._held_out, self._max_pairs, self._seed = held_out, max_pairs, seed
        self._trained: _Trained | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        return self._trained.model.counts.classes if self._trained else ()

    @property
    def version(self) -> str:
        return self._trained.version if self._trained else "nb-untrained"

    @property
    def calibration(self) -> str:
        """How the calibration came about, for people."""
        return self._trained.told if self._trained else "untrained"

    @property
    def quality(self) -> Quality | None:
        """On the pages held out; None where they are too few."""
        return self._trained.quality if self._trained else None

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self._trained.size if self._trained else 0

    def fit(self, pages: Iterable[Page], labels: Iterable[str]) -> None:
        """Learn from these pages and nothing else. Each is looked at once and not kept."""
        tally, sample = Tally(), Sample(self._held_out, self._seed)
        wanted = cache(lambda label: in_focus(label, self.focus))
        for page, label in zip(pages, labels, strict=True):
            terms = page.terms.values
            tally.add(terms, label)
            sample.offer(terms, label, wanted=wanted(label))
        self._train(tally.counts(self._max_pairs), sample.held())

    def judge(self, pages: Sequence[Page]) -> list[Judgement]:
        if self._trained is None:
            raise ForagerError("this naive-bayes critic knows nothing yet: fit it on labelled pages, or load a model")
        return [_judge(self._trained, page) for page in pages]

    def parts(self) -> Parts:
        if self._trained is None:
            raise ForagerError("this naive-bayes critic knows nothing yet: fit it before you save it")
        trained, counts = self._trained, self._trained.model.counts
        return {
            "focus": list(self.focus),
            "classes": list(counts.classes),
            **{name: getattr(counts, name) for name in COLUMNS},
            **held_out.to_parts(trained.held),
            "calibration": asdict(trained.calibration) if trained.calibration else None,
            "told": trained.told,
            "quality": asdict(trained.quality) if trained.quality else None,
        }

    def from_parts(self, parts: Parts) -> Self:
        """With another focus than the parts were made for, the calibration is fitted anew."""
        other = copy(self)
        counts = Counts(tuple(parts["classes"]), *(parts[name] for name in COLUMNS))
        held = held_out.from_parts(parts)
        if list(self.focus) != parts["focus"] or self._calibrate != (parts["calibration"] is not None):
            other._train(counts, held)
            return other
        fitted = Calibration(**parts["calibration"]) if parts["calibration"] else None
        measured = Quality(**parts["quality"]) if parts["quality"] else None
        model, focus = Multinomial(counts), other._mask(counts.classes)
        other._trained = _Trained(model, focus, held, fitted, parts["told"], measured, _version(counts, focus, fitted))
        return other

    def merge(self, parts: Sequence[Parts]) -> Parts:
        """Counts add, the samples are joined, and the calibration is fitted anew."""
        tally, sample = Tally(), Sample(self._held_out, self._seed)
        for part in parts:
            tally.absorb(Counts(tuple(part["classes"]), *(part[name] for name in COLUMNS)))
            for held in held_out.from_parts(part):
                sample.keep(held, wanted=in_focus(held.label, self.focus))
        whole = copy(self)
        whole._train(tally.counts(self._max_pairs), sample.held())
        return whole.parts()

    def _mask(self, classes: tuple[str, ...]) -> Mask:
        """Which classes are in focus; some must be, and some must not."""
        if not classes:
            raise ForagerError("no pages to train on: give labelled pages")
        focus = np.array([in_focus(name, self.focus) for name in classes])
        if not focus.any():
            raise unknown("class at or below a focus", ", ".join(self.focus), classes)
        if focus.all():
            raise ForagerError(
                f"all pages are of {', '.join(classes[:3])}, in focus: give pages that are not wanted, too"
            )
        return focus

    def _train(self, counts: Counts, held: tuple[Held, ...]) -> None:
        focus = self._mask(counts.classes)
        model = Multinomial(counts)
        if not self._calibrate:
            fitted, told, measured = None, "none: raw probabilities", None
        else:
            fitted, told, measured = _calibrated(model, focus, held)
        self._trained = _Trained(model, focus, held, fitted, told, measured, _version(counts, focus, fitted))


def _calibrated(model: Multinomial, focus: Mask, held: tuple[Held, ...]) -> tuple[Calibration, str, Quality | None]:
    code = {name: i for i, name in enumerate(model.counts.classes)}
    wanted = np.array([focus[code[page.label]] for page in held], np.bool_)
    scored = [model.scores_without(page.bag, code[page.label]) for page in held]
    z = np.array([log_odds(scores, focus) for scores, _ in scored])
    n = np.array([length for _, length in scored], np.float64)
    usable = np.isfinite(z)  # not so where the page was the only one of its side
    z, n, wanted = z[usable], n[usable], wanted[usable]
    pages = np.array([model.counts.pages[~focus].sum(), model.counts.pages[focus].sum()])
    kept = np.array([(~wanted).sum(), wanted.sum()])
    weights = (pages / np.maximum(1, kept))[wanted.astype(np.intp)]  # a page held stands for those of its side
    fitted = calibrate(z, n, wanted, weights)
    if fitted is None:
        return Calibration(), f"default: {kept[1]} wanted pages and {kept[0]} others teach too little", None
    told = f"fitted to {kept[1]} wanted pages and {kept[0]} others, each left out when scored"
    return fitted, told, quality(z, n, wanted, weights)


def _judge(trained: _Trained, page: Page) -> Judgement:
    scores, n = trained.model.scores(page.bag)
    focus = trained.focus
    wanted, others = scores[focus], scores[~focus]
    z = log_sum(wanted) - log_sum(others)
    odds, slope = z, 1.0
    if trained.calibration:
        odds, slope = trained.calibration.log_odds(z, n), trained.calibration.slope / (n + SHORT)
    relevance = sigmoid(odds)
    chances = np.exp(slope * scores - np.where(focus, log_sum(slope * wanted), log_sum(slope * others)))
    topics = np.where(focus, relevance, sigmoid(-odds)) * chances  # shares of the two sides
    return Judgement(relevance, sigmoid(z), topics.astype(np.float32), trained.version)


def _version(counts: Counts, focus: Mask, fitted: Calibration | None) -> str:
    content = xxhash.xxh3_64(repr((counts.classes, focus.tolist(), fitted)).encode())
    for name in COLUMNS:
        content.update(np.ascontiguousarray(getattr(counts, name)).data)
    return f"nb-{content.intdigest() & 0xFFFFFFFF:08x}"
