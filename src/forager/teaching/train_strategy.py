"""Trains a strategy before a crawl, on shown paths or on a web whose targets are known, and tests it.

The result is a folder, from which `forager new --taught` makes a project:

    strategy.npz   the model
    critic.npz     a critic that was trained with the targets and the other pages
    report.json    what the strategy was trained on, its settings, the likelihood after each iteration, and its quality
                   on paths that it did not see in training
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
from forager.paths.sampling import sample_paths
from forager.store import models
from forager.strategies import STRATEGIES, make_strategy
from forager.types import Critic, Persists, ReportIteration, Strategy
from forager.web.urls import host, site

STRATEGY, CRITIC, REPORT = "strategy.npz", "critic.npz", "report.json"
WANTED, OTHER = "wanted", "other"
JUDGE = "svm"
MOST_OTHERS = 2_000  # pages that are not targets, for the critic
TRIED = 200  # paths drawn for the test, where none were shown
FEWEST = 3  # targets that a critic can be trained with
ENOUGH_GOALS, ENOUGH_FAILS = 20, 10  # paths with which a new site is mostly found right (docs/lab/paths.md)
CHANCE, FAIR, GOOD = 0.5, 0.6, 0.8  # shares of choices

Curve: TypeAlias = list[tuple[int, float]]  # iteration and likelihood


@dataclass(frozen=True)
class StrategyTraining:
    """A strategy to train, and what to train it on."""

    name: str  # of the strategy
    options: Mapping[str, object]
    ground: Ground
    shown: Sequence[ShownPath] = ()
    seed: int = 0

    def untrained(self) -> Strategy:
        """The strategy before the training."""
        given = {"seed": self.seed, "query": self._query(), "focus": (WANTED,), "classes": (WANTED, OTHER)}
        made = make_strategy(self.name, given, self.options)
        if not (isinstance(made, Teachable) and isinstance(made, Persists)):
            known = ", ".join(trainable_strategies())
            raise ForagerError(f"strategy {self.name!r} cannot be trained before a crawl: choose one of {known}")
        return made

    def _query(self) -> Query:
        some = np.flatnonzero(self.ground.targets)[:100].tolist()
        return Query.of((), [page for page in self.ground.pages(some) if page is not None])


@dataclass(frozen=True)
class TrainedStrategy:
    """A strategy after the training, with a critic and the result of the test."""

    strategy: Strategy
    critic: Critic | None  # None: too few targets to train one
    curve: Curve
    quality: Preference  # on the parts that were left out, over all folds


def trainable_strategies() -> list[str]:
    """The names of the strategies that can be trained before a crawl."""
    return [name for name, maker in STRATEGIES.items() if hasattr(maker, "taught")]


def train_strategy(
    training: StrategyTraining,
    *,
    count: int = 5,
    heard: ReportIteration | None = None,
    told: Callable[[str], None] = lambda line: None,
) -> TrainedStrategy:
    """Train a strategy, and test it with `count` folds (0: no test).

    `heard` is called after each iteration, `told` with a line about each fold.
    """
    if not training.ground.targets.any():
        raise ForagerError("there are no targets to learn from: show a path that ends in a goal, or name other targets")
    untrained = training.untrained()
    tried = [
        _test(untrained, ground, rest, test, training.ground, told) for ground, rest, test in _folds(training, count)
    ]
    curve: Curve = []

    def note(iteration: int, value: float) -> None:
        curve.append((iteration, value))
        if heard:
            heard(iteration, value)

    strategy = _train(untrained, training.ground, training.shown, note)
    return TrainedStrategy(strategy, _critic(training), curve, _mean(tried))


def _train(
    untrained: Strategy, ground: Ground, shown: Sequence[ShownPath], heard: ReportIteration | None = None
) -> Strategy:
    return cast(Strategy, cast(Teachable, untrained).taught(ground, shown, heard))


def _folds(training: StrategyTraining, count: int) -> Iterator[tuple[Ground, Sequence[ShownPath], Sequence[ShownPath]]]:
    """For each fold a ground and paths to learn from, and paths to test with. If no paths were shown, paths are drawn
    for the test, and the targets they lead to are removed from the ground."""
    if count and training.shown:
        for rest, test in folds(training.shown, count, lambda path: path.steps[0].url, training.seed):
            yield ground_of_paths(rest, training.ground.reading, final=training.ground.final), rest, test
    elif count:
        drawn = sample_paths(training.ground, goals=TRIED, fails=TRIED // 2, seed=training.seed)
        for _, test in folds(drawn, count, lambda path: path.steps[-1].url, training.seed):
            goals = {path.steps[-1].url for path in test if path.outcome is PathOutcome.GOAL}
            yield training.ground.without(goals), (), test


def _test(
    untrained: Strategy,
    ground: Ground,
    rest: Sequence[ShownPath],
    test: Sequence[ShownPath],
    whole: Ground,
    told: Callable[[str], None],
) -> Preference:
    found = preference(_train(untrained, ground, rest), whole, test)
    told(f"{len(test)} paths left out: the way shown was preferred in {found.share:.0%} of the choices")
    return found


def _mean(tried: Sequence[Preference]) -> Preference:
    steps = sum(each.steps for each in tried)
    if not steps:
        return Preference(math.nan, math.nan, 0)
    share = sum(each.share * each.steps for each in tried if each.steps) / steps
    first = sum(each.first * each.steps for each in tried if each.steps) / steps
    return Preference(share, first, steps)


def _critic(training: StrategyTraining) -> Critic | None:
    """A critic trained with the targets and other pages of the ground; None if there are too few."""
    ground, draw = training.ground, np.random.default_rng(training.seed)
    wanted, others = np.flatnonzero(ground.targets), np.flatnonzero(~ground.targets)
    if len(wanted) < FEWEST or len(others) < FEWEST:
        return None
    numbers = [*wanted.tolist(), *draw.permutation(others)[:MOST_OTHERS].tolist()]
    pairs = [
        (page, WANTED if ground.targets[number] else OTHER)
        for number, page in zip(numbers, ground.pages(numbers), strict=True)
        if page is not None
    ]
    critic = make_critic(JUDGE, {"focus": (WANTED,), "seed": training.seed}, {})
    critic.fit((page for page, _ in pairs), (label for _, label in pairs))
    return critic


# ---- in words -------------------------------------------------------------------------------------------------------


def paths_in_words(shown: Sequence[ShownPath]) -> list[str]:
    """How many paths there are, and what more of them would help."""
    goals = sum(path.outcome is PathOutcome.GOAL for path in shown)
    fails, starts = len(shown) - goals, len({site(host(path.steps[0].url)) for path in shown})
    told = [f"{goals} paths that arrive and {fails} that fail, on {starts} {'site' if starts == 1 else 'sites'}"]
    wanted = ((goals, ENOUGH_GOALS, "arrive"), (fails, ENOUGH_FAILS, "fail"))
    missing = [f"{enough - have} more that {end}" for have, enough, end in wanted if have < enough]
    if missing:
        told.append(f"to be surer, show {' and '.join(missing)}: {ENOUGH_GOALS} and {ENOUGH_FAILS} are usually enough")
    if starts == 1:
        told.append("all paths begin on one site: show the way on another one, so that the names of one count less")
    return told


def quality_in_words(quality: Preference) -> str:
    """How sure the strategy is of the way, for the teacher."""
    share, spread = quality.share, 1.96 * math.sqrt(max(quality.share * (1 - quality.share), 0.01) / quality.steps)
    levels = ((GOOD, "it knows the way well"), (FAIR, "it knows the way better than chance"))
    verdict = next((words for least, words in levels if share >= least), "it hardly knows the way: show more paths")
    if CHANCE < share < FAIR or share - spread < CHANCE < share + spread:
        verdict = f"{quality.steps} choices are too few to be sure: show more paths"
    return (
        f"on paths it had not seen it preferred the way shown in {share:.0%} of the choices (± {spread:.0%}; chance is "
        f"50 %): {verdict}. Of {quality.steps} links shown, {quality.first:.0%} were the very first of their page"
    )


# ---- saving ---------------------------------------------------------------------------------------------------------


def save_strategy(folder: Path, training: StrategyTraining, trained: TrainedStrategy) -> dict[str, Any]:
    """Write the folder, and give its report."""
    folder.mkdir(parents=True, exist_ok=True)
    strategy, critic = trained.strategy, trained.critic
    assert isinstance(strategy, Persists)
    models.save(folder / STRATEGY, strategy.parts(), kind=training.name, version=STRATEGY_VERSION)
    if isinstance(critic, Persists):
        models.save(folder / CRITIC, critic.parts(), kind=JUDGE, version=CRITIC_VERSION)
    goals = sum(path.outcome is PathOutcome.GOAL for path in training.shown)
    report = {
        "strategy": training.name,
        "options": dict(training.options),
        "critic": JUDGE if isinstance(critic, Persists) else None,
        "pages": len(training.ground),
        "links": len(training.ground.graph.targets),
        "targets": int(training.ground.targets.sum()),
        "paths": {"goal": goals, "fail": len(training.shown) - goals},
        "likelihood": trained.curve,
        "preferred_to": _number(trained.quality.share),
        "best_of_page": _number(trained.quality.first),
        "steps": trained.quality.steps,
    }
    (folder / REPORT).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return report


def read_report(folder: Path) -> dict[str, Any]:
    """The strategy, options and critic in the report of a folder that `save_strategy` wrote."""
    try:
        found = json.loads((folder / REPORT).read_text(encoding="utf-8"))
        return {"strategy": str(found["strategy"]), "options": dict(found["options"]), "critic": found["critic"]}
    except (OSError, ValueError, KeyError, TypeError):
        raise ForagerError(
            f"{folder} has no trained strategy: make one with `forager train MODEL … --out {folder}`"
        ) from None


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)
