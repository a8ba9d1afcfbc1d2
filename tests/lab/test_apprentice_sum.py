"""The apprentice's sum must learn something: it beats itself untrained, and itself taught shuffled labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forager.registry import Spec
from forager.strategies.apprentice import Apprentice
from forager.types import Evidence, Miss, Visit
from forager_lab import protocol
from forager_lab.experiment import Plan, TopicGoal, laboratory, trial_of
from forager_lab.oracles import LAB_STRATEGIES
from forager_lab.protocol import crawl_trial

WEB, TOPIC, PAGES = "procedural:hosts=20:links=20:seed=7", "Science", 143
RUNS = range(4)


class Misled(Apprentice):
    """Is taught for each link the relevance of a target drawn from all that were seen so far. To shuffle what a single
    visit brings would change little: most of it is links to the same page."""

    def observe(self, outcome: Visit | Miss, evidence: Evidence) -> None:
        if not hasattr(self, "seen"):
            self.seen, self.draw = np.empty(0, np.float32), np.random.default_rng(0)
        self.seen = np.concatenate((self.seen, evidence.relevance))
        drawn = self.draw.choice(self.seen, len(evidence.relevance)) if len(self.seen) else self.seen
        super().observe(outcome, replace(evidence, relevance=drawn))


def harvest(strategy: str) -> float:
    plan = Plan(WEB, TopicGoal(TOPIC), ("misled",), pages=PAGES)
    records = [crawl_trial(laboratory(WEB), trial_of(plan, None, run), Spec.parse(strategy)) for run in RUNS]
    return float(np.mean([record.relevant.mean() for record in records]))


@pytest.mark.usefixtures("own_cache")
def test_it_beats_itself_untrained_and_misled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "LAB_STRATEGIES", {**LAB_STRATEGIES, "misled": Misled})
    taught = harvest("apprentice:form=sum")
    assert taught > harvest("apprentice:form=sum:batch=100000")
    assert taught > harvest("misled:form=sum")
