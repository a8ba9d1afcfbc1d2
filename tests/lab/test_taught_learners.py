"""Floors that can fail, for strategies that are taught before the crawl.

Each must beat itself untaught, and itself taught that other pages are the targets: as many as there are, drawn by
chance. All crawl the same made-up web, halved, from three pages of the topic. What is measured is harvest by truth.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from forager.registry import Spec
from forager.strategies import STRATEGIES
from forager.types import Strategy
from forager_lab.experiment import laboratory
from forager_lab.laboratory import Laboratory
from forager_lab.protocol import Trial, open_crawl, strategy_for, taught_for, topic_trial

WEB, TOPIC, PAGES = "procedural:hosts=60:links=20:seed=7", "Science", 300
MARGIN = 0.05  # of harvest: two standard deviations of 300 draws
TAUGHT = ("context-graph", "q-value", "hmm", "memm:count=4000", "crf:goals=400:fails=600")  # fewer are drawn, for time

pytestmark = pytest.mark.usefixtures("own_cache")


@lru_cache(maxsize=1)
def trial() -> tuple[Laboratory, Trial]:
    lab = laboratory(WEB)
    return lab, topic_trial(lab, TOPIC, Spec("naive-bayes"), run=0, seed=0, pages=PAGES, halved=True)


def misled() -> tuple[Laboratory, Trial]:
    """The same trial, but other pages are called targets where strategies are taught."""
    lab, given = trial()
    lesson = given.teaching
    assert lesson is not None
    draw = np.random.default_rng(0).choice(len(lesson.pages), len(lesson.targets), replace=False)
    return lab, replace(given, teaching=replace(lesson, targets=frozenset(lesson.pages[at] for at in draw)))


def harvest(strategy: Strategy) -> float:
    lab, chosen = trial()
    return float(np.mean([visit.page.url in chosen.relevant for visit in open_crawl(lab, chosen, strategy)]))


@pytest.mark.parametrize("name", TAUGHT)
def test_what_it_was_taught_is_worth_more_than_nothing_and_than_chance(name: str) -> None:
    spec = Spec.parse(name)
    right, wrong = (harvest(taught_for(*given, spec)) for given in (trial(), misled()))
    untaught = harvest(strategy_for(*trial(), spec))
    assert right > untaught + MARGIN, (right, untaught)
    assert right > wrong + MARGIN, (right, wrong)


def test_every_strategy_that_is_taught_is_tried() -> None:
    made = {name for name, strategy in STRATEGIES.items() if hasattr(strategy, "taught")}
    assert made == {Spec.parse(name).name for name in TAUGHT}
