"""The first two tables of the comparison: what to use when, and every strategy at every kind of work.

A *kind of work* is a web with all its topics, the same halved for strategies that are taught, or a web with its paths:

    topics   mean over the topics of the harvest at R/2
    halved   mean over the topics of the harvest at R, without the pages that taught
    paths    pages until half of the targets are found, summed over the sites; less is better

A strategy has a figure for a kind of work if it was tried on all of its topics, or sites. It is *marked* beside
best-first where the paired difference over topics and runs is told from zero. It *beats* the share of the other
strategies that have a worse figure, in the mean over its kinds of work.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from forager_lab import metrics
from forager_lab.bootstrap import Difference, difference
from forager_lab.experiment import Experiment, PathGoal, TopicGoal
from forager_lab.markdown import share, table
from forager_lab.matrix import MatrixResult
from forager_lab.matrix_file import AdviceTable, poverty
from forager_lab.metrics import Figure
from forager_lab.oracles import LAB_STRATEGIES
from forager_lab.protocol import CrawlRecord
from forager_lab.report import count
from forager_lab.results import BASELINE, GOALS, PLACES

Runs: TypeAlias = Sequence[Figure]  # a value for each run
HALVED, PATHS = "halved", "paths"
HALF = "50"  # the goal of paths
PLACE = {"": "R/2", HALVED: "R"}  # where the harvest is taken

ADVICE = """\
*figure*: harvest, the share of relevant pages among those fetched, or the number of pages fetched. *verdict*: the
strategy beside the best of the others, where the paired difference over topics and runs excludes zero."""
EXPLAINED = """\
*halved*: half of a topic teaches, the other half counts (harvest at R); *paths*: pages fetched until half of the
targets are found, summed over the sites, less is better; the others: harvest at R/2, mean over the topics. ▲ and ▼:
above and below best-first, with an interval over topics and runs that excludes zero. *beats*: the share of the other
strategies with a worse figure, mean over the columns. *oracle* and *lookahead* are told the truth."""


@dataclass(frozen=True)
class Work:
    """A kind of work, with what each strategy reached."""

    title: str
    reached: Mapping[str, Mapping[str, Runs]]  # by strategy, then by topic or site
    pages: bool  # figures are pages to fetch: less is better

    @property
    def rivals(self) -> dict[str, float]:
        """The figures of all strategies that have one, without the oracles."""
        found = {name: self.figure(name) for name in self.reached if not is_bound(name)}
        return {name: value for name, value in found.items() if value is not None}

    def figure(self, strategy: str) -> Figure:
        rows = self._rows(strategy)
        means = [metrics.mean(row) for row in rows]
        known = [value for value in means if value is not None]
        if not rows or len(known) < len(means):
            return None
        return sum(known) if self.pages else sum(known) / len(known)

    def ahead(self, ours: str, theirs: str) -> Difference | None:
        """By how much a strategy is better than another; None if one of them has no figure."""
        pair = [_whole(self._rows(name)) for name in (ours, theirs)]
        runs = min((len(row) for rows in pair for row in rows), default=0)
        if not runs or not all(pair):
            return None
        first, second = ([row[:runs] for row in rows] for rows in (pair if not self.pages else pair[::-1]))
        return difference(first, second)

    def beats(self, strategy: str) -> Figure:
        """The share of the other strategies that have a worse figure."""
        rivals = self.rivals
        if strategy not in rivals or len(rivals) < 2:
            return None
        sign, own = (-1 if self.pages else 1), rivals[strategy]
        return sum(sign * own > sign * other for other in rivals.values()) / (len(rivals) - 1)

    def best(self, *without: str) -> str | None:
        """The best strategy that is none of these."""
        left = {name: value for name, value in self.rivals.items() if name not in without}
        return (min if self.pages else max)(left, key=left.__getitem__) if left else None

    def written(self, strategy: str) -> str:
        value = self.figure(strategy)
        return count(value) if self.pages else share(value)

    def _rows(self, strategy: str) -> list[Runs]:
        """What a strategy reached on each topic; none if one is missing."""
        every = {topic for given in self.reached.values() for topic in given}
        mine = self.reached.get(strategy, {})
        return [mine[topic] for topic in sorted(every)] if every <= mine.keys() else []


def _whole(rows: Sequence[Runs]) -> list[list[float]]:
    """The rows without runs that have no value; none if nothing is left of one."""
    known = [[value for value in row if value is not None] for row in rows]
    return known if all(known) else []


def is_bound(strategy: str) -> bool:
    """Whether a strategy is told the truth."""
    return strategy.partition(":")[0] in LAB_STRATEGIES


# ---- from experiments to kinds of work ------------------------------------------------------------------------------


def works(done: MatrixResult) -> list[Work]:
    """The kinds of work of a matrix, in its order: the name of an experiment begins with its web. Those with poor
    critics are left out."""
    found: defaultdict[tuple[str, str], defaultdict[str, dict[str, Runs]]] = defaultdict(lambda: defaultdict(dict))
    for name, experiment in done.experiments.items():
        if not poverty(experiment.plan.goal):
            for strategy, topic, runs in _reached(experiment):
                found[name.partition(" · ")[0], _kind(experiment)][strategy][topic] = runs
    return [
        Work(web + (f", {kind}" if kind else ""), dict(reached), kind == PATHS)
        for (web, kind), reached in found.items()
    ]


def _kind(experiment: Experiment) -> str:
    goal = experiment.plan.goal
    if isinstance(goal, PathGoal):
        return PATHS
    return HALVED if isinstance(goal, TopicGoal) and goal.halved else ""


def _reached(experiment: Experiment) -> Iterator[tuple[str, str, Runs]]:
    """What each strategy reached: on the topic, or on each site."""
    kind = _kind(experiment)
    for strategy in experiment.plan.strategies:
        for group, relevant in experiment.relevant.items():
            crawls = [
                experiment.records[cell]
                for cell in sorted(experiment.records, key=lambda cell: cell.run)
                if (cell.strategy, cell.group) == (strategy, group)
            ]
            yield strategy, group or experiment.plan.goal.focus, [_value(kind, each, relevant) for each in crawls]


def _value(kind: str, crawl: CrawlRecord, relevant: int) -> Figure:
    if kind == PATHS:
        return metrics.pages_to(crawl.relevant, GOALS[HALF], relevant)
    pages = round(PLACES[PLACE[kind]] * relevant)
    return metrics.new_harvest(crawl, pages) if kind == HALVED else metrics.harvest(crawl.relevant, pages)


# ---- tables ---------------------------------------------------------------------------------------------------------


def overview(kinds: Sequence[Work]) -> str:
    """Every strategy at every kind of work, those that beat most first, the oracles last."""
    names = list(dict.fromkeys(name for work in kinds for name in work.reached))
    beaten = {
        name: metrics.mean([share for work in kinds if (share := work.beats(name)) is not None]) for name in names
    }
    order = sorted(names, key=lambda name: (is_bound(name), -(beaten[name] or 0.0)))
    heads = ["strategy", *(work.title for work in kinds), "beats"]
    rows = [[f"`{name}`", *(_cell(work, name) for work in kinds), _percent(beaten[name])] for name in order]
    return "\n\n".join(["## All strategies", table(heads, rows), EXPLAINED])


def _cell(work: Work, strategy: str) -> str:
    value = work.written(strategy)
    found = work.ahead(strategy, BASELINE) if strategy != BASELINE and not is_bound(strategy) else None
    return (f"**{value}**" if strategy == work.best() else value) + mark(found)


def mark(found: Difference | None, sign: int = 1) -> str:
    """▲ if a difference is above zero with its interval, ▼ if it is below. `sign`: -1 if less is better."""
    if found is None or not found.told_apart:
        return ""
    return " ▲" if found.mean * sign > 0 else " ▼"


def _percent(value: Figure) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def advice(given: Sequence[AdviceTable], kinds: Sequence[Work]) -> str:
    """What to use when, with the figures that say so. What the matrix has no figures for is left out."""
    by_title = {work.title: work for work in kinds}
    rows = [
        [each.when, f"`{each.use}`", *_figures(by_title[each.work], each.use)]
        for each in given
        if each.work in by_title and by_title[each.work].figure(each.use) is not None
    ]
    heads = ["you want", "use", "measured on", "figure", "best-first", "best of the others", "verdict"]
    return "\n\n".join(["## What to use when", table(heads, rows, texts=3), ADVICE]) if rows else ""


def _figures(work: Work, use: str) -> list[str]:
    other = work.best(use)
    rival = "–" if other is None else f"`{other}` {work.written(other)}"
    verdict = {"": "not told apart", " ▲": "ahead", " ▼": "behind"}[mark(work.ahead(use, other) if other else None)]
    return [work.title, work.written(use), work.written(BASELINE), rival, verdict]
