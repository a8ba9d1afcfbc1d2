"""The path forager of Sajjanhar (2008): a conditional random field learns from paths that were shown how pages follow
one another on the way to a goal, and rewards say what each kind of page is worth.

*Labels*: milestones, goal, fail, and prefix(c) for pages on the way to c. *Dual states*: each label c is a page-state,
and a link-state for links to such pages; a path is P1 L2 P3 …, and a position admits states of its own kind alone.

    Pr(y|x) = e^(sum over i of W.f(y_i-1,y_i,x,i)) / Z(x)       W by maximum likelihood under a Gaussian prior

*Reward* of a state, from the training paths: the chance to end in goal, discounted by gamma for each position to go
(`crf_teaching`). *While crawling*, on the page P that link L0 led to, with the seed as a first position:

    alpha_P(y)  = e^(W.f(y,P)) sum over y' of alpha_L0(y') e^(W.f(y',y))       delta_P: max for sum
    alpha_L(y)  = e^(W.f(y,L)) sum over y' of alpha_P(y') e^(W.f(y',y))        from what is seen of the link alone
    score(L)    = sum over link-states y of R(y) alpha_L(y) / sum of alpha_L
    label of P  = argmax over page-states of delta_P

alpha_L and delta_L travel with L. *Single states* (states = "single"): pages only, and the features of the link that
leads to a page are those of the step, for each pair of states (`crf_model`).

Without paths that were shown, as many as wanted are drawn from the ground (`paths.sampling`).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from functools import partial
from typing import Literal, Self

import numpy as np

from forager.errors import ForagerError
from forager.learn.chains.fitting import Heard, Settings
from forager.learn.chains.rows import Reals
from forager.paths import Ground, PathOutcome, ShownPath, sample_paths, used_once
from forager.strategies.crf.examples import Lessons
from forager.strategies.crf.features import HEADINGS, VERSION, Features
from forager.strategies.crf.model import Model
from forager.strategies.crf.training import Reward, States, Teacher
from forager.strategies.taught import check_made
from forager.strategies.unmet import only_unmet
from forager.types import BEST, Floats, Parts, ScoredLinks, Visit
from forager.web.text import mixed


class PathForager:
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
        self.features = Features(ours, frozenset(known))
        self.version = 2 * VERSION + ours
        self.made = f"{states} states, features {features} of version {VERSION}, headings {', '.join(known) or 'none'}"
        self.teacher = Teacher(states, reward, gamma, least, Settings(variance, iterations, 1e-5), self.version)
        self.draw = partial(
            sample_paths, goals=goals, fails=fails, longest=longest, starts=starts, lists=lists, seed=seed
        )
        self.model: Model | None = None

    # ---- crawling

    @only_unmet
    def score(self, visit: Visit) -> ScoredLinks:
        if self.model is None:
            return ScoredLinks(np.zeros(len(visit.links), np.float32))
        found = self.model.follow(_led(visit), *self.model.heard(self.features(visit.page, visit.links)))
        return ScoredLinks(found.scores, state=found.state, label=found.label)

    def explain(self, visit: Visit, link: int) -> list[tuple[str, float]]:
        """What a link without any feature would score there; how much lower the score were without each feature."""
        if self.model is None:
            return []
        links = visit.links.take([link])
        seen = self.features(visit.page, links)
        codes, rows = seen.once()
        own = codes[rows == 0]
        each = self.model.each(mixed(own.copy()))
        whole = each.sum(axis=0)
        found = self.model.follow(
            _led(visit), np.vstack((np.zeros_like(whole), whole, whole - each)), self.model.heard(seen)[1]
        )
        bare, score, *without = found.scores.tolist()
        names = zip(self.features.told(visit.page, links, own), without, strict=True)
        told = [(name, score - less) for name, less in names if less != score]
        return [(f"on a page taken for {found.label}", bare), *sorted(told, key=lambda one: -abs(one[1]))]

    # ---- learning

    def taught(self, ground: Ground, shown: Sequence[ShownPath] = (), heard: Heard | None = None) -> Self:
        for concern in used_once(shown):
            warnings.warn(str(concern), stacklevel=2)
        if shown and not any(path.outcome is PathOutcome.GOAL for path in shown):
            raise ForagerError(f"none of {len(shown)} paths ends in a goal: show at least one that arrives")
        lessons = Lessons.of(ground, shown or self.draw(ground), self.features)
        if not lessons.arrived.any():
            raise ForagerError(f"none of the {len(lessons)} paths that can be read ends in a goal: show others")
        return self._knowing(self.teacher.taught(lessons, heard))

    # ---- whole paths

    def labelled(self, ground: Ground, shown: Sequence[ShownPath]) -> list[tuple[str, ...]]:
        """The likeliest labels of all pages of each path together; none where a page cannot be read."""
        lessons = Lessons.of(ground, shown, self.features)
        found = iter(self._known.labelled(lessons))
        return [next(found) if read else () for read in np.isin(np.arange(len(shown)), lessons.shown)]

    def goal_chances(self, ground: Ground, shown: Sequence[ShownPath]) -> Reals:
        """The chance that each path has ended in goal, not fail, all of it seen; nan where a page cannot be read."""
        lessons = Lessons.of(ground, shown, self.features)
        chances = np.full(len(shown), np.nan)
        chances[lessons.shown] = self._known.goal_chances(lessons)
        return chances

    @property
    def _known(self) -> Model:
        if self.model is None:
            raise ForagerError("crf: nothing was learnt yet: teach it with paths first")
        return self.model

    # ---- parts

    def parts(self) -> Parts:
        return {"made": self.made, **({} if self.model is None else self.model.parts())}

    def from_parts(self, parts: Parts) -> Self:
        check_made("crf", parts, self.made)
        return self._knowing(Model.from_parts(parts, version=self.version) if "weights" in parts else None)

    def merge(self, parts: Sequence[Parts]) -> Parts:
        """All shards carry the same model."""
        return parts[0]

    def _knowing(self, model: Model | None) -> Self:
        new = copy(self)
        new.model = model
        return new


def _led(visit: Visit) -> Floats | None:
    """What travelled with the link to the page; None: a seed."""
    state = visit.trace.inlinks.state
    return state[0] if state.size else None
