"""How well critics tell pages of a topic from others: `python -m bench.critics_quality [--samples N]`.

A critic learns from 40 random pages of the topic and 600 random others of a recorded web, and judges the rest. Printed
are ROC AUC, average precision and log-loss, each the mean over topics and samples. The webs are looked for in
$FORAGER_WEBS; a web that is not there is left out. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from forager.critics.cosine import Cosine
from forager.critics.mlp import Mlp
from forager.critics.naive_bayes import NaiveBayes
from forager.critics.rocchio import Rocchio
from forager.critics.svm import LinearSvm
from forager.learn.calibration import average_precision, roc_auc
from forager.teaching.labelled_web import LabelledWeb
from forager.types import Critic, Mask, Page
from forager_lab.laboratory import Laboratory

WEBS = Path(os.environ.get("FORAGER_WEBS", "webs"))
TOPICS = {
    "wikispeedia": (
        "Science.Biology",
        "Science.Physics",
        "Science.Chemistry",
        "Science.Biology.Birds",
        "Geography",
        "Geography.European_Geography",
        "History",
        "People",
        "Countries",
        "Religion",
        "Everyday_life",
        "Design_and_Technology",
    ),
    "webkb": ("course",),
}
WANTED, OTHERS = 40, 600
RAW = " raw"  # a critic's judgements before calibration

MAKERS: dict[str, Callable[[str, int], Critic]] = {
    "naive-bayes": lambda focus, seed: NaiveBayes(focus=[focus], seed=seed),
    "cosine": lambda focus, seed: Cosine(focus=[focus], seed=seed),
    "rocchio": lambda focus, seed: Rocchio(focus=[focus], seed=seed),
    "svm": lambda focus, seed: LinearSvm(focus=[focus], seed=seed),
    "mlp": lambda focus, seed: Mlp(focus=[focus], seed=seed),
}


@dataclass(frozen=True)
class Pages:
    """All labelled pages of a web."""

    pages: Sequence[Page]
    labels: Sequence[tuple[str, ...]]

    @classmethod
    def of(cls, web: LabelledWeb) -> Pages:
        labels = web.truth.labels
        read = zip(Laboratory(web).pages(list(labels)), labels.values(), strict=True)
        pages, given = zip(*((page, label) for page, label in read if page is not None), strict=True)
        return cls(pages, given)

    def wanted(self, topic: str) -> Mask:
        return np.array([any(f"{label}.".startswith(f"{topic}.") for label in given) for given in self.labels])


@dataclass(frozen=True)
class Measure:
    """How good the judgements of a critic are, and what they cost."""

    roc_auc: float
    average_precision: float
    log_loss: float
    fit_s: float  # of the CPU
    judge_ms: float  # of the CPU, a page

    @classmethod
    def of(cls, said: Sequence[float], truth: Mask, fit_s: float, judge_ms: float) -> Measure:
        odds = np.asarray(said, np.float64)
        loss = -np.log(np.clip(np.where(truth, odds, 1 - odds), 1e-12, 1)).mean()
        return cls(roc_auc(odds, truth), average_precision(odds, truth), float(loss), fit_s, judge_ms)


def tried(critic: Critic, pages: Pages, wanted: Mask, topic: str, seed: int) -> tuple[Measure, Measure]:
    """The measure of its relevances, and that of its judgements before calibration."""
    draw = np.random.default_rng(seed)
    yes, no = draw.permutation(np.flatnonzero(wanted)), draw.permutation(np.flatnonzero(~wanted))
    training, rest = [*yes[:WANTED], *no[:OTHERS]], [*yes[WANTED:], *no[OTHERS:]]
    start = time.process_time()
    critic.fit((pages.pages[i] for i in training), (topic if wanted[i] else "other" for i in training))
    fitted = time.process_time()
    judged = critic.judge([pages.pages[i] for i in rest])
    took = fitted - start, 1e3 * (time.process_time() - fitted) / len(rest)
    relevance, raw = [one.relevance for one in judged], [one.raw for one in judged]
    return Measure.of(relevance, wanted[rest], *took), Measure.of(raw, wanted[rest], *took)


def trials(web: str, samples: int) -> Iterator[tuple[str, str, Measure]]:
    """(critic, topic, measure)"""
    pages = Pages.of(LabelledWeb(WEBS / web))
    for topic in TOPICS[web]:
        wanted = pages.wanted(topic)
        for seed in range(samples):
            for name, make in MAKERS.items():
                calibrated, raw = tried(make(topic, seed), pages, wanted, topic, seed)
                yield name, topic, calibrated
                yield name + RAW, topic, raw


def table(found: Sequence[tuple[str, str, Measure]]) -> list[dict[str, str | float]]:
    """A row for each critic: the means over all topics and samples."""
    rows: list[dict[str, str | float]] = []
    for name in dict.fromkeys(name for name, _, _ in found):
        each = [measure for critic, _, measure in found if critic == name]
        means = {column: float(np.mean([getattr(one, column) for one in each])) for column in vars(each[0])}
        rows.append({"critic": name, **{column: round(mean, 4) for column, mean in means.items()}})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2, help="training samples a topic")
    given = parser.parse_args()
    results = {}
    for web, topics in TOPICS.items():
        if not (WEBS / web / "labels.tsv").exists():
            print(
                f"{web} left out: there is no recorded web at {WEBS / web}; set FORAGER_WEBS to the folder it is in\n"
            )
            continue
        results[web] = table(list(trials(web, given.samples)))
        print(f"{web}, topics {len(topics)}, samples {given.samples}\n")
        print(f"| {'critic':16} | ROC AUC | average precision | log-loss | fit, CPU s | judge, ms |")
        print("|---|---|---|---|---|---|")
        for row in results[web]:
            cells = (f"{row[column]:.3f}" for column in list(row)[1:])
            print(f"| {row['critic']:16} | {' | '.join(cells)} |")
        print()
    print(json.dumps({"bench": "critics_quality", "results": results}))


if __name__ == "__main__":
    main()
