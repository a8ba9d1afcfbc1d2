"""Sections of the page on crawls by the apprentice: figures 10 to 14, and section 3.7 of the paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forager.learn.linear import sigmoid
from forager.registry import Spec
from forager.types import Floats, Mask
from forager_lab.metrics import Figure, mean
from studies.apprentice import losses
from studies.apprentice.courses import (
    BEFOREHAND,
    PRINTED_BEST,
    RECALLING,
    RECALLING_PRINTED,
    SWITCHING,
    SWITCHING_PRINTED,
    CrawlCourse,
    side_tables,
)
from studies.apprentice.losses import BOTH, HALF_B, HORIZONS, By, histogram, lost_so_far, overlap, union_overlap
from studies.apprentice.set_ups import BATCHES, HALVED, ONLINE, RECALL, SWITCHED, USUAL_BATCH, WHOLE
from studies.apprentice.study import ApprenticeStudy
from studies.page import PanelLine, Section, bars, lines, runs_text, share, table


def fig_10(study: ApprenticeStudy) -> Section:
    """The loss along the crawl, trained beforehand."""
    printed, ours, whole = {}, {}, {}
    for topic in study.sizes:
        printed[topic], ours[topic] = (_beside_baseline(study, topic, course) for course in (PRINTED_BEST, BEFOREHAND))
        whole[topic] = [
            PanelLine("baseline, undivided", *lost_so_far(study, topic, study.plan.baseline_of(WHOLE))),
            PanelLine("apprentice, undivided", *lost_so_far(study, topic, WHOLE)),
        ]
    labels = "pages of half B fetched", "pages lost (sum of 1 - Pr)"
    pictures = {
        "fig-10": lines(printed, *labels, own_axes=True, ylim=(0, None)),
        "fig-10-ours": lines(ours, *labels, own_axes=True, ylim=(0, None)),
        "fig-10-undivided": lines(whole, "pages fetched", labels[1], own_axes=True, ylim=(0, None)),
    }
    text = (
        "Expected loss along the crawl, the sum of 1 - Pr, of the baseline and of the apprentice trained beforehand, "
        f"mean over {runs_text(study.plan.runs)}: first the apprentice as printed, both sides `best`, then ours, both "
        "trained on half A and counted on half B; then ours trained on all instances and counted on all pages, which "
        "is optimistic. The crawls are of R pages. The first tables have the loss at R/4, R/2 and R."
    )
    paper = "loss grows much more slowly with the apprentice: 40 % less on folk dancing, 90 % on ice hockey."
    return Section("fig-10", "Fig. 10: trained beforehand", text, paper, pictures)


def _beside_baseline(study: ApprenticeStudy, topic: str, course: CrawlCourse) -> list[PanelLine]:
    base = study.plan.baseline_of(course.name)
    return [
        PanelLine("baseline", *lost_so_far(study, topic, base, counting=course.counting)),
        PanelLine("apprentice", *lost_so_far(study, topic, course.name, counting=course.counting)),
    ]


def fig_11(study: ApprenticeStudy) -> Section:
    """The pages that the apprentice and the baseline share."""
    panels, tables = {}, []
    head = [f"of {what}, {horizon}" for what in ("the union", "n") for horizon in HORIZONS]
    for course in (PRINTED_BEST, BEFOREHAND):
        rows = []
        for topic, size in study.sizes.items():
            told = [
                overlap_at(study, topic, course.name, n, how)
                for how in (union_overlap, overlap)
                for n in losses.horizons(study, topic)
            ]
            rows.append([topic, f"{size:,}", *map(share, told)])
        tables.append(table([f"**{course.title}**", "R", *head], rows))
    for topic, size in study.sizes.items():
        panels[topic] = [PanelLine("apprentice", *losses.overlaps(study, topic, HALVED, size, union_overlap))]
    text = (
        "The URLs that are among the first n pages both of the apprentice (trained on half A) and of its baseline: as "
        "a share of the union of the two, as in the paper, and in the tables also as a share of n. Mean over "
        f"{runs_text(study.plan.runs)}. The picture has ours."
    )
    paper = "the two crawls share few URLs, 3 to 9 % of their union on the four topics shown."
    picture = lines(panels, "pages fetched", "URLs in common, of the union", own_axes=True, ylim=(0, 1.02))
    return Section("fig-11", "Fig. 11: URLs in common", text, paper, {"fig-11": picture}, "\n\n".join(tables))


def overlap_at(study: ApprenticeStudy, topic: str, name: str, pages: int, how: losses.Overlap) -> Figure:
    """Of a crawl with its baseline after so many pages, mean over the runs."""
    at, values = losses.overlaps(study, topic, name, pages, how)
    return values[-1] if at and at[-1] == pages else None


def fig_12(study: ApprenticeStudy) -> Section:
    """The loss of the recall crawler."""
    panels, base = {}, study.plan.baseline_of(RECALL)
    for topic in study.sizes:
        panels[topic] = [
            PanelLine(title, *lost_so_far(study, topic, name, counting=HALF_B, like=RECALL))
            for title, name in (("baseline", base), ("recall", RECALL), ("apprentice", HALVED))
        ]
    text = (
        "The recall crawler is the same apprentice, kept within the first R pages that the baseline fetched; it can "
        f"only fetch them in a better order. Mean over {runs_text(study.plan.side_runs)}; half B counts. The picture "
        "has ours. Tables: the loss of baseline, recall crawler and apprentice, and whether the recall crawler lies "
        "between the two others; then its loss reduction."
    )
    paper = "the recall crawler lies between the baseline and the apprentice, and meets the baseline at the end."
    picture = lines(panels, "pages of half B fetched", "pages lost (sum of 1 - Pr)", own_axes=True, ylim=(0, None))
    tables = [_recall_table(study, by) for by in BOTH]
    tables.append(side_tables(study, (RECALLING_PRINTED, RECALLING)))
    return Section("fig-12", "Fig. 12: the recall crawler", text, paper, {"fig-12": picture}, "\n\n".join(tables))


def _recall_table(study: ApprenticeStudy, by: By) -> str:
    rows, base = [], study.plan.baseline_of(RECALL)
    for topic in study.sizes:
        cells: list[str] = []
        for n in losses.horizons(study, topic):
            side = losses.runs_of(study, topic, RECALL)
            told = [
                mean(losses.losses(study, topic, name, n, by, side, HALF_B)) for name in (base, RECALL, HALVED)
            ]  # fmt: skip
            cells += [*map(share, told), _between(told)]
        rows.append([topic, *cells])
    columns = ("baseline", "recall crawler", "apprentice", "between?")
    return table([f"**ours, by {by}**", *(f"{what}, {horizon}" for horizon in HORIZONS for what in columns)], rows)


def _between(told: Sequence[Figure]) -> str:
    baseline, recall, free = told
    if baseline is None or recall is None or free is None:
        return "–"
    return "yes" if min(baseline, free) <= recall <= max(baseline, free) else "no"


# ---- switched on ----------------------------------------------------------------------------------------------------


def fig_13(study: ApprenticeStudy) -> Section:
    """The scores of waiting links before and after the switch."""
    middle = [(at + 0.5) / 10 for at in range(10)]
    panels, rows = {}, []
    for topic in study.sizes:
        before, after, leads = waiting_links(study, topic, SWITCHED)
        panels[topic] = [PanelLine("before", middle, histogram(before)), PanelLine("after", middle, histogram(after))]
        count = len(before) / max(1, len(losses.runs_of(study, topic, SWITCHED)))
        rows.append([topic, f"{count:,.0f}", *map(share, levels(before, after, leads))])
    text = (
        "The links that wait when ours is switched on, after R/2 pages of baseline: the relevance of each as the "
        "baseline estimates it (that of its source) and as the apprentice does, and whether it leads to a page with "
        "the label. *Error* is the mean square of estimate - truth. Mean over "
        f"{runs_text(study.plan.side_runs)}."
    )
    paper = (
        "the baseline is too hopeful of its frontier; the apprentice gives up a large part of it at once, and is more "
        "accurate."
    )
    picture = bars(panels, "estimated relevance", "share of what waits", ylim=(0, 1))
    head = ["topic", "links waiting", "truth", "mean before", "mean after", "above .5 before", "above .5 after"]
    head += ["error before", "error after"]
    return Section("fig-13", "Fig. 13: the frontier scored again", text, paper, {"fig-13": picture}, table(head, rows))


def waiting_links(study: ApprenticeStudy, topic: str, name: str, first: int = 0) -> tuple[Floats, Floats, Mask]:
    """Of the links that wait at the switch, in all runs but the first ones: the two estimates, and the truth."""
    crawls = [study.crawls[topic, run, name] for run in losses.runs_of(study, topic, name)[first:]]
    known = [np.isfinite(crawl.before) & np.isfinite(crawl.after) for crawl in crawls]
    columns = [
        np.concatenate([np.empty(0, np.float32), *(given[at] for given, at in zip(each, known, strict=True))])
        for each in ([crawl.before for crawl in crawls], [crawl.after for crawl in crawls])
    ]
    leads = np.concatenate([np.empty(0, bool), *(crawl.leads[at] for crawl, at in zip(crawls, known, strict=True))])
    return sigmoid(columns[0]), sigmoid(columns[1]), leads


def levels(before: Floats, after: Floats, leads: Mask) -> list[Figure]:
    """The share of good links; mean, share above .5 and mean square error of the estimates, before and after."""
    if not len(before):
        return [None] * 7
    each = before, after
    means, hopeful = ([float(value.mean()) for value in given] for given in (each, [one > 0.5 for one in each]))
    return [float(leads.mean()), *means, *hopeful, *(float(((one - leads) ** 2).mean()) for one in each)]


def fig_14(study: ApprenticeStudy) -> Section:
    """The loss before and after the switch."""
    panels, marks = {}, {}
    for topic, size in study.sizes.items():
        panels[topic] = [
            PanelLine("baseline", *lost_so_far(study, topic, study.plan.baseline_of(SWITCHED), like=SWITCHED)),
            PanelLine("apprentice", *lost_so_far(study, topic, SWITCHED)),
        ]
        marks[topic] = size // 2
    text = (
        "The baseline crawls R/2 pages, up to the upright line. Then the apprentice is trained on the instances so far "
        f"and guides the crawl; mean over {runs_text(study.plan.side_runs)}. Beside it the baseline alone. The picture "
        "has ours. Tables: the loss of a page in the last R/4 pages before the switch, in the R/4 after it, and in "
        "those R/4 if the baseline goes on; then the loss reduction, which is nothing up to R/2. All pages after the "
        "switch are new to the apprentice, so all count."
    )
    paper = "the slope of the loss drops at once, on classical composers from 30 % to 6 %."
    picture = lines(
        panels, "pages fetched", "pages lost (sum of 1 - Pr)", own_axes=True, mark=marks, ylim=(0, None)
    )  # fmt: skip
    courses = SWITCHING_PRINTED, SWITCHING
    tables = "\n\n".join([*(_switch_table(study, course) for course in courses), side_tables(study, courses)])
    return Section("fig-14", "Figs. 13b, 14: switched on in mid-crawl", text, paper, {"fig-14": picture}, tables)


def _switch_table(study: ApprenticeStudy, course: CrawlCourse) -> str:
    rows = []
    for topic in study.sizes:
        found = [losses.around_switch(study, topic, course.name, by) for by in BOTH]
        cells = [mean(each) for told in found for each in (told.before, told.after, told.baseline)]
        rows.append([topic, *map(share, cells)])
    head = [f"{what}{by}" for by in (", truth", ", critic") for what in ("before", "after", "baseline goes on")]
    return table([f"**{course.title}**", *head], rows)


def batches(study: ApprenticeStudy) -> Section:
    """Loss reduction by the size of a batch."""
    usual = Spec.parse(study.plan.apprentice).options.get("batch", USUAL_BATCH)
    large = CrawlCourse(f"batch {usual}", ONLINE)
    courses = [large, *(CrawlCourse(f"batch {each}", f"{ONLINE}, batch {each}") for each in BATCHES)]
    text = (
        "Never trained beforehand, retrained after each batch of so many pages: loss reduction against best-first, "
        f"mean over {runs_text(study.plan.side_runs)}. The other batches only on topics with R > {study.plan.large}; "
        "with a batch that is larger than the crawl it never learns."
    )
    paper = "batches of some thousand pages sufficed; retraining every 100 was expected to show a gradual effect."
    return Section("batches", "§3.7: how often to learn", text, paper, table=side_tables(study, courses))
