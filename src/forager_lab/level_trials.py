"""How crawlers that go by the levels of a topic path are tried: a few examples a level, one page to start from.

Level 1 of a path is the topic itself, level 2 its parent, and so on up to n. A page is of the lowest level whose topic
it is under; one that is under none is outside, n + 1. Pages without a label are of no level.

    examples   so many random pages of each level, labelled with its topic: all that a critic learns
    start      a random page of level 2, an example of no run
    outside    has `root` examples, labelled "other". Where there is nothing above the topic it is the next level, with
               as many examples as the others, and a crawl starts there

The pages to start from are drawn once. Run r starts from page r, modulo their number, and has examples of its own. A
crawl fetches 400 pages. Relevant is what is under the topic by its label; examples are `trained`.

`usual`: the critic learns the sample of the topic protocol instead, more than ten times as many pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from forager.errors import ForagerError
from forager.learn.focus import below
from forager.registry import Spec
from forager.teaching.labelled_web import Truth
from forager.types import Url
from forager.web.scope import Scope
from forager_lab.laboratory import Laboratory
from forager_lab.protocol import OTHER, Trial, topic_trial
from forager_lab.protocol import _learnt as learnt
from forager_lab.remembering import remembering

PAGES = 400


@dataclass(frozen=True)
class LevelGoal:
    """Find the pages under a topic from a page beside it, having seen a few of each level of its path."""

    topic: str
    examples: int = 5  # of each level
    starts: int = 5  # pages to start from
    root: int = 0  # examples of what is outside
    usual: bool = False

    def __post_init__(self) -> None:
        if self.examples < 1 or self.starts < 1 or self.root < 0:
            raise ForagerError(f"{self.topic}: give at least 1 example of each level, and 1 page to start from")

    @property
    def focus(self) -> str:
        return self.topic


@dataclass(frozen=True)
class Lesson:
    """What a run has of a path: examples with the topics of their levels, and the page it starts from."""

    examples: Sequence[Url]
    labels: Sequence[str]
    start: Url


def path_of(topic: str) -> tuple[str, ...]:
    """The topics of the levels, from the target up."""
    parts = topic.split(".")
    return tuple(".".join(parts[:length]) for length in range(len(parts), 0, -1))


def level_by_label(labels: Sequence[str], path: Sequence[str]) -> int | None:
    """The level of a page, from 1 to n + 1; None of one without labels."""
    if not labels:
        return None
    fits = (level for level, topic in enumerate(path, 1) if any(below(label, topic) for label in labels))
    return next(fits, len(path) + 1)


def pages_by_level(truth: Truth, topic: str) -> list[list[Url]]:
    """The pages of levels 1 to n + 1, in the order of the labels."""
    path = path_of(topic)
    pages: list[list[Url]] = [[] for _ in range(len(path) + 1)]
    for url, labels in truth.labels.items():
        level = level_by_label(labels, path)
        if level is not None:
            pages[level - 1].append(url)
    return pages


def lesson_of(truth: Truth, goal: LevelGoal, *, run: int, seed: int) -> Lesson:
    """A level without pages has no examples."""
    truth.relevant(goal.topic)  # says which topics there are if this is none of them
    pages, path = pages_by_level(truth, goal.topic), path_of(goal.topic)
    if len(pages[1]) < goal.starts + goal.examples or len(pages[0]) <= goal.examples:
        told = f"{len(pages[0])} pages, and {len(pages[1])} of the level above"
        raise ForagerError(f"topic {goal.topic!r} has {told}: too few to learn from, to start from and to find")
    starts = [pages[1][at] for at in np.random.default_rng([seed]).permutation(len(pages[1]))[: goal.starts].tolist()]
    pages[1] = [url for url in pages[1] if url not in starts]
    wanted = [*[goal.examples] * len(path), goal.root or (goal.examples if len(path) == 1 else 0)]
    draw, examples, labels = np.random.default_rng([seed, run]), list[Url](), list[str]()
    for label, level, count in zip((*path, OTHER), pages, wanted, strict=True):
        chosen = draw.permutation(len(level))[:count].tolist()
        examples += [level[at] for at in chosen]
        labels += [label] * len(chosen)
    return Lesson(examples, labels, starts[run % goal.starts])


def level_trial(
    lab: Laboratory, goal: LevelGoal, critic: Spec, *, run: int, seed: int, pages: int | None = None
) -> Trial:
    lesson, budget = lesson_of(lab.web.truth, goal, run=run, seed=seed), PAGES if pages is None else pages
    if goal.usual:
        usual = topic_trial(lab, goal.topic, critic, run=run, seed=seed, pages=budget)
        return replace(usual, seeds=[lesson.start])
    made, query, targets = learnt(lab, critic, lesson.examples, lesson.labels, goal.topic, seed + run)
    relevant, trained = frozenset(lab.web.truth.relevant(goal.topic)), frozenset(lesson.examples)
    return Trial(
        goal.topic, [lesson.start], relevant, trained, remembering(made), query, targets, Scope(), budget, seed + run
    )
