"""Measures of the critic, worked by hand and against counting all pairs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.types import Page
from forager_lab import quality
from forager_lab.quality import JudgedSample, judge_unseen, summary


def judged(relevance: list[float], relevant: str) -> JudgedSample:
    return JudgedSample(np.array(relevance, np.float32), np.array([mark == "1" for mark in relevant], bool))


def test_auc_and_average_precision_by_hand() -> None:
    sample = judged([0.9, 0.8, 0.8, 0.3, 0.1], "10101")
    # pairs of a relevant (.9, .8, .1) and another (.8, .3): 2 won, then one tie and one won, then none
    assert quality.roc_auc(sample) == pytest.approx((2 + 1.5 + 0) / 6)
    # thresholds .9: recall 1/3, precision 1; .8: 2/3 and 2/3; .3: none gained; .1: 1 and 3/5
    assert quality.average_precision(sample) == pytest.approx((1 + 2 / 3 + 3 / 5) / 3)
    assert quality.brier(sample) == pytest.approx((0.01 + 0.64 + 0.04 + 0.09 + 0.81) / 5)


def test_where_there_is_nothing_to_tell_apart() -> None:
    assert quality.roc_auc(judged([0.5, 0.2], "11")) is None
    assert quality.average_precision(judged([0.5, 0.2], "00")) is None
    assert quality.roc_auc(judged([], "")) is None
    assert quality.average_precision(judged([], "")) is None
    assert quality.calibration_error(judged([], "")) is None


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=15))
def test_auc_counts_all_pairs(sample: list[tuple[int, bool]]) -> None:
    scores, marks = zip(*sample, strict=True)
    found = quality.roc_auc(JudgedSample(np.array([score / 4 for score in scores], np.float32), np.array(marks, bool)))
    hits, others = ([s for s, mark in sample if mark == wanted] for wanted in (True, False))
    pairs = [(a > b) + (a == b) / 2 for a in hits for b in others]
    assert found == (pytest.approx(np.mean(pairs)) if pairs else None)


def test_reliability_has_ten_steps_and_one_belongs_to_the_last() -> None:
    sample = judged([0.05, 0.05, 0.95, 1.0, 0.55], "01110")
    steps = quality.reliability(sample)
    assert steps[0].tolist() == pytest.approx([2, 0.1, 1])
    assert steps[9].tolist() == pytest.approx([2, 1.95, 2])
    assert steps[5].tolist() == pytest.approx([1, 0.55, 0])
    assert quality.calibration_error(sample) == pytest.approx((0.9 + 0.05 + 0.55) / 5)


def test_the_summary_of_two_critics() -> None:
    found = summary([judged([0.9, 0.1], "10"), judged([0.1, 0.9], "10")])
    assert (found["critics"], found["pages"], found["relevant"]) == (2, 2, 1)
    assert found["roc_auc"] == 0.5
    assert found["ci"]["roc_auc"] == pytest.approx(12.7062 * 0.5, rel=1e-4)
    assert [step["pages"] for step in found["reliability"]] == [2, 2]
    assert [step["relevant"] for step in found["reliability"]] == [0.5, 0.5]


@dataclass
class Told:
    """A critic that notes whom it judged, in a laboratory of ten pages of which it has seen four."""

    seen: list[str] = field(default_factory=list)

    def judge(self, pages: list[Page]) -> list[object]:
        self.seen += [str(page) for page in pages]
        return [type("J", (), {"relevance": 0.5}) for _ in pages]


def test_the_critic_judges_only_pages_it_never_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    urls = [f"http://a.test/{n}" for n in range(10)]
    truth = type("T", (), {"labels": dict.fromkeys(urls, ("x",)), "relevant": lambda self, topic: urls[:6]})()
    web = type("W", (), {"truth": truth})()
    lab = type("L", (), {"web": web, "pages": lambda self, wanted: iter(wanted)})()
    critic = Told()
    trial = type("C", (), {"trained": frozenset(urls[:4]), "critic": critic, "focus": "x", "seed": 3})()
    monkeypatch.setattr(quality, "BATCH", 4)
    found = judge_unseen(lab, trial)
    assert critic.seen == urls[4:]
    assert found.relevant.tolist() == [True, True, False, False, False, False]
    monkeypatch.setattr(quality, "SAMPLE", 3)
    assert len(judge_unseen(lab, trial).relevance) == 3
    assert judge_unseen(lab, trial).relevant.tolist() == judge_unseen(lab, trial).relevant.tolist()
