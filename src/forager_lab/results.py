"""The figures of an experiment: what `--json` writes, and what tables, pictures and pages show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from forager_lab import metrics
from forager_lab.bootstrap import ComparedPair, compare
from forager_lab.experiment import Cell, Experiment, PathGoal
from forager_lab.metrics import Figure
from forager_lab.protocol import CrawlRecord

BASELINE, BOUND = "best-first", "oracle"
PLACES = {"R/4": 0.25, "R/2": 0.5, "R": 1.0, "2R": 2.0}
GOALS = {"50": 0.5, "90": 0.9}
THRESHOLDS = (0.5, 0.6, 0.7, 0.8)  # of similarity
MOST = 10  # labels and hosts of pages off topic that are named

SizedCrawls: TypeAlias = Sequence[tuple[CrawlRecord, int]]  # crawls, each with its R
RecordsOf: TypeAlias = Mapping[str, Mapping[Cell, CrawlRecord]]  # by strategy
Values: TypeAlias = dict[str, list[Sequence[Figure]]]  # for each strategy a row per topic or group, a value per run


def figures(experiment: Experiment) -> dict[str, Any]:
    """All figures, as values that JSON can hold."""
    plan = experiment.plan
    by_strategy = {
        name: {cell: record for cell, record in experiment.records.items() if cell.strategy == name}
        for name in plan.strategies
    }
    path = isinstance(plan.goal, PathGoal)
    rows = [(_path_row if path else _topic_row)(name, by_strategy, experiment) for name in plan.strategies]
    return {
        "web": experiment.web,
        "protocol": "path" if path else "topic",
        "topic": plan.goal.focus,
        "relevant": sum(experiment.relevant.values()),
        "places": {} if path else _places(experiment.relevant[None]),
        "runs": plan.runs,
        "critic": plan.critic,
        "seed": plan.seed,
        "results": rows,
        "pairwise": pairwise(rows, seed=plan.seed),
        "overlap": overlaps(experiment),
    }


def _places(relevant: int) -> dict[str, int]:
    return {place: round(share * relevant) for place, share in PLACES.items()}


def _topic_row(name: str, all_records: RecordsOf, experiment: Experiment) -> dict[str, Any]:
    relevant = experiment.relevant[None]
    records = list(all_records[name].values())
    places = _places(relevant)
    rates = {place: [metrics.harvest(record.relevant, n) for record in records] for place, n in places.items()}
    new = {place: [metrics.new_harvest(record, n) for record in records] for place, n in places.items()}
    means = {place: metrics.mean(values) for place, values in rates.items()}
    base, bound = (_harvests(all_records.get(other), places) for other in (BASELINE, BOUND))
    return {
        "strategy": name,
        "harvest": means,
        "ci": {place: metrics.half_width(values) for place, values in rates.items()},
        "harvest_runs": rates,
        "harvest_new": {place: metrics.mean(values) for place, values in new.items()},
        "loss_reduction": {place: metrics.loss_reduction(means[place], metrics.mean(base[place])) for place in PLACES},
        "gap_closed": {
            place: metrics.gap_closed(means[place], metrics.mean(base[place]), metrics.mean(bound[place]))
            for place in ("R/2", "R")
        },
        "against_best_first": {place: metrics.paired(rates[place], base[place]) for place in PLACES},
        "pages_to": dict.fromkeys(GOALS),
        "recall_at_10pct": None,
        **_cost(records),
        **_more([(record, relevant) for record in records]),
        "curve": metrics.curve(records),
    }


def _harvests(records: Mapping[Cell, CrawlRecord] | None, places: Mapping[str, int]) -> dict[str, list[Figure]]:
    """The harvest of each run; empty lists if the strategy was not tried."""
    if not records:
        return {place: [] for place in places}
    return {place: [metrics.harvest(record.relevant, n) for record in records.values()] for place, n in places.items()}


def _path_row(name: str, all_records: RecordsOf, experiment: Experiment) -> dict[str, Any]:
    records = all_records[name]
    groups = {str(group): _group(group, records, experiment) for group in experiment.relevant}
    sums = {goal: [_sum_over_groups(records, run, share, experiment) for run in range(experiment.plan.runs)]
            for goal, share in GOALS.items()}  # fmt: skip
    return {
        "strategy": name,
        "harvest": dict.fromkeys(PLACES),
        "ci": dict.fromkeys(PLACES),
        "loss_reduction": dict.fromkeys(PLACES),
        "gap_closed": dict.fromkeys(("R/2", "R")),
        "pages_to": {goal: metrics.mean(values) for goal, values in sums.items()},
        "pages_to_ci": {goal: metrics.half_width(values) for goal, values in sums.items()},
        "recall_at_10pct": metrics.mean([group["recall_at_10pct"] for group in groups.values()]),
        "groups": groups,
        **_cost(list(records.values())),
        **_more([(record, experiment.relevant[cell.group]) for cell, record in records.items()]),
        "curve": [],
    }


def _group(group: str | None, records: Mapping[Cell, CrawlRecord], experiment: Experiment) -> dict[str, Any]:
    """The figures of one group left out: means over the runs."""
    runs = [record for cell, record in records.items() if cell.group == group]
    reachable, size = experiment.relevant[group], experiment.sizes[group]
    tenth = [metrics.recall(record.relevant, round(size / 10), reachable) for record in runs]
    pages_to = {goal: [metrics.pages_to(record.relevant, share, reachable) for record in runs]
                for goal, share in GOALS.items()}  # fmt: skip
    return {
        "pages": size,
        "reachable": reachable,
        "pages_to": {goal: metrics.mean(values) for goal, values in pages_to.items()},
        "pages_to_runs": pages_to,
        "recall_at_10pct": metrics.mean(tenth),
        "recall_at_10pct_runs": tenth,
        "curve": metrics.recall_curve(runs, reachable),
    }


def _sum_over_groups(records: Mapping[Cell, CrawlRecord], run: int, share: float, experiment: Experiment) -> Figure:
    found = [
        metrics.pages_to(record.relevant, share, experiment.relevant[cell.group])
        for cell, record in records.items()
        if cell.run == run
    ]
    return None if None in found else float(sum(pages for pages in found if pages is not None))


def _cost(records: Sequence[CrawlRecord]) -> dict[str, Figure]:
    return {
        "requests_per_page": metrics.mean([record.requests / max(1, len(record.order)) for record in records]),
        "seconds": metrics.mean([record.seconds for record in records]),
    }


def _more(crawls: SizedCrawls) -> dict[str, Any]:
    """Figures that mean the same in both protocols: means over the crawls."""
    losses = _at_places(crawls, metrics.expected_loss)
    records = [record for record, _ in crawls]
    return {
        "loss": _means(_at_places(crawls, _true_loss)),
        "loss_by_critic": _means(losses),
        "loss_by_critic_ci": {place: metrics.half_width(values) for place, values in losses.items()},
        "harvest_area": {
            "R": metrics.mean([metrics.harvest_area(record.relevant, size) for record, size in crawls]),
            "end": metrics.mean([metrics.harvest_area(record.relevant, len(record.order)) for record in records]),
        },
        "precision": {str(least): _means(_at_places(crawls, partial(_precision, least))) for least in THRESHOLDS},
        "precision_end": {
            str(least): metrics.mean([metrics.precision(record, least, len(record.order)) for record in records])
            for least in THRESHOLDS
        },
        "precision_new": {
            str(least): metrics.mean([metrics.new_precision(record, least) for record in records])
            for least in THRESHOLDS
        },
        "sigma": metrics.mean([metrics.sigma(record) for record in records]),
        "relevant_hosts": {
            "R": metrics.mean([metrics.relevant_hosts(record, size) for record, size in crawls]),
            "end": metrics.mean([metrics.relevant_hosts(record, len(record.order)) for record in records]),
        },
        **_waste(records),
    }


def _waste(records: Sequence[CrawlRecord]) -> dict[str, Any]:
    reasons = sorted({reason for record in records for reason in record.misses})
    return {
        "pages": metrics.mean([len(record.order) for record in records]),
        "pages_off_topic": metrics.mean([int((~record.relevant).sum()) for record in records]),
        "requests_wasted": metrics.mean([record.requests - len(record.order) for record in records]),
        "misses": {reason: metrics.mean([record.misses.get(reason, 0) for record in records]) for reason in reasons},
        "off_topic_labels": metrics.most_wasted(records, metrics.labels_of, MOST),
        "off_topic_hosts": metrics.most_wasted(records, metrics.host_of, MOST),
    }


def _at_places(crawls: SizedCrawls, figure: Callable[[CrawlRecord, int], Figure]) -> dict[str, list[Figure]]:
    return {place: [figure(record, _places(size)[place]) for record, size in crawls] for place in PLACES}


def _means(values: Mapping[str, Sequence[Figure]]) -> dict[str, Figure]:
    return {place: metrics.mean(given) for place, given in values.items()}


def _true_loss(record: CrawlRecord, pages: int) -> Figure:
    rate = metrics.harvest(record.relevant, pages)
    return None if rate is None else 1 - rate


def _precision(least: float, record: CrawlRecord, pages: int) -> Figure:
    return metrics.precision(record, least, pages)


# ---- strategies against each other ----------------------------------------------------------------------------------


def pairwise(rows: Sequence[Mapping[str, Any]], *, seed: int = 0) -> list[dict[str, Any]]:
    """Every pair of strategies by every measure: the paired difference, both half widths, and a verdict.

    Topic protocol: harvest, over the runs. Path protocol: over the groups left out, and the runs of each.
    """
    return [
        _plain(measure, at, pair)
        for measure, at, larger_is_better, values in _measures(rows)
        for pair in compare(values, larger_is_better=larger_is_better, seed=seed)
    ]


def _measures(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, bool, Values]]:
    if not any("groups" in row for row in rows):
        for place in rows[0]["harvest_runs"]:
            yield "harvest", place, True, {row["strategy"]: [row["harvest_runs"][place]] for row in rows}
        return
    groups = {row["strategy"]: list(row["groups"].values()) for row in rows}
    for goal in rows[0]["pages_to"]:
        yield "pages_to", goal, False, {
            name: [group["pages_to_runs"][goal] for group in given] for name, given in groups.items()
        }  # fmt: skip
    yield "recall", "10pct", True, {
        name: [group["recall_at_10pct_runs"] for group in given] for name, given in groups.items()
    }  # fmt: skip


def _plain(measure: str, at: str, pair: ComparedPair) -> dict[str, Any]:
    found = pair.difference
    return {
        "measure": measure,
        "at": at,
        "first": pair.first,
        "second": pair.second,
        "difference": found.mean if found else None,
        "ci": found.bootstrap if found else None,
        "student_ci": found.student if found else None,
        "p": found.p if found else None,
        "verdict": str(pair.verdict),
    }


def overlaps(experiment: Experiment) -> dict[str, Any]:
    """For each pair of strategies the share of common URLs, after R pages and at the end: means over the trials."""
    names = experiment.plan.strategies
    trials = list(dict.fromkeys((cell.run, cell.group) for cell in experiment.records))
    found: dict[str, Any] = {"strategies": list(names)}
    for place in ("R", "end"):
        matrices = []
        for run, group in trials:
            pages = experiment.relevant[group] if place == "R" else None
            orders = [experiment.records[Cell(name, run, group)].order[:pages] for name in names]
            matrices.append(metrics.overlap(orders))
        union, smaller = np.mean(matrices, axis=0)
        found[place] = {"of_union": union.tolist(), "of_smaller": smaller.tolist()}
    return found


def pairs_with(pairs: Sequence[Mapping[str, Any]], baseline: str, measure: str, at: str) -> list[dict[str, Any]]:
    """The pairs with the baseline. `name` is the other strategy; the difference is name minus baseline."""
    found = []
    for pair in pairs:
        if (pair["measure"], pair["at"]) != (measure, at) or baseline not in (pair["first"], pair["second"]):
            continue
        if pair["second"] == baseline:
            found.append({**pair, "name": pair["first"]})
        else:
            turned = {"better": "worse", "worse": "better"}.get(pair["verdict"], pair["verdict"])
            minus = None if pair["difference"] is None else -pair["difference"]
            found.append({**pair, "name": pair["second"], "difference": minus, "verdict": turned})
    return found
