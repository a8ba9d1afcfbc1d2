"""Loss, loss reduction, overlap and slope of the study's crawls.

Loss after n pages is the share of useless ones among those that count: by truth the share without the label, by the
critic the mean of 1 - Pr. For crawls trained beforehand on half A only the pages of half B count, for the baseline too;
n is always the number of all pages fetched. Loss reduction = 1 - loss / loss of the baseline in the same run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.types import Floats, Mask, Url
from forager_lab.metrics import Figure, half_width, mean
from studies.apprentice.crawls import Crawled
from studies.apprentice.study import BASELINE, Study

By: TypeAlias = Literal["truth", "critic"]
POINTS = 60  # of a curve
Reals: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Mean:
    """Over runs, with the half width of its 95 % interval (Student's t)."""

    value: Figure
    half: Figure
    of_means: bool = False  # no mean of the runs' own figures


def lost(crawled: Crawled, by: By) -> Reals:
    """How much of each page was for nothing."""
    return np.asarray(~crawled.relevant if by == "truth" else 1 - crawled.expected, np.float64)


def counted(crawled: Crawled, without: frozenset[Url]) -> Mask:
    """Pages that count: all but those of the half that was learnt from."""
    return np.array([url not in without for url in crawled.order], bool)


def loss(crawled: Crawled, pages: int, by: By, without: frozenset[Url] = frozenset()) -> Figure:
    """Share lost of those that count among the first so many pages; None if the crawl ended before, or none counts."""
    counts = counted(crawled, without)[:pages]
    if len(crawled.order) < pages or not counts.any():
        return None
    return float(lost(crawled, by)[:pages][counts].mean())


def reduction(ours: Figure, baseline: Figure) -> Figure:
    return None if ours is None or not baseline else 1 - ours / baseline


def runs_of(study: Study, topic: str, course: str) -> list[int]:
    return [run for run in range(study.plan.runs) if (topic, run, course) in study.crawls]


def reduction_of(
    study: Study,
    topic: str,
    course: str,
    pages: int,
    by: By,
    *,
    halved: bool = False,
    first: int = 0,
    most: int | None = None,
) -> Mean:
    """Mean over the runs that have this crawl, from the `first` on, at `most` so many. `halved`: only half B counts.

    Where the baseline of some run lost nothing, that run has no reduction: then it is that of the mean losses.
    """
    runs = runs_of(study, topic, course)[first:most]
    ours, theirs = (losses(study, topic, name, pages, by, runs, halved=halved) for name in (course, BASELINE))
    found = [reduction(mine, base) for mine, base in zip(ours, theirs, strict=True)]
    if None in found and None not in ours and None not in theirs:
        return Mean(reduction(mean(ours), mean(theirs)), None, of_means=True)
    return Mean(mean(found), half_width(found))


def losses(
    study: Study, topic: str, course: str, pages: int, by: By, runs: Sequence[int], *, halved: bool = False
) -> list[Figure]:
    """Of each of the runs."""
    return [
        loss(study.crawls[topic, run, course], pages, by, study.halves[run] if halved else frozenset())
        for run in runs
    ]  # fmt: skip


def pages_counted(study: Study, topic: str, course: str, pages: int) -> float:
    """Pages of half B among the first so many, mean over the runs."""
    runs = runs_of(study, topic, course)
    return float(np.mean([counted(study.crawls[topic, run, course], study.halves[run])[:pages].sum() for run in runs]))


def late_reduction(study: Study, topic: str, course: str, first: int, last: int) -> Mean:
    """By truth, of the pages from one place of the crawl to another."""
    runs = runs_of(study, topic, course)
    found = [
        reduction(
            slope(study.crawls[topic, run, course], first, last, "truth"),
            slope(study.crawls[topic, run, BASELINE], first, last, "truth"),
        )
        for run in runs
    ]
    return Mean(mean(found), half_width(found))


# ---- curves ---------------------------------------------------------------------------------------------------------


def places(pages: int) -> list[int]:
    return list(dict.fromkeys(np.linspace(1, pages, min(POINTS, pages)).round().astype(int).tolist()))


def lost_so_far(
    study: Study, topic: str, course: str, *, halved: bool = False, like: str | None = None
) -> tuple[list[int], list[float]]:
    """The sum of 1 - Pr over those of the first R pages that count, against their number, as the paper draws it: mean
    over the runs, or over those that have a crawl `like` that one."""
    sums = []
    for run in runs_of(study, topic, like or course):
        crawled = study.crawls[topic, run, course]
        counts = counted(crawled, study.halves[run] if halved else frozenset())[: study.sizes[topic]]
        sums.append(np.cumsum(lost(crawled, "critic")[: len(counts)][counts]))
    reach = min(len(each) for each in sums)
    at = places(reach) if reach else []
    return at, [float(np.mean([each[n - 1] for each in sums])) for n in at]


def overlap(ours: Crawled, theirs: Crawled, pages: int) -> float:
    """Of the first so many pages of one crawl the share that the other has among its own first so many."""
    return len({*ours.order[:pages]} & {*theirs.order[:pages]}) / pages


def overlaps(study: Study, topic: str, course: str, pages: int) -> tuple[list[int], list[float]]:
    """With the baseline, along the crawl, mean over the runs."""
    pairs = [
        (study.crawls[topic, run, course], study.crawls[topic, run, BASELINE])
        for run in runs_of(study, topic, course)
    ]  # fmt: skip
    at = places(min([pages, *(len(ours.order) for ours, _ in pairs)]))
    return at, [float(np.mean([overlap(*pair, n) for pair in pairs])) for n in at]


def slope(crawled: Crawled, first: int, last: int, by: By) -> Figure:
    """Loss a page from one place of the crawl to another."""
    return float(lost(crawled, by)[first:last].mean()) if 0 <= first < last <= len(crawled.order) else None


@dataclass(frozen=True, slots=True)
class Switch:
    """Loss a page in equally many pages before and after the apprentice was switched on, means over the runs."""

    before: Figure
    after: Figure
    baseline: Figure  # had it never been


def switch(study: Study, topic: str, course: str, by: By) -> Switch:
    at = max(1, study.sizes[topic] // 2)
    reach = max(1, at // 2)
    crawls = [
        (study.crawls[topic, run, course], study.crawls[topic, run, BASELINE])
        for run in runs_of(study, topic, course)
    ]  # fmt: skip
    return Switch(
        mean([slope(ours, at - reach, at, by) for ours, _ in crawls]),
        mean([slope(ours, at, at + reach, by) for ours, _ in crawls]),
        mean([slope(theirs, at, at + reach, by) for _, theirs in crawls]),
    )


def histogram(values: Floats, bins: int = 10) -> list[float]:
    """Shares of values in equally wide parts of 0..1."""
    counts, _ = np.histogram(values, bins=bins, range=(0.0, 1.0))
    return [float(count) / max(1, counts.sum()) for count in counts]
