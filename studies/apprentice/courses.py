"""The courses of crawls as tables: loss reduction at R/4, R/2 and R, by truth and by the critic, for all alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from forager_lab.metrics import mean
from studies.apprentice import losses
from studies.apprentice.losses import BOTH, HORIZONS, By, MeanOverRuns
from studies.apprentice.study import ApprenticeStudy
from studies.page import share, table


@dataclass(frozen=True)
class CrawlCourse:
    """A crawl that is made on every topic."""

    title: str
    name: str  # of the crawl
    halved: bool = False  # only half B counts


def reductions(
    study: ApprenticeStudy, topic: str, course: CrawlCourse, by: By, *, first: int = 0, most: int | None = None
) -> list[MeanOverRuns]:
    """The loss reduction at each horizon."""
    return [
        losses.reduction_of(study, topic, course.name, n, by, halved=course.halved, first=first, most=most)
        for n in losses.horizons(study, topic)
    ]


def course_table(study: ApprenticeStudy, course: CrawlCourse, first: int) -> str:
    """One course in full: the baseline's loss, and what it was cut by. `first`: runs on which settings were chosen."""
    rows = []
    for topic, size in study.sizes.items():
        found = [each for by in BOTH for each in reductions(study, topic, course, by)]
        later = reductions(study, topic, course, "truth", first=first)
        counted = [f"{losses.pages_counted(study, topic, course.name, n):.0f}" for n in losses.horizons(study, topic)]
        cells = [*_baseline_losses(study, topic, course), *(counted if course.halved else []), *map(str, found)]
        rows.append([topic, f"{size:,}", *cells, *map(str, later)])
    head = [f"**{course.title}**", "R", *_at("baseline's loss"), *(_at("pages of B") if course.halved else [])]
    return table([*head, *_at("truth"), *_at("critic"), *_at(f"truth, runs {first + 1} on")], rows)


def _baseline_losses(study: ApprenticeStudy, topic: str, course: CrawlCourse) -> Iterator[str]:
    """By truth, at each horizon."""
    runs, name = losses.runs_of(study, topic, course.name), study.plan.baseline_of(course.name)
    for n in losses.horizons(study, topic):
        yield share(mean(losses.losses(study, topic, name, n, "truth", runs, halved=course.halved)))


def side_tables(study: ApprenticeStudy, courses: Sequence[CrawlCourse], *, large: bool = False) -> str:
    """Several courses in the runs of the side figures, a table each. `large`: only topics that leave time to learn."""
    most = study.plan.side_runs
    topics = [topic for topic, size in study.sizes.items() if study.plan.is_large(size) or not large]
    if not topics:
        return f"No topic has more than {study.plan.large} pages."
    tables = []
    for course in courses:
        rows = [
            [topic, f"{study.sizes[topic]:,}", *_cells(study, topic, course, most, with_interval=large)]
            for topic in topics
        ]  # fmt: skip
        tables.append(table([f"**{course.title}**", "R", *_at("truth"), *_at("critic")], rows))
    return "\n\n".join(tables)


def _cells(study: ApprenticeStudy, topic: str, course: CrawlCourse, most: int, *, with_interval: bool) -> Iterator[str]:
    for by in BOTH:
        for each in reductions(study, topic, course, by, most=most):
            yield str(each if with_interval else replace(each, half=None))


def _at(title: str) -> list[str]:
    """The heads of a group of columns, one for each horizon."""
    first, *rest = (f"at {horizon}" for horizon in HORIZONS)
    return [f"{title} {first}", *rest]
