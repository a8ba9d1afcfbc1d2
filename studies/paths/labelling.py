"""A measure: how well the CRF names the pages of paths through a site that it has not seen. Table 2 of its thesis.

Each group of a path web is left out in turn. The model is trained on paths drawn from the other groups, and tested on
paths drawn from the one left out. All paths begin on pages with the same labels as the pages by which groups are
entered. 78 of 122 training paths and 43 of 68 test paths end in a goal, as in the thesis; other numbers of paths have
the same share. True labels are those of `ShownPath.labels`; the model gives the likeliest labels of the whole path.
Summed over the groups, for a label c:

    precision(c) = pages of c that are named c / pages named c        recall(c) = the same / pages of c

*goal*: precision and recall of the label goal. *all states*: the mean over all labels that test paths have; a label
that the model gave to no page has precision 0. *paths*: the share of paths for which the model is right about the end:
the last page is likelier goal than fail if and only if the path ends in a goal.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Self, TypeAlias

import numpy as np

from forager.learn.focus import below
from forager.paths import Ground, PathOutcome, ShownPath
from forager.paths.sampling import sample_paths
from forager.registry import Spec
from forager.strategies import PathForager, make_strategy
from forager.types import Parts, Url
from forager_lab.laboratory import Laboratory
from forager_lab.protocol import OTHER, TeachingPages, left_out

Labels: TypeAlias = tuple[str, ...]  # of the pages of a path

COUNTS = (10, 20, 50, 122, 2000)  # of training paths; nobody would show as many as the last
MANY = 1000  # so many paths are drawn only once
TESTED = 68  # test paths
ARRIVING = 78 / 122  # the share of paths that end in a goal
LONGEST = 8  # steps of a path
MODELS = {"dual": "crf", "single": "crf:states=single", "dual, features of the thesis": "crf:features=thesis"}


@dataclass(frozen=True, slots=True)
class NamingCounts:
    """Counts of pages by label, and of paths."""

    there: Counter[str] = field(default_factory=Counter)  # by true label
    named: Counter[str] = field(default_factory=Counter)  # by the label that the model gave
    right: Counter[str] = field(default_factory=Counter)  # where the two are the same
    paths: int = 0
    told: int = 0  # paths for which the model is right about the end

    @classmethod
    def of(cls, paths: Sequence[ShownPath], named: Sequence[Labels], chances: Sequence[float]) -> Self:
        """Counted over paths, with the labels the model gave and the chance that each ends in a goal.

        A path without labels could not be read; it does not count.
        """
        read = [at for at, labels in enumerate(named) if labels]
        both = [pair for at in read for pair in zip(paths[at].labels, named[at], strict=True)]
        told = [(paths[at].outcome is PathOutcome.GOAL) == (chances[at] > 0.5) for at in read]
        right = Counter(label for label, name in both if label == name)
        return cls(Counter(label for label, _ in both), Counter(name for _, name in both), right, len(told), sum(told))

    def __add__(self, other: NamingCounts) -> NamingCounts:
        pages = (self.there + other.there, self.named + other.named, self.right + other.right)
        return NamingCounts(*pages, self.paths + other.paths, self.told + other.told)

    def of_label(self, label: str) -> tuple[float, float]:
        """Precision and recall of a label."""
        return self.right[label] / max(self.named[label], 1), self.right[label] / max(self.there[label], 1)

    @property
    def accuracy(self) -> float:
        """The share of pages with the right label."""
        return self.right.total() / max(self.there.total(), 1)

    def of_all(self) -> tuple[float, float]:
        """Precision and recall, each the mean over all labels."""
        each = np.array([self.of_label(label) for label in self.there])
        precision, recall = each.mean(axis=0).tolist() if len(each) else (0.0, 0.0)
        return precision, recall


@dataclass(frozen=True)
class LabelPart:
    """The labels that a model gives to the pages of a group that was left out."""

    target: str
    column: str
    group: str
    model: str  # a strategy
    count: int  # of training paths
    seed: int

    def __str__(self) -> str:
        return f"{self.group} labelled by {self.model}, {self.count} paths"

    def make(self, lab: Laboratory) -> dict[str, Any]:
        members = lab.web.groups(self.column).items()
        taught, tested = (
            ground_of(lab, self.target, [url for url, name in members if (name == self.group) == own])
            for own in (False, True)
        )
        starts, spec = entered_by(lab, left_out(lab, self.column)), Spec.parse(self.model)
        shown, test = draw(taught, self.count, starts, self.seed), draw(tested, TESTED, starts, self.seed + 1)
        untaught = make_strategy(spec.name, {"seed": self.seed}, spec.options)
        assert isinstance(untaught, PathForager)
        with warnings.catch_warnings(action="ignore"):  # in a drawn path, a label that is used once is no mistake
            forager = untaught.taught(taught, shown)
        found = NamingCounts.of(test, forager.labelled(tested, test), forager.goal_chances(tested, test).tolist())
        counts = {name: dict(getattr(found, name)) for name in ("there", "named", "right")}
        return {**counts, "paths": found.paths, "told": found.told}

    @staticmethod
    def read(parts: Parts) -> NamingCounts:
        there, named, right = (Counter[str](parts[name]) for name in ("there", "named", "right"))
        return NamingCounts(there, named, right, int(parts["paths"]), int(parts["told"]))


def ground_of(lab: Laboratory, target: str, urls: Sequence[Url]) -> Ground:
    """These pages, those that are targets, and the labels of the others."""
    labels = {url: (lab.web.truth.labels[url] or (OTHER,))[0] for url in urls}
    met = frozenset(url for url, label in labels.items() if below(label, target))
    milestones = {url: label for url, label in labels.items() if url not in met and label != OTHER}
    return TeachingPages(tuple(urls), met, milestones).ground(lab)


def entered_by(lab: Laboratory, groups: Iterable[str]) -> frozenset[str]:
    """The labels of the pages by which groups are entered."""
    seeds = chain.from_iterable(lab.web.seeds(group) for group in groups)
    return frozenset(label for url in seeds for label in lab.web.truth.labels.get(url, ())) - {OTHER}


def draw(ground: Ground, count: int, starts: frozenset[str], seed: int) -> tuple[ShownPath, ...]:
    """Paths that start on pages of these labels."""
    goals = round(ARRIVING * count)
    return sample_paths(ground, goals=goals, fails=count - goals, longest=LONGEST, starts=starts, seed=seed)
