"""Sections of the page on what the paper adds or wishes for: further features, a prior, context graphs, other learners.

All crawls of these sections are told at R/4, R/2 and R, by truth and by the critic.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from forager_lab.metrics import Figure, mean
from studies.apprentice import losses
from studies.apprentice.courses import PRINTED_BEST, PRINTED_BEST_ONLINE, CrawlCourse, side_tables
from studies.apprentice.critics import SAMPLED, SMALLEST
from studies.apprentice.losses import EVERY, HALF_B, NEW, NEW_B
from studies.apprentice.offline import SPREAD, USUAL, balanced
from studies.apprentice.offline_claims import as_text, over_topics
from studies.apprentice.offline_features import BEST
from studies.apprentice.set_ups import (
    BASELINE,
    BEST_RAW,
    GRAPH,
    HALVED,
    LAYERS,
    ONLINE,
    PRIMED,
    PRIMED_ELSEWHERE,
    TAXONOMY,
    VECTOR,
    variants,
)
from studies.apprentice.study import ApprenticeStudy
from studies.page import Section, runs_text, share, table

FEATURES = ("words", "names", "prefixes", "vector", "cocitation")
CRITICS = {"two": "two classes", "taxonomy": "the taxonomy"}


# ---- features -------------------------------------------------------------------------------------------------------


def features(study: ApprenticeStudy) -> Section:
    """What further features add, offline and in crawls, with a critic of two classes and with one of many."""
    tables = [_offline_table(study, kind, labels) for labels in ("raw", "calibrated") for kind in CRITICS]
    courses = [each for kind in ("", TAXONOMY) for each in (*features_online(kind), *_features_beforehand(kind))]
    tables += [_told_by(study), side_tables(study, courses)]
    text = (
        "Further features: the name of the source's best class; what stands above it in its path; all its classes with "
        "the levels of their probabilities (*vector*); and <high,d>, <low,d> of judged neighbours that lead to other "
        f"pages (*co-citation*). First offline: accuracy of <t,d> at d_max = {USUAL} without and with them, over "
        "instances found before their target was fetched; *best* is how many of the "
        f"{BEST} features with the largest information gain are names of classes or of what is above them. Then "
        f"crawled, on topics with R > {study.plan.large}: loss reduction, {runs_text(study.plan.side_runs)}.\n\n"
        "Two critics. One has two classes, the topic and the rest. The other one has the web's own taxonomy, pruned "
        f"as in the paper until each class has at least {SMALLEST} pages (the paper: 300), with {SAMPLED} of them to "
        "learn from; both numbers were taken from the sizes of the categories alone. Its relevance is the sum of Pr "
        "over the classes of the topic. In this section pages that one of the two critics learnt from do not count. "
        "*Told good*: the share of the pages with the label, in the baseline's crawl, that the critic puts above .5; "
        "*told good wrongly*: that share of the pages without it."
    )
    paper = (
        "class names add about 1 % of accuracy, their prefixes as much, and both are among the best discriminants; "
        "co-citation adds almost nothing; in crawls no difference could be measured."
    )
    return Section("features", "§2.2.3, §3.8: further features", text, paper, table="\n\n".join(tables))


def _offline_table(study: ApprenticeStudy, kind: str, labels: str) -> str:
    rows = []
    for topic, found in study.offline.items():
        told: Mapping[str, Any] = found[labels]["features"][kind]
        each = [told["accuracy"][name] for name in FEATURES]
        micro = [share(None if one is None else one[2]) for one in each]
        best = str(told["class names among the best"])
        rows.append([topic, str(told["classes"]), *micro, *(share(balanced(one)) for one in each), best])
    rows.append(_gain_row(study, kind, labels))
    first, *rest = FEATURES
    head = [f"**{CRITICS[kind]}, {labels} labels**", "classes", f"all, {first}", *rest, f"balanced, {first}", *rest]
    return table([*head, "best"], rows)


def _gain_row(study: ApprenticeStudy, kind: str, labels: str) -> list[str]:
    """What each feature adds to words alone, in the mean over topics: to accuracy on all, and to balanced accuracy."""
    told = [found[labels]["features"][kind]["accuracy"] for found in study.offline.values()]
    cells = []
    for weights in ((0.0, 0.0, 1.0), (0.5, 0.5, 0.0)):
        cells.append("")
        for name in FEATURES[1:]:
            pairs = [(each[name], each["words"]) for each in told if each[name] and each["words"]]
            cells.append(as_text(over_topics(float(np.dot(weights, np.subtract(*pair))) for pair in pairs)))
    return ["*mean gain*", "", *cells, ""]


def features_online(kind: str) -> list[CrawlCourse]:
    """Of a critic, the usual one or that with the taxonomy: online with words alone, and with each further feature."""
    given = {"words": "", "+ names and prefixes": "topics", "+ vector": VECTOR}
    if not kind:
        given["+ co-citation"] = "cocitation"
    return [_course(f"{what}, online", kind, ONLINE, name, NEW) for what, name in given.items()]


def _features_beforehand(kind: str) -> list[CrawlCourse]:
    given = {"words": "", "+ vector": VECTOR}
    return [_course(f"{what}, beforehand", kind, HALVED, name, NEW_B) for what, name in given.items()]


def _course(title: str, kind: str, how: str, name: str, counting: losses.Counting) -> CrawlCourse:
    of = CRITICS["taxonomy" if kind else "two"]
    return CrawlCourse(f"{of}: {title}", ", ".join(part for part in (how, kind, name) if part), counting)


def _told_by(study: ApprenticeStudy) -> str:
    """What the two critics say of the pages that their baselines fetched."""
    names = BASELINE, f"{BASELINE}, {TAXONOMY}"
    rows = [
        [topic, *(share(each) for name in names for each in _told(study, topic, name))]
        for topic in study.sizes
        if losses.runs_of(study, topic, names[1])
    ]
    if not rows:
        return ""
    kinds = ("told good", "told good wrongly", "loss at R")
    return table(["**the critics**", *(f"{what}, {kind}" for kind in CRITICS.values() for what in kinds)], rows)


def _told(study: ApprenticeStudy, topic: str, name: str) -> list[Figure]:
    runs = losses.runs_of(study, topic, name)
    crawls = [study.crawls[topic, run, name] for run in runs]
    new = np.concatenate([~crawl.sampled for crawl in crawls])
    truth = np.concatenate([crawl.relevant for crawl in crawls])
    good = np.concatenate([crawl.expected for crawl in crawls]) > 0.5
    shares = [float(good[new & side].mean()) if (new & side).any() else None for side in (truth, ~truth)]
    return [*shares, mean(losses.losses(study, topic, name, study.sizes[topic], "truth", runs, NEW))]


# ---- a prior, layers, windows ---------------------------------------------------------------------------------------


def prior(study: ApprenticeStudy) -> Section:
    """An apprentice that begins with what it learnt in an earlier crawl."""
    courses = [
        CrawlCourse("no prior, all pages", ONLINE, EVERY),
        CrawlCourse("another topic, all pages", PRIMED_ELSEWHERE, EVERY),
        CrawlCourse("no prior, half B", ONLINE, HALF_B),
        CrawlCourse("half A, goes on learning, half B", PRIMED, HALF_B),
        CrawlCourse("half A, learns no more, half B", HALVED, HALF_B),
    ]
    text = (
        "An apprentice has learnt nothing when its first crawl begins. Here it begins with what it learnt earlier, and "
        "goes on learning. *Another topic*: it crawled the next topic of the list, as many pages as that has, judged "
        "by a critic for that topic; so it has learnt how pages are made, and no word about this topic. *Half A*: it "
        "was shown the instances of the baseline's crawl of this topic whose targets lie in half A; then only half B "
        f"counts. {runs_text(study.plan.side_runs).capitalize()}, topics with R > {study.plan.large} where it is "
        "primed. `forager new --apprentice-from` does this in projects."
    )
    paper = "a fixed prior from a baseline crawl run ahead of time stood in until there was data; no figures."
    return Section("prior", "§2.2: a prior from an earlier crawl", text, paper, table=side_tables(study, courses))


def layers(study: ApprenticeStudy) -> Section:
    """The apprentice with the layers of a context graph."""
    courses = [
        CrawlCourse("context graph alone", GRAPH, HALF_B),
        CrawlCourse("words", HALVED, HALF_B),
        CrawlCourse("words and vector", f"{HALVED}, {VECTOR}", HALF_B),
        CrawlCourse("words, vector and layers", f"{HALVED}, {LAYERS}", HALF_B),
    ]
    text = (
        "A context graph guesses how many links a page is away from a relevant one. Here it was taught on the pages of "
        "half A, with those for targets that the critic calls relevant, and its layer of the source with its "
        "confidence is a further feature of a link. All are trained beforehand on half A and counted on half B; loss "
        f"reduction against best-first, {runs_text(study.plan.side_runs)}, topics with R > {study.plan.large} where "
        "there are layers."
    )
    paper = "its method was expected to be useful in conjunction with context graphs; not tried."
    return Section("layers", "§1.2: with a context graph", text, paper, table=side_tables(study, courses))


def windows(study: ApprenticeStudy) -> Section:
    """The window chosen by the learner, and words that count at neighbouring offsets, too."""
    tables = []
    for labels in ("raw", "calibrated"):
        rows = [[topic, *_window_cells(found[labels])] for topic, found in study.offline.items()]
        head = [f"**{labels} labels**", "d_max chosen", f"all, d_max = {USUAL}", "chosen", "spread"]
        tables.append(table([*head, f"balanced, d_max = {USUAL}", "chosen", "spread"], rows))
    courses = [PRINTED_BEST, PRINTED_BEST_ONLINE]
    for name in ("window chosen", "spread over d"):
        courses += [
            CrawlCourse(f"{name}: beforehand", f"{HALVED}, {name}", HALF_B),
            CrawlCourse(f"{name}: online", f"{ONLINE}, {name}"),
        ]
    text = (
        "The apprentice may choose its window itself, and a word at d may count at d - 1 and d + 1, too, here "
        f"{SPREAD:g}. First offline: the window is chosen among 0 to 8 by accuracy within the instances to learn from, "
        "and tested on the others; *d_max chosen* has the choice in each split. Then crawled, as printed with both "
        "sides `best`, taught raw scores: the window is chosen anew at each training, by balanced accuracy on the "
        f"links that have just come. {runs_text(study.plan.side_runs).capitalize()}."
    )
    paper = "the apprentice can determine the best d_max, typically 4 to 6; smoothing over d was wished for, not tried."
    tables.append(side_tables(study, courses))
    return Section("windows", "§2.3, §3.4: the window chosen, offsets smoothed", text, paper, table="\n\n".join(tables))


def _window_cells(found: Mapping[str, Any]) -> list[str]:
    chosen = [each for each in found["window"] if each is not None]
    told = [[each[name] for each in chosen] for name in ("usual", "accuracy")]
    cells = [
        [mean([one[2] for one in each]) for each in told],
        [mean([balanced(one) for one in each]) for each in told],
    ]
    spread = found["spread"]
    cells[0].append(None if spread is None else spread[2])
    cells[1].append(balanced(spread))
    return [", ".join(str(each["d_max"]) for each in chosen) or "–", *(share(one) for row in cells for one in row)]


# ---- variants -------------------------------------------------------------------------------------------------------

PRINTED_PAPER = (
    "naive Bayes, priority from the page on which a link was first found, and the scores of an uncalibrated critic, "
    "near 0 or 1, as labels; regression was wished for."
)


def other_learners(study: ApprenticeStudy) -> Section:
    """Other learners and labels."""
    first = table(
        ["topic", "told good, raw", "calibrated"],
        [[topic, *map(share, _told_good(study, topic))] for topic in study.sizes],
    )
    kinds = [name for name in variants(study.plan.apprentice) if name not in ("window chosen", "spread over d")]
    courses = [
        CrawlCourse(f"{name}: {how}", f"{crawl}, {name}", counting)
        for name in kinds
        for how, crawl, counting in (("beforehand", HALVED, HALF_B), ("online", ONLINE, EVERY))
    ]
    text = _variants_text(study, kinds)
    return Section(
        "variants", "Other learners and labels", text, PRINTED_PAPER,
        table=f"{first}\n\n{side_tables(study, courses)}",
    )  # fmt: skip


def _variants_text(study: ApprenticeStudy, kinds: list[str]) -> str:
    given = {name: study.plan.set_ups[name] for name in (BEST_RAW, *kinds)}
    listed = "; ".join(
        f"*{name}*: `{set_up.spec}`, {set_up.labels}, against *{set_up.baseline}*" for name, set_up in given.items()
    )
    return (
        "*Told good*: the share of the pages with the label, in the baseline's crawls, that the critic puts above .5, "
        "before and after its calibration. Then loss reduction as in the first tables, mean over "
        f"{runs_text(study.plan.side_runs)}. Each apprentice is compared with the baseline of its own policy that goes "
        "by the scores it is taught, and was trained on the pages of that baseline. By the critic loss is 1 - that "
        f"score. {listed}. The apprentice called ours was chosen among about fifteen settings by tries on the first "
        "run of most of these topics, so its figures on that run are too good."
    )


def _told_good(study: ApprenticeStudy, topic: str) -> list[Figure]:
    """The share of relevant pages, in the baseline's crawls, above .5: by the raw score and by the calibrated one."""
    crawls = [study.crawls[topic, run, BASELINE] for run in losses.runs_of(study, topic, BASELINE)]
    truth = np.concatenate([crawl.relevant for crawl in crawls])
    seen = [np.concatenate([crawl.raw for crawl in crawls]), np.concatenate([crawl.expected for crawl in crawls])]
    return [float((each[truth] > 0.5).mean()) if truth.any() else None for each in seen]
