"""Counting what the crawls of the lexical study found, and the tables and pictures that show it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forager_lab.metrics import Figure, mean
from forager_lab.plots import BLUE, DASHED, DOTTED, GREEN, ORANGE, PURPLE, RED, SOLID, Stroke, strokes
from studies.layout import table
from studies.lexical.study import SHORT, LexicalStudy, Variant
from studies.panels import Panels, panelled

LOOKS = {  # where the laboratory's own do not show what belongs together
    "lexical": Stroke(PURPLE, SOLID),
    "lexical, finer": Stroke(PURPLE, DASHED),
    "apprentice": Stroke(RED, SOLID),
    "best-first*": Stroke(ORANGE, DOTTED),
    "apprentice*": Stroke(RED, DOTTED),
    "naive Bayes": Stroke(ORANGE, SOLID),
    "naive Bayes, 600 others": Stroke(ORANGE, DOTTED),
    "description, examples": Stroke(BLUE, SOLID),
    "description, the path": Stroke(BLUE, DOTTED),
    "cosine": Stroke(GREEN, SOLID),
}
GOAL = 2  # times as many relevant pages as breadth-first


def short_name(topic: str) -> str:
    return topic.rpartition(".")[2].replace("_", " ")


def number(value: Figure) -> str:
    return "–" if value is None else f"{value:.1f}"


def lines(panels: Panels, x: str, y: str, *, own_axes: bool = False, **limits: Any) -> str:
    """Curves in a panel for each topic."""
    names = dict.fromkeys(line.name for given in panels.values() for line in given)
    looks = {name: LOOKS.get(name) or look for name, look in strokes(list(names)).items()}

    def draw(axes: Any, topic: str) -> None:
        for line in panels[topic]:
            look = looks[line.name]
            axes.plot(line.x, line.y, color=look.colour, linestyle=look.dash, linewidth=1.4)

    return panelled(list(panels), looks, draw, x, y, own_axes, limits)


def ends(study: LexicalStudy) -> list[int]:
    """After how many pages crawls are compared."""
    return sorted({min(SHORT, study.scheme.pages), study.scheme.pages})


def counts(
    study: LexicalStudy, variant: Variant, topics: Iterable[str], pages: int, runs: int | None = None
) -> list[list[int]]:
    """Relevant pages found: a row a topic, a value a run."""
    every = range(study.scheme.runs if runs is None else runs)
    return [[study.found(variant, topic, run, pages) for run in every] for topic in topics]


def average(found: Sequence[Sequence[float]]) -> Figure:
    return mean([mean(row) for row in found])


@dataclass(frozen=True, slots=True)
class Score:
    """Crawls of one variant against those of another from the same pages."""

    better: int
    equal: int
    worse: int
    double: int  # those of the better ones that found at least twice as much, and something

    @classmethod
    def of(cls, ours: Sequence[Sequence[int]], theirs: Sequence[Sequence[int]]) -> Score:
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


def by_topic(study: LexicalStudy, variants: Mapping[str, Variant], pages: int, extra: str = "") -> str:
    """A table: topics in rows, variants in columns, mean relevant pages found."""
    topics = study.scheme.topics
    rows = []
    for topic in topics:
        found = [average(counts(study, each, [topic], pages)) for each in variants.values()]
        rows.append([short_name(topic), str(study.sizes[topic]), *map(number, found)])
    found = [average(counts(study, each, topics, pages)) for each in variants.values()]
    rows.append(["**mean**", number(mean([study.sizes[topic] for topic in topics])), *map(number, found)])
    return table([f"found in {pages} pages{extra}", "to find", *variants], rows)


def by_variant(study: LexicalStudy, variants: Mapping[str, Variant], against: Variant) -> str:
    """A table: variants in rows; mean relevant pages of each topic in a whole crawl, of all, and who is ahead."""
    topics, pages = study.scheme.topics, study.scheme.pages
    base, known_as = counts(study, against, topics, pages), dict(zip(variants.values(), variants, strict=True))
    rows = []
    for name, variant in variants.items():
        found = counts(study, variant, topics, pages)
        early = counts(study, variant, topics, ends(study)[0])
        score = "" if variant == against else str(Score.of(found, base))
        cells = [*(number(mean(row)) for row in found), number(average(early)), number(average(found)), score]
        rows.append([name, *cells])
    head = [*map(short_name, topics), f"all, {ends(study)[0]} pages", f"all, {pages}", f"against {known_as[against]}"]
    return table(["", *head], rows)
