"""Sections of the page on crawls by the apprentice: figures 10 to 14, and sections 3.7 and 3.8 of the paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forager.learn.linear import sigmoid
from forager.registry import Spec
from forager.types import Floats
from forager_lab.metrics import Figure, mean
from studies.apprentice import losses
from studies.apprentice.courses import CrawlCourse, side_tables
from studies.apprentice.losses import HORIZONS, histogram, lost_so_far, overlap, union_overlap
from studies.apprentice.offline import USUAL, balanced
from studies.apprentice.set_ups import (
    BASELINE,
    BATCHES,
    FEATURES,
    HALVED,
    ONLINE,
    RECALL,
    SWITCHED,
    USUAL_BATCH,
    VARIANTS,
    WHOLE,
)
from studies.apprentice.study import ApprenticeStudy
from studies.page import PanelLine, Section, bars, lines, runs_text, share, table


def fig_10(study: ApprenticeStudy) -> Section:
    """The loss along the crawl, trained beforehand."""
    halved, whole, base = {}, {}, study.plan.baseline_of(HALVED)
    for topic in study.sizes:
        halved[topic] = [
            PanelLine("baseline", *lost_so_far(study, topic, base, halved=True)),
            PanelLine("apprentice", *lost_so_far(study, topic, HALVED, halved=True)),
        ]
        whole[topic] = [
            PanelLine("baseline, undivided", *lost_so_far(study, topic, base)),
            PanelLine("apprentice, undivided", *lost_so_far(study, topic, WHOLE)),
        ]
    pictures = {
        "fig-10": lines(halved, "pages of half B fetched", "pages lost (sum of 1 - Pr)", own_axes=True, ylim=(0, None)),
        "fig-10-undivided": lines(
            whole, "pages fetched", "pages lost (sum of 1 - Pr)", own_axes=True, ylim=(0, None)
        ),
    }  # fmt: skip
    text = (
        "Expected loss along the crawl, the sum of 1 - Pr, of the baseline and of the apprentice trained beforehand, "
        f"mean over {runs_text(study.plan.runs)}: first trained on half A and counted on half B, then trained on all "
        "instances and counted on all pages, which is optimistic. The crawls are of R pages."
    )
    paper = "loss grows much more slowly with the apprentice: 40 % less on folk dancing, 90 % on ice hockey."
    return Section("fig-10", "Fig. 10: trained beforehand", text, paper, pictures)


def fig_11(study: ApprenticeStudy) -> Section:
    """The pages that the apprentice and the baseline share."""
    panels, rows = {}, []
    for topic, size in study.sizes.items():
        panels[topic] = [PanelLine("apprentice", *losses.overlaps(study, topic, HALVED, size, union_overlap))]
        told = [
            _overlap(study, topic, n, how) for how in (union_overlap, overlap) for n in losses.horizons(study, topic)
        ]
        rows.append([topic, f"{size:,}", *map(share, told)])
    text = (
        "The URLs that are among the first n pages both of the apprentice (trained on half A) and of the baseline: as "
        "a share of the union of the two, as in the paper, and in the table also as a share of n. Mean over "
        f"{runs_text(study.plan.runs)}."
    )
    paper = "the two crawls share few URLs, 3 to 9 % of their union on the four topics shown."
    picture = lines(panels, "pages fetched", "URLs in common, of the union", own_axes=True, ylim=(0, 1.02))
    head = ["topic", "R", *(f"of {what}, {horizon}" for what in ("the union", "n") for horizon in HORIZONS)]
    return Section("fig-11", "Fig. 11: URLs in common", text, paper, {"fig-11": picture}, table(head, rows))


def _overlap(study: ApprenticeStudy, topic: str, pages: int, how: losses.Overlap) -> Figure:
    at, values = losses.overlaps(study, topic, HALVED, pages, how)
    return values[-1] if at and at[-1] == pages else None


def fig_12(study: ApprenticeStudy) -> Section:
    """The loss of the recall crawler."""
    panels, rows, base = {}, [], study.plan.baseline_of(RECALL)
    for topic in study.sizes:
        panels[topic] = [
            PanelLine("baseline", *lost_so_far(study, topic, base, halved=True, like=RECALL)),
            PanelLine("recall", *lost_so_far(study, topic, RECALL, halved=True, like=RECALL)),
            PanelLine("apprentice", *lost_so_far(study, topic, HALVED, halved=True, like=RECALL)),
        ]
        cells: list[str] = []
        for n in losses.horizons(study, topic):
            side = losses.runs_of(study, topic, RECALL)
            told = [
                mean(losses.losses(study, topic, name, n, "truth", side, halved=True))
                for name in (base, RECALL, HALVED)
            ]  # fmt: skip
            cells += [*map(share, told), _between(told)]
        rows.append([topic, *cells])
    text = (
        "The recall crawler is the same apprentice, kept within the first R pages that the baseline fetched; it can "
        f"only fetch them in a better order. Mean over {runs_text(study.plan.side_runs)}; half B counts. Table: loss "
        "by truth."
    )
    paper = "the recall crawler lies between the baseline and the apprentice, and meets the baseline at the end."
    picture = lines(panels, "pages of half B fetched", "pages lost (sum of 1 - Pr)", own_axes=True, ylim=(0, None))
    columns = ("baseline", "recall crawler", "apprentice", "between?")
    head = ["topic", *(f"{column}, {horizon}" for horizon in HORIZONS for column in columns)]
    return Section("fig-12", "Fig. 12: the recall crawler", text, paper, {"fig-12": picture}, table(head, rows))


def _between(told: Sequence[Figure]) -> str:
    baseline, recall, free = told
    if baseline is None or recall is None or free is None:
        return "–"
    return "yes" if min(baseline, free) <= recall <= max(baseline, free) else "no"


def fig_13(study: ApprenticeStudy) -> Section:
    """The scores of waiting links before and after the switch."""
    middle = [(at + 0.5) / 10 for at in range(10)]
    panels, rows = {}, []
    for topic in study.sizes:
        crawls = [study.crawls[topic, run, SWITCHED] for run in losses.runs_of(study, topic, SWITCHED)]
        before, after = (
            sigmoid(np.concatenate([scores[np.isfinite(scores)] for scores in given]))
            for given in ([crawl.before for crawl in crawls], [crawl.after for crawl in crawls])
        )
        panels[topic] = [PanelLine("before", middle, histogram(before)), PanelLine("after", middle, histogram(after))]
        rows.append([topic, f"{len(before) / max(1, len(crawls)):,.0f}", *map(share, _levels(before, after))])
    text = (
        "The links that wait when the apprentice is switched on, after R/2 pages of baseline: the relevance of each as "
        "the baseline estimates it (that of its source) and as the apprentice does. Mean over "
        f"{runs_text(study.plan.side_runs)}."
    )
    paper = "the baseline is too hopeful of its frontier; the apprentice gives up a large part of it at once."
    picture = bars(panels, "estimated relevance", "share of what waits", ylim=(0, 1))
    head = ["topic", "links waiting", "mean before", "mean after", "above .5 before", "above .5 after"]
    return Section("fig-13", "Fig. 13: the frontier scored again", text, paper, {"fig-13": picture}, table(head, rows))


def _levels(before: Floats, after: Floats) -> list[Figure]:
    if not len(before) or not len(after):
        return [None] * 4
    return [float(before.mean()), float(after.mean()), float((before > 0.5).mean()), float((after > 0.5).mean())]


def fig_14(study: ApprenticeStudy) -> Section:
    """The loss before and after the switch."""
    panels, rows, marks = {}, [], {}
    for topic, size in study.sizes.items():
        panels[topic] = [
            PanelLine("baseline", *lost_so_far(study, topic, study.plan.baseline_of(SWITCHED), like=SWITCHED)),
            PanelLine("apprentice", *lost_so_far(study, topic, SWITCHED)),
        ]
        marks[topic] = size // 2
        truth, critic = (losses.around_switch(study, topic, SWITCHED, by) for by in ("truth", "critic"))
        cells = [truth.before, truth.after, truth.baseline, critic.before, critic.after, critic.baseline]
        rows.append([topic, *map(share, cells)])
    text = (
        "The baseline crawls R/2 pages, up to the upright line. Then the apprentice is trained on the instances so far "
        f"and guides the crawl; mean over {runs_text(study.plan.side_runs)}. Beside it the baseline alone. Table: the "
        "loss of a page in the last R/4 pages before the switch, in the R/4 after it, and in those R/4 if the baseline "
        "goes on. All pages after the switch are new to the apprentice, so all count."
    )
    paper = "the slope of the loss drops at once, on classical composers from 30 % to 6 %."
    picture = lines(
        panels, "pages fetched", "pages lost (sum of 1 - Pr)", own_axes=True, mark=marks, ylim=(0, None)
    )  # fmt: skip
    head = ["topic", "before, truth", "after", "baseline goes on", "before, critic", "after", "baseline goes on"]
    return Section("fig-14", "Figs. 13b, 14: switched on in mid-crawl", text, paper, {"fig-14": picture},
                   table(head, rows))  # fmt: skip


# ---- variants -------------------------------------------------------------------------------------------------------


def batches(study: ApprenticeStudy) -> Section:
    """Loss reduction by the size of a batch."""
    usual = Spec.parse(study.plan.apprentice).options.get("batch", USUAL_BATCH)
    courses = [
        CrawlCourse(f"batch {usual}", ONLINE),
        *(CrawlCourse(f"batch {each}", f"batch-{each}") for each in BATCHES),
    ]
    text = (
        "Never trained beforehand, retrained after each batch of so many pages: loss reduction against best-first, "
        f"mean over {runs_text(study.plan.side_runs)}. Topics with R > {study.plan.large}; with a batch that is larger "
        "than the crawl it never learns."
    )
    paper = "batches of some thousand pages sufficed; retraining every 100 was expected to show a gradual effect."
    tables = side_tables(study, courses, large=True)
    return Section("batches", "§3.7: how often to learn", text, paper, table=tables)


def features(study: ApprenticeStudy) -> Section:
    """What further features add, offline and in crawls."""
    rows = []
    for topic, found in study.offline.items():
        told = [found["features"][name] for name in ("words", "topics", "cocitation")]
        micro = [share(None if each is None else each[2]) for each in told]
        rows.append([topic, *micro, *(share(balanced(each)) for each in told)])
    head = ["topic", "all, words", "+ topic", "+ co-citation", "balanced, words", "+ topic", "+ co-citation"]
    courses = [CrawlCourse("words", ONLINE), *(CrawlCourse(f"+ {name}", name) for name in FEATURES)]
    crawled = side_tables(study, courses, large=True)
    text = (
        "Two further features: the name of the source's best class, and <high,d>, <low,d> of judged neighbours that "
        f"lead to other pages. First offline: accuracy of <t,d> at d_max = {USUAL} without and with them, over "
        "instances found before their target was fetched. Then crawled, never trained beforehand: loss reduction, "
        f"{runs_text(study.plan.side_runs)}, topics with R > {study.plan.large}. The critic of the protocol has two "
        "classes, so the topic feature only says whether the source itself is relevant; the paper's had 482."
    )
    paper = "class names and their prefixes add about 1 % of accuracy each, co-citation almost nothing."
    return Section("features", "§3.8: further features", text, paper, table=f"{table(head, rows)}\n\n{crawled}")


def variants(study: ApprenticeStudy) -> Section:
    """Other learners and labels, in the runs of the side figures."""
    first = table(
        ["topic", "told good, raw", "calibrated"],
        [[topic, *map(share, _told_good(study, topic))] for topic in study.sizes],
    )
    kinds = {"as above": "", **{name: f", {name}" for name in VARIANTS}}
    courses = [
        CrawlCourse(f"{name}: {how}", f"{crawl}{kind}", crawl == HALVED)
        for name, kind in kinds.items()
        for how, crawl in (("beforehand", HALVED), ("online", ONLINE))
    ]
    return Section(
        "variants", "Other learners and labels", _variants_text(study), PRINTED,
        table=f"{first}\n\n{side_tables(study, courses)}",
    )  # fmt: skip


PRINTED = (
    "naive Bayes, priority from the page on which a link was first found, and the scores of an uncalibrated critic, "
    "near 0 or 1, as labels; regression was wished for."
)


def _variants_text(study: ApprenticeStudy) -> str:
    listed = "; ".join(
        f"*{name}*: `{set_up.spec}`, {set_up.labels}, against *{set_up.baseline}*" for name, set_up in VARIANTS.items()
    )
    return (
        "*Told good*: the share of the pages with the label, in the baseline's crawls, that the critic puts above .5, "
        "before and after its calibration. Then loss reduction as in the first tables, mean over "
        f"{runs_text(study.plan.side_runs)}. Each apprentice is compared with the baseline of its own policy that goes "
        "by the scores it is taught, and was trained on the pages of that baseline. By the critic loss is 1 - that "
        f"score. {listed}. The apprentice of the other sections was chosen among about fifteen settings by tries on "
        "the first run of most of these topics, so its figures on that run are too good."
    )


def _told_good(study: ApprenticeStudy, topic: str) -> list[Figure]:
    """The share of relevant pages, in the baseline's crawls, above .5: by the raw score and by the calibrated one."""
    crawls = [study.crawls[topic, run, BASELINE] for run in losses.runs_of(study, topic, BASELINE)]
    truth = np.concatenate([crawl.relevant for crawl in crawls])
    seen = [np.concatenate([crawl.raw for crawl in crawls]), np.concatenate([crawl.expected for crawl in crawls])]
    return [float((each[truth] > 0.5).mean()) if truth.any() else None for each in seen]
