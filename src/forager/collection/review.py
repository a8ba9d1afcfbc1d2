"""How good a collection is, by people's verdicts: a random sample, precision, and the agreement of two judges.

On the open web nobody knows the truth. The only measure of quality is the share of wanted pages in a random sample. The
sample is drawn by hash: pages in the order of hash(seed, url), the first n. So all judges of a collection get the same
sample, a larger sample begins with the smaller one, a judge who stops early has judged a random sample too, and the
sample changes little when the crawl goes on.

Symbols: n pages of which k count, p = k/n, z = 1.96; p[i,j] = share of the pages that the first judge put in category
i and the second in j, p[i,.] and p[.,j] its margins.

    Wilson       (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n)
    kappa        (po - pe) / (1 - pe),  po = sum p[i,i],  pe = sum p[i,.] p[.,i]
    its error    √(A + B - C) / ((1 - pe) √n)                                       (Fleiss, Cohen and Everitt 1969)
                 A = sum over i      of p[i,i] (1 - (p[i,.] + p[.,i]) (1 - kappa))²
                 B = sum over i != j of p[i,j] (1 - kappa)² (p[.,i] + p[j,.])²
                 C = (kappa - pe (1 - kappa))²
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nsmallest
from math import sqrt
from typing import TypeAlias

import numpy as np

from forager.errors import ForagerError
from forager.store import Catalogue, Entry
from forager.store.verdicts import IS_IRRELEVANT, IS_RELEVANT, REVIEW_VERDICTS, UNSURE, PageVerdict
from forager.types import RELEVANT

Z = 1.959964  # of the normal distribution, for 95 %
Interval: TypeAlias = tuple[float, float]


# ---- the sample -----------------------------------------------------------------------------------------------------


def draw(pages: Iterable[Entry], count: int, seed: int = 0) -> list[Entry]:
    """A random sample without replacement; all pages if there are fewer. Seed and URLs alone decide it."""
    return nsmallest(count, pages, key=lambda page: (_hash(page.url, seed), page.url))


def _hash(url: str, seed: int) -> bytes:
    return blake2b(f"{seed} {url}".encode(), digest_size=8).digest()


def sample(catalogue: Catalogue, count: int, seed: int = 0, *, everything: bool = False) -> list[Entry]:
    """The pages to judge: from those that the critic finds relevant, or from everything fetched."""
    found = draw(catalogue.pages(min_relevance=None if everything else RELEVANT), count, seed)
    if not found:
        fetched = catalogue.status().pages
        if not fetched:
            raise ForagerError(f"{catalogue.folder} has no pages yet: crawl first, with forager crawl")
        raise ForagerError(
            f"the critic finds none of the {fetched} pages in {catalogue.folder} relevant (at least {RELEVANT}): "
            "use --all to sample from everything fetched"
        )
    return found


# ---- figures --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Proportion:
    """`hits` pages out of `of`, with Wilson's 95 % interval."""

    hits: int
    of: int

    @property
    def value(self) -> float | None:
        return self.hits / self.of if self.of else None

    @property
    def interval(self) -> Interval | None:
        if not self.of:
            return None
        from scipy.stats import binomtest  # slow to import

        found = binomtest(self.hits, self.of).proportion_ci(method="wilson")
        return float(found.low), float(found.high)


@dataclass(frozen=True, slots=True)
class Precision:
    """Counts of the verdicts on some pages. Unsure ones count apart; `least` takes them as no, `most` as yes."""

    relevant: int
    irrelevant: int
    unsure: int

    @classmethod
    def of(cls, verdicts: Iterable[str]) -> Precision:
        count = Counter(verdicts)
        return cls(count[IS_RELEVANT], count[IS_IRRELEVANT], count[UNSURE])

    @property
    def judged(self) -> int:
        return self.relevant + self.irrelevant + self.unsure

    @property
    def sure(self) -> Proportion:
        return Proportion(self.relevant, self.relevant + self.irrelevant)

    @property
    def least(self) -> Proportion:
        return Proportion(self.relevant, self.judged)

    @property
    def most(self) -> Proportion:
        return Proportion(self.relevant + self.unsure, self.judged)


@dataclass(frozen=True, slots=True)
class JudgeReport:
    """What one judge says about a sample. `left_out` and `found` are None if only kept pages were sampled."""

    judge: str
    sample: int  # pages of the sample; some may not be judged yet
    kept: Precision  # of the pages that the critic keeps
    left_out: Precision | None  # of the pages that it does not keep
    elsewhere: int  # verdicts of this judge on pages that are not in the sample

    @property
    def found(self) -> Proportion | None:
        """The share that the critic keeps of the pages that the judge wants: the recall of the critic."""
        if self.left_out is None:
            return None
        return Proportion(self.kept.relevant, self.kept.relevant + self.left_out.relevant)


def judge_report(
    judge: str, pages: Sequence[Entry], verdicts: Mapping[str, PageVerdict], *, everything: bool = False
) -> JudgeReport:
    """The figures of one judge, from a sample and the verdicts of that judge by URL."""
    kept = [verdicts[page.url].verdict for page in pages if page.url in verdicts and page.relevance >= RELEVANT]
    others = [verdicts[page.url].verdict for page in pages if page.url in verdicts and not page.relevance >= RELEVANT]
    elsewhere = len(verdicts.keys() - {page.url for page in pages})
    left_out = Precision.of(others) if everything else None
    return JudgeReport(judge, len(pages), Precision.of(kept), left_out, elsewhere)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A page on which two judges differ."""

    url: str
    title: str
    first: str
    second: str


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two judges over the pages that both judged; each verdict, such as relevant or unsure, is a category."""

    first: str
    second: str
    raw: Proportion
    kappa: float | None  # None if chance alone would always agree
    interval: Interval | None  # kappa ± 1.96 standard errors, within -1..1
    disagreements: tuple[Disagreement, ...]  # in the order of the sample


def agreement(
    first: str,
    second: str,
    pages: Sequence[Entry],
    one: Mapping[str, PageVerdict],
    two: Mapping[str, PageVerdict],
    *,
    verdicts: Sequence[str] = REVIEW_VERDICTS,
) -> Agreement:
    """How far two judges agree, from a sample and the verdicts of each by URL. `verdicts` are all that may be given."""
    both = [page for page in pages if page.url in one and page.url in two]
    pairs = [(one[page.url].verdict, two[page.url].verdict) for page in both]
    differ = tuple(Disagreement(p.url, p.title, a, b) for p, (a, b) in zip(both, pairs, strict=True) if a != b)
    index = {verdict: i for i, verdict in enumerate(verdicts)}
    table = np.zeros((len(index), len(index)))
    for a, b in pairs:
        table[index[a], index[b]] += 1
    kappa, error = cohen(table)
    interval = None if kappa is None else (max(-1.0, kappa - Z * error), min(1.0, kappa + Z * error))
    return Agreement(first, second, Proportion(len(pairs) - len(differ), len(pairs)), kappa, interval, differ)


def cohen(table: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> tuple[float | None, float]:
    """Kappa of a square table of counts, with its large-sample standard error."""
    n = table.sum()
    if n == 0:
        return None, 0.0
    p = table / n
    rows, columns, diagonal = p.sum(axis=1), p.sum(axis=0), np.diag(p)
    observed, expected = diagonal.sum(), rows @ columns
    if expected >= 1:
        return None, 0.0
    kappa = (observed - expected) / (1 - expected)
    a = diagonal @ (1 - (rows + columns) * (1 - kappa)) ** 2
    outside = p - np.diag(diagonal)
    b = (1 - kappa) ** 2 * (outside * (columns[:, None] + rows[None, :]) ** 2).sum()
    c = (kappa - expected * (1 - kappa)) ** 2
    return float(kappa), float(sqrt(max(0.0, a + b - c) / n) / (1 - expected))
