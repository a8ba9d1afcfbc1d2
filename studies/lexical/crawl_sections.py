"""Sections of the page on crawls: relevant pages found, by crawler, context length, features, form and C-values.

The texts in the code say what is shown, how it is defined and what the thesis reported. What the figures mean is
written by hand, in docs/lab/lexical-reading.toml.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from forager_lab.metrics import Figure, mean
from studies.lexical.study import (
    BREADTH,
    CONTEXTS,
    CRAWLERS,
    FEATURES,
    RARITY,
    SHIPPED,
    SHORT,
    THESIS,
    WEIGHTED,
    CrawlerVariant,
    LexicalStudy,
    forms,
)
from studies.page import PanelLine, Section, lines, share, table

POINTS = 40  # of a curve
GOAL = 2  # times as many relevant pages as breadth-first
BEST = "thesis, best of its settings"


# ---- counting -------------------------------------------------------------------------------------------------------


def short_name(topic: str) -> str:
    """The last part of a topic's path."""
    return topic.rpartition(".")[2].replace("_", " ")


def number(value: Figure) -> str:
    """One digit after the point."""
    return "–" if value is None else f"{value:.1f}"


def ends(study: LexicalStudy) -> list[int]:
    """The numbers of pages after which crawls are compared."""
    return sorted({min(SHORT, study.plan.pages), study.plan.pages})


def counts(
    study: LexicalStudy, variant: CrawlerVariant, topics: Iterable[str], pages: int, runs: int | None = None
) -> list[list[int]]:
    """The numbers of relevant pages found: a row for each topic, a value for each run."""
    every = range(study.plan.runs if runs is None else runs)
    return [[study.found(variant, topic, run, pages) for run in every] for topic in topics]


def average(found: Sequence[Sequence[float]]) -> Figure:
    """The mean over topics of the mean over runs."""
    return mean([mean(row) for row in found])


@dataclass(frozen=True, slots=True)
class CrawlsCompared:
    """Crawls of one variant against crawls of another from the same pages: how many found more, as much, less."""

    better: int
    equal: int
    worse: int
    double: int  # those that found something, and at least twice as much

    @classmethod
    def of(cls, ours: Sequence[Sequence[int]], theirs: Sequence[Sequence[int]]) -> CrawlsCompared:
        pairs = [pair for row in zip(ours, theirs, strict=True) for pair in zip(*row, strict=True)]
        return cls(
            sum(mine > other for mine, other in pairs),
            sum(mine == other for mine, other in pairs),
            sum(mine < other for mine, other in pairs),
            sum(mine > 0 and mine >= GOAL * other for mine, other in pairs),
        )

    @property
    def crawls(self) -> int:
        return self.better + self.equal + self.worse

    def __str__(self) -> str:
        return f"{self.better} / {self.equal} / {self.worse}"


def by_topic(study: LexicalStudy, variants: Mapping[str, CrawlerVariant], pages: int, extra: str = "") -> str:
    """A table of the mean number of relevant pages found: a row for each topic, a column for each variant."""
    topics = study.plan.topics
    rows = []
    for topic in topics:
        found = [average(counts(study, each, [topic], pages)) for each in variants.values()]
        rows.append([short_name(topic), str(study.sizes[topic]), *map(number, found)])
    found = [average(counts(study, each, topics, pages)) for each in variants.values()]
    rows.append(["**mean**", number(mean([study.sizes[topic] for topic in topics])), *map(number, found)])
    return table([f"found in {pages} pages{extra}", "to find", *variants], rows)


def by_variant(study: LexicalStudy, variants: Mapping[str, CrawlerVariant], against: CrawlerVariant) -> str:
    """A table with a row for each variant: mean numbers of relevant pages found by topic, over all topics, and the
    comparison with one of the variants."""
    topics, pages = study.plan.topics, study.plan.pages
    base, known_as = counts(study, against, topics, pages), dict(zip(variants.values(), variants, strict=True))
    rows = []
    for name, variant in variants.items():
        found = counts(study, variant, topics, pages)
        early = counts(study, variant, topics, ends(study)[0])
        score = "" if variant == against else str(CrawlsCompared.of(found, base))
        cells = [*(number(mean(row)) for row in found), number(average(early)), number(average(found)), score]
        rows.append([name, *cells])
    head = [*map(short_name, topics), f"all, {ends(study)[0]} pages", f"all, {pages}", f"against {known_as[against]}"]
    return table(["", *head], rows)


# ---- crawlers -------------------------------------------------------------------------------------------------------


def crawlers(study: LexicalStudy) -> Section:
    """What each crawler found."""
    named = {each.name: each for each in CRAWLERS}
    topics, whole = study.plan.topics, study.plan.pages
    base = counts(study, BREADTH, topics, whole)
    scores = {name: CrawlsCompared.of(counts(study, each, topics, whole), base) for name, each in named.items()}
    shown = {name: number(_shown(study, each)) for name, each in named.items()}
    scores[BEST], shown[BEST] = CrawlsCompared.of(_best(study, whole), base), ""
    head = ["against breadth-first", "better / equal / worse", f"{GOAL} times and more", "shown before"]
    rows = [
        [name, str(score), str(score.double), shown[name]] for name, score in scores.items() if name != BREADTH.name
    ]
    parts = [
        *(by_topic(study, named, pages) for pages in ends(study)),
        table(head, rows),
        _against_thesis(study, named),
        _each_crawl(study, named),
        _by_its_own_word(study),
    ]
    paper = (
        "25 of 30 crawls of 400 pages better than breadth-first, some with two to six times as many pages, the other "
        "five as good; each with the context and the features that had been best from its start page. There a page "
        "counted if the method itself put it at level 1."
    )
    picture = lines(_curves(study), "pages fetched", "relevant pages found", own_axes=True, ylim=(0, None))
    text = _crawlers_text(study, scores)
    return Section("crawlers", "Relevant pages found", text, paper, {"crawlers": picture}, "\n\n".join(parts))


def _crawlers_text(study: LexicalStudy, scores: Mapping[str, CrawlsCompared]) -> str:
    plan = study.plan
    told = " ".join(
        f"{said} finds at least {GOAL} times as much as breadth-first in {score.double} of {score.crawls} crawls of "
        f"{plan.pages} pages; it finds more in {score.better}, as much in {score.equal}, less in {score.worse}."
        for said, score in (
            ("The method of the thesis", scores[THESIS.name]),
            ("`lexical` with its defaults", scores[SHIPPED.name]),
        )
    )
    return (
        f"Relevant pages found, by label, without the examples; mean over {plan.runs} crawls a topic, each from a page "
        "of the level above. *thesis* is the method of the thesis in full, with its own terms: phrases, and all that "
        "the examples have; *lexical* is the strategy and the critic with their defaults, which have the options that "
        "help (below). *best-first, levels* goes by the level of the page alone, as the lexical critic gives it; "
        "*finer*: pages of one level differ by their score at level 1. The other *best-first* and *apprentice* have a "
        f"naive Bayes critic, taught with the same {plan.examples} examples "
        "a level. Those marked * have one taught with the laboratory's usual sample, 40 pages of the topic or a third "
        "of it, and 600 others; the column *shown before* says how many of the pages found had been shown to the "
        "critic. The oracle knows the label of each link's target. *Best of its settings*: for each crawl the context "
        "length or the set of features that did best in it, as in the thesis; that is to choose by the result. "
        f"{told}"
    )


def _best(study: LexicalStudy, pages: int) -> list[list[int]]:
    """The most that any context length or set of features found in each crawl."""
    tried = [counts(study, each, study.plan.topics, pages) for each in (*CONTEXTS.values(), *FEATURES)]
    most: list[list[int]] = np.max(tried, axis=0).tolist()
    return most


def _shown(study: LexicalStudy, variant: CrawlerVariant) -> Figure:
    """How many of the relevant pages that count the critic had been shown, mean over the crawls."""
    found = []
    for topic, run in study.crawls:
        record, shown = study.record(variant, topic, run), study.shown[topic, run]
        before = zip(record.order, (record.relevant & record.trained).tolist(), strict=True)
        found.append(sum(1 for url, hit in before if hit and url not in shown))
    return mean(found)


def _curves(study: LexicalStudy) -> dict[str, list[PanelLine]]:
    at = np.unique(np.linspace(1, study.plan.pages, POINTS).astype(int)).tolist()
    return {
        short_name(topic): [
            PanelLine(each.name, at, [average(counts(study, each, [topic], pages)) or 0.0 for pages in at])
            for each in CRAWLERS
        ]
        for topic in study.plan.topics
    }


def _against_thesis(study: LexicalStudy, named: Mapping[str, CrawlerVariant]) -> str:
    topics, rows = study.plan.topics, []
    for name, each in named.items():
        if each != THESIS:
            scores = [
                CrawlsCompared.of(counts(study, each, topics, pages), counts(study, THESIS, topics, pages))
                for pages in ends(study)
            ]
            rows.append([name, *map(str, scores)])
    return table(["against thesis, better / equal / worse", *(f"{pages} pages" for pages in ends(study))], rows)


def _each_crawl(study: LexicalStudy, named: Mapping[str, CrawlerVariant]) -> str:
    rows = []
    for topic, run in study.crawls:
        start = study.record(THESIS, topic, run).order[0].rpartition("/")[2]
        found = [str(study.found(each, topic, run, study.plan.pages)) for each in named.values()]
        rows.append([short_name(topic), f"`{start}`", *found])
    return table([f"each crawl, {study.plan.pages} pages", "starts from", *named], rows)


def _by_its_own_word(study: LexicalStudy) -> str:
    """A table of the pages that the lexical critic puts at level 1, as the thesis counted, and of those that are."""
    rows = []
    for topic in study.plan.topics:
        cells = []
        for variant in (BREADTH, THESIS):
            records = [study.record(variant, topic, run) for run in range(study.plan.runs)]
            told = [record.expected >= 1 for record in records]
            right = [told & record.relevant for told, record in zip(told, records, strict=True)]
            cells += [mean([int(each.sum()) for each in told]), mean([int(each.sum()) for each in right])]
        rows.append([short_name(topic), *map(number, cells)])
    head = ["by the critic's own word", "breadth-first", "of them by label", "thesis", "of them by label"]
    return table(head, rows)


# ---- what its settings do -------------------------------------------------------------------------------------------


def contexts(study: LexicalStudy) -> Section:
    """What was found by context length."""
    named = {str(words): variant for words, variant in CONTEXTS.items()}
    panels = {
        short_name(topic): [
            PanelLine(
                f"{pages} pages", list(CONTEXTS), [_found(study, each, topic, pages) for each in CONTEXTS.values()]
            )
            for pages in ends(study)
        ]
        for topic in study.plan.topics
    }
    lengths = {pages: mean([_best_length(study, crawl, pages) for crawl in study.crawls]) for pages in ends(study)}
    told = " and ".join(f"{number(length)} in {pages} pages" for pages, length in lengths.items())
    text = (
        f"The context of a link is so many words on either side of it; {_usual_context()} elsewhere on this page. Mean "
        "over the crawls of a topic. The best length for a crawl, or the mean of those that tie, is on average "
        f"{told}; a random length would be 7 on average."
    )
    paper = (
        "in crawls of 100 pages the best length was anything from 4 to 9 words, on average 6 to 7 without C-values and "
        "7 to 8 with them; neighbouring lengths could be far apart."
    )
    picture = lines(panels, "words either side", "relevant pages found", own_axes=True, ylim=(0, None))
    tables = [by_topic(study, named, pages, ", by words of context") for pages in ends(study)]
    return Section("contexts", "Context lengths", text, paper, {"contexts": picture}, "\n\n".join(tables))


def _found(study: LexicalStudy, variant: CrawlerVariant, topic: str, pages: int) -> float:
    return average(counts(study, variant, [topic], pages)) or 0.0


def _usual_context() -> int:
    return next(words for words, variant in CONTEXTS.items() if variant == THESIS)


def _best_length(study: LexicalStudy, crawl: tuple[str, int], pages: int) -> float:
    found = {words: study.found(variant, *crawl, pages) for words, variant in CONTEXTS.items()}
    return float(np.mean([words for words, count in found.items() if count == max(found.values())]))


def features(study: LexicalStudy) -> Section:
    """What was found by features."""
    named = {"all three" if each == THESIS else each.name: each for each in FEATURES}
    best = {pages: _winners(study, named, pages) for pages in ends(study)}
    head = ["best in so many crawls, ties shared", *(f"{pages} pages" for pages in best)]
    rows = [[name, *(f"{best[pages][name]:.1f}" for pages in best)] for name in named]
    text = (
        f"The product of the levels of some features only. Mean relevant pages of each topic in {study.plan.pages} "
        "pages; the last column counts crawls with more / as many / fewer than with all three. If several sets are "
        "best in a crawl, they share it."
    )
    paper = (
        "all three together best from about 60 % of the start pages, a single feature from 13 %; the page is in nearly "
        "all of the best sets."
    )
    both = f"{by_variant(study, named, THESIS)}\n\n{table(head, rows)}"
    return Section("features", "Features alone and together", text, paper, table=both)


def _winners(study: LexicalStudy, named: Mapping[str, CrawlerVariant], pages: int) -> dict[str, float]:
    wins = dict.fromkeys(named, 0.0)
    for crawl in study.crawls:
        found = {name: study.found(variant, *crawl, pages) for name, variant in named.items()}
        best = [name for name, count in found.items() if count == max(found.values())]
        for name in best:
            wins[name] += 1 / len(best)
    return wins


def combinations(study: LexicalStudy) -> Section:
    """What was found by the product and by sums of the levels."""
    searched, plan = study.searched, study.plan
    rows = [
        [name, *map(share, found.weights or ()), *([] if found.weights else [""] * 3), share(found.fitness)]
        for name, found in searched.forms.items()
    ]
    weights = table(["", "context", "content", "page", "fitness in the search"], rows)
    history = ", ".join(share(value) for value in searched.history)
    text = (
        f"The product of the three levels, or a sum with weights. Weights were searched on {len(plan.others)} other "
        f"topics ({', '.join(map(short_name, plan.others))}), {plan.replays} crawls each. *Exhaustive*: all "
        f"weights in steps of .001 on a static queue of the {searched.links:,} links that the product had followed, as "
        f"in the thesis. *Genetic*: {plan.breeding.generations} generations of {plan.breeding.size}, "
        f"{searched.tried} different weights, each tried in crawls of the recorded pages. Fitness is the share of the "
        f"pages to find, early ones counting more, mean over these crawls; the best of each generation: {history}. "
        f"Then relevant pages found on the tested topics in {plan.pages} pages; the last column counts crawls against "
        "the product."
    )
    paper = (
        "the product is better than the sum nearly always. Weights by exhaustive search over 1,200 links: context "
        ".627, content .062, page .311. The thesis blames the static queue and proposes a genetic search over crawls."
    )
    tried = forms(searched)
    both = f"{weights}\n\n{by_variant(study, tried, THESIS)}"
    return Section("combinations", "Product, sum, and weights", text, paper, table=both)


def c_values(study: LexicalStudy) -> Section:
    """What was found with terms weighed by C-value."""
    named = {"unweighted": THESIS, WEIGHTED.name: WEIGHTED, RARITY.name: RARITY}
    text = (
        "Similarities weighed by the C-values of terms, in pages, anchors and contexts, or not; *by rarity*: C-values "
        "multiplied by how rare a term is in the examples and 100 pages of other topics. The last column counts crawls "
        "with more / as many / fewer relevant pages than unweighted."
    )
    paper = (
        "mixed: better than unweighted in 53 % of the crawls of 400 pages, worse in most of 100; an IDF-like "
        "normalisation was proposed."
    )
    return Section("c-values", "Terms weighed by C-value", text, paper, table=by_variant(study, named, THESIS))
