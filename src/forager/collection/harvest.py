"""The harvest as it is shown: the critic's estimate, corrected by what people say.

The critic says of each page how likely it is wanted, r. People have said of some pages whether they are. From both:

    logit Pr(wanted) = a logit r + b

a and b are the most likely ones, drawn to 1 and 0 by normal priors: with few verdicts the critic is believed. It does
not matter which pages were chosen by how relevant the critic finds them, since the pages are compared at equal r.

Verdicts of `forager judge` count, and labels that the critic has not learnt from: those of pages that it had judged
itself when the label was given. After `forager retrain` the critic knows the labels, and says of these pages what it
was told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import nan
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from forager.errors import ForagerError
from forager.learn.linear import Reals
from forager.learn.logistic import logistic
from forager.store import Catalogue
from forager.store.verdicts import IS_IRRELEVANT, UNSURE, PageVerdict, VerdictUse, read_verdicts

PULL = np.array([4.0, 1.0])  # precisions of the priors of a and b
CLIP = 0.005  # relevance is not nearer to 0 or 1


@dataclass(frozen=True, slots=True)
class HarvestCorrection:
    """a and b, and on how many pages' verdicts they rest."""

    slope: float = 1.0
    bias: float = 0.0
    labels: int = 0

    @classmethod
    def fitted(cls, relevance: ArrayLike, wanted: ArrayLike) -> HarvestCorrection:
        """From the critic's relevance of pages, and what people say of them: 1 wanted, 0 not."""
        z, y = _logit(relevance), np.asarray(wanted, np.float64)
        if not len(z):
            return cls()
        slope, bias = logistic(np.column_stack((z, np.ones(len(z)))), y, PULL, prior=np.array([1.0, 0.0]))
        return cls(float(slope), float(bias), len(z))

    def __call__(self, relevance: ArrayLike) -> Reals:
        """How likely pages are wanted of which the critic says so. Without verdicts, what it says."""
        said = np.asarray(relevance, np.float64)
        return _sigmoid(self.slope * _logit(said) + self.bias) if self.labels else said

    def mean(self, pages: Mapping[int, int]) -> float:
        """The harvest, of pages that are counted by their relevance in hundredths. nan: there is none."""
        levels, counts = np.array([*pages.keys()], np.float64) / 100, np.array([*pages.values()], np.float64)
        return float(np.average(self(levels), weights=counts)) if counts.sum() else nan

    @property
    def words(self) -> str:
        """What a harvest rests on."""
        noun = "label" if self.labels == 1 else "labels"
        return "critic's estimate" + (f", corrected by {self.labels} {noun}" if self.labels else "")


def harvest_correction(project: Path) -> HarvestCorrection:
    """What the verdicts in a project teach about its critic."""
    verdicts = [found for found in read_verdicts(project) if found.verdict != UNSURE]
    if not verdicts:
        return HarvestCorrection()
    with Catalogue(project) as catalogue:
        said = [pair for pair in _by_page(verdicts, catalogue) if pair is not None]
    return HarvestCorrection.fitted([relevance for relevance, _ in said], [wanted for _, wanted in said])


def _by_page(verdicts: Iterable[PageVerdict], catalogue: Catalogue) -> Iterable[tuple[float, float] | None]:
    """For each page: its relevance, and the share of verdicts that want it. None: no verdict on it counts."""
    pages: dict[str, list[PageVerdict]] = {}
    for found in verdicts:
        pages.setdefault(found.url, []).append(found)
    for url, given in pages.items():
        yield _compared(catalogue, url, given)


def _compared(catalogue: Catalogue, url: str, given: list[PageVerdict]) -> tuple[float, float] | None:
    try:
        entries = [entry for entry in catalogue.find(url) if entry.outcome == "page" and entry.relevance >= 0]
    except ForagerError:  # the project does not know the page any more
        return None
    if not entries:
        return None
    page = entries[-1]
    count = [each for each in given if each.use is VerdictUse.REVIEW or each.critic == page.critic]
    wanted = [each.verdict != IS_IRRELEVANT for each in count]
    return (page.relevance, sum(wanted) / len(wanted)) if wanted else None


def _logit(relevance: ArrayLike) -> Reals:
    r = np.clip(np.asarray(relevance, np.float64), CLIP, 1 - CLIP)
    return np.asarray(np.log(r / (1 - r)))


def _sigmoid(z: Reals) -> Reals:
    return np.asarray(1 / (1 + np.exp(-np.clip(z, -30, 30))))
