"""Training of a path forager: weights by maximum likelihood, then the reward of each state.

*Reward*, with n positions in path x and R_i(y) the chance to end in goal from y at i as the model sees x (`Lattice`):

    thesis    R(y) = mean over x of sum over i of gamma^(n-i) R_i(y) / sum over i of gamma^(n-i)
    visited   R(y) = sum over x and i of Pr(y_i=y|x) gamma^(n-i) R_i(y) / sum over x and i of Pr(y_i=y|x)

over the positions i of the kind of y. The thesis asks of every position what y would be worth there; but what follows
is seen, so that R_i(y) is near 1 all along a path that arrives and near 0 on others whatever y is, and all R(y) come
out near the share of paths that arrive. `visited` asks it of the positions where y is likely: R(y) is what was met
after y in training.

*gamma by cross-validation*: of some values that under which links on the way to a goal most often score above links on
other paths, in paths of sites that the model has not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from forager.learn.chains.crf import Crf, discounted_reward, train
from forager.learn.chains.fitting import FitSettings, ReportIteration
from forager.learn.chains.paths import LINK, PAGE, Paths
from forager.learn.chains.rows import Reals, shares
from forager.learn.chains.vocabulary import Vocabulary
from forager.paths import prefix
from forager.strategies.crf.examples import FAIL, GOAL, Lessons
from forager.strategies.crf.model import Model
from forager.types import Ids, Mask

States: TypeAlias = Literal["dual", "single"]
Reward: TypeAlias = Literal["visited", "thesis"]
GAMMAS, FOLDS = (0.3, 0.5, 0.7, 0.8, 0.9, 1.0), 3


@dataclass(frozen=True, slots=True)
class Teacher:
    states: States
    reward: Reward
    gamma: float  # 0: by cross-validation
    least: int  # sites that a feature must occur on
    settings: FitSettings
    version: int  # of the features

    def taught(self, lessons: Lessons, heard: ReportIteration | None = None) -> Model:
        names = label_order(lessons.labels)
        chain = _Chain(names, self.states, *lessons.known(self.least))
        paths = chain.paths(lessons)
        crf = self._trained(chain, lessons, paths, heard)
        reward = self._reward(crf, paths, chain.goals, self.gamma or self._best_gamma(chain, lessons))
        return Model(crf, reward, names, chain.pages, chain.links)

    def _trained(self, chain: _Chain, lessons: Lessons, paths: Paths, heard: ReportIteration | None = None) -> Crf:
        states = chain.states_of(lessons)
        return train(paths, states, chain.kinds, version=self.version, settings=self.settings, report=heard)

    def _reward(self, crf: Crf, paths: Paths, goals: Sequence[int], gamma: float) -> Reals:
        worth = visited_reward if self.reward == "visited" else discounted_reward
        return worth(crf, paths, goals, gamma)

    def _best_gamma(self, chain: _Chain, lessons: Lessons) -> float:
        """Each site's paths are scored by a model of other sites."""
        ended = lessons.arrived
        fold = lessons.sites[lessons.at[lessons.ends]] % FOLDS  # by site, so that a model is tested on others
        chances = np.zeros(len(GAMMAS))
        for held in range(FOLDS):
            learnt, tested = np.flatnonzero(fold != held), np.flatnonzero(fold == held)
            if ended[learnt].any() and len(set(ended[tested].tolist())) == 2:
                taught, test = lessons.take(learnt), lessons.take(tested)
                paths = chain.paths(taught)
                crf = self._trained(chain, taught, paths)
                rows, owner = links_ahead(crf, chain.paths(test))
                rewards = [self._reward(crf, paths, chain.goals, gamma) for gamma in GAMMAS]
                chances += [above(rows @ reward, ended[tested][owner]) for reward in rewards]
        return GAMMAS[int(chances.argmax())] if chances.any() else GAMMAS[-1]


@dataclass(frozen=True, slots=True)
class _Chain:
    """How positions are described, and which state is which."""

    names: tuple[str, ...]
    variant: States
    pages: Vocabulary
    links: Vocabulary

    @property
    def kinds(self) -> Ids:
        """Of all states: page-states, then link-states."""
        both = [PAGE] * len(self.names) + [LINK] * len(self.names)
        return np.array(both if self.variant == "dual" else both[: len(self.names)], np.int32)

    @property
    def goals(self) -> list[int]:
        return [self.names.index(GOAL)]

    def paths(self, lessons: Lessons) -> Paths:
        return (
            lessons.dual(self.pages, self.links) if self.variant == "dual" else lessons.single(self.pages, self.links)
        )

    def states_of(self, lessons: Lessons) -> Ids:
        number = {name: at for at, name in enumerate(self.names)}
        states: Ids = np.array([number[label] for label in lessons.labels], np.int32)
        states += np.where(lessons.kinds == LINK, len(self.names), 0).astype(np.int32)
        return states if self.variant == "dual" else np.compress(lessons.kinds == PAGE, states)


def label_order(labels: Sequence[str]) -> tuple[str, ...]:
    """Those that occur: milestones, goal and fail, then prefixes in the same order."""
    plain = sorted({label for label in labels if not label.startswith(prefix("")[:-1])} - {GOAL, FAIL})
    order = [*plain, GOAL, FAIL]
    return tuple(name for name in [*order, *map(prefix, order)] if name in set(labels))


def visited_reward(crf: Crf, paths: Paths, goals: Sequence[int], gamma: float) -> Reals:
    """R(y), (s,), weighted by where y is likely; 0 for a state that is likely nowhere."""
    lattice = crf.lattice(paths)
    to_go = paths.last[paths.owner] - np.arange(paths.positions)
    likely = lattice.marginals()
    got = likely * gamma ** to_go[:, None] * lattice.reward(np.isin(np.arange(crf.states), list(goals)))
    whole = likely.sum(axis=0)
    worth: Reals = np.divide(got.sum(axis=0), whole, out=np.zeros_like(whole), where=whole > 0)
    return worth


def links_ahead(crf: Crf, paths: Paths) -> tuple[Reals, Ids]:
    """What part of alpha each state has for each link of the paths before its target is seen, and the path of each."""
    lattice = crf.lattice(paths)
    if crf.of(LINK).any():
        at = np.flatnonzero(paths.kind == LINK)
        rows = lattice.alpha[at]
    else:
        at = np.delete(np.arange(paths.positions), paths.first)
        rows = lattice.alpha[at] - lattice.unary[at]
    return shares(rows), paths.owner[at].astype(np.int32)


def above(scores: Reals, good: Mask) -> float:
    """How often a good one scores above another; a tie counts half. 0 if one kind is missing."""
    others, ours = np.sort(scores[~good]), scores[good]
    if not len(others) or not len(ours):
        return 0.0
    won = np.searchsorted(others, ours) + np.searchsorted(others, ours, side="right")
    return float(won.mean()) / (2 * len(others))
