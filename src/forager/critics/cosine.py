"""How similar a page is to the example most like it: for examples that differ much from one another.

    raw       = z = max over the targets d of cos(p,d)        the targets: training pages in focus
    relevance = sigmoid(slope z + bias)                       or z itself if `calibrate` is off

cos is that of TF-IDF vectors with idf from all training pages (`forager.learn.tfidf`). For the calibration each page is
scored as if it were not a training page: a target is compared with the other targets only.

Classes in focus share the relevance in proportion to their best cosines. No page of the other classes is compared with,
so these share the rest in proportion to their numbers of pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from forager.critics.corpus import Corpus
from forager.critics.from_examples import FromExamples, LeftOut, PageEvidence, shared_out
from forager.learn.calibration import Places, Platt
from forager.learn.linear import Reals
from forager.learn.tfidf import TfidfColumns
from forager.types import Bag, Floats, Mask, Parts


@dataclass(frozen=True, slots=True, eq=False)
class _Nearest:
    columns: TfidfColumns
    targets: Any  # (v, d), sparse: a column a target
    codes: Places  # (d,) the class of each target
    pages: Floats  # (c,) of each class
    focus: Mask  # (c,)

    @classmethod
    def of(cls, corpus: Corpus, focus: Mask) -> _Nearest:
        columns = TfidfColumns.all(corpus.idf)
        wanted = np.flatnonzero(focus[corpus.codes])
        targets = csr_matrix(columns.rows([corpus.bags[i] for i in wanted]).T)
        pages = np.array([corpus.pages[name] for name in corpus.classes], np.float32)
        return cls(columns, targets, corpus.codes[wanted], pages, focus)

    def evidence(self, bag: Bag) -> PageEvidence:
        cosines = self.columns.times(bag, self.targets)
        z = min(1.0, float(cosines.max()))  # rounding may give more than 1
        weights = np.where(self.focus, np.float32(0), self.pages)
        np.maximum.at(weights, self.codes, cosines)
        return PageEvidence(z, z, shared_out(weights, self.focus))

    def left_out(self, corpus: Corpus) -> Reals:
        """z of each page held. A target is compared with the other targets: nan if it is the only one."""
        cosines = np.asarray((corpus.rows_left_out(self.columns) @ self.targets).toarray(), np.float64)
        own = np.flatnonzero(self.focus[corpus.codes])
        cosines[own, np.arange(len(own))] = np.nan
        z: Reals = np.minimum(1, np.fmax.reduce(cosines, axis=1))
        return z

    def parts(self) -> dict[str, object]:
        return {}


class Cosine(FromExamples):
    """Keeps at most `most` of the training pages, half of each side, chosen by `seed`. The wanted ones are the targets;
    the others are needed for the calibration."""

    name = "cosine"
    usual = Platt(slope=30.0, bias=-6.0)

    def __init__(self, *, focus: Sequence[str], calibrate: bool = True, most: int = 2_000, seed: int = 0) -> None:
        super().__init__(focus, calibrate=calibrate, most=most, seed=seed)

    def _learn(self, corpus: Corpus, focus: Mask) -> tuple[_Nearest, LeftOut]:
        nearest = _Nearest.of(corpus, focus)
        z = nearest.left_out(corpus)
        return nearest, LeftOut(z, z)

    def _load(self, corpus: Corpus, focus: Mask, parts: Parts) -> _Nearest:
        return _Nearest.of(corpus, focus)
