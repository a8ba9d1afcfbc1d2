"""From the records of an experiment to its figures: what `--json` writes and the table shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from forager_lab import metrics
from forager_lab.experiment import Cell, Experiment, PathGoal
from forager_lab.metrics import Figure
from forager_lab.pairs import overlaps, pairwise
from forager_lab.protocol import Record

BASELINE, BOUND = "best-first", "oracle"
PLACES = {"R/4": 0.25, "R/2": 0.5, "R": 1.0, "2R": 2.0}
GOALS = {"50": 0.5, "90": 0.9}
THRESHOLDS = (0.5, 0.6, 0.7, 0.8)  # of similarity
MOST = 10  # labels and hosts named of those that pages were wasted on


def figures(experiment: Experiment) -> dict[str, Any]:
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


def _topic_row(name: str, all_records: Mapping[str, Mapping[Cell, Record]], experiment: Experiment) -> dict[str, Any]:
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


def _harvests(records: Mapping[Cell, Record] | None, places: Mapping[str, int]) -> dict[str, list[Figure]]:
    """The harvest rates of each run, None where the strategy was not tried."""
    if not records:
        return {place: [] for place in places}
    return {place: [metrics.harvest(record.relevant, n) for record in records.values()] for place, n in places.items()}


def _path_row(name: str, all_records: Mapping[str, Mapping[Cell, Record]], experiment: Experiment) -> dict[str, Any]:
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


def _group(group: str | None, records: Mapping[Cell, Record], experiment: Experiment) -> dict[str, Any]:
    """The figures of one group left out, means over the runs."""
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


def _sum_over_groups(records: Mapping[Cell, Record], run: int, share: float, experiment: Experiment) -> Figure:
    found = [
        metrics.pages_to(record.relevant, share, experiment.relevant[cell.group])
        for cell, record in records.items()
        if cell.run == run
    ]
    return None if None in found else float(sum(pages for pages in found if pages is not None))


def _cost(records: Sequence[Record]) -> dict[str, Figure]:
    return {
        "requests_per_page": metrics.mean([record.requests / max(1, len(record.order)) for record in records]),
        "seconds": metrics.mean([record.seconds for record in records]),
    }


Sized = Sequence[tuple[Record, int]]  # a crawl with its R: the number of pages there were to find


def _more(crawls: Sized) -> dict[str, Any]:
    """Figures that mean the same in both protocols, means over the crawls."""
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


def _waste(records: Sequence[Record]) -> dict[str, Any]:
    reasons = sorted({reason for record in records for reason in record.misses})
    return {
        "pages": metrics.mean([len(record.order) for record in records]),
        "pages_off_topic": metrics.mean([int((~record.relevant).sum()) for record in records]),
        "requests_wasted": metrics.mean([record.requests - len(record.order) for record in records]),
        "misses": {reason: metrics.mean([record.misses.get(reason, 0) for record in records]) for reason in reasons},
        "off_topic_labels": metrics.most_wasted(records, metrics.labels_of, MOST),
        "off_topic_hosts": metrics.most_wasted(records, metrics.host_of, MOST),
    }


def _at_places(crawls: Sized, figure: Callable[[Record, int], Figure]) -> dict[str, list[Figure]]:
    return {place: [figure(record, _places(size)[place]) for record, size in crawls] for place in PLACES}


def _means(values: Mapping[str, Sequence[Figure]]) -> dict[str, Figure]:
    return {place: metrics.mean(given) for place, given in values.items()}


def _true_loss(record: Record, pages: int) -> Figure:
    rate = metrics.harvest(record.relevant, pages)
    return None if rate is None else 1 - rate


def _precision(least: float, record: Record, pages: int) -> Figure:
    return metrics.precision(record, least, pages)
