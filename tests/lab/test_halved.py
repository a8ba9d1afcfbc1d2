"""Trials for strategies that are taught on the web they will crawl: nothing of the half that is tested may be met."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
import pytest

from forager.errors import ForagerError
from forager.paths import Ground, ShownPath, hop_layers
from forager.registry import Spec
from forager.types import BEST, ReportIteration, ScoredLinks, Url, Visit
from forager_lab import protocol
from forager_lab.experiment import PathGoal, Plan, TopicGoal, laboratory, trial_of
from forager_lab.oracles import LAB_STRATEGIES
from forager_lab.protocol import strategy_for, taught_for

WEB, TOPIC = "procedural:hosts=12:links=20:seed=7", "Science"


class Pupil:
    """Remembers the ground it was taught on."""

    combine = BEST
    ground: Ground | None = None

    def taught(self, ground: Ground, shown: Sequence[ShownPath] = (), heard: ReportIteration | None = None) -> Self:
        new = type(self)()
        new.ground = ground
        return new

    def score(self, visit: Visit) -> ScoredLinks:
        return ScoredLinks(np.zeros(len(visit.links), np.float32))


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "LAB_STRATEGIES", {**LAB_STRATEGIES, "pupil": Pupil})


def plan(goal: TopicGoal | PathGoal) -> Plan:
    return Plan(WEB, goal, ("pupil",), runs=1, pages=10)


def met(ground: Ground) -> set[Url]:
    """All that a pupil can see of the ground: its pages, and those that links lead to."""
    return {*ground.urls, *(ground.urls[target] for target in ground.graph.targets.tolist())}


def test_half_of_the_topic_is_never_met() -> None:
    lab, trial = laboratory(WEB), trial_of(plan(TopicGoal(TOPIC, halved=True)), None, 0)
    pupil = taught_for(lab, trial, Spec("pupil"))
    assert isinstance(pupil, Pupil)
    assert pupil.ground is not None
    tested = trial.relevant - trial.trained
    assert abs(len(tested) - len(trial.relevant) / 2) <= 1
    assert not met(pupil.ground) & tested
    assert {pupil.ground.urls[i] for i in np.flatnonzero(pupil.ground.targets)} == trial.relevant & trial.trained
    assert set(trial.seeds) <= trial.trained
    others = set(lab.web.truth.labels) - trial.relevant
    assert others <= met(pupil.ground)


def test_a_far_crawl_starts_in_the_outermost_layer() -> None:
    lab = laboratory(WEB)
    near, far = (trial_of(plan(TopicGoal(TOPIC, halved=True, far=far)), None, 0) for far in (False, True))
    assert set(near.seeds) <= near.relevant
    assert far.teaching is not None
    ground = far.teaching.ground(lab)
    layer = hop_layers(ground.graph, ground.targets)
    assert {int(layer[ground.number(seed)]) for seed in far.seeds} == {int(layer.max())}
    assert near.trained == far.trained


def test_what_is_taught_is_refused_where_nothing_is_left_to_test_on() -> None:
    trial = trial_of(plan(TopicGoal(TOPIC)), None, 0)
    with pytest.raises(ForagerError, match="--halved"):
        strategy_for(laboratory(WEB), trial, Spec("pupil"))
    with pytest.raises(ForagerError, match="--halved"):
        trial_of(plan(TopicGoal(TOPIC, far=True)), None, 0)


# ---- poor critics


def test_a_poor_critic_has_few_examples() -> None:
    usual, few = (trial_of(plan(TopicGoal(TOPIC, examples=count)), None, 0) for count in (None, 5))
    assert few.query.sample.wanted.sum() == 5 < usual.query.sample.wanted.sum()


def test_a_poor_critic_is_told_wrong_labels_but_the_truth_stays() -> None:
    usual, poor = (trial_of(plan(TopicGoal(TOPIC, flipped=share)), None, 0) for share in (None, 0.3))
    assert poor.query.sample.urls == usual.query.sample.urls
    assert 0.2 < np.mean(poor.query.sample.wanted != usual.query.sample.wanted) < 0.4
    assert poor.relevant == usual.relevant
    assert poor.seeds == usual.seeds
