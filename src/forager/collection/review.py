"""What people say of a collection: a random sample, verdicts, precision, and the agreement of two judges.

On the open web nobody knows the truth; the share of wanted pages in a random sample is the one measure of quality there
is. The sample is drawn by hash: pages in the order of hash(seed, url), the first n. It is the same for every judge of a
collection, a larger one begins with the smaller one, whoever stops early has judged a random sample too, and a crawl
that goes on changes it little.

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

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b
from heapq import nsmallest
from math import sqrt
from pathlib import Path
from typing import TypeAlias

import numpy as np

from forager.errors import ForagerError
from forager.store import Catalogue, Entry

KEPT = 0.5  # a page at least so relevant belongs to what the critic takes for wanted
FOLDER = "judgements"
HEAD = ("url", "verdict", "time", "critic")
Z = 1.959964  # of the normal law, for 95 %
Interval: TypeAlias = tuple[float, float]
_NAME = re.compile(r"[\w@+-][\w@+.-]*")


class Verdict(StrEnum):
    RELEVANT = "relevant"
    NOT = "not"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Given:
    """One verdict, as it stands in a judge's file. Of several on a page the last one counts."""

    url: str
    verdict: Verdict
    at: datetime  # UTC
    critic: str  # version of the critic that had judged the page


# ---- the sample -----------------------------------------------------------------------------------------------------


def draw(pages: Iterable[Entry], count: int, seed: int = 0) -> list[Entry]:
    """A random sample without replacement, all pages if there are fewer; a function of the seed and the URLs."""
    return nsmallest(count, pages, key=lambda page: (_place(page.url, seed), page.url))


def _place(url: str, seed: int) -> bytes:
    return blake2b(f"{seed} {url}".encode(), digest_size=8).digest()


def sample(catalogue: Catalogue, count: int, seed: int = 0, *, everything: bool = False) -> list[Entry]:
    """Pages to be judged: of those the critic takes for wanted, or of everything fetched."""
    found = draw(catalogue.pages(min_relevance=None if everything else KEPT), count, seed)
    if not found:
        fetched = catalogue.status().pages
        if not fetched:
            raise ForagerError(f"{catalogue.folder} has no pages yet: crawl first, with forager crawl")
        raise ForagerError(
            f"none of the {fetched} pages in {catalogue.folder} is judged relevant (at least {KEPT}): "
            "--all samples from everything fetched"
        )
    return found


# ---- verdict files --------------------------------------------------------------------------------------------------


def verdict_file(project: Path, judge: str) -> Path:
    if not _NAME.fullmatch(judge):
        raise ForagerError(f"{judge!r} cannot be the name of a judge: use letters, digits, . _ @ + or -")
    return project / FOLDER / f"{judge}.tsv"


def judges(project: Path) -> list[str]:
    """Those who have a file, by name."""
    return sorted(file.stem for file in (project / FOLDER).glob("*.tsv") if _NAME.fullmatch(file.stem))


def read_verdicts(file: Path) -> dict[str, Given]:
    """By URL, the last on each. A last line without its end was cut off in the writing and counts for nobody."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ForagerError(f"{file} cannot be read: {error}") from None
    lines = text.split("\n")[:-1]
    if lines and tuple(lines[0].rstrip("\r").split("\t")) != HEAD:
        raise ForagerError(f"{file} line 1: the head must be {' '.join(HEAD)}, separated by tabs")
    given = (_given(file, number, line) for number, line in enumerate(lines[1:], 2) if line.strip())
    return {one.url: one for one in given}


def _given(file: Path, number: int, line: str) -> Given:
    try:
        url, verdict, at, critic = line.rstrip("\r").split("\t")
        return Given(url, Verdict(verdict), datetime.fromisoformat(at), critic)
    except ValueError as error:
        cure = f"a line has {', '.join(HEAD)}, separated by tabs: mend or remove it"
        raise ForagerError(f"{file} line {number} is no verdict ({error}): {cure}") from None


def add_verdict(file: Path, given: Given) -> None:
    """Append a line and bring it to the disk. A line that was cut off in an earlier writing goes."""
    fields = (given.url, given.verdict, given.at.isoformat(timespec="seconds"), given.critic)
    line = "\t".join(" ".join(field.split()) for field in fields) + "\n"
    try:
        file.parent.mkdir(exist_ok=True)
        with file.open("a+b") as stream:
            stream.seek(0)
            whole = stream.read().rfind(b"\n") + 1
            stream.truncate(whole)
            stream.write((line if whole else "\t".join(HEAD) + "\n" + line).encode())
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise ForagerError(f"{file} cannot be written: {error.strerror}; the last verdict is lost") from None


# ---- figures --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many, with Wilson's 95 % interval."""

    hits: int
    of: int

    @property
    def value(self) -> float | None:
        return self.hits / self.of if self.of else None

    @property
    def interval(self) -> Interval | None:
        if not self.of:
            return None
        p, n = self.hits / self.of, self.of
        centre, half = p + Z**2 / (2 * n), Z * sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
        low, high = (centre - half) / (1 + Z**2 / n), (centre + half) / (1 + Z**2 / n)
        return (0.0 if self.hits == 0 else low, 1.0 if self.hits == n else high)  # without rounding at the ends


@dataclass(frozen=True, slots=True)
class Precision:
    """Of the pages judged. The doubtful ones are counted apart; `least` and `most` take them for no and for yes."""

    relevant: int
    irrelevant: int
    unsure: int

    @classmethod
    def of(cls, verdicts: Iterable[Verdict]) -> Precision:
        count = Counter(verdicts)
        return cls(count[Verdict.RELEVANT], count[Verdict.NOT], count[Verdict.UNSURE])

    @property
    def judged(self) -> int:
        return self.relevant + self.irrelevant + self.unsure

    @property
    def sure(self) -> Share:
        return Share(self.relevant, self.relevant + self.irrelevant)

    @property
    def least(self) -> Share:
        return Share(self.relevant, self.judged)

    @property
    def most(self) -> Share:
        return Share(self.relevant + self.unsure, self.judged)


@dataclass(frozen=True, slots=True)
class Figures:
    """What one judge says of a sample. `left_out` and `found` are None if only kept pages were sampled."""

    judge: str
    sample: int  # pages of the sample; some may not be judged yet
    kept: Precision  # of the pages the critic keeps
    left_out: Precision | None  # of those it does not
    elsewhere: int  # verdicts in the file on pages that are not in this sample

    @property
    def found(self) -> Share | None:
        """Of the pages that the judge takes for wanted, those the critic keeps: the recall of the critic."""
        if self.left_out is None:
            return None
        return Share(self.kept.relevant, self.kept.relevant + self.left_out.relevant)


def figures(judge: str, pages: Sequence[Entry], given: Mapping[str, Given], *, everything: bool = False) -> Figures:
    kept = [given[page.url].verdict for page in pages if page.url in given and page.relevance >= KEPT]
    others = [given[page.url].verdict for page in pages if page.url in given and not page.relevance >= KEPT]
    elsewhere = len(given.keys() - {page.url for page in pages})
    left_out = Precision.of(others) if everything else None
    return Figures(judge, len(pages), Precision.of(kept), left_out, elsewhere)


@dataclass(frozen=True, slots=True)
class Disagreement:
    url: str
    title: str
    first: Verdict
    second: Verdict


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of two judges over the pages that both judged; relevant, not and unsure are three categories."""

    first: str
    second: str
    raw: Share
    kappa: float | None  # None: chance alone would agree always
    interval: Interval | None  # kappa ± 1.96 standard errors, within -1..1
    disagreements: tuple[Disagreement, ...]  # in the order of the sample


def agreement(
    first: str, second: str, pages: Sequence[Entry], one: Mapping[str, Given], two: Mapping[str, Given]
) -> Agreement:
    both = [page for page in pages if page.url in one and page.url in two]
    pairs = [(one[page.url].verdict, two[page.url].verdict) for page in both]
    differ = tuple(Disagreement(p.url, p.title, a, b) for p, (a, b) in zip(both, pairs, strict=True) if a is not b)
    index = {verdict: i for i, verdict in enumerate(Verdict)}
    table = np.zeros((len(index), len(index)))
    for a, b in pairs:
        table[index[a], index[b]] += 1
    kappa, error = cohen(table)
    interval = None if kappa is None else (max(-1.0, kappa - Z * error), min(1.0, kappa + Z * error))
    return Agreement(first, second, Share(len(pairs) - len(differ), len(pairs)), kappa, interval, differ)


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
