"""What critics have in common that learn from example pages and from nothing else.

Such a critic is fitted to a corpus (corpus.py). Its model gives each page

    z          the evidence that the page is wanted, on a scale of the model's own; larger means more
    raw        the same as a number in [0,1]
    shares     of each class within its side: they sum to 1 over the focus, and to 1 over the rest

Slope and bias are fitted to z of pages that were left out of the training when they were scored. If a side has fewer
than 8 such pages, the slope is the usual one, and even odds lie halfway between the two sides. Then

    relevance  = sigmoid(slope z + bias), or raw if `calibrate` is off
    topics     = shares * relevance over the focus, shares * (1 - relevance) over the rest

If z is linear in the words of a page, a single word is worth what a page of this word alone adds to the log-odds of an
empty page: slope (z(t) - z()).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import asdict, dataclass, replace
from typing import ClassVar, Protocol, Self, cast

import numpy as np
import xxhash

from forager.critics.combine import Combines
from forager.critics.corpus import Corpus, CorpusMaker, focus_of
from forager.errors import ForagerError
from forager.learn.calibration import Platt, Quality, platt_quality, sigmoid
from forager.learn.linear import Reals
from forager.types import Bag, Floats, Judgement, Mask, Page, Parts, Terms


@dataclass(frozen=True, slots=True, eq=False)
class PageEvidence:
    """What a model says of a page."""

    z: float
    raw: float
    shares: Floats  # (c,)


class ExampleModel(Protocol):
    """What a critic learns from a corpus."""

    def evidence(self, bag: Bag) -> PageEvidence: ...
    def parts(self) -> Mapping[str, object]:
        """What cannot be computed again from the corpus, or only slowly."""


class WordModel(ExampleModel, Protocol):
    """One that is linear in the words of a page."""

    def word_weights(self, terms: Terms) -> Floats:
        """z(t) - z() of each term; 0 for a term that it does not know."""


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """The evidence for each page held, from a model that was not trained on it; nan where there is no such model."""

    z: Reals  # (h,) aligned with the corpus
    raw: Reals  # (h,)


@dataclass(frozen=True, slots=True, eq=False)
class _Fitted:
    corpus: Corpus
    focus: Mask  # (c,)
    model: ExampleModel
    platt: Platt
    told: str
    quality: Quality | None
    version: str


class FromExamples(Combines):
    """A critic says how to learn a model from a corpus (`_learn`), and how to load one (`_load`)."""

    name: ClassVar[str]
    usual: ClassVar[Platt]  # typical of what is fitted; for pages too few to fit anything

    def __init__(self, focus: Sequence[str], *, calibrate: bool, most: int, seed: int) -> None:
        self.focus = (focus,) if isinstance(focus, str) else tuple(focus)
        if not self.focus:
            raise ForagerError(f"{self.name} without a focus: name the classes, or a class above them, that are wanted")
        if most < 2:
            raise ForagerError(f"most = {most} pages to learn from: give 2 or more")
        self._calibrate, self._seed = calibrate, seed
        self._maker = CorpusMaker(self.focus, most, seed)
        self._fitted: _Fitted | None = None

    def _learn(self, corpus: Corpus, focus: Mask) -> tuple[ExampleModel, LeftOut]:
        raise NotImplementedError

    def _load(self, corpus: Corpus, focus: Mask, parts: Parts) -> ExampleModel:
        raise NotImplementedError

    @property
    def classes(self) -> tuple[str, ...]:
        return self._fitted.corpus.classes if self._fitted else ()

    @property
    def version(self) -> str:
        return self._fitted.version if self._fitted else f"{self.name}-untrained"

    @property
    def calibration(self) -> str:
        """Where the calibration comes from, in words."""
        if self._fitted is None:
            return "untrained"
        return self._fitted.told if self._calibrate else "none: raw values"

    @property
    def quality(self) -> Quality | None:
        """On pages left out of the training when they were scored; None if they are too few."""
        return self._fitted.quality if self._fitted else None

    def fit(self, pages: Iterable[Page], labels: Iterable[str]) -> None:
        """Learn from these pages and nothing else. Each page is read once; only a sample is kept."""
        self._train(self._maker.gathered(pages, labels))

    def feedback(self, pages: Sequence[Page], wanted: Sequence[bool]) -> None:
        """Learn also from these pages, which somebody has judged. What was said of them before no longer counts.

        No class is added: a page goes to the class of its side that it looks most like.
        """
        focus = self._known("give feedback").focus
        sides = [focus if yes else ~focus for yes in wanted]
        judged = zip(self.judge(pages), sides, strict=True)
        labels = [self.classes[int(np.argmax(np.where(side, one.topics, -1)))] for one, side in judged]
        self._train(self._maker.labelled(self._known("").corpus, pages, labels))

    def judge(self, pages: Sequence[Page]) -> list[Judgement]:
        fitted = self._known("judge")
        return [self._judged(fitted, page) for page in pages]

    def parts(self) -> Parts:
        fitted = self._known("save it")
        return {
            "focus": list(self.focus),
            "seed": self._maker.seed,
            **fitted.corpus.to_parts(),
            **fitted.model.parts(),
            "platt": asdict(fitted.platt),
            "told": fitted.told,
            "quality": asdict(fitted.quality) if fitted.quality else None,
        }

    def from_parts(self, parts: Parts) -> Self:
        """If the focus is not the one the parts were made for, it learns again from the pages kept in them."""
        other, corpus = copy(self), Corpus.from_parts(parts)
        other._maker = replace(self._maker, seed=parts["seed"])  # so that known pages have the same hashes
        if list(self.focus) != list(parts["focus"]):
            other._train(corpus)
            return other
        focus = focus_of(corpus.classes, self.focus)
        quality = Quality(**parts["quality"]) if parts["quality"] else None
        model = self._load(corpus, focus, parts)
        other._keep(corpus, focus, model, Platt(**parts["platt"]), parts["told"], quality)
        return other

    def merge(self, parts: Sequence[Parts]) -> Parts:
        """What is learnt from the pages of all parts together."""
        whole = copy(self)
        whole._train(self._maker.joined([Corpus.from_parts(part) for part in parts]))
        return whole.parts()

    def _known(self, what: str) -> _Fitted:
        if self._fitted is None:
            told = f"fit it on labelled pages before you {what}, or load a model"
            raise ForagerError(f"this {self.name} critic knows nothing yet: {told}")
        return self._fitted

    def _train(self, corpus: Corpus) -> None:
        focus = focus_of(corpus.classes, self.focus)
        if len(set(focus[corpus.codes].tolist())) < 2:  # feedback may have changed the label of the last page of a side
            raise ForagerError("all pages are wanted, or none is: give pages of both kinds")
        model, left_out = self._learn(corpus, focus)
        usable = np.isfinite(left_out.z)
        z, raw, weights = left_out.z[usable], left_out.raw[usable], corpus.weights(focus)[usable]
        wanted = focus[corpus.codes][usable]
        platt, sides = Platt.fitted(z, wanted, weights), f"{wanted.sum()} wanted pages and {(~wanted).sum()} others"
        told = f"fitted to {sides}, each left out when scored" if platt else f"default: {sides} teach too little"
        found = platt_quality(z, raw, wanted, weights) if platt else None
        self._keep(corpus, focus, model, platt or self.usual.halfway(z, wanted), told, found)

    def _keep(
        self, corpus: Corpus, focus: Mask, model: ExampleModel, platt: Platt, told: str, quality: Quality | None
    ) -> None:
        content = _digest({**corpus.to_parts(), **model.parts()}, (self.focus, platt, self._calibrate))
        version = f"{self.name}-{content & 0xFFFFFFFF:08x}"
        self._fitted = _Fitted(corpus, focus, model, platt, told, quality, version)

    def _judged(self, fitted: _Fitted, page: Page) -> Judgement:
        found = fitted.model.evidence(page.bag)
        odds = fitted.platt.log_odds(found.z)
        yes, no = (sigmoid(odds), sigmoid(-odds)) if self._calibrate else (found.raw, 1 - found.raw)
        topics = found.shares * np.where(fitted.focus, np.float32(yes), np.float32(no))
        return Judgement(yes, found.raw, topics, fitted.version)


class FromWords(FromExamples):
    """A critic whose model is a `WordModel`. It can say what single words are worth."""

    def word_log_odds(self, terms: Terms) -> Floats:
        if self._fitted is None:
            return np.zeros(len(terms), np.float32)
        model = cast(WordModel, self._fitted.model)
        return np.float32(self._fitted.platt.slope) * model.word_weights(terms)


def shared_out(weights: Floats, focus: Mask) -> Floats:
    """Shares within each side, in proportion to weights >= 0; equal shares in a side whose weights are all 0."""
    shares = np.empty(len(weights), np.float32)
    for side in (focus, ~focus):
        total = weights[side].sum()
        shares[side] = weights[side] / total if total > 0 else 1 / side.sum()
    return shares


@contextmanager
def in_one_thread() -> Iterator[None]:
    """For products of large arrays: several threads would wait for each other on a busy machine."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(1):
        yield


def _digest(parts: Mapping[str, object], others: object) -> int:
    arrays = {name: part for name, part in parts.items() if isinstance(part, np.ndarray)}
    values = {name: part for name, part in parts.items() if name not in arrays}
    content = xxhash.xxh3_64(repr((sorted(values.items()), others)).encode())
    for name in sorted(arrays):
        content.update(np.ascontiguousarray(arrays[name]).data)
    return content.intdigest()
