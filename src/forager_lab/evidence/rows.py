"""The rows of a page about one strategy: a web with a topic, or with a target, and the crawls of all strategies there.

Experiments may overlap: the first experiment with a topic is its main row, later ones have further strategies, a poor
critic, or a strategy without a family of signals. Figures, for our strategy s on a row, at n = R/2 or R pages:

    loss cut    1 - (1 - h_s) / (1 - h_best-first)
    gap closed  (h_s - h_best-first) / (h_oracle - h_best-first); none if that gap is under .05
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from forager.registry import Spec
from forager_lab import metrics
from forager_lab.bootstrap import Difference, difference
from forager_lab.experiment import Experiment, PathGoal, TopicGoal
from forager_lab.left_out import WITHOUT
from forager_lab.matrix import MatrixResult
from forager_lab.matrix_file import MatrixTable, poverty
from forager_lab.metrics import Figure
from forager_lab.overview import is_bound
from forager_lab.protocol import CrawlRecord
from forager_lab.results import BASELINE, BOUND, PLACES


@dataclass(frozen=True)
class EvidenceRow:
    """An experiment with a topic, or some of its runs."""

    experiment: Experiment
    new: bool = False  # only pages count that did not teach the critic

    @property
    def web(self) -> str:
        return self.experiment.web

    @property
    def topic(self) -> str:
        return self.experiment.plan.goal.focus

    @property
    def key(self) -> str:
        """As a matrix file names it."""
        return f"{self.web}:{self.topic}"

    @property
    def poor(self) -> str:
        return poverty(self.experiment.plan.goal)

    @property
    def strategies(self) -> tuple[str, ...]:
        return self.experiment.plan.strategies

    @property
    def relevant(self) -> int:
        """R"""
        return self.experiment.relevant[None]

    @property
    def runs(self) -> list[int]:
        return sorted({cell.run for cell in self.experiment.records})

    def records(self, strategy: str) -> list[CrawlRecord]:
        """The crawls of a strategy, by run."""
        found = {cell.run: record for cell, record in self.experiment.records.items() if cell.strategy == strategy}
        return [found[run] for run in sorted(found)]

    def of_runs(self, runs: Iterable[int]) -> EvidenceRow:
        """The same with some of the runs."""
        wanted = set(runs)
        kept = {cell: record for cell, record in self.experiment.records.items() if cell.run in wanted}
        return replace(self, experiment=replace(self.experiment, records=kept))

    def harvests(self, strategy: str, place: str) -> list[Figure]:
        """The harvest of each run."""
        crawls = [(record.relevant, self.relevant) for record in self.records(strategy)]
        if self.new:
            crawls = [metrics.unseen(record, self.relevant) for record in self.records(strategy)]
        return [metrics.harvest(found, round(PLACES[place] * size)) for found, size in crawls]

    def harvest(self, strategy: str, place: str) -> Figure:
        return metrics.mean(self.harvests(strategy, place))

    def loss_cut(self, strategy: str, place: str) -> Figure:
        return metrics.loss_reduction(self.harvest(strategy, place), self.harvest(BASELINE, place))

    def gap_closed(self, strategy: str, place: str) -> Figure:
        return metrics.gap_closed(*(self.harvest(name, place) for name in (strategy, BASELINE, BOUND)))

    def ahead(self, strategy: str, other: str, place: str) -> Difference | None:
        """By how much a strategy is ahead of another, over the runs; None if a crawl was too short."""
        return ahead([self], strategy, other, place)


@dataclass(frozen=True)
class MedianGain:
    """The median of a figure over rows, and over how many."""

    value: Figure
    rows: int  # that have the figure


@dataclass(frozen=True)
class Gains:
    """What a strategy gains on some rows."""

    rows: int
    loss_cut: MedianGain  # at R/2
    gap_half: MedianGain  # gap closed at R/2
    gap: MedianGain  # at R


def gains(rows: Sequence[EvidenceRow], strategy: str) -> Gains:
    """Medians over the rows."""
    return Gains(
        len(rows),
        _median([row.loss_cut(strategy, "R/2") for row in rows]),
        _median([row.gap_closed(strategy, "R/2") for row in rows]),
        _median([row.gap_closed(strategy, "R") for row in rows]),
    )


def _median(values: Sequence[Figure]) -> MedianGain:
    given = [value for value in values if value is not None]
    return MedianGain(median(given) if given else None, len(given))


def ahead(rows: Sequence[EvidenceRow], strategy: str, other: str, place: str) -> Difference | None:
    """The paired difference of two strategies. With several rows the bootstrap draws rows, then runs."""
    sides = [[row.harvests(name, place) for row in rows] for name in (strategy, other)]
    runs = min((len(values) for side in sides for values in side), default=0)
    ours, theirs = ([[value for value in values[:runs] if value is not None] for values in side] for side in sides)
    if not runs or any(len(values) != runs for values in (*ours, *theirs)):
        return None
    return difference(ours, theirs)


# ---- which rows are for what ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EvidenceRows:
    """All rows about a strategy, by what they are for."""

    ours: str
    main: Sequence[EvidenceRow]  # good critics, the first of each topic
    poor: Sequence[EvidenceRow]
    others: Sequence[EvidenceRow]  # good critics, with any strategy; a topic may have several
    ablated: Sequence[EvidenceRow]  # with our strategy without a family of signals
    paths: Sequence[Experiment]

    @classmethod
    def of(cls, done: MatrixResult, ours: str) -> EvidenceRows:
        experiments = list(done.experiments.values())
        rows = [EvidenceRow(each) for each in experiments if _is_plain(each) and ours in each.plan.strategies]
        good = [row for row in rows if not row.poor]
        first = {row.key: row for row in reversed(good) if BASELINE in row.strategies}
        return cls(
            ours,
            [row for row in good if first.get(row.key) is row],
            [row for row in rows if row.poor and BASELINE in row.strategies],
            good,
            [row for row in good if any(family_of(name) for name in row.strategies)],
            [each for each in experiments if isinstance(each.plan.goal, PathGoal)],
        )

    def rivals(self) -> dict[str, list[EvidenceRow]]:
        """The strategies that ours is compared with, and on which rows, a topic once."""
        found: dict[str, dict[str, EvidenceRow]] = {}
        for row in self.others:
            for name in row.strategies:
                if name != self.ours and not family_of(name) and not is_bound(name):
                    found.setdefault(name, {}).setdefault(row.key, row)
        return {name: list(rows.values()) for name, rows in found.items()}


def _is_plain(experiment: Experiment) -> bool:
    goal = experiment.plan.goal
    return isinstance(goal, TopicGoal) and not goal.halved


def family_of(strategy: str) -> str:
    """The family that a strategy is without; "" if it has all."""
    return str(Spec.parse(strategy).options.get(WITHOUT, ""))


def has_chosen(row: EvidenceRow, table: MatrixTable) -> bool:
    """True if the topic was looked at when something was chosen."""
    return row.web in table.chosen or row.key in table.chosen


def by_choice(rows: Sequence[EvidenceRow], table: MatrixTable) -> dict[str, list[EvidenceRow]]:
    """Rows apart by whether they chose anything: topics that did, later samples of these, and all other topics."""
    chosen = [row for row in rows if has_chosen(row, table)]
    first = table.chosen_runs
    later = [row.of_runs(run for run in row.runs if run >= first) for row in chosen] if first else []
    return {
        "all topics": list(rows),
        "topics that chose": chosen,
        f"their samples from number {first + 1} on, which chose nothing": [row for row in later if row.runs],
        "topics that chose nothing": [row for row in rows if not has_chosen(row, table)],
    }
