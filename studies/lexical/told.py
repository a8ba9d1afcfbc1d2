"""The page on the lexical method: sections on what critics say of pages, without crawling."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from forager_lab.metrics import Figure, half_width, mean
from studies.layout import Section, nan_if_none, share, table
from studies.lexical.counts import lines, short_name
from studies.lexical.offline import AS_IT_IS, CRAWLED, EACH, EVENLY, FEW_CRITICS, RULES, WORDS, Table
from studies.lexical.study import LexicalStudy
from studies.panels import Line


def accuracy(pages: Table) -> Figure:
    """The share of pages that are told to be where they are."""
    return float(np.trace(pages) / pages.sum()) if pages.sum() else None


def commonest(pages: Table) -> Figure:
    """The share that one answer for all would get right, if it were known which."""
    return float(pages.sum(axis=1).max() / pages.sum()) if pages.sum() else None


def at_the_target(pages: Table) -> tuple[Figure, Figure]:
    """Precision and recall of level 1."""
    hits, told, are = pages[0, 0], pages[:, 0].sum(), pages[0].sum()
    return (float(hits / told) if told else None), (float(hits / are) if are else None)


def known_mean(values: Sequence[Figure]) -> Figure:
    """The mean of those that there are."""
    known = [value for value in values if value is not None]
    return mean(known) if known else None


def levels(study: LexicalStudy) -> Section:
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
    told += [_confusion(study, topic) for topic in study.scheme.topics]
    text = (
        "The level that a page is given against that of its label; one under no topic of the path belongs outside. "
        "Share of pages at their level, mean over all topics and runs: of the first pages of the crawls by its method, "
        f"as the thesis had it, where one and the same answer for all would be right for {share(base)}; and of up to "
        f"{EACH} pages of each level, drawn by chance. Precision and recall of level 1 are of the latter. *Parent "
        "terms*: a page is at level 1 only if it has the heads of so many terms of the level above. *Not strict*: the "
        "best of the levels that reach their boundary. *C-values by rarity*: normalised by the examples and 100 pages "
        "of other topics. *Phrases only*: terms as the thesis has them. Below, by topic and as it is: where pages of "
        "each level (rows) are told to be, in percent."
    )
    paper = (
        "about 50 % of 45 pages a topic, random ones of a crawl of 100, as one person labelled them; with C-values "
        "somewhat less. Two other people agreed with that person on 55 % of the pages, and with the directory on 46 %."
    )
    return Section("levels", "Levels of pages", text, paper, table="\n\n".join(told))


def _tables(study: LexicalStudy, rule: str, sample: str) -> Iterable[Table]:
    return (each[rule][sample] for each in study.levels.values())


def _confusion(study: LexicalStudy, topic: str) -> str:
    pages = np.sum([study.levels[topic, run][AS_IT_IS][EVENLY] for run in range(study.scheme.runs)], axis=0)
    names = [*(f"level {level}" for level in range(1, len(pages))), "outside"]
    rows = [
        [name, *(f"{100 * part:.0f}" for part in row / max(1, row.sum()))]
        for name, row in zip(names, pages, strict=True)
    ]
    return table([short_name(topic), *(f"told {name}" for name in names)], rows)


def few(study: LexicalStudy) -> Section:
    sizes = study.scheme.sizes
    panels = {
        short_name(topic): [
            Line(name, sizes, [nan_if_none(mean(row)) for row in study.few[topic][name]]) for name in FEW_CRITICS
        ]
        for topic in study.scheme.topics
    }
    tables = []
    for at, size in enumerate(sizes):
        rows = []
        for name in FEW_CRITICS:
            values = [mean(study.few[topic][name][at]) for topic in study.scheme.topics]
            rows.append([name, *map(share, [*values, known_mean(values)])])
        tables.append(table([f"{size} examples a level", *map(short_name, study.scheme.topics), "mean"], rows))
    text = (
        "How well critics that were taught with few examples rank all pages of the web that none of them was shown: "
        f"average precision, mean over {study.scheme.draws} draws of examples. The lexical critic has so many examples "
        "of each level of the path; naive Bayes, the cosine to the most similar example and the description critic "
        "(word embeddings) are taught with the same pages. *Finer*, the critic as it comes: pages of one level ranked "
        "by the score that they have at level 1; without, by the level alone. *600 others*: the examples of the topic, "
        f"and 600 pages of others. *{WORDS.capitalize()}*: no examples, only the names in the path. A topic that has "
        "less than twice as many pages as it would give away has no figure."
    )
    paper = (
        "that terms of a few documents a level suffice, where methods that learn from many would fail, is the claim; "
        "it was not tested against one of those."
    )
    picture = lines(panels, "examples a level", "average precision", ylim=(0, 1.02))
    return Section("few", "With few examples", text, paper, {"few": picture}, "\n\n".join(tables))
