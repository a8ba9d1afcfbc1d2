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
from studies.apprentice.claims import apprentice_claims
from studies.apprentice.courses import (
    BEFOREHAND,
    CHOSEN_ON,
    MAIN,
    NEVER_BEFORE,
    PRINTED_BEST,
    PRINTED_BEST_ONLINE,
    PRINTED_FIRST,
    PRINTED_FIRST_ONLINE,
    STEERING,
    SUMMING,
    CrawlCourse,
    course_table,
    reductions,
)
from studies.apprentice.crawl_sections import batches, fig_10, fig_11, fig_12, fig_13, fig_14
from studies.apprentice.further_sections import features, layers, other_learners, prior, windows
from studies.apprentice.losses import HORIZONS, MeanOverRuns, histogram
from studies.apprentice.offline import D_MAX, FEWEST, KINDS, OFFSETS, USUAL, balanced
from studies.apprentice.set_ups import BASELINE, BEST_RAW, FIRST_RAW, STEERED_BY, SUM_BY
from studies.apprentice.study import ApprenticeStudy
from studies.claims import claims_section
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
critic `{critic}`. The apprentice is the one that the paper prints, and beside it ours,
`{apprentice}`. Every crawl is compared with a baseline that does the same with a link found
again and goes by the same scores. All are told at the same numbers of pages, R/4, R/2 and R, by truth and by the
critic.

The paper crawled the open web, where two crawls hardly ever meet the same page. In a closed web an apprentice trained
beforehand would be tested on pages that it was trained on. So here it sees only links to a random half A of the web's
pages, and only the other half, B, counts. The undivided figure beside it is marked as optimistic."""
BEFOREHAND_GOAL, ONLINE_GOAL = 0.30, 0.20
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
    each = (
        *(summary, fig_4, fig_5, fig_6, fig_7, fig_8, fig_9, fig_10, fig_11, fig_12, fig_13, fig_14),
        *(batches, features, prior, layers, windows, other_learners),
    )
    return [claims_section(apprentice_claims(study)), *(section(study) for section in each)]


# ---- loss reduction -------------------------------------------------------------------------------------------------


def summary(study: ApprenticeStudy) -> Section:
    """The tables of loss reduction."""
    paper = "loss cut by 30 to 90 %, typically 30 to 60 %, trained beforehand on the pages of a baseline crawl."
    tables = "\n\n".join(course_table(study, course) for course in MAIN)
    return Section("summary", "Loss reduction", _summary_text(study), paper, table=tables)


def _summary_text(study: ApprenticeStudy) -> str:
    printed, first = (study.plan.set_ups[name] for name in (BEST_RAW, FIRST_RAW))
    return (
        "Loss reduction against best-first, 1 - loss / loss of best-first, in percent, at R/4, R/2 and R pages: mean "
        f"over {runs_text(study.plan.runs)} with the half width of its 95 % interval. Best-first does the same as the "
        "apprentice with a link that is found again, and goes by the scores that the apprentice is taught. "
        f"*As printed*: naive Bayes, raw scores on both sides. The paper leaves open what becomes of a link that is "
        f"found again: both sides keep its best score (`{printed.spec}`), or both freeze its first one "
        f"(`{first.spec}`). Nothing of it was chosen here. *Ours*: `{study.plan.apprentice}`, calibrated scores on "
        "both sides.\n\n*Beforehand*: trained on instances whose targets lie in a random half A of the web's pages, "
        "then crawled without learning more; loss among the pages of the other half, B, that are among the first "
        "fetched. *Undivided*, marked * because it is optimistic: trained on all instances, so it was taught about "
        "pages that it then finds. *Online*: never trained beforehand. By truth loss is the share of pages without the "
        "label, by the critic the mean of 1 - Pr. †: the baseline of some run lost nothing, so this is the reduction "
        f"of the mean losses. *Runs {CHOSEN_ON + 1} on*: without the first run, on which the settings of ours were "
        f"chosen. *Steered*: `{STEERED_BY}`, online; it starts from the relevance of the page itself, and combines all "
        "pages that link to a target, as its baseline does. These settings were chosen on the first three runs of the "
        f"four large topics only. *Sum*: `{SUM_BY}`, online ([formula](../strategies/apprentice.md)); its form was "
        "chosen in an earlier trial on these topics, so its figures may be too good.\n\n"
        f"{_met(study, BEFOREHAND_GOAL, (PRINTED_BEST, PRINTED_FIRST, BEFOREHAND))} "
        f"{_met(study, ONLINE_GOAL, (PRINTED_BEST_ONLINE, PRINTED_FIRST_ONLINE, NEVER_BEFORE, STEERING, SUMMING))}"
    )


def _met(study: ApprenticeStudy, goal: float, courses: Sequence[CrawlCourse]) -> str:
    """On how many topics the goal is reached by truth at each horizon, without the runs that chose settings."""
    told = []
    for course in courses:
        met = np.zeros(len(HORIZONS), int)
        for topic in study.sizes:
            met += [_reaches(each, goal) for each in reductions(study, topic, course, "truth", first=course.chosen_on)]
        at = ", ".join(f"{count} at {horizon}" for horizon, count in zip(HORIZONS, met.tolist(), strict=True))
        told.append(f"{course.title.replace(':', '')} on {at}")
    return (
        f"At least {goal:.0%} by truth is reached, of {len(study.sizes)} topics, without the runs on which settings "
        f"were chosen: {'; '.join(told)}."
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
        "calibration, which the apprentice learns as printed; *calibrated* is what ours learns. The pages are those of "
        "the baseline that goes by calibrated scores."
    )
    paper = "strongly bimodal on all topics: pages are relevant or not, hardly ever something between."
    picture = bars(panels, "relevance", "share of pages", ylim=(0, 1))
    return Section("fig-5", "Fig. 5: relevance of the pages fetched", text, paper, {"fig-5": picture})


LABELS = ("raw", "calibrated")


def _sampled(study: ApprenticeStudy) -> str:
    splits = study.plan.splits
    return (
        f"From the baseline crawl of the first run, at most {study.plan.instances:,} instances a topic; the learner "
        f"learns from those of half of the targets and is tested on the others; mean over {splits} such splits. With "
        "raw labels the baseline is the printed one that freezes priorities, with calibrated ones that of ours"
    )


def fig_6(study: ApprenticeStudy) -> Section:
    """Accuracy by the width of the window."""
    text = (
        f"Accuracy on negative, positive and all instances against d_max, features <t,d>. {_sampled(study)}. An "
        "instance is positive if the relevance of its target is above the learner's split."
    )
    paper = (
        "accuracy on negatives grows with d_max up to about 5, that on positives falls a little; on most topics "
        "accuracy on all grows too."
    )
    pictures = {
        f"fig-6-{labels}": lines(_by_window(study, labels), "d_max", f"accuracy, {labels} labels", ylim=(0, 1.02))
        for labels in LABELS
    }
    tables = "\n\n".join(_window_table(study, labels) for labels in LABELS)
    return Section("fig-6", "Fig. 6: accuracy and the window", text, paper, pictures, tables)


def _by_window(study: ApprenticeStudy, labels: str) -> dict[str, list[PanelLine]]:
    windows = list(range(D_MAX + 1))
    return {
        topic: [
            PanelLine(
                name,
                windows,
                [float("nan") if each is None else each[at] for each in found[labels]["accuracy"]["offset"]],
            )
            for at, name in enumerate(("negative", "positive", "all"))
        ]
        for topic, found in study.offline.items()
    }


def _window_table(study: ApprenticeStudy, labels: str) -> str:
    rows = []
    for topic, both in study.offline.items():
        found = both[labels]
        told = [found["accuracy"]["offset"][d] for d in (0, USUAL, D_MAX)]
        cells = [share(None if each is None else each[at]) for at in (0, 1, 2) for each in told]
        rows.append(
            [topic, f"{found['instances']:,}", f"{found['targets']:,}", share(found["positive"]), *cells]
        )  # fmt: skip
    head = [f"**{labels} labels**", "instances", "targets", "positive"]
    return table([*head, *_triple("negative"), *_triple("positive"), *_triple("all")], rows)


def _triple(name: str) -> list[str]:
    return [f"{name}, 0", str(USUAL), str(D_MAX)]


def fig_7(study: ApprenticeStudy) -> Section:
    """Accuracy by the kind of feature."""
    windows = list(range(D_MAX + 1))
    pictures, tables = {}, []
    for labels in LABELS:
        panels, rows = {}, []
        for topic, both in study.offline.items():
            found = both[labels]["accuracy"]
            level = {kind: [balanced(each) for each in found[kind]] for kind in KINDS}
            panels[topic] = [PanelLine(kind, windows, [nan_if_none(value) for value in level[kind]]) for kind in KINDS]
            cells = [share(None if found[kind][USUAL] is None else found[kind][USUAL][2]) for kind in KINDS]
            rows.append([topic, *cells, *(share(level[kind][USUAL]) for kind in KINDS)])
        head = [f"**{labels} labels**", *(f"all, {KINDS[0]}", *KINDS[1:]), *(f"balanced, {KINDS[0]}", *KINDS[1:])]
        tables.append(table(head, rows))
        pictures[f"fig-7-{labels}"] = lines(panels, "d_max", f"balanced accuracy, {labels} labels", ylim=(0.4, 1.0))
    text = (
        "The words of the same window as <t,d> (*offset*), as plain words, as <t,x> with x the distance in words, and "
        "as <t,l,d> with the steps l along the tree. The pictures show balanced accuracy, the mean of that on "
        "negatives and that on positives: where nine of ten instances are negative, always saying no is right nine "
        f"times of ten. The tables have both at d_max = {USUAL}."
    )
    paper = "<t,d> gains with d_max where plain words lose; <t,x> was argued to be too sparse to learn, and not tried."
    return Section("fig-7", "Fig. 7: offsets against plain words", text, paper, pictures, "\n\n".join(tables))


def fig_8(study: ApprenticeStudy) -> Section:
    """Information gain by offset."""
    pictures = {
        f"fig-8-{labels}": lines(
            {
                topic: [
                    PanelLine("offset", OFFSETS, found[labels]["gain"]["mean"]),
                    PanelLine("chance", OFFSETS, found[labels]["chance"]["mean"]),
                ]
                for topic, found in study.offline.items()
            },
            "offset d", f"information gain (bits), {labels} labels", own_axes=True, ylim=(0, None),
        )
        for labels in LABELS
    }  # fmt: skip
    text = (
        "Information gain of the features <t,d> by offset. With C the bucket of an instance and f the event that word "
        "t stands at offset d, gain(f) = H(C) - Pr(f) H(C|f) - Pr(not f) H(C|not f), in bits; mean over the features "
        f"that occur in at least {FEWEST} instances. *Chance* is the same with the buckets shuffled among the targets, "
        "the median of several shuffles: links to one target are alike, so some gain comes by chance. By this "
        "definition the gain at an offset does not depend on d_max."
    )
    paper = "gain falls with the distance from the link, in a saw-tooth, to a constant level from about 5 on."
    return Section("fig-8", "Fig. 8: information gain by offset", text, paper, pictures)


def fig_9(study: ApprenticeStudy) -> Section:
    """Words and elements by offset."""
    offline = {topic: found["raw"] for topic, found in study.offline.items()}
    mass = {topic: [PanelLine("offset", OFFSETS, found["mass"])] for topic, found in offline.items()}
    names = list(dict.fromkeys(name for found in offline.values() for name in found["tags"]))[: len(_TAG_COLOURS)]
    colours = {**dict(zip(names, _TAG_COLOURS, strict=False)), "other": GREY}
    tags = {}
    for topic, found in offline.items():
        known = [PanelLine(name, OFFSETS, found["tags"].get(name, [0.0] * len(OFFSETS))) for name in names]
        rest = 1 - np.sum([line.y for line in known], axis=0)
        rest[OFFSETS.index(0)] = 0.0
        tags[topic] = [*known, PanelLine("other", OFFSETS, np.maximum(rest, 0).tolist())]
    rows = [
        [topic, *(share(found["wordless"][OFFSETS.index(d)]) for d in (-4, -3, -2, -1, 1, 2, 3, 4))]
        for topic, found in offline.items()
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
