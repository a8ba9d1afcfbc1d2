"""The page of the study: its introduction, the tables of loss reduction, and figures 4 to 9.

The texts in the code say what is shown, how it is defined and what the paper reported. What the figures mean is written
by hand, in docs/lab/apprentice-reading.toml. The sections on later crawls are in `crawl_sections`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from forager_lab.plots import BLUE, BROWN, GREEN, GREY, OLIVE, ORANGE, PINK, PURPLE, RED, TEAL
from studies.apprentice import losses
from studies.apprentice.courses import CrawlCourse, course_table, reductions
from studies.apprentice.crawl_sections import batches, features, fig_10, fig_11, fig_12, fig_13, fig_14, variants
from studies.apprentice.losses import HORIZONS, MeanOverRuns, histogram
from studies.apprentice.offline import D_MAX, FEWEST, KINDS, OFFSETS, USUAL, balanced
from studies.apprentice.set_ups import BASELINE, HALVED, ONLINE, STEERED, STEERED_BY, WHOLE
from studies.apprentice.study import ApprenticeStudy
from studies.page import (
    PanelLine,
    Section,
    bars,
    how_made,
    lines,
    nan_if_none,
    row_bars,
    runs_text,
    share,
    stacked,
    table,
    write_study,
)

INTRODUCTION = """\
The experiments of section 3 of Chakrabarti, Punera & Subramanyam (2002), "Accelerated focused crawling through online
relevance feedback", on real pages: the topics of {web}, a closed web. {count} topics, {runs} each; a run has its own
sample for the critic and its own three pages to start from ([the protocol](README.md)). R is the number of pages of a
topic; ± is the half width of the 95 % interval of a mean over runs (Student's t). The baseline is `best-first`, the
critic `{critic}`, the apprentice
`{apprentice}`, which is taught the critic's calibrated
relevance of each page. The last section has the apprentice as the paper prints it. Every crawl is compared with a
baseline that does the same with a link found again and goes by the same scores, at the same numbers of pages.

The paper crawled the open web, where two crawls hardly ever meet the same page. In a closed web an apprentice trained
beforehand would be tested on pages that it was trained on. So here it sees only links to a random half A of the web's
pages, and only the other half, B, counts. The undivided figure beside it is marked as optimistic."""
BEFOREHAND_GOAL, ONLINE_GOAL = 0.30, 0.20
CHOSEN_ON = 1  # the first run was looked at when the apprentice's settings were chosen
STEERED_ON = 3  # so were the first three runs, for the steered one
_TAG_COLOURS = (BLUE, RED, GREEN, PURPLE, ORANGE, TEAL, PINK, BROWN, OLIVE)


def write_apprentice_page(study: ApprenticeStudy, folder: Path) -> Path:
    """Write the pictures into the folder, and the page beside it; returns the page."""
    return write_study(folder, "The apprentice: a study", _introduction(study), sections(study), _made(study))


def _introduction(study: ApprenticeStudy) -> str:
    plan = study.plan
    return INTRODUCTION.format(
        web=study.web,
        count=len(study.sizes),
        runs=runs_text(plan.runs),
        apprentice=plan.apprentice,
        critic=plan.critic,
    )


def _made(study: ApprenticeStudy) -> str:
    plan = study.plan
    command = [
        f"python -m studies apprentice --web $WEBS/{study.web}",
        f"--topics {','.join(plan.topics)}",
        f"--runs {plan.runs} --side-runs {plan.side_runs} --seed {plan.seed}",
        f"--apprentice {plan.apprentice} --critic {plan.critic}",
    ]
    return how_made(command, "parts (crawls, offline figures)", study.codes)


def sections(study: ApprenticeStudy) -> list[Section]:
    """All sections, in the order of the page."""
    return [
        summary(study), fig_4(study), fig_5(study), fig_6(study), fig_7(study), fig_8(study), fig_9(study),
        fig_10(study), fig_11(study), fig_12(study), fig_13(study), fig_14(study), batches(study), features(study),
        variants(study),
    ]  # fmt: skip


# ---- loss reduction -------------------------------------------------------------------------------------------------

BEFOREHAND = CrawlCourse("beforehand", HALVED, halved=True)
UNDIVIDED, NEVER_BEFORE, STEERING = (
    CrawlCourse("undivided\\*", WHOLE),
    CrawlCourse("online", ONLINE),
    CrawlCourse("steered", STEERED),
)
CHOSEN = {BEFOREHAND: CHOSEN_ON, UNDIVIDED: CHOSEN_ON, NEVER_BEFORE: CHOSEN_ON, STEERING: STEERED_ON}


def summary(study: ApprenticeStudy) -> Section:
    """The tables of loss reduction."""
    tables = "\n\n".join(course_table(study, course, first) for course, first in CHOSEN.items())
    paper = "loss cut by 30 to 90 %, typically 30 to 60 %, trained beforehand on the pages of a baseline crawl."
    return Section("summary", "Loss reduction", _summary_text(study), paper, table=tables)


def _summary_text(study: ApprenticeStudy) -> str:
    large = [topic for topic, size in study.sizes.items() if study.plan.is_large(size)]
    which = f" with R > {study.plan.large}"
    return (
        "Loss reduction against best-first, 1 - loss / loss of best-first, in percent, at R/4, R/2 and R pages: mean "
        f"over {runs_text(study.plan.runs)} with the half width of its 95 % interval. Best-first does the same as the "
        "apprentice with a link that is found again. *Beforehand*: trained on instances "
        "whose targets lie in a random half A of the web's pages, then crawled without learning more; loss among the "
        "pages of the other half, B, that are among the first fetched. *Undivided*, marked * because it is "
        "optimistic: trained on all instances, so it was taught about pages that it then finds. *Online*: never "
        "trained beforehand. By truth loss is the share of pages without the label, by the critic the mean of 1 - Pr. "
        "†: the baseline of some run lost nothing, so this is the reduction of the mean losses. "
        "*Runs 2 on*: without the first run, on which the apprentice's settings were chosen. "
        f"{_met(study, BEFOREHAND, list(study.sizes), BEFOREHAND_GOAL)} "
        f"{_met(study, NEVER_BEFORE, large, ONLINE_GOAL, which)} *Steered*: "
        f"`{STEERED_BY}`, online; it starts from the relevance of the page itself, and combines all pages that link to "
        "a target, as its baseline does. These settings were chosen on the first three runs of the four large topics "
        f"only. {_met(study, STEERING, large, ONLINE_GOAL, which)}"
    )


def _met(study: ApprenticeStudy, course: CrawlCourse, topics: Sequence[str], goal: float, which: str = "") -> str:
    """On how many topics the goal is reached at each horizon, with all runs and without those that chose settings."""
    first = CHOSEN[course]
    met, later = np.zeros(len(HORIZONS), int), np.zeros(len(HORIZONS), int)
    for topic in topics:
        met += [_reaches(each, goal) for each in reductions(study, topic, course, "truth")]
        later += [_reaches(each, goal) for each in reductions(study, topic, course, "truth", first=first)]
    told = [
        f"{count} at {horizon} ({without})" for horizon, count, without in zip(HORIZONS, met, later, strict=True)
    ]  # fmt: skip
    return (
        f"{course.title.capitalize()}, at least {goal:.0%} by truth is reached, of {len(topics)} topics{which}, on "
        f"{', '.join(told)}; in brackets without the first {'run' if first == 1 else f'{first} runs'}."
    )


def _reaches(found: MeanOverRuns, goal: float) -> bool:
    return found.value is not None and found.value >= goal


# ---- figures 4 to 9 -------------------------------------------------------------------------------------------------


def fig_4(study: ApprenticeStudy) -> Section:
    """Good and bad pages of the baseline."""
    counts: dict[str, list[tuple[str, float]]] = {}
    rows = []
    for topic, size in study.sizes.items():
        crawls = [study.crawls[topic, run, BASELINE] for run in losses.runs_of(study, topic, BASELINE)]
        good = float(np.mean([(crawl.expected > 0.5).sum() for crawl in crawls]))
        every = float(np.mean([len(crawl.order) for crawl in crawls]))
        true = float(np.mean([crawl.relevant.sum() for crawl in crawls]))
        counts[topic] = [("good", good), ("bad", every - good)]
        rows.append([topic, f"{size:,}", f"{good:,.0f}", f"{every - good:,.0f}", f"{true:,.0f}"])
    text = (
        "Good and bad pages that best-first fetched in 2R pages: relevance above .5 by the critic or not, mean over "
        f"{runs_text(study.plan.runs)}."
    )
    paper = "a dozen topics chosen so that the baseline is a reasonable adversary, with harvest rates of .25 to .6."
    picture = row_bars(counts, "pages fetched by the baseline")
    head = ["topic", "R", "good", "bad", "with the label"]
    return Section("fig-4", "Fig. 4: what the baseline fetches", text, paper, {"fig-4": picture}, table(head, rows))


def fig_5(study: ApprenticeStudy) -> Section:
    """How the relevance of the baseline's pages is spread."""
    middle = [(at + 0.5) / 10 for at in range(10)]
    panels = {}
    for topic in study.sizes:
        crawls = [study.crawls[topic, run, BASELINE] for run in losses.runs_of(study, topic, BASELINE)]
        panels[topic] = [
            PanelLine("raw", middle, histogram(np.concatenate([crawl.raw for crawl in crawls]))),
            PanelLine("calibrated", middle, histogram(np.concatenate([crawl.expected for crawl in crawls]))),
        ]
    text = (
        "Share of the pages fetched by the baseline whose relevance lies in each tenth. *Raw* is the critic before its "
        "calibration; *calibrated* is what guides the baseline and, here, what the apprentice learns."
    )
    paper = "strongly bimodal on all topics: pages are relevant or not, hardly ever something between."
    picture = bars(panels, "relevance", "share of pages", ylim=(0, 1))
    return Section("fig-5", "Fig. 5: relevance of the pages fetched", text, paper, {"fig-5": picture})


def _sampled(study: ApprenticeStudy) -> str:
    splits = study.plan.splits
    return (
        f"From the baseline crawl of the first run, at most {study.plan.instances:,} instances a topic; the learner "
        f"learns from those of half of the targets and is tested on the others; mean over {splits} such splits"
    )


def fig_6(study: ApprenticeStudy) -> Section:
    """Accuracy by the width of the window."""
    windows = list(range(D_MAX + 1))
    panels = {
        topic: [
            PanelLine(
                name, windows, [float("nan") if each is None else each[at] for each in found["accuracy"]["offset"]]
            )
            for at, name in enumerate(("negative", "positive", "all"))
        ]
        for topic, found in study.offline.items()
    }
    rows = []
    for topic, found in study.offline.items():
        by_window = found["accuracy"]["offset"]
        told = [by_window[d] for d in (0, USUAL, D_MAX)]
        cells = [share(None if each is None else each[at]) for at in (0, 1, 2) for each in told]
        rows.append(
            [topic, f"{found['instances']:,}", f"{found['targets']:,}", share(found["positive"]), *cells]
        )  # fmt: skip
    head = ["topic", "instances", "targets", "positive", *_triple("negative"), *_triple("positive"), *_triple("all")]
    text = (
        f"Accuracy on negative, positive and all instances against d_max, features <t,d>. {_sampled(study)}. An "
        "instance is positive if the relevance of its target is above the learner's split."
    )
    paper = (
        "accuracy on negatives grows with d_max up to about 5, that on positives falls a little; on most topics "
        "accuracy on all grows too."
    )
    picture = lines(panels, "d_max", "accuracy", ylim=(0, 1.02))
    return Section("fig-6", "Fig. 6: accuracy and the window", text, paper, {"fig-6": picture}, table(head, rows))


def _triple(name: str) -> list[str]:
    return [f"{name}, 0", str(USUAL), str(D_MAX)]


def fig_7(study: ApprenticeStudy) -> Section:
    """Accuracy by the kind of feature."""
    windows = list(range(D_MAX + 1))
    panels, rows = {}, []
    for topic, found in study.offline.items():
        level = {kind: [balanced(each) for each in found["accuracy"][kind]] for kind in KINDS}
        panels[topic] = [PanelLine(kind, windows, [nan_if_none(value) for value in level[kind]]) for kind in KINDS]
        micro = {kind: found["accuracy"][kind][USUAL] for kind in KINDS}
        cells = [share(None if micro[kind] is None else micro[kind][2]) for kind in KINDS]
        rows.append([topic, *cells, *(share(level[kind][USUAL]) for kind in KINDS)])
    head = ["topic", *(f"all, {KINDS[0]}", *KINDS[1:]), *(f"balanced, {KINDS[0]}", *KINDS[1:])]
    text = (
        "The words of the same window as <t,d> (*offset*), as plain words, as <t,x> with x the distance in words, and "
        "as <t,l,d> with the steps l along the tree. The picture shows balanced accuracy, the mean of that on "
        "negatives and that on positives: where nine of ten instances are negative, always saying no is right nine "
        f"times of ten. The table has both at d_max = {USUAL}."
    )
    paper = "<t,d> gains with d_max where plain words lose; <t,x> was argued to be too sparse to learn, and not tried."
    picture = lines(panels, "d_max", "balanced accuracy", ylim=(0.4, 1.0))
    return Section("fig-7", "Fig. 7: offsets against plain words", text, paper, {"fig-7": picture}, table(head, rows))


def fig_8(study: ApprenticeStudy) -> Section:
    """Information gain by offset."""
    pictures = {
        f"fig-8-{kind}": lines(
            {
                topic: [
                    PanelLine("offset", OFFSETS, found["gain"][kind]),
                    PanelLine("chance", OFFSETS, found["chance"][kind]),
                ]
                for topic, found in study.offline.items()
            },
            "offset d", f"information gain, {kind} (bits)", own_axes=True, ylim=(0, None),
        )
        for kind in ("mean", "sum")
    }  # fmt: skip
    text = (
        "Information gain of the features <t,d> by offset. With C the bucket of an instance and f the event that word "
        "t stands at offset d, gain(f) = H(C) - Pr(f) H(C|f) - Pr(not f) H(C|not f), in bits; first the mean, then the "
        f"sum over the features that occur in at least {FEWEST} instances. *Chance* is the same with the buckets "
        "shuffled among the targets, the median of several shuffles: links to one target are alike, so some gain comes "
        "by chance. By this definition the gain at an offset does not depend on d_max."
    )
    paper = "gain falls with the distance from the link, in a saw-tooth, to a constant level from about 5 on."
    return Section("fig-8", "Fig. 8: information gain by offset", text, paper, pictures)


def fig_9(study: ApprenticeStudy) -> Section:
    """Words and elements by offset."""
    mass = {topic: [PanelLine("offset", OFFSETS, found["mass"])] for topic, found in study.offline.items()}
    names = list(dict.fromkeys(name for found in study.offline.values() for name in found["tags"]))[: len(_TAG_COLOURS)]
    colours = {**dict(zip(names, _TAG_COLOURS, strict=False)), "other": GREY}
    tags = {}
    for topic, found in study.offline.items():
        known = [PanelLine(name, OFFSETS, found["tags"].get(name, [0.0] * len(OFFSETS))) for name in names]
        rest = 1 - np.sum([line.y for line in known], axis=0)
        rest[OFFSETS.index(0)] = 0.0
        tags[topic] = [*known, PanelLine("other", OFFSETS, np.maximum(rest, 0).tolist())]
    rows = [
        [topic, *(share(found["wordless"][OFFSETS.index(d)]) for d in (-4, -3, -2, -1, 1, 2, 3, 4))]
        for topic, found in study.offline.items()
    ]
    pictures = {
        "fig-9-mass": lines(mass, "offset d", "share of all words", ylim=(0, None)),
        "fig-9-tags": stacked(tags, "offset d", "share of leaves", colours),
    }
    text = (
        f"First the mass of each offset, its share of all words within {D_MAX} leaves of the link, sum over t of "
        "n(t,d) / n. Then the elements that the leaves there are or directly sit in; offset 0, the anchor itself, is "
        "left out. Table: the share of leaves without a word (images, breaks, empty cells) by offset."
    )
    paper = "less mass at odd offsets than at even ones, because most leaves at odd offsets are tags without text."
    head = ["topic", *map(str, (-4, -3, -2, -1, 1, 2, 3, 4))]
    return Section("fig-9", "Fig. 9: words and tags by offset", text, paper, pictures, table(head, rows))
