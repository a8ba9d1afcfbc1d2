"""The default strategy on a made-up web: better than itself untaught, than itself misled, and than best-first."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from forager.registry import Spec
from forager.strategies import BestFirst
from forager.strategies.weigher import Weigher
from forager.strategies.weigher.combiner import load_weights
from forager.strategies.weigher.signals import NAMES
from forager.types import Strategy
from forager_lab.experiment import laboratory
from forager_lab.laboratory import Laboratory
from forager_lab.pretraining import Noted, TopicCrawl, fit, watch, write_left_out
from forager_lab.protocol import Trial, open_crawl, topic_trial

PAGES, RUNS = 90, 2


@pytest.fixture(scope="module")
def lab() -> Laboratory:
    return laboratory("procedural")


@pytest.fixture(scope="module")
def trials(lab: Laboratory) -> list[Trial]:
    critic = Spec.parse("naive-bayes")
    return [topic_trial(lab, "Arts.Music", critic, run=run, seed=0, pages=PAGES) for run in range(RUNS)]


def found(lab: Laboratory, trial: Trial, strategy: Strategy) -> int:
    """Pages of the topic, by truth."""
    return sum(visit.page.url in trial.relevant for visit in open_crawl(lab, trial, strategy))


def weigher(trial: Trial, **options: object) -> Weigher:
    return Weigher(sample=trial.query.sample, critic=trial.critic, **options)  # type: ignore[arg-type]


def test_it_finds_more_than_best_first_and_than_itself_untaught_or_misled(
    lab: Laboratory, trials: list[Trial], tmp_path: Path
) -> None:
    nothing = tmp_path / "nothing.json"
    nothing.write_text(
        json.dumps({**load_weights(), "webs": {"none": {"w": [0.0] * len(NAMES), "b": 0.0}}}), encoding="utf-8"
    )
    draw, totals = np.random.default_rng(1), dict.fromkeys(("ours", "best-first", "untaught", "misled"), 0)
    for trial in trials:
        sample = trial.query.sample
        misled = replace(sample, wanted=draw.permutation(sample.wanted))
        totals["ours"] += found(lab, trial, weigher(trial))
        totals["best-first"] += found(lab, trial, BestFirst())
        totals["untaught"] += found(lab, trial, weigher(trial, weights=str(nothing), adapt=False, guard=False))
        totals["misled"] += found(lab, trial, Weigher(sample=misled, critic=trial.critic, guard=False))
    assert totals["ours"] > 1.1 * totals["best-first"], totals
    assert totals["ours"] > 1.1 * totals["misled"], totals
    assert totals["ours"] > 1.5 * totals["untaught"], totals


def test_weights_are_learnt_from_what_waits_and_where_it_leads(lab: Laboratory, tmp_path: Path) -> None:
    noted = watch(TopicCrawl("procedural", "Arts.Music", 0, "procedural", ""))
    assert noted.signals.shape == (len(noted.wanted), len(NAMES))
    assert 0 < noted.wanted.mean() < 1
    learnt = tmp_path / "weights.json"
    learnt.write_text(json.dumps(fit({("procedural", "Arts.Music"): noted})), encoding="utf-8")
    assert load_weights(str(learnt))["learnt from"] == {"procedural Arts.Music": len(noted.wanted)}


def test_the_fit_finds_the_signal_that_tells() -> None:
    draw = np.random.default_rng(2)
    signals = draw.normal(size=(4000, len(NAMES))).astype(np.float32)
    wanted = (signals[:, 5] + 0.5 * draw.normal(size=4000) > 0).astype(np.float64)
    weights = np.array(fit({("a", "b"): Noted(signals, wanted)})["webs"]["a"]["w"])  # type: ignore[index]
    assert weights.argmax() == 5
    assert np.abs(np.delete(weights, 5)).max() < 0.1 * weights[5]


def test_what_is_left_out_teaches_nothing(tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    noted = {}
    for web, topic, tells in (("a", "x", 5), ("a", "y", 6), ("b", "z", 7)):
        signals = draw.normal(size=(2000, len(NAMES))).astype(np.float32)
        noted[web, topic] = Noted(signals, (signals[:, tells] > 0).astype(np.float64))
    write_left_out(noted, tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a-x.json", "a-y.json", "a.json", "b-z.json", "b.json"]
    learnt = load_weights(str(tmp_path / "a-x.json"))
    assert learnt["learnt from"] == {"a y": 2000, "b z": 2000}
    assert np.argmax(learnt["webs"]["a"]["w"]) == 6
    assert list(load_weights(str(tmp_path / "b.json"))["webs"]) == ["a"]
