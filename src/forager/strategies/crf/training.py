"""Training of a path forager: weights by maximum likelihood, then the reward of each state.

*Reward*. A path x has n positions. R_i(y) is the chance to end in goal from state y at position i, as the model sees x
(forager/learn/chains/lattice.py). Over the positions i of the kind of y:

    thesis    R(y) = mean over x of sum over i of gamma^(n-i) R_i(y) / sum over i of gamma^(n-i)
    visited   R(y) = sum over x and i of Pr(y_i=y|x) gamma^(n-i) R_i(y) / sum over x and i of Pr(y_i=y|x)

`thesis` takes every position, whether y is likely there or not. But the model sees the rest of the path. So R_i(y) is
near 1 at every position of a path that arrives and near 0 on other paths, whatever y is, and all R(y) come out near the
share of paths that arrive. `visited` weights positions by how likely y is there: R(y) is what came after y in training.

*gamma by cross-validation*: the value with which links on the way to a goal most often score above links on other
paths, in paths of sites that the model has not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from forager.learn.chains.crf import Crf, discounted_reward, train
from forager.learn.chains.fitting import FitSettings
from forager.learn.chains.paths import LINK, PAGE, Paths
from forager.learn.chains.rows import Reals, shares
from forager.learn.chains.vocabulary import Vocabulary
from forager.paths import prefix
from forager.strategies.crf.examples import FAIL, GOAL, CrfExamples
from forager.strategies.crf.model import CrfModel
from forager.types import Ids, Mask, ReportIteration

States: TypeAlias = Literal["dual", "single"]
Reward: TypeAlias = Literal["visited", "thesis"]
GAMMAS, FOLDS = (0.3, 0.5, 0.7, 0.8, 0.9, 1.0), 3


@dataclass(frozen=True, slots=True)
class CrfTrainer:
    """Trains a model with fixed settings."""

    states: States
    reward: Reward
    gamma: float  # 0: by cross-validation
    least: int  # sites that a feature must occur on
    settings: FitSettings
    version: int  # of the features

    def trained(self, examples: CrfExamples, heard: ReportIteration | None = None) -> CrfModel:
        names = label_order(examples.labels)
        chain = _ChainLayout(names, self.states, *examples.vocabularies(self.least))
        paths = chain.paths(examples)
        crf = self._fitted(chain, examples, paths, heard)
        reward = self._reward(crf, paths, chain.goals, self.gamma or self._best_gamma(chain, examples))
        return CrfModel(crf, reward, names, chain.pages, chain.links)

    def _fitted(
        self, chain: _ChainLayout, examples: CrfExamples, paths: Paths, heard: ReportIteration | None = None
    ) -> Crf:
        states = chain.states_of(examples)
        return train(paths, states, chain.kinds, version=self.version, settings=self.settings, report=heard)

    def _reward(self, crf: Crf, paths: Paths, goals: Sequence[int], gamma: float) -> Reals:
        worth = visited_reward if self.reward == "visited" else discounted_reward
        return worth(crf, paths, goals, gamma)

    def _best_gamma(self, chain: _ChainLayout, examples: CrfExamples) -> float:
        """The best gamma of GAMMAS, by cross-validation. The paths of a site are scored by a model of other sites."""
        ended = examples.arrived
        fold = examples.sites[examples.at[examples.ends]] % FOLDS  # by site: a model is tested on other sites
        chances = np.zeros(len(GAMMAS))
        for held in range(FOLDS):
            learnt, tested = np.flatnonzero(fold != held), np.flatnonzero(fold == held)
            if ended[learnt].any() and len(set(ended[tested].tolist())) == 2:
                taught, test = examples.take(learnt), examples.take(tested)
                paths = chain.paths(taught)
                crf = self._fitted(chain, taught, paths)
                rows, owner = links_ahead(crf, chain.paths(test))
                rewards = [self._reward(crf, paths, chain.goals, gamma) for gamma in GAMMAS]
                chances += [above(rows @ reward, ended[tested][owner]) for reward in rewards]
        return GAMMAS[int(chances.argmax())] if chances.any() else GAMMAS[-1]


@dataclass(frozen=True, slots=True)
class _ChainLayout:
    """The features of positions, and the states of labels."""

    names: tuple[str, ...]
    variant: States
    pages: Vocabulary
    links: Vocabulary

    @property
    def kinds(self) -> Ids:
        """The kind of each state: page-states first, then link-states."""
        both = [PAGE] * len(self.names) + [LINK] * len(self.names)
        return np.array(both if self.variant == "dual" else both[: len(self.names)], np.int32)

    @property
    def goals(self) -> list[int]:
        return [self.names.index(GOAL)]

    def paths(self, examples: CrfExamples) -> Paths:
        return (
            examples.dual(self.pages, self.links) if self.variant == "dual" else examples.single(self.pages, self.links)
        )

    def states_of(self, examples: CrfExamples) -> Ids:
        number = {name: at for at, name in enumerate(self.names)}
        states: Ids = np.array([number[label] for label in examples.labels], np.int32)
        states += np.where(examples.kinds == LINK, len(self.names), 0).astype(np.int32)
        return states if self.variant == "dual" else np.compress(examples.kinds == PAGE, states)


def label_order(labels: Sequence[str]) -> tuple[str, ...]:
    """The labels that occur: milestones, goal and fail, then prefixes in the same order."""
    plain = sorted({label for label in labels if not label.startswith(prefix("")[:-1])} - {GOAL, FAIL})
    order = [*plain, GOAL, FAIL]
    return tuple(name for name in [*order, *map(prefix, order)] if name in set(labels))


def visited_reward(crf: Crf, paths: Paths, goals: Sequence[int], gamma: float) -> Reals:
    """`visited` R(y), (s,); 0 for a state that is never likely."""
    lattice = crf.lattice(paths)
    to_go = paths.last[paths.owner] - np.arange(paths.positions)
    likely = lattice.marginals()
    got = likely * gamma ** to_go[:, None] * lattice.reward(np.isin(np.arange(crf.states), list(goals)))
    whole = likely.sum(axis=0)
    worth: Reals = np.divide(got.sum(axis=0), whole, out=np.zeros_like(whole), where=whole > 0)
    return worth


def links_ahead(crf: Crf, paths: Paths) -> tuple[Reals, Ids]:
    """For each link of the paths the share of each state in alpha, before its target is seen; and the path of each."""
    lattice = crf.lattice(paths)
    if crf.of(LINK).any():
        at = np.flatnonzero(paths.kind == LINK)
        rows = lattice.alpha[at]
    else:
        at = np.delete(np.arange(paths.positions), paths.first)
        rows = lattice.alpha[at] - lattice.unary[at]
    return shares(rows), paths.owner[at].astype(np.int32)


def above(scores: Reals, good: Mask) -> float:
    """How often a good link scores above another one; a tie counts half. 0 if there are no good ones, or no others."""
    others, ours = np.sort(scores[~good]), scores[good]
    if not len(others) or not len(ours):
        return 0.0
    won = np.searchsorted(others, ours) + np.searchsorted(others, ours, side="right")
    return float(won.mean()) / (2 * len(others))
