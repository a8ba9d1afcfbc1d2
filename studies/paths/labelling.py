"""How well the path forager names the pages of paths through a site that it has not seen: the thesis' table 2.

Each group of a path web is left out in turn. The model is trained on paths drawn from the others, and tested on paths
drawn from the one left out; all begin on pages of the sort that groups are entered by. 78 of 122 training paths and 43
of 68 test paths end in a goal, as in the thesis, and as large a share of any other number. Labels are those of
`ShownPath.labels`; the model's are the likeliest of the whole path. Summed over the groups, for a label c:

    precision(c) = pages of c that are named c / pages named c        recall(c) = the same / pages of c

*goal* is that of the label goal; *all states* the mean over all labels that test paths have, a label that no page was
given counting 0. *Paths*: the share of paths whose last page is likelier goal than fail just if they arrive.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
from xxhash import xxh3_128

from forager.learn.focus import below
from forager.paths import Ground, Outcome, ShownPath
from forager.paths.sampling import sample_paths
from forager.registry import Spec
from forager.strategies import PathForager, make_strategy
from forager.types import Parts, Url
from forager_lab.cells import code_fingerprint
from forager_lab.laboratory import Laboratory
from forager_lab.protocol import OTHER, TeachingPages, left_out
from studies.layout import Section, share, table

Labels: TypeAlias = tuple[str, ...]  # of the pages of a path

COUNTS = (10, 20, 50, 122, 2000)  # training paths; the last are more than anybody would show
MANY = 1000  # so many are drawn only once
TESTED = 68
ARRIVING = 78 / 122  # share of the paths
LONGEST = 8
MODELS = {"dual": "crf", "single": "crf:states=single", "dual, features of the thesis": "crf:features=thesis"}
THESIS = "goal precision .896, recall .924; all states .792, .825; trained on 122 paths of 7 universities, 26 labels."


@dataclass(frozen=True, slots=True)
class Naming:
    """Counts of pages by label, and of paths."""

    there: Counter[str] = field(default_factory=Counter)
    named: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    paths: int = 0
    told: int = 0  # paths whose end was foretold rightly

    @classmethod
    def of(cls, paths: Sequence[ShownPath], named: Sequence[Labels], chances: Sequence[float]) -> Self:
        """Paths that can be read, with the labels given to them and the chance that each arrives."""
        read = [at for at, labels in enumerate(named) if labels]
        both = [pair for at in read for pair in zip(paths[at].labels, named[at], strict=True)]
        told = [(paths[at].outcome is Outcome.GOAL) == (chances[at] > 0.5) for at in read]
        right = Counter(label for label, name in both if label == name)
        return cls(Counter(label for label, _ in both), Counter(name for _, name in both), right, len(told), sum(told))

    def __add__(self, other: Naming) -> Naming:
        pages = (self.there + other.there, self.named + other.named, self.right + other.right)
        return Naming(*pages, self.paths + other.paths, self.told + other.told)

    def of_label(self, label: str) -> tuple[float, float]:
        """Precision and recall."""
        return self.right[label] / max(self.named[label], 1), self.right[label] / max(self.there[label], 1)

    @property
    def accuracy(self) -> float:
        """The share of pages that are named rightly, whatever their label."""
        return self.right.total() / max(self.there.total(), 1)

    def of_all(self) -> tuple[float, float]:
        each = np.array([self.of_label(label) for label in self.there])
        precision, recall = each.mean(axis=0).tolist() if len(each) else (0.0, 0.0)
        return precision, recall


@dataclass(frozen=True)
class LabelPart:
    """One group left out: what its pages are taken for."""

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
        with warnings.catch_warnings(action="ignore"):  # a label used once is no slip in a drawn path
            forager = untaught.taught(taught, shown)
        found = Naming.of(test, forager.labelled(tested, test), forager.goal_chances(tested, test).tolist())
        counts = {name: dict(getattr(found, name)) for name in ("there", "named", "right")}
        return {**counts, "paths": found.paths, "told": found.told}

    @staticmethod
    def read(parts: Parts) -> Naming:
        there, named, right = (Counter[str](parts[name]) for name in ("there", "named", "right"))
        return Naming(there, named, right, int(parts["paths"]), int(parts["told"]))


@cache
def code_behind() -> str:
    """A fingerprint of the code that makes parts."""
    digest = xxh3_128(code_fingerprint().encode())
    digest.update(Path(__file__).read_bytes())
    return digest.hexdigest()[:12]


def ground_of(lab: Laboratory, target: str, urls: Sequence[Url]) -> Ground:
    """These pages, with what they are called where that is anything but other."""
    labels = {url: (lab.web.truth.labels[url] or (OTHER,))[0] for url in urls}
    met = frozenset(url for url, label in labels.items() if below(label, target))
    milestones = {url: label for url, label in labels.items() if url not in met and label != OTHER}
    return TeachingPages(tuple(urls), met, milestones).ground(lab)


def entered_by(lab: Laboratory, groups: Iterable[str]) -> frozenset[str]:
    """The labels of the pages that groups are entered by."""
    seeds = chain.from_iterable(lab.web.seeds(group) for group in groups)
    return frozenset(label for url in seeds for label in lab.web.truth.labels.get(url, ())) - {OTHER}


def draw(ground: Ground, count: int, starts: frozenset[str], seed: int) -> tuple[ShownPath, ...]:
    goals = round(ARRIVING * count)
    return sample_paths(ground, goals=goals, fails=count - goals, longest=LONGEST, starts=starts, seed=seed)


Labelled: TypeAlias = Mapping[tuple[str, int], Naming]  # by model and number of training paths


def labelling_section(labelled: Labelled, groups: Sequence[str], draws: int) -> Section:
    rows = []
    for (model, count), naming in labelled.items():
        told = naming.told / naming.paths if naming.paths else None
        figures = (*naming.of_label("goal"), *naming.of_all(), naming.accuracy, told)
        rows.append([model, f"{count:,}", *map(share, figures)])
    goal, every = ["goal: precision", "recall"], ["all states: precision", "recall"]
    head = ["states", "paths", *goal, *every, "pages named rightly", "paths told rightly"]
    text = (
        f"The CRF names the pages of {TESTED} paths through a university that it has not seen, of which "
        f"{round(ARRIVING * TESTED)} end in a goal; summed over {', '.join(name.capitalize() for name in groups)} and "
        f"{draws} draws of paths, of {MANY:,} and more one. All paths are drawn from the links of the web, from the "
        "department's page on. Over all states: the mean over the labels of the test paths. *Paths told rightly*: "
        "those whose last page is likelier a goal than a fail just if it is one."
    )
    return Section("labelling", "Names of pages", text, THESIS, table=table(head, rows))
