"""From paths, or from a web whose targets are known, to a strategy that knows the way, with what it is worth.

The outcome is a folder that a project can be made from:

    strategy.npz   the model            critic.npz   judges pages by the targets that were shown, and the other pages
    report.json    what was learnt from, with which settings, how the likelihood rose, how well it does on what it
                   was not shown
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

from forager.crawl.build import CRITIC_VERSION, STRATEGY_VERSION
from forager.critics import make_critic
from forager.errors import ForagerError
from forager.learn.tfidf import Query
from forager.paths import Ground, PathOutcome, Preference, ShownPath, Teachable, folds, ground_of_paths, preference
from forager.paths.ground import Heard
from forager.paths.sampling import sample_paths
from forager.store import models
from forager.strategies import STRATEGIES, make_strategy
from forager.types import Critic, Persists, Strategy

STRATEGY, CRITIC, REPORT = "strategy.npz", "critic.npz", "report.json"
WANTED, OTHER = "wanted", "other"
JUDGE = "svm"
MOST_OTHERS = 2_000  # pages that are no targets, to teach the critic what is not wanted
TRIED = 200  # paths drawn to try a model on, where none were shown
FEWEST = 3  # targets that a critic can be taught with

Curve: TypeAlias = list[tuple[int, float]]  # iteration and likelihood


@dataclass(frozen=True)
class School:
    """What is learnt, from what."""

    name: str  # of the strategy
    options: Mapping[str, object]
    ground: Ground
    shown: Sequence[ShownPath] = ()
    seed: int = 0

    def untaught(self) -> Strategy:
        given = {"seed": self.seed, "query": self._query(), "focus": (WANTED,), "classes": (WANTED, OTHER)}
        made = make_strategy(self.name, given, self.options)
        if not (isinstance(made, Teachable) and isinstance(made, Persists)):
            told = ", ".join(name for name, maker in STRATEGIES.items() if hasattr(maker, "taught"))
            raise ForagerError(f"strategy {self.name!r} is not taught beforehand: choose one of {told}")
        return made

    def _query(self) -> Query:
        some = np.flatnonzero(self.ground.targets)[:100].tolist()
        return Query.of((), [page for page in self.ground.pages(some) if page is not None])


@dataclass(frozen=True)
class Schooled:
    strategy: Strategy
    critic: Critic | None  # None: too few targets to tell what they have in common
    curve: Curve
    quality: Preference  # on what was left out, over all folds


def school(
    lesson: School, *, count: int = 5, heard: Heard | None = None, told: Callable[[str], None] = lambda line: None
) -> Schooled:
    """Teach, and say what it is worth by `count` folds (0: do not)."""
    if not lesson.ground.targets.any():
        raise ForagerError(
            "there is nothing to be found on this ground: show a path that arrives, or name other targets"
        )
    untaught = lesson.untaught()
    tried = [_tried(untaught, ground, rest, test, lesson.ground, told) for ground, rest, test in _parts(lesson, count)]
    curve: Curve = []

    def note(iteration: int, value: float) -> None:
        curve.append((iteration, value))
        if heard:
            heard(iteration, value)

    strategy = _taught(untaught, lesson.ground, lesson.shown, note)
    return Schooled(strategy, _critic(lesson), curve, _mean(tried))


def _taught(untaught: Strategy, ground: Ground, shown: Sequence[ShownPath], heard: Heard | None = None) -> Strategy:
    return cast(Strategy, cast(Teachable, untaught).taught(ground, shown, heard))


def _parts(lesson: School, count: int) -> Iterator[tuple[Ground, Sequence[ShownPath], Sequence[ShownPath]]]:
    """A ground and paths to learn from, and paths to test with. Without shown paths some are drawn to test with, and
    the targets they lead to are taken off the ground."""
    if count and lesson.shown:
        for rest, test in folds(lesson.shown, count, lambda path: path.steps[0].url, lesson.seed):
            yield ground_of_paths(rest, lesson.ground.reading, final=lesson.ground.final), rest, test
    elif count:
        drawn = sample_paths(lesson.ground, goals=TRIED, fails=TRIED // 2, seed=lesson.seed)
        for _, test in folds(drawn, count, lambda path: path.steps[-1].url, lesson.seed):
            goals = {path.steps[-1].url for path in test if path.outcome is PathOutcome.GOAL}
            yield lesson.ground.without(goals), (), test


def _tried(
    untaught: Strategy,
    ground: Ground,
    rest: Sequence[ShownPath],
    test: Sequence[ShownPath],
    whole: Ground,
    told: Callable[[str], None],
) -> Preference:
    found = preference(_taught(untaught, ground, rest), whole, test)
    told(
        f"{len(test)} paths left out: a link taken scores more than one that was not in {found.share:.0%} of the cases"
    )
    return found


def _mean(tried: Sequence[Preference]) -> Preference:
    steps = sum(each.steps for each in tried)
    if not steps:
        return Preference(math.nan, math.nan, 0)
    share = sum(each.share * each.steps for each in tried if each.steps) / steps
    first = sum(each.first * each.steps for each in tried if each.steps) / steps
    return Preference(share, first, steps)


def _critic(lesson: School) -> Critic | None:
    """Told the targets from the other pages of the ground."""
    ground, draw = lesson.ground, np.random.default_rng(lesson.seed)
    wanted, others = np.flatnonzero(ground.targets), np.flatnonzero(~ground.targets)
    if len(wanted) < FEWEST or len(others) < FEWEST:
        return None
    numbers = [*wanted.tolist(), *draw.permutation(others)[:MOST_OTHERS].tolist()]
    pairs = [
        (page, WANTED if ground.targets[number] else OTHER)
        for number, page in zip(numbers, ground.pages(numbers), strict=True)
        if page is not None
    ]
    critic = make_critic(JUDGE, {"focus": (WANTED,), "seed": lesson.seed}, {})
    critic.fit((page for page, _ in pairs), (label for _, label in pairs))
    return critic


# ---- keeping --------------------------------------------------------------------------------------------------------


def save(folder: Path, lesson: School, schooled: Schooled) -> dict[str, Any]:
    """Write the outcome; the report of it."""
    folder.mkdir(parents=True, exist_ok=True)
    strategy, critic = schooled.strategy, schooled.critic
    assert isinstance(strategy, Persists)
    models.save(folder / STRATEGY, strategy.parts(), kind=lesson.name, version=STRATEGY_VERSION)
    if isinstance(critic, Persists):
        models.save(folder / CRITIC, critic.parts(), kind=JUDGE, version=CRITIC_VERSION)
    goals = sum(path.outcome is PathOutcome.GOAL for path in lesson.shown)
    report = {
        "strategy": lesson.name,
        "options": dict(lesson.options),
        "critic": JUDGE if isinstance(critic, Persists) else None,
        "pages": len(lesson.ground),
        "links": len(lesson.ground.graph.targets),
        "targets": int(lesson.ground.targets.sum()),
        "paths": {"goal": goals, "fail": len(lesson.shown) - goals},
        "likelihood": schooled.curve,
        "preferred_to": _number(schooled.quality.share),
        "best_of_page": _number(schooled.quality.first),
        "steps": schooled.quality.steps,
    }
    (folder / REPORT).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return report


def read_report(folder: Path) -> dict[str, Any]:
    """The report of a folder that `save` has written."""
    try:
        found = json.loads((folder / REPORT).read_text(encoding="utf-8"))
        return {"strategy": str(found["strategy"]), "options": dict(found["options"]), "critic": found["critic"]}
    except (OSError, ValueError, KeyError, TypeError):
        raise ForagerError(
            f"{folder} holds no strategy that was taught: make it with `forager train MODEL … --out {folder}`"
        ) from None


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)
