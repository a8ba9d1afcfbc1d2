"""The page of the study: its introduction, and the sections on critics without crawling and on options of ours.

The sections on crawls are in `crawl_sections`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from forager_lab.bootstrap import Difference, PairVerdict, difference, discoveries
from forager_lab.metrics import Figure, half_width, mean
from forager_lab.plots import differences
from studies.lexical.crawl_sections import (
    CrawlsCompared,
    average,
    c_values,
    combinations,
    contexts,
    counts,
    crawlers,
    ends,
    features,
    number,
    short_name,
)
from studies.lexical.offline import AS_IT_IS, CRAWLED, EACH, EVENLY, FEW_CRITICS, RULES, WORDS, LevelTable
from studies.lexical.study import THESIS, CrawlerVariant, LexicalStudy
from studies.lexical.weights import PLAIN, PLAIN_CRITIC
from studies.page import PanelLine, Section, how_made, lines, nan_if_none, share, table, write_study

INTRODUCTION = """\
The experiments of chapter 5 of a thesis on topic-focused crawling with lexical profiles of web directories, on real
pages: fine-grained topics of {web}, a closed web. A topic is a path such as `{topic}`. Level 1 is the topic
itself, level 2 its parent, and so on. The critic has {examples} random example pages of each level and nothing else; a
crawl starts from one page of the level above the topic and fetches {pages} pages. {count} topics, {runs} crawls each;
every crawl has its own examples, and all crawlers of a crawl share them ([the protocol](README.md)). In the thesis the
examples lay at the headings of a directory. Here no page lies at an inner heading, so the examples of a level are drawn
from all pages below it. Only pages whose label is under the topic count, without the examples."""
MEASURE, END = "share", "end"
PAPER = (
    "wished for and not tried: vocabulary of the parents, menus counting less, nearness to links that paid, "
    "IDF-normalised C-values, more weight for terms that led to good pages."
)


def write_lexical_page(study: LexicalStudy, folder: Path) -> Path:
    """Write the pictures into the folder, and the page beside it; returns the page."""
    return write_study(folder, "The lexical method: a study", _introduction(study), sections(study), _made(study))


def sections(study: LexicalStudy) -> list[Section]:
    """All sections, in the order of the page."""
    return [
        crawlers(study), contexts(study), features(study), combinations(study), c_values(study), levels(study),
        few(study), options(study),
    ]  # fmt: skip


def _introduction(study: LexicalStudy) -> str:
    plan = study.plan
    return INTRODUCTION.format(
        web=study.web,
        topic=plan.topics[0],
        examples=plan.examples,
        pages=plan.pages,
        count=len(plan.topics),
        runs=plan.runs,
    )


def _made(study: LexicalStudy) -> str:
    plan = study.plan
    command = [
        f"python -m studies lexical --web $WEBS/{study.web}",
        f"--topics {','.join(plan.topics)}",
        f"--others {','.join(plan.others)}",
        f"--runs {plan.runs} --side-runs {plan.side_runs} --pages {plan.pages} --seed {plan.seed}",
    ]
    return how_made(command, "crawls and other parts", study.codes)


# ---- critics, without crawling --------------------------------------------------------------------------------------


def accuracy(pages: LevelTable) -> Figure:
    """The share of pages that get their level."""
    return float(np.trace(pages) / pages.sum()) if pages.sum() else None


def commonest(pages: LevelTable) -> Figure:
    """The share of pages that have the most frequent level."""
    return float(pages.sum(axis=1).max() / pages.sum()) if pages.sum() else None


def at_the_target(pages: LevelTable) -> tuple[Figure, Figure]:
    """Precision and recall of level 1."""
    hits, given, are = pages[0, 0], pages[:, 0].sum(), pages[0].sum()
    return (float(hits / given) if given else None), (float(hits / are) if are else None)


def known_mean(values: Sequence[Figure]) -> Figure:
    """The mean of the values that are known."""
    known = [value for value in values if value is not None]
    return mean(known) if known else None


def levels(study: LexicalStudy) -> Section:
    """The levels that pages are given."""
    rows = []
    for rule in RULES:
        crawled, evenly = (list(_tables(study, rule, sample)) for sample in (CRAWLED, EVENLY))
        right = [accuracy(each) for each in evenly]
        precise, recalled = zip(*(at_the_target(each) for each in evenly), strict=True)
        cells = [
            mean([accuracy(each) for each in crawled]),
            mean(right),
            half_width(right),
            mean(precise),
            mean(recalled),
        ]
        rows.append([rule, *map(share, cells)])
    base = mean([commonest(each) for each in _tables(study, AS_IT_IS, CRAWLED)])
    head = ["", "crawled pages", "evenly drawn", "±", "level 1: precision", "recall"]
    told = [table(head, rows)]
    told += [_confusion(study, topic) for topic in study.plan.topics]
    text = (
        "The level that the critic gives to a page against the level of its label; a page under no topic of the path "
        "belongs outside. The share of pages that get their level, mean over all topics and runs, in two samples: the "
        "first pages of the crawls by the method, as in the thesis, where the same answer for all pages would be right "
        f"for {share(base)}; and up to {EACH} random pages of each level. Precision and recall of level 1 are of the "
        "second sample. *Parents' boundaries*: a page is at level 1 only if it reaches them, or half of them, at all "
        "levels above. *Not strict*: the best of the levels that reach their boundary. *C-values by rarity*: "
        "normalised by the examples and 100 pages of other topics. *Terms of the thesis*: phrases, and all that the "
        "examples have. Below, for each "
        "topic and *as it is*: the levels that pages of each level (rows) are given, in percent."
    )
    paper = (
        "about 50 % of 45 pages a topic, random ones of a crawl of 100, as one person labelled them; with C-values "
        "somewhat less. Two other people agreed with that person on 55 % of the pages, and with the directory on 46 %."
    )
    return Section("levels", "Levels of pages", text, paper, table="\n\n".join(told))


def _tables(study: LexicalStudy, rule: str, sample: str) -> Iterable[LevelTable]:
    return (each[rule][sample] for each in study.levels.values())


def _confusion(study: LexicalStudy, topic: str) -> str:
    pages = np.sum([study.levels[topic, run][AS_IT_IS][EVENLY] for run in range(study.plan.runs)], axis=0)
    names = [*(f"level {level}" for level in range(1, len(pages))), "outside"]
    rows = [
        [name, *(f"{100 * part:.0f}" for part in row / max(1, row.sum()))]
        for name, row in zip(names, pages, strict=True)
    ]
    return table([short_name(topic), *(f"told {name}" for name in names)], rows)


def few(study: LexicalStudy) -> Section:
    """How critics with few examples rank pages."""
    sizes = study.plan.sizes
    panels = {
        short_name(topic): [
            PanelLine(name, sizes, [nan_if_none(mean(row)) for row in study.few[topic][name]]) for name in FEW_CRITICS
        ]
        for topic in study.plan.topics
    }
    tables = []
    for at, size in enumerate(sizes):
        rows = []
        for name in FEW_CRITICS:
            values = [mean(study.few[topic][name][at]) for topic in study.plan.topics]
            rows.append([name, *map(share, [*values, known_mean(values)])])
        tables.append(table([f"{size} examples a level", *map(short_name, study.plan.topics), "mean"], rows))
    text = (
        "How well critics that were taught with few examples rank all pages of the web that none of them was shown: "
        f"average precision, mean over {study.plan.draws} draws of examples. The lexical critic has so many examples "
        "of each level of the path; naive Bayes, the cosine to the most similar example and the description critic "
        "(word embeddings) are taught with the same pages. *Finer*, the default of the critic: pages of one level are "
        "ranked by their score at level 1; without it, by the level alone. *600 others*: the examples of the topic, "
        f"and 600 pages of others. *{WORDS.capitalize()}*: no examples, only the names in the path. A topic has no "
        "figure if more than half of its pages would be examples."
    )
    paper = (
        "the thesis claims that terms of a few documents a level suffice, where methods that learn from many would "
        "fail; it did not test this against such a method."
    )
    picture = lines(panels, "examples a level", "average precision", ylim=(0, 1.02))
    return Section("few", "With few examples", text, paper, {"few": picture}, "\n\n".join(tables))


# ---- options --------------------------------------------------------------------------------------------------------


def options(study: LexicalStudy) -> Section:
    """What each option changes."""
    places = ends(study)
    found = {(each.name, pages): _compared(study, each, pages) for each in study.plan.options for pages in places}
    real = dict(zip(found, discoveries([each.p for each in found.values()]).tolist(), strict=True))
    verdicts = {key: _verdict(found[key], told) for key, told in real.items()}
    usual = _means(study, THESIS)
    rows = [["as in the thesis", "", usual[0], "", usual[1], "", *[""] * (2 * len(places))]]
    for variant in study.plan.options:
        keys = [(variant.name, pages) for pages in places]
        told = [cell for key in keys for cell in (_interval(found[key]), str(verdicts[key]))]
        rows.append([variant.name, _spec(variant), *_cells(study, variant), *told])
    last = [(each.name, places[-1]) for each in study.plan.options]
    pairs = [_pair(key[0], found[key], verdicts[key]) for key in last]
    report = {"pairwise": pairs, "results": [{"strategy": each.name} for each in study.plan.options]}
    picture = differences(report, THESIS.name, MEASURE, END, "share of the pages to find, minus that of the thesis")
    late = [f"{what}, {pages} pages" for pages in places for what in ("difference", "verdict")]
    head = ["", "", "tested", "crawls", "others", "crawls", *late]
    return Section("options", "Options of ours", _text(study), PAPER, {"options": picture.svg}, table(head, rows))


def _verdict(compared: Difference, told: bool) -> PairVerdict:
    return PairVerdict.OPEN if not told else PairVerdict.BETTER if compared.mean > 0 else PairVerdict.WORSE


def _text(study: LexicalStudy) -> str:
    plan = study.plan
    return (
        f"The method of the thesis with one thing changed. *Tested* are the topics above, *others* those on which "
        f"weights were searched, {plan.side_runs} crawls a topic. Mean relevant pages found in {plan.pages} pages; "
        "crawls with more / as many / fewer than with nothing changed; the difference in the share of the pages to "
        "find, with the half width of its 95 % interval over all topics, as if they were a random sample. A verdict is "
        "given only where it holds with a false discovery rate of 5 % over all of these comparisons. In the picture, "
        f"which is of {plan.pages} pages, thick lines are Student's t, thin ones bootstrap-t."
    )


def _spec(variant: CrawlerVariant) -> str:
    changed = [
        spec.removeprefix(base).removeprefix(":")
        for spec, base in ((variant.strategy, PLAIN), (variant.critic, PLAIN_CRITIC))
    ]
    return " ".join(f"{kind}: `{told}`" for kind, told in zip(("strategy", "critic"), changed, strict=True) if told)


def _counts(
    study: LexicalStudy, variant: CrawlerVariant, topics: Sequence[str], pages: int | None = None
) -> list[list[int]]:
    return counts(study, variant, topics, pages or study.plan.pages, study.plan.side_runs)


def _means(study: LexicalStudy, variant: CrawlerVariant) -> list[str]:
    return [number(average(_counts(study, variant, topics))) for topics in (study.plan.topics, study.plan.others)]


def _cells(study: LexicalStudy, variant: CrawlerVariant) -> list[str]:
    cells: list[str] = []
    for topics in (study.plan.topics, study.plan.others):
        ours, base = (_counts(study, each, topics) for each in (variant, THESIS))
        cells += [number(average(ours)), str(CrawlsCompared.of(ours, base))]
    return cells


def _compared(study: LexicalStudy, variant: CrawlerVariant, pages: int) -> Difference:
    """The difference in the share of the pages to find, so that all topics count alike."""
    topics = study.plan.everywhere
    ours, base = (
        [
            [count / study.sizes[topic] for count in row]
            for topic, row in zip(topics, _counts(study, each, topics, pages), strict=True)
        ]
        for each in (variant, THESIS)
    )
    return difference(ours, base, seed=study.plan.seed)


def _interval(found: Difference) -> str:
    halves = [half for half in (found.bootstrap, found.student) if half is not None]
    return f"{found.mean:+.3f}" + (f" ± {max(halves):.3f}" if halves else "")


def _pair(name: str, found: Difference, verdict: PairVerdict) -> dict[str, Any]:
    return {
        "measure": MEASURE, "at": END, "first": name, "second": THESIS.name, "difference": found.mean,
        "ci": found.bootstrap, "student_ci": found.student, "verdict": str(verdict),
    }  # fmt: skip
