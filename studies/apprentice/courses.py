"""The courses of crawls as tables: loss reduction at R/4, R/2 and R, by truth and by the critic, for all alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from forager_lab.metrics import mean
from studies.apprentice import losses
from studies.apprentice.losses import BOTH, EVERY, HALF_B, HORIZONS, By, Counting, MeanOverRuns
from studies.apprentice.set_ups import (
    BEST_RAW,
    FIRST_RAW,
    HALVED,
    ONLINE,
    RECALL,
    STEERED,
    SUMMED,
    SWITCHED,
    WHOLE,
)
from studies.apprentice.study import ApprenticeStudy
from studies.page import share, table


@dataclass(frozen=True)
class CrawlCourse:
    """A crawl that is made on every topic, or on every one that leaves time to learn on the way."""

    title: str
    name: str  # of the crawl
    counting: Counting = EVERY
    chosen_on: int = 0  # so many of the first runs were looked at when its settings were chosen


CHOSEN_ON = 1  # the first run was looked at when the settings of the plan's apprentice were chosen
STEERED_ON = 3  # so were the first three runs, for the steered one


def _printed(policy: str, of: str) -> tuple[CrawlCourse, CrawlCourse]:
    return (
        CrawlCourse(f"as printed, both {policy}: beforehand", f"{HALVED}, {of}", HALF_B),
        CrawlCourse(f"as printed, both {policy}: online", f"{ONLINE}, {of}"),
    )


PRINTED_BEST, PRINTED_BEST_ONLINE = _printed("best", BEST_RAW)
PRINTED_FIRST, PRINTED_FIRST_ONLINE = _printed("first", FIRST_RAW)
BEFOREHAND = CrawlCourse("ours: beforehand", HALVED, HALF_B, CHOSEN_ON)
NEVER_BEFORE = CrawlCourse("ours: online", ONLINE, EVERY, CHOSEN_ON)
UNDIVIDED = CrawlCourse("ours: undivided\\*", WHOLE, EVERY, CHOSEN_ON)
STEERING = CrawlCourse("steered: online", STEERED, EVERY, STEERED_ON)
SUMMING = CrawlCourse("sum: online", SUMMED)
RECALLING = CrawlCourse("ours: recall crawler", RECALL, HALF_B, CHOSEN_ON)
RECALLING_PRINTED = CrawlCourse("as printed, both best: recall crawler", f"{RECALL}, {BEST_RAW}", HALF_B)
SWITCHING = CrawlCourse("ours: switched on at R/2", SWITCHED, EVERY, CHOSEN_ON)
SWITCHING_PRINTED = CrawlCourse("as printed, both best: switched on at R/2", f"{SWITCHED}, {BEST_RAW}")
MAIN = (
    *(PRINTED_BEST, PRINTED_FIRST, BEFOREHAND, UNDIVIDED),
    *(PRINTED_BEST_ONLINE, PRINTED_FIRST_ONLINE, NEVER_BEFORE, STEERING, SUMMING),
)


def reductions(
    study: ApprenticeStudy, topic: str, course: CrawlCourse, by: By, *, first: int = 0
) -> list[MeanOverRuns]:
    """The loss reduction at each horizon, without the `first` runs."""
    return [
        losses.reduction_of(study, topic, course.name, n, by, counting=course.counting, first=first)
        for n in losses.horizons(study, topic)
    ]


def topics_of(study: ApprenticeStudy, course: CrawlCourse) -> list[str]:
    """The topics on which this crawl was made."""
    return [topic for topic in study.sizes if losses.runs_of(study, topic, course.name)]


def course_table(study: ApprenticeStudy, course: CrawlCourse) -> str:
    """One course in full: the baseline's loss, the pages that count, and what the loss was cut by."""
    rows, part = [], course.counting != EVERY
    for topic in topics_of(study, course):
        found = [each for by in BOTH for each in reductions(study, topic, course, by)]
        if course.chosen_on:
            found += reductions(study, topic, course, "truth", first=course.chosen_on)
        counted = [
            f"{losses.pages_counted(study, topic, course.name, n, course.counting):.0f}"
            for n in losses.horizons(study, topic)
        ]
        cells = [*_baseline_losses(study, topic, course), *(counted if part else []), *map(str, found)]
        rows.append([topic, f"{study.sizes[topic]:,}", *cells])
    head = [f"**{course.title}**", "R", *_at("baseline's loss"), *(_at("pages that count") if part else [])]
    head += [*_at("truth"), *_at("critic")]
    return table([*head, *(_at(f"truth, runs {course.chosen_on + 1} on") if course.chosen_on else [])], rows)


def _baseline_losses(study: ApprenticeStudy, topic: str, course: CrawlCourse) -> Iterator[str]:
    """By truth, at each horizon."""
    runs, name = losses.runs_of(study, topic, course.name), study.plan.baseline_of(course.name)
    for n in losses.horizons(study, topic):
        yield share(mean(losses.losses(study, topic, name, n, "truth", runs, course.counting)))


def side_tables(study: ApprenticeStudy, courses: Sequence[CrawlCourse]) -> str:
    """Several courses, a table each."""
    tables = []
    for course in courses:
        rows = []
        for topic in topics_of(study, course):
            cells = [str(each) for by in BOTH for each in reductions(study, topic, course, by)]
            rows.append([topic, f"{study.sizes[topic]:,}", *cells])
        if rows:
            tables.append(table([f"**{course.title}**", "R", *_at("truth"), *_at("critic")], rows))
    return "\n\n".join(tables) or f"No topic has more than {study.plan.large} pages."


def _at(title: str) -> list[str]:
    """The heads of a group of columns, one for each horizon."""
    first, *rest = (f"at {horizon}" for horizon in HORIZONS)
    return [f"{title} {first}", *rest]
