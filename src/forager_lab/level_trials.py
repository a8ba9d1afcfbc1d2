"""Trials of crawlers that use the levels of a topic path: a few examples of each level, one page to start from.

Level 1 of a path is the topic itself, level 2 its parent, and so on up to n. A page belongs to the lowest level whose
topic it is under. A page under none of them is outside, level n + 1. A page without a label has no level.

    examples   random pages of each level, labelled with its topic; the critic learns from nothing else
    start      a random page of level 2 that is an example in no run
    outside    has `root` examples, labelled "other". If there is nothing above the topic, outside is the next level:
               it has as many examples as the others, and the crawl starts there

The pages to start from are drawn once. Run r starts from page r, modulo their number, and has examples of its own. A
crawl fetches 400 pages. A page is relevant if its label is under the topic; the examples are `trained`.

`usual`: the critic learns from the sample of the topic protocol instead, which has more than ten times as many pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from forager.errors import ForagerError
from forager.learn.focus import below
from forager.learn.lexical.cvalue import TermList
from forager.learn.lexical.levels import TopicLevels
from forager.registry import Spec
from forager.strategies.lexical.links import HasLevels
from forager.teaching.labelled_web import Truth
from forager.types import Critic, Judgement, Page, Url
from forager.web.scope import Scope
from forager_lab.laboratory import Laboratory
from forager_lab.protocol import OTHER, Trial, learn_topic, topic_trial

PAGES = 400
REMEMBERED = 3_000  # pages of which a critic remembers its judgement; some 30 KB each with their terms

T = TypeVar("T")


@dataclass(frozen=True)
class LevelGoal:
    """Find the pages under a topic, from a page beside it, with a few examples of each level of its path."""

    topic: str
    examples: int = 5  # of each level
    starts: int = 5  # pages to start from
    root: int = 0  # examples from outside
    usual: bool = False

    def __post_init__(self) -> None:
        if self.examples < 1 or self.starts < 1 or self.root < 0:
            raise ForagerError(f"{self.topic}: give at least 1 example of each level, and 1 page to start from")

    @property
    def focus(self) -> str:
        return self.topic


@dataclass(frozen=True)
class LevelExamples:
    """The examples of a run with the topics of their levels, and the page that the crawl starts from."""

    examples: Sequence[Url]
    labels: Sequence[str]
    start: Url


def path_of(topic: str) -> tuple[str, ...]:
    """The topics of the levels, from the target up."""
    parts = topic.split(".")
    return tuple(".".join(parts[:length]) for length in range(len(parts), 0, -1))


def level_by_label(labels: Sequence[str], path: Sequence[str]) -> int | None:
    """The level of a page, from 1 to n + 1; None if it has no label."""
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


def level_examples(truth: Truth, goal: LevelGoal, *, run: int, seed: int) -> LevelExamples:
    """Draw the examples of a run. A level without pages has no examples."""
    truth.relevant(goal.topic)  # raises an error that names the known topics if this is not one of them
    pages, path = pages_by_level(truth, goal.topic), path_of(goal.topic)
    if len(pages[1]) < goal.starts + goal.examples or len(pages[0]) <= goal.examples:
        told = f"{len(pages[0])} pages, and {len(pages[1])} of the level above"
        raise ForagerError(f"topic {goal.topic!r} has {told}: too few to learn, to start and to find")
    starts = [pages[1][at] for at in np.random.default_rng([seed]).permutation(len(pages[1]))[: goal.starts].tolist()]
    pages[1] = [url for url in pages[1] if url not in starts]
    wanted = [*[goal.examples] * len(path), goal.root or (goal.examples if len(path) == 1 else 0)]
    draw, examples, labels = np.random.default_rng([seed, run]), list[Url](), list[str]()
    for label, level, count in zip((*path, OTHER), pages, wanted, strict=True):
        chosen = draw.permutation(len(level))[:count].tolist()
        examples += [level[at] for at in chosen]
        labels += [label] * len(chosen)
    return LevelExamples(examples, labels, starts[run % goal.starts])


def level_trial(
    lab: Laboratory, goal: LevelGoal, critic: Spec, *, run: int, seed: int, pages: int | None = None
) -> Trial:
    """A trial with the examples of a run."""
    given, budget = level_examples(lab.web.truth, goal, run=run, seed=seed), PAGES if pages is None else pages
    if goal.usual:
        usual = topic_trial(lab, goal.topic, critic, run=run, seed=seed, pages=budget)
        return replace(usual, seeds=[given.start])
    learnt = learn_topic(lab, critic, given.examples, given.labels, goal.topic, seed + run)
    learnt = learnt._replace(critic=with_memory(learnt.critic))
    relevant, trained = frozenset(lab.web.truth.relevant(goal.topic)), frozenset(given.examples)
    return Trial(goal.topic, [given.start], relevant, trained, *learnt, Scope(), budget, seed + run)


# ---- critics that remember ------------------------------------------------------------------------------------------


class CriticWithMemory:
    """A critic that judges each page once and remembers what it said. A page is known by its URL.

    The crawls of a trial share a critic and meet the same pages again and again, and finding the terms of a page takes
    three times as long as the rest of a visit. This is only for webs that do not change.
    """

    def __init__(self, critic: Critic) -> None:
        self._critic = critic
        self._judgements: dict[Url, Judgement] = {}

    @property
    def classes(self) -> tuple[str, ...]:
        return self._critic.classes

    @property
    def focus(self) -> tuple[str, ...]:
        return self._critic.focus

    @property
    def version(self) -> str:
        return self._critic.version

    def fit(self, pages: Iterable[Page], labels: Iterable[str]) -> None:
        raise TypeError("crawls share this critic: train it before they begin")

    def judge(self, pages: Sequence[Page]) -> list[Judgement]:
        return [_recall(self._judgements, page, self._judged) for page in pages]

    def _judged(self, page: Page) -> Judgement:
        return self._critic.judge([page])[0]


class LevelCriticWithMemory(CriticWithMemory):
    """The same for a critic that has levels."""

    def __init__(self, critic: Critic, levels: HasLevels) -> None:
        super().__init__(critic)
        self._source = levels
        self._terms: dict[Url, TermList] = {}

    @property
    def levels(self) -> TopicLevels:
        return self._source.levels

    def terms_of(self, page: Page) -> TermList:
        return _recall(self._terms, page, self._source.terms_of)


def with_memory(critic: Critic) -> Critic:
    """The critic, with a memory of its judgements and, if it has levels, of the terms of pages."""
    return LevelCriticWithMemory(critic, critic) if isinstance(critic, HasLevels) else CriticWithMemory(critic)


def _recall(said: dict[Url, T], page: Page, ask: Callable[[Page], T]) -> T:
    """What was said about the page. If it is new, ask; if the memory is full, forget the oldest page."""
    known = said.get(page.url)
    if known is None:
        if len(said) >= REMEMBERED:
            del said[next(iter(said))]
        known = said[page.url] = ask(page)
    return known
