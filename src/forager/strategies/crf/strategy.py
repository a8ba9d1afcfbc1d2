"""The path forager, as a strategy: it scores links while crawling, and is taught before. See the package's docstring.

*While crawling*, on the page P that link L0 led to, with the seed as a first position:

    alpha_P(y)  = e^(W.f(y,P)) sum over y' of alpha_L0(y') e^(W.f(y',y))       delta_P: max for sum
    alpha_L(y)  = e^(W.f(y,L)) sum over y' of alpha_P(y') e^(W.f(y',y))        from what is seen of the link alone
    score(L)    = sum over link-states y of R(y) alpha_L(y) / sum of alpha_L
    label of P  = argmax over page-states of delta_P

alpha_L and delta_L travel with L. With *single states* (states = "single") there are states for pages only. The
features of the link that leads to a page then belong to the step, for each pair of states (model.py).

If no paths were shown, paths are drawn from the ground (forager/paths/sampling.py).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from functools import partial
from typing import Literal, Self

import numpy as np

from forager.errors import ForagerError
from forager.learn.chains.fitting import FitSettings
from forager.learn.chains.rows import Reals
from forager.paths import Ground, PathOutcome, ShownPath, sample_paths, used_once
from forager.strategies.crf.examples import CrfExamples
from forager.strategies.crf.features import HEADINGS, VERSION, CrfFeatures
from forager.strategies.crf.model import CrfModel
from forager.strategies.crf.training import CrfTrainer, Reward, States
from forager.strategies.taught import check_made, only_unmet
from forager.types import BEST, Floats, Parts, ReportIteration, ScoredLinks, Visit
from forager.web.text import mixed


class PathForager:
    """Links by the reward of the states they are in, as a conditional random field sees the path to them.

    state = log-alpha and delta of the link
    """

    combine = BEST

    def __init__(
        self,
        *,
        seed: int = 0,
        states: States = "dual",
        features: Literal["ours", "thesis"] = "ours",
        headings: tuple[str, ...] = HEADINGS,
        reward: Reward = "visited",
        gamma: float = 1.0,
        goals: int = 1000,
        fails: int = 1500,
        longest: int = 6,
        starts: tuple[str, ...] = (),
        lists: int = 5,
        least: int = 3,
        variance: float = 0.03,
        iterations: int = 60,
    ) -> None:
        if not 0 <= gamma <= 1 or least < 1:
            raise ForagerError(
                f"crf: gamma {gamma}, least {least}: give a gamma up to 1, or 0 to have it chosen, and 1 site or more"
            )
        ours = features == "ours"
        known = sorted({heading.lower() for heading in headings})
        self.features = CrfFeatures(ours, frozenset(known))
        self.version = 2 * VERSION + ours
        self.made = f"{states} states, features {features} of version {VERSION}, headings {', '.join(known) or 'none'}"
        self.trainer = CrfTrainer(states, reward, gamma, least, FitSettings(variance, iterations, 1e-5), self.version)
        self.draw = partial(
            sample_paths, goals=goals, fails=fails, longest=longest, starts=starts, lists=lists, seed=seed
        )
        self.model: CrfModel | None = None

    # ---- crawling

    @only_unmet
    def score(self, visit: Visit) -> ScoredLinks:
        if self.model is None:
            return ScoredLinks(np.zeros(len(visit.links), np.float32))
        found = self.model.follow(_carried(visit), *self.model.potentials(self.features(visit.page, visit.links)))
        return ScoredLinks(found.scores, state=found.state, label=found.label)

    def explain(self, visit: Visit, link: int) -> list[tuple[str, float]]:
        """The score of a link without any feature on this page; then how much each feature adds to the score."""
        if self.model is None:
            return []
        links = visit.links.take([link])
        features = self.features(visit.page, links)
        codes, rows = features.once()
        own = codes[rows == 0]
        each = self.model.each(mixed(own.copy()))
        whole = each.sum(axis=0)
        found = self.model.follow(
            _carried(visit), np.vstack((np.zeros_like(whole), whole, whole - each)), self.model.potentials(features)[1]
        )
        bare, score, *without = found.scores.tolist()
        names = zip(self.features.in_words(visit.page, links, own), without, strict=True)
        told = [(name, score - less) for name, less in names if less != score]
        return [(f"on a page taken for {found.label}", bare), *sorted(told, key=lambda one: -abs(one[1]))]

    # ---- learning

    def taught(self, ground: Ground, shown: Sequence[ShownPath] = (), heard: ReportIteration | None = None) -> Self:
        for concern in used_once(shown):
            warnings.warn(str(concern), stacklevel=2)
        if shown and not any(path.outcome is PathOutcome.GOAL for path in shown):
            raise ForagerError(f"none of {len(shown)} paths ends in a goal: show at least one that arrives")
        examples = CrfExamples.of(ground, shown or self.draw(ground), self.features)
        if not examples.arrived.any():
            raise ForagerError(f"none of the {len(examples)} paths that can be read ends in a goal: show others")
        return self._with(self.trainer.trained(examples, heard))

    # ---- whole paths

    def labelled(self, ground: Ground, shown: Sequence[ShownPath]) -> list[tuple[str, ...]]:
        """For each path the likeliest labels of all its pages together; none if a page cannot be read."""
        examples = CrfExamples.of(ground, shown, self.features)
        found = iter(self._known.labelled(examples))
        return [next(found) if read else () for read in np.isin(np.arange(len(shown)), examples.shown)]

    def goal_chances(self, ground: Ground, shown: Sequence[ShownPath]) -> Reals:
        """The chance that each path has ended in goal, not fail, if all of it is seen; nan if a page cannot be read."""
        examples = CrfExamples.of(ground, shown, self.features)
        chances = np.full(len(shown), np.nan)
        chances[examples.shown] = self._known.goal_chances(examples)
        return chances

    @property
    def _known(self) -> CrfModel:
        if self.model is None:
            raise ForagerError("crf: nothing was learnt yet: teach it with paths first")
        return self.model

    # ---- parts

    def parts(self) -> Parts:
        return {"made": self.made, **({} if self.model is None else self.model.parts())}

    def from_parts(self, parts: Parts) -> Self:
        check_made("crf", parts, self.made)
        return self._with(CrfModel.from_parts(parts, version=self.version) if "weights" in parts else None)

    def merge(self, parts: Sequence[Parts]) -> Parts:
        """All shards carry the same model."""
        return parts[0]

    def _with(self, model: CrfModel | None) -> Self:
        new = copy(self)
        new.model = model
        return new


def _carried(visit: Visit) -> Floats | None:
    """The state that travelled with the link to the page; None for a seed."""
    state = visit.trace.inlinks.state
    return state[0] if state.size else None
