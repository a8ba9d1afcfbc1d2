"""How good the critic itself is, on pages it never saw: a strategy can hardly be better than what it is told.

Each run's critic judges a random sample of the labelled pages outside its training sample (in the path protocol: of the
group left out). y = 1 where the label says relevant, r = the critic's relevance.

    ROC AUC            Pr(r of a relevant page > r of another one), ties count half
    average precision  sum over thresholds of (recall gained there) * (precision there), from the strictest on
    reliability        in ten equal steps of r: the mean of r against the share of relevant pages
    calibration error  mean over the pages of |mean r - share relevant| of their step;  Brier: mean of (r - y)^2
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forager.types import Floats, Mask
from forager_lab import metrics
from forager_lab.experiment import Experiment, Plan, laboratory, trial_of
from forager_lab.laboratory import Laboratory
from forager_lab.metrics import Figure
from forager_lab.protocol import Trial
from forager_lab.workers import Failed, work

SAMPLE = 1500  # pages judged in a run
BATCH = 64
STEPS = 10  # of the reliability curve


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """A sample of pages as judged and as they are."""

    relevance: Floats
    relevant: Mask


def roc_auc(judged: Judged) -> Figure:
    """None where there is nothing to tell apart."""
    values, at = np.unique(judged.relevance, return_inverse=True)
    hits = np.bincount(at, judged.relevant, len(values))
    others = np.bincount(at, ~judged.relevant, len(values))
    pairs = hits.sum() * others.sum()
    below = np.cumsum(others) - others
    return float((hits * (below + others / 2)).sum() / pairs) if pairs else None


def average_precision(judged: Judged) -> Figure:
    values, at = np.unique(-judged.relevance, return_inverse=True)
    hits = np.bincount(at, judged.relevant, len(values))
    taken = np.cumsum(np.bincount(at, minlength=len(values)))
    found = np.cumsum(hits)
    return float((hits / found[-1] * found / taken).sum()) if len(found) and found[-1] else None


def brier(judged: Judged) -> Figure:
    return float(((judged.relevance - judged.relevant) ** 2).mean()) if len(judged.relevance) else None


def reliability(judged: Judged) -> NDArray[np.float64]:
    """(steps, 3): pages, sum of the relevance they were given, relevant pages."""
    step = np.minimum((judged.relevance * STEPS).astype(np.intp), STEPS - 1)
    columns = (None, judged.relevance, judged.relevant)
    return np.stack([np.bincount(step, column, STEPS) for column in columns], axis=1).astype(np.float64)


def calibration_error(judged: Judged) -> Figure:
    pages, given, found = reliability(judged).T
    return float(np.abs(given - found).sum() / pages.sum()) if pages.sum() else None


# ---- of an experiment -----------------------------------------------------------------------------------------------


def critic_quality(experiment: Experiment, jobs: int = 1) -> dict[str, Any]:
    """The figures of the critic of each trial, means over the trials; reliability over all pages judged."""
    todo = [(group, run) for run in range(experiment.plan.runs) for group in experiment.sizes]
    judged: dict[tuple[str | None, int], Judged] = {}
    for trial, sample in work(todo, partial(_judge, experiment.plan), jobs, lambda trial: trial):
        if isinstance(sample, Failed):
            raise RuntimeError(f"judging for {trial} failed: {sample.why}\n{sample.trace}")
        judged[trial] = sample
    return summary([judged[trial] for trial in todo])


def summary(samples: Sequence[Judged]) -> dict[str, Any]:
    measures = {
        "roc_auc": roc_auc, "average_precision": average_precision, "brier": brier,
        "calibration_error": calibration_error,
    }  # fmt: skip
    values = {name: [measure(sample) for sample in samples] for name, measure in measures.items()}
    steps = np.sum([reliability(sample) for sample in samples], axis=0)
    return {
        "critics": len(samples),
        "pages": metrics.mean([len(sample.relevant) for sample in samples]),
        "relevant": metrics.mean([int(sample.relevant.sum()) for sample in samples]),
        **{name: metrics.mean(given) for name, given in values.items()},
        "ci": {name: metrics.half_width(given) for name, given in values.items()},
        "reliability": [
            {"pages": int(pages), "given": given / pages, "relevant": found / pages}
            for pages, given, found in steps.tolist()
            if pages
        ],
    }


def _judge(plan: Plan, trial: tuple[str | None, int]) -> Judged:
    """What the critic of a trial says of pages it never saw."""
    lab = laboratory(plan.web)
    return judge_unseen(lab, trial_of(plan, *trial))


def judge_unseen(lab: Laboratory, trial: Trial) -> Judged:
    """Judge a sample of the labelled pages outside the training sample."""
    unseen = [url for url in lab.web.truth.labels if url not in trial.trained]
    chosen = np.random.default_rng([trial.seed, SAMPLE]).permutation(len(unseen))[:SAMPLE]
    wanted = frozenset(lab.web.truth.relevant(trial.focus))
    urls = [unseen[at] for at in np.sort(chosen)]
    known = ((url in wanted, page) for url, page in zip(urls, lab.pages(urls), strict=True) if page is not None)
    hits, relevance = list[bool](), list[float]()
    while batch := list(islice(known, BATCH)):
        hits += [hit for hit, _ in batch]
        relevance += [judgement.relevance for judgement in trial.critic.judge([page for _, page in batch])]
    return Judged(np.array(relevance, np.float32), np.array(hits, bool))
