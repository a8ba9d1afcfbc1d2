"""Sections of the page on the baseline and on what can be told offline: figures 4 to 9."""

from __future__ import annotations

import numpy as np

from forager_lab.plots import BLUE, BROWN, GREEN, GREY, OLIVE, ORANGE, PINK, PURPLE, RED, TEAL
from studies.apprentice import losses
from studies.apprentice.losses import histogram
from studies.apprentice.offline import D_MAX, FEWEST, KINDS, OFFSETS, USUAL
from studies.apprentice.study import BASELINE, Study
from studies.layout import Section, balanced, nan_if_none, runs, share, table
from studies.panels import Line, bars, lines, row_bars, stacked


def fig_4(study: Study) -> Section:
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
        f"{runs(study.plan.runs)}."
    )
    paper = "a dozen topics chosen so that the baseline is a reasonable adversary, with harvest rates of .25 to .6."
    picture = row_bars(counts, "pages fetched by the baseline")
    head = ["topic", "R", "good", "bad", "with the label"]
    return Section("fig-4", "Fig. 4: what the baseline fetches", text, paper, {"fig-4": picture}, table(head, rows))


def fig_5(study: Study) -> Section:
    middle = [(at + 0.5) / 10 for at in range(10)]
    panels = {}
    for topic in study.sizes:
        crawls = [study.crawls[topic, run, BASELINE] for run in losses.runs_of(study, topic, BASELINE)]
        panels[topic] = [
            Line("raw", middle, histogram(np.concatenate([crawl.raw for crawl in crawls]))),
            Line("calibrated", middle, histogram(np.concatenate([crawl.expected for crawl in crawls]))),
        ]
    text = (
        "Share of the pages fetched by the baseline whose relevance lies in each tenth. *Raw* is the critic before its "
        "calibration; *calibrated* is what the baseline is steered by and, here, what the apprentice learns."
    )
    paper = "strongly bimodal on all topics: pages are relevant or not, hardly ever something between."
    picture = bars(panels, "relevance", "share of pages", ylim=(0, 1))
    return Section("fig-5", "Fig. 5: relevance of the pages fetched", text, paper, {"fig-5": picture})


def _sampled(study: Study) -> str:
    splits = study.plan.splits
    return (
        f"From the baseline crawl of the first run, at most {study.plan.instances:,} instances a topic; learnt from "
        f"those of half of the targets, tested on those of the others, mean over {splits} such splits"
    )


def fig_6(study: Study) -> Section:
    windows = list(range(D_MAX + 1))
    panels = {
        topic: [
            Line(name, windows, [float("nan") if each is None else each[at] for each in found["accuracy"]["offset"]])
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
        "accuracy on negatives grows with d_max up to about 5, that on positives falls a little; with most topics the "
        "whole grows too."
    )
    picture = lines(panels, "d_max", "accuracy", ylim=(0, 1.02))
    return Section("fig-6", "Fig. 6: accuracy and the window", text, paper, {"fig-6": picture}, table(head, rows))


def _triple(name: str) -> list[str]:
    return [f"{name}, 0", str(USUAL), str(D_MAX)]


def fig_7(study: Study) -> Section:
    windows = list(range(D_MAX + 1))
    panels, rows = {}, []
    for topic, found in study.offline.items():
        level = {kind: [balanced(each) for each in found["accuracy"][kind]] for kind in KINDS}
        panels[topic] = [Line(kind, windows, [nan_if_none(value) for value in level[kind]]) for kind in KINDS]
        micro = {kind: found["accuracy"][kind][USUAL] for kind in KINDS}
        cells = [share(None if micro[kind] is None else micro[kind][2]) for kind in KINDS]
        rows.append([topic, *cells, *(share(level[kind][USUAL]) for kind in KINDS)])
    head = ["topic", *(f"all, {KINDS[0]}", *KINDS[1:]), *(f"balanced, {KINDS[0]}", *KINDS[1:])]
    text = (
        "The words of the same window as <t,d> (*offset*), as plain words, as <t,x> with x the distance in words, and "
        "as <t,l,d> with the steps l along the tree. Drawn is balanced accuracy, the mean of that on negatives and on "
        "positives, because where nine of ten instances are negative saying no always is right nine times of ten; the "
        f"table has both at d_max = {USUAL}."
    )
    paper = "<t,d> gains with d_max where plain words lose; <t,x> was argued to be too sparse to learn, and not tried."
    picture = lines(panels, "d_max", "balanced accuracy", ylim=(0.4, 1.0))
    return Section("fig-7", "Fig. 7: offsets against plain words", text, paper, {"fig-7": picture}, table(head, rows))


def fig_8(study: Study) -> Section:
    pictures = {
        f"fig-8-{kind}": lines(
            {
                topic: [Line("offset", OFFSETS, found["gain"][kind]), Line("chance", OFFSETS, found["chance"][kind])]
                for topic, found in study.offline.items()
            },
            "offset d", f"information gain, {kind} (bits)", own_axes=True, ylim=(0, None),
        )
        for kind in ("mean", "sum")
    }  # fmt: skip
    text = (
        "Information gain of the features <t,d> by offset. With C the bucket of an instance and f the event that word "
        "t stands at offset d, gain(f) = H(C) - Pr(f) H(C|f) - Pr(not f) H(C|not f), in bits; first the mean, then the "
        f"sum over the features that occur in at least {FEWEST} instances. *Chance* is the same with the buckets dealt "
        "out anew among the targets, the median of several deals: links to one target are alike, so some gain needs no "
        "cause. By this definition the gain at an offset does not depend on d_max."
    )
    paper = "gain falls with the distance from the link, in a saw-tooth, to a constant level from about 5 on."
    return Section("fig-8", "Fig. 8: information gain by offset", text, paper, pictures)


_TAG_COLOURS = (BLUE, RED, GREEN, PURPLE, ORANGE, TEAL, PINK, BROWN, OLIVE)


def fig_9(study: Study) -> Section:
    mass = {topic: [Line("offset", OFFSETS, found["mass"])] for topic, found in study.offline.items()}
    names = list(dict.fromkeys(name for found in study.offline.values() for name in found["tags"]))[: len(_TAG_COLOURS)]
    colours = {**dict(zip(names, _TAG_COLOURS, strict=False)), "other": GREY}
    tags = {}
    for topic, found in study.offline.items():
        known = [Line(name, OFFSETS, found["tags"].get(name, [0.0] * len(OFFSETS))) for name in names]
        rest = 1 - np.sum([line.y for line in known], axis=0)
        rest[OFFSETS.index(0)] = 0.0
        tags[topic] = [*known, Line("other", OFFSETS, np.maximum(rest, 0).tolist())]
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
