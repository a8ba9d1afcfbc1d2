"""Learns any number of classes in one pass (naive Bayes): for hundreds of them, such as a directory.

Multinomial, over the classes of a taxonomy, flat (Chakrabarti, Punera & Subramanyam 2002, eq. 1 and 2).

    Pr(c|u)     by naive Bayes with Laplace's law of succession               -> learn/naive_bayes
    Pr(c*|u)    = sum over the classes c in focus of Pr(c|u)                  -> Judgement.raw
    z           = log Pr(c*|u) - log (1 - Pr(c*|u))
    relevance   = sigmoid((slope z + drift n) / (n + SHORT) + bias)           -> learn/calibration

n is the length of page u, in terms that some training page has. A class is in focus if it is a focus name or below one.

The three numbers of the calibration are fitted to training pages. Each page is scored by the model that never saw it:
its counts are subtracted, so no second pass over the pages is needed. If a side has fewer than 8 pages, the slope is
the usual one, and even odds lie halfway between the two sides.

A single word t is worth log theta(+,t) / theta(-,t), + being the focus and - the rest -> SparseNaiveBayes.word_log_odds

`topics` is e^(score(c) slope / (n + SHORT)): Pr(c|u), made as soft as the calibration makes the odds. Over the focus it
is scaled to sum to the relevance, over the rest to sum to 1 - relevance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from functools import cache
from typing import Self

import numpy as np
import xxhash

from forager.critics.combine import Combines
from forager.critics.corpus import HeldPage, PageSample, focus_of, held_from_parts, held_to_parts
from forager.errors import ForagerError
from forager.learn.calibration import SHORT, Calibration, Quality, calibrate, quality, sigmoid
from forager.learn.counts import TermCounter, TermCounts
from forager.learn.focus import in_focus
from forager.learn.naive_bayes import SparseNaiveBayes, log_odds, log_sum
from forager.types import Floats, Judgement, Mask, Page, Parts, Terms


@dataclass(frozen=True, slots=True, eq=False)
class _Trained:
    model: SparseNaiveBayes
    focus: Mask  # (c,)
    held: tuple[HeldPage, ...]
    calibration: Calibration | None  # None: raw probabilities
    told: str
    quality: Quality | None
    version: str

    @property
    def size(self) -> int:
        return self.model.size + sum(page.bag.terms.nbytes + page.bag.counts.nbytes for page in self.held)


class NaiveBayes(Combines):
    """Trained on pages of several classes, of which `focus` names those we look for.

    At most `held_out` pages are kept for the calibration. A model has at most `max_pairs` pairs (term, class), 4 bytes
    each: the rarest terms are left out if there would be more.
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
        """Where the calibration comes from, in words."""
        return self._trained.told if self._trained else "untrained"

    @property
    def quality(self) -> Quality | None:
        """On the pages held out; None if they are too few."""
        return self._trained.quality if self._trained else None

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self._trained.size if self._trained else 0

    def fit(self, pages: Iterable[Page], labels: Iterable[str]) -> None:
        """Learn from these pages and nothing else. Each page is read once; only a sample is kept."""
        counter, sample = TermCounter[str](), PageSample(self._held_out, self._seed)
        wanted = cache(lambda label: in_focus(label, self.focus))
        for page, label in zip(pages, labels, strict=True):
            terms = page.terms.values
            counter.add(terms, label)
            sample.offer(terms, label, wanted=wanted(label))
        self._train(counter.counts(self._max_pairs), sample.held())

    def judge(self, pages: Sequence[Page]) -> list[Judgement]:
        if self._trained is None:
            raise ForagerError("this naive-bayes critic knows nothing yet: fit it on labelled pages, or load a model")
        return [_judge(self._trained, page) for page in pages]

    def word_log_odds(self, terms: Terms) -> Floats:
        if self._trained is None:
            return np.zeros(len(terms), np.float32)
        return self._trained.model.word_log_odds(terms, self._trained.focus)

    def parts(self) -> Parts:
        if self._trained is None:
            raise ForagerError("this naive-bayes critic knows nothing yet: fit it before you save it")
        trained, counts = self._trained, self._trained.model.counts
        return {
            "focus": list(self.focus),
            "classes": list(counts.classes),
            **counts.columns(),
            **held_to_parts(trained.held),
            "calibration": asdict(trained.calibration) if trained.calibration else None,
            "told": trained.told,
            "quality": asdict(trained.quality) if trained.quality else None,
        }

    def from_parts(self, parts: Parts) -> Self:
        """If the focus is not the one the parts were made for, the calibration is fitted again."""
        other = copy(self)
        counts = TermCounts[str].of_columns(parts["classes"], parts)
        held = held_from_parts(parts)
        if list(self.focus) != parts["focus"] or self._calibrate != (parts["calibration"] is not None):
            other._train(counts, held)
            return other
        fitted = Calibration(**parts["calibration"]) if parts["calibration"] else None
        measured = Quality(**parts["quality"]) if parts["quality"] else None
        model, focus = SparseNaiveBayes(counts), focus_of(counts.classes, self.focus)
        other._trained = _Trained(model, focus, held, fitted, parts["told"], measured, _version(counts, focus, fitted))
        return other

    def merge(self, parts: Sequence[Parts]) -> Parts:
        """Counts are added, samples are joined, and the calibration is fitted again."""
        counter, sample = TermCounter[str](), PageSample(self._held_out, self._seed)
        for part in parts:
            counter.absorb(TermCounts[str].of_columns(part["classes"], part))
            for held in held_from_parts(part):
                sample.keep(held, wanted=in_focus(held.label, self.focus))
        whole = copy(self)
        whole._train(counter.counts(self._max_pairs), sample.held())
        return whole.parts()

    def _train(self, counts: TermCounts[str], held: tuple[HeldPage, ...]) -> None:
        focus = focus_of(counts.classes, self.focus)
        model = SparseNaiveBayes(counts)
        if not self._calibrate:
            fitted, told, measured = None, "none: raw probabilities", None
        else:
            fitted, told, measured = _calibrated(model, focus, held)
        self._trained = _Trained(model, focus, held, fitted, told, measured, _version(counts, focus, fitted))


def _calibrated(
    model: SparseNaiveBayes, focus: Mask, held: tuple[HeldPage, ...]
) -> tuple[Calibration, str, Quality | None]:
    """The calibration, where it comes from, and how good it is."""
    code = {name: i for i, name in enumerate(model.counts.classes)}
    wanted = np.array([focus[code[page.label]] for page in held], np.bool_)
    scored = [model.scores_without(page.bag, code[page.label]) for page in held]
    z = np.array([log_odds(scores, focus) for scores, _ in scored])
    n = np.array([length for _, length in scored], np.float64)
    usable = np.isfinite(z)  # z is infinite if the page is the only one of its side
    z, n, wanted = z[usable], n[usable], wanted[usable]
    pages = np.array([model.counts.pages[~focus].sum(), model.counts.pages[focus].sum()])
    kept = np.array([(~wanted).sum(), wanted.sum()])
    weights = (pages / np.maximum(1, kept))[wanted.astype(np.intp)]  # a page held stands for so many pages of its side
    fitted = calibrate(z, n, wanted, weights)
    if fitted is None:
        told = f"default: {kept[1]} wanted pages and {kept[0]} others teach too little"
        return Calibration().halfway(z, n, wanted), told, None
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
    topics = np.where(focus, relevance, sigmoid(-odds)) * chances  # chances sum to 1 over each side
    return Judgement(relevance, sigmoid(z), topics.astype(np.float32), trained.version)


def _version(counts: TermCounts[str], focus: Mask, fitted: Calibration | None) -> str:
    content = xxhash.xxh3_64(repr((counts.classes, focus.tolist(), fitted)).encode())
    for column in counts.columns().values():
        content.update(np.ascontiguousarray(column).data)
    return f"nb-{content.intdigest() & 0xFFFFFFFF:08x}"
