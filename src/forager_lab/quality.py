"""How good the critic is on pages that it never saw. A strategy can hardly be better than its critic.

The critic of each run judges a random sample of the labelled pages outside its training sample (in the path protocol:
pages of the group left out). y = 1 if the label says relevant, r = the critic's relevance.

    ROC AUC            Pr(r of a relevant page > r of another one); ties count half
    average precision  sum over thresholds, from the highest, of (recall gained there) * (precision there)
    reliability        in ten equal steps of r: the mean of r against the share of relevant pages
    calibration error  mean over the pages of |mean r - share relevant| of their step;  Brier: mean of (r - y)^2
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forager.learn import calibration
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
class JudgedSample:
    """A sample of pages: what the critic said, and what is true."""

    relevance: Floats
    relevant: Mask


def roc_auc(judged: JudgedSample) -> Figure:
    """None if all pages are relevant, or none is."""
    return _known(calibration.roc_auc(judged.relevance.astype(np.float64), judged.relevant))


def average_precision(judged: JudgedSample) -> Figure:
    """None if no page is relevant."""
    return _known(calibration.average_precision(judged.relevance.astype(np.float64), judged.relevant))


def _known(value: float) -> Figure:
    return None if isnan(value) else value


def brier(judged: JudgedSample) -> Figure:
    """The mean of (r - y)^2; None without pages."""
    return float(((judged.relevance - judged.relevant) ** 2).mean()) if len(judged.relevance) else None


def reliability(judged: JudgedSample) -> NDArray[np.float64]:
    """(steps, 3): pages, sum of the relevance they were given, relevant pages."""
    step = np.minimum((judged.relevance * STEPS).astype(np.intp), STEPS - 1)
    columns = (None, judged.relevance, judged.relevant)
    return np.stack([np.bincount(step, column, STEPS) for column in columns], axis=1).astype(np.float64)


def calibration_error(judged: JudgedSample) -> Figure:
    """The mean distance of r from the share that is relevant; None without pages."""
    pages, given, found = reliability(judged).T
    return float(np.abs(given - found).sum() / pages.sum()) if pages.sum() else None


# ---- of an experiment -----------------------------------------------------------------------------------------------


def critic_quality(experiment: Experiment, jobs: int = 1) -> dict[str, Any]:
    """The figures of the critics: means over the trials, but reliability over all judged pages."""
    todo = [(group, run) for run in range(experiment.plan.runs) for group in experiment.sizes]
    judged: dict[tuple[str | None, int], JudgedSample] = {}
    for trial, sample in work(todo, partial(_judge, experiment.plan), jobs, lambda trial: trial):
        if isinstance(sample, Failed):
            raise RuntimeError(f"judging for {trial} failed: {sample.why}\n{sample.trace}")
        judged[trial] = sample
    return summary([judged[trial] for trial in todo])


def summary(samples: Sequence[JudgedSample]) -> dict[str, Any]:
    """Means over the samples, with half widths; reliability over all pages."""
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


def _judge(plan: Plan, trial: tuple[str | None, int]) -> JudgedSample:
    """What the critic of a trial says about pages that it never saw."""
    lab = laboratory(plan.web)
    return judge_unseen(lab, trial_of(plan, *trial))


def judge_unseen(lab: Laboratory, trial: Trial) -> JudgedSample:
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
    return JudgedSample(np.array(relevance, np.float32), np.array(hits, bool))
