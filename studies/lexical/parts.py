"""The parts of the lexical study that are no crawls: each made once, by whatever process, and kept.

SearchPart   weights of the levels, found on topics that are not tested
FewPart      critics with few examples of a topic
LevelPart    the levels that pages are given with the examples of a run
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from xxhash import xxh3_128

from forager.registry import Spec
from forager.types import Parts, Url
from forager_lab.cells import code_fingerprint
from forager_lab.laboratory import Laboratory
from forager_lab.level_trials import LevelGoal, level_trial
from forager_lab.metrics import Figure
from studies.lexical import offline as lexical_offline
from studies.lexical import weights as lexical_weights
from studies.lexical.offline import Table, few_examples, told_levels
from studies.lexical.weights import PLAIN_CRITIC, Breeding, Found, Searched, search_weights

Tables: TypeAlias = Mapping[str, Mapping[str, Table]]  # by rule and sample
Precisions: TypeAlias = Mapping[str, Sequence[Sequence[Figure]]]  # by critic: a row a number of examples


@dataclass(frozen=True)
class SearchPart:
    goals: tuple[LevelGoal, ...]
    runs: int
    pages: int
    breeding: Breeding
    seed: int

    def __str__(self) -> str:
        return f"weights searched on {len(self.goals)} topics"

    def make(self, lab: Laboratory) -> dict[str, Any]:
        trials = [
            level_trial(lab, goal, Spec.parse(PLAIN_CRITIC), run=run, seed=self.seed, pages=self.pages)
            for goal in self.goals
            for run in range(self.runs)
        ]
        return asdict(search_weights(lab, trials, self.pages, self.breeding, self.seed))

    @staticmethod
    def read(parts: Parts) -> Searched:
        forms = {
            name: Found(tuple(each["weights"]) if each["weights"] else None, each["fitness"])
            for name, each in parts["forms"].items()
        }
        return Searched(forms, parts["history"], parts["tried"], parts["links"])


@dataclass(frozen=True)
class FewPart:
    topic: str
    sizes: tuple[int, ...]
    draws: int
    seed: int

    def __str__(self) -> str:
        return f"{self.topic} · few examples"

    def make(self, lab: Laboratory) -> dict[str, Any]:
        return {"precisions": few_examples(lab, self.topic, self.sizes, draws=self.draws, seed=self.seed)}

    @staticmethod
    def read(parts: Parts) -> Precisions:
        return dict(parts["precisions"])


@dataclass(frozen=True)
class LevelPart:
    goal: LevelGoal
    run: int
    seed: int
    crawled: tuple[Url, ...]  # pages of a crawl whose levels are told

    def __str__(self) -> str:
        return f"{self.goal.topic} · levels · run {self.run}"

    def make(self, lab: Laboratory) -> dict[str, Any]:
        tables = told_levels(lab, self.goal, run=self.run, seed=self.seed, crawled=self.crawled)
        return {"tables": {rule: {name: t.tolist() for name, t in both.items()} for rule, both in tables.items()}}

    @staticmethod
    def read(parts: Parts) -> Tables:
        return {
            rule: {name: np.array(table, np.int64) for name, table in both.items()}
            for rule, both in parts["tables"].items()
        }


@cache
def code_behind() -> str:
    """A fingerprint of the code that makes parts."""
    digest = xxh3_128(code_fingerprint().encode())
    for module in (lexical_offline, lexical_weights):
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()[:12]
