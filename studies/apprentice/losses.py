"""Measures of the crawls: loss, loss reduction, overlap and slope.

Loss after n pages is the share of useless pages among those that count: by truth the share without the label, by the
critic the mean of 1 - Pr. For crawls trained beforehand on half A only the pages of half B count, and so for the
baseline beside them. Where critics are compared, the pages that one of them has learnt from do not count. n is always
the number of all pages fetched.

    loss reduction = 1 - loss / loss of the baseline in the same run

The baseline of a crawl has its policy and goes by the scores that the crawl was taught (set_ups.py). All crawls are
compared at the same horizons: R/4, R/2 and R pages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.types import Floats, Mask, Url
from forager_lab.metrics import Figure, half_width, mean
from studies.apprentice.crawls import CrawledPages
from studies.apprentice.study import ApprenticeStudy

By: TypeAlias = Literal["truth", "critic"]
BOTH: tuple[By, ...] = ("truth", "critic")
HORIZONS = {"R/4": 4, "R/2": 2, "R": 1}  # R is divided by this
POINTS = 60  # of a curve
Reals: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MeanOverRuns:
    """A mean over runs, with the half width of its 95 % interval (Student's t). `str` gives it in percent."""

    value: Figure
    half: Figure
    of_means: bool = False  # made of mean losses, not of the runs' own reductions

    def __str__(self) -> str:
        if self.value is None:
            return "–"
        half = "" if self.half is None else f" ± {100 * self.half:.0f}"
        return f"{100 * self.value:.0f}{half} %{'†' if self.of_means else ''}"


def lost(crawled: CrawledPages, by: By) -> Reals:
    """The loss of each page."""
    return np.asarray(~crawled.relevant if by == "truth" else 1 - crawled.expected, np.float64)


@dataclass(frozen=True, slots=True)
class Counting:
    """Which pages of a crawl count."""

    half: bool = False  # only those of half B, which nobody was taught
    new: bool = False  # only those that no critic has learnt from

    def __call__(self, crawled: CrawledPages, half_a: frozenset[Url]) -> Mask:
        counts = ~crawled.sampled if self.new else np.ones(len(crawled.order), bool)
        return counts & np.array([url not in half_a for url in crawled.order], bool) if self.half else counts


EVERY, HALF_B, NEW, NEW_B = Counting(), Counting(half=True), Counting(new=True), Counting(half=True, new=True)


def loss(crawled: CrawledPages, pages: int, by: By, counts: Mask) -> Figure:
    """The loss after so many pages. None if the crawl ended before, or if no page counts."""
    if len(crawled.order) < pages or not counts[:pages].any():
        return None
    return float(lost(crawled, by)[:pages][counts[:pages]].mean())


def reduction(ours: Figure, baseline: Figure) -> Figure:
    """The loss reduction. None if the baseline lost nothing."""
    return None if ours is None or not baseline else 1 - ours / baseline


def runs_of(study: ApprenticeStudy, topic: str, name: str) -> list[int]:
    """The runs that have a crawl of this name."""
    return [run for run in range(study.plan.runs) if (topic, run, name) in study.crawls]


def reduction_of(
    study: ApprenticeStudy,
    topic: str,
    name: str,
    pages: int,
    by: By,
    *,
    counting: Counting = EVERY,
    first: int = 0,
) -> MeanOverRuns:
    """The loss reduction against its baseline: mean over the runs that have this crawl, without the `first` ones.

    If the baseline of some run lost nothing, that run has no reduction; then the result is the reduction of the mean
    losses.
    """
    runs = runs_of(study, topic, name)[first:]
    pair = name, study.plan.baseline_of(name)
    ours, theirs = (losses(study, topic, each, pages, by, runs, counting) for each in pair)
    found = [reduction(mine, base) for mine, base in zip(ours, theirs, strict=True)]
    if None in found and None not in ours and None not in theirs:
        return MeanOverRuns(reduction(mean(ours), mean(theirs)), None, of_means=True)
    return MeanOverRuns(mean(found), half_width(found))


def horizons(study: ApprenticeStudy, topic: str) -> list[int]:
    """Numbers of pages at which the crawls of a topic are compared."""
    return [max(1, study.sizes[topic] // part) for part in HORIZONS.values()]


def losses(
    study: ApprenticeStudy,
    topic: str,
    name: str,
    pages: int,
    by: By,
    runs: Sequence[int],
    counting: Counting = EVERY,
) -> list[Figure]:
    """The loss in each of the runs."""
    found = [study.crawls[topic, run, name] for run in runs]
    counts = [counting(crawled, study.halves[run]) for crawled, run in zip(found, runs, strict=True)]
    return [loss(crawled, pages, by, each) for crawled, each in zip(found, counts, strict=True)]


def pages_counted(study: ApprenticeStudy, topic: str, name: str, pages: int, counting: Counting) -> float:
    """Pages that count among the first so many, mean over the runs."""
    runs = runs_of(study, topic, name)
    counts = [counting(study.crawls[topic, run, name], study.halves[run])[:pages] for run in runs]
    return float(np.mean([each.sum() for each in counts]))


# ---- curves ---------------------------------------------------------------------------------------------------------


def places(pages: int) -> list[int]:
    """Numbers of pages at which a curve has points."""
    return list(dict.fromkeys(np.linspace(1, pages, min(POINTS, pages)).round().astype(int).tolist()))


def lost_so_far(
    study: ApprenticeStudy, topic: str, name: str, *, counting: Counting = EVERY, like: str | None = None
) -> tuple[list[int], list[float]]:
    """A curve as the paper draws it: the number of pages that count, and the sum of 1 - Pr over them, up to R pages.

    It is the mean over the runs of this crawl, or over the runs that have a crawl `like` that one.
    """
    sums = []
    for run in runs_of(study, topic, like or name):
        crawled = study.crawls[topic, run, name]
        counts = counting(crawled, study.halves[run])[: study.sizes[topic]]
        sums.append(np.cumsum(lost(crawled, "critic")[: len(counts)][counts]))
    reach = min(len(each) for each in sums)
    at = places(reach) if reach else []
    return at, [float(np.mean([each[n - 1] for each in sums])) for n in at]


def overlap(ours: CrawledPages, theirs: CrawledPages, pages: int) -> float:
    """The share of the first so many pages of one crawl that are also among the first so many of the other."""
    return len({*ours.order[:pages]} & {*theirs.order[:pages]}) / pages


def union_overlap(ours: CrawledPages, theirs: CrawledPages, pages: int) -> float:
    """As the paper has it: of all pages that are among the first so many of either crawl, the share in both."""
    one, other = {*ours.order[:pages]}, {*theirs.order[:pages]}
    return len(one & other) / len(one | other)


Overlap: TypeAlias = Callable[[CrawledPages, CrawledPages, int], float]


def overlaps(study: ApprenticeStudy, topic: str, name: str, pages: int, how: Overlap) -> tuple[list[int], list[float]]:
    """A curve: the overlap with the baseline along the crawl, mean over the runs."""
    pairs = _pairs(study, topic, name)
    at = places(min([pages, *(len(ours.order) for ours, _ in pairs)]))
    return at, [float(np.mean([how(*pair, n) for pair in pairs])) for n in at]


def _pairs(study: ApprenticeStudy, topic: str, name: str) -> list[tuple[CrawledPages, CrawledPages]]:
    """The crawl of this name and its baseline, for each run."""
    base = study.plan.baseline_of(name)
    return [(study.crawls[topic, run, name], study.crawls[topic, run, base]) for run in runs_of(study, topic, name)]


def slope(crawled: CrawledPages, first: int, last: int, by: By) -> Figure:
    """The mean loss of the pages from one place of the crawl to another."""
    return float(lost(crawled, by)[first:last].mean()) if 0 <= first < last <= len(crawled.order) else None


@dataclass(frozen=True, slots=True)
class LossAroundSwitch:
    """The mean loss of a page, in as many pages before as after the apprentice was switched on; a value for a run."""

    before: list[Figure]
    after: list[Figure]
    baseline: list[Figure]  # in the same pages after, if the baseline goes on


def around_switch(study: ApprenticeStudy, topic: str, name: str, by: By, first: int = 0) -> LossAroundSwitch:
    """The loss before and after the apprentice was switched on, in this crawl. `first`: so many runs are left out."""
    at = max(1, study.sizes[topic] // 2)
    reach = max(1, at // 2)
    crawls = _pairs(study, topic, name)[first:]
    return LossAroundSwitch(
        [slope(ours, at - reach, at, by) for ours, _ in crawls],
        [slope(ours, at, at + reach, by) for ours, _ in crawls],
        [slope(theirs, at, at + reach, by) for _, theirs in crawls],
    )


def histogram(values: Floats, bins: int = 10) -> list[float]:
    """The share of values in each of equally wide parts of 0..1."""
    counts, _ = np.histogram(values, bins=bins, range=(0.0, 1.0))
    return [float(count) / max(1, counts.sum()) for count in counts]
