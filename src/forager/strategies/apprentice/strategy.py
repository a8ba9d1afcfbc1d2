"""The apprentice, as a strategy. See the package's docstring.

The features of (u,v) are <t,d>, the words around the link with their offsets in the leaves of u (features.py). Every
(u,v) with both ends fetched is an instance, labelled with the critic's score of v. Naive Bayes over a low and a high
bucket of relevance (forager/learn/naive_bayes.py) predicts Pr(high | u,v). Logistic regression or a linear unit
(forager/learn/regression.py) may take its place.

There are two forms of the score. In the *printed* one it is the log-odds of Pr(high); with `combine` = mean or noisy-or
it is the probability itself. The order is the same, but naive Bayes is so sure of itself that a float32 would round
many probabilities to 1. With z the learner's log-odds,

    score(u,v) = trust * log Pr(c*|u)/(1 - Pr(c*|u)) + z(u,v)

trust = 0 is the paper. trust = 1 starts from what the baseline believes of this link, not from what holds for links in
general.

The *sum*, which is ours, starts from all that is known before anything has been learnt, and trusts what was learnt only
as far as it goes. With n the number of instances learnt from and w(t) the critic's log-odds of word t,

    score(u,v) = log Pr(c*|u)/(1 - Pr(c*|u)) + words(u,v) + n / (n + HALF) * z(u,v)
    words(u,v) = mean of w(t) over the words t of the anchor and of the URL of (u,v) that have w(t) != 0

The mean, not the sum, so that a long anchor does not outweigh all else. A critic that cannot say what words are worth
has w = 0. A target found on several pages has the best of their scores. `trust` multiplies the first two terms.

Only pages u with Pr(c*|u) >= tau are expanded.

Labels are the critic's raw scores, or calibrated ones, which are better judgements: option `labels`.

Words at d and at d + 1 are alike. With `spread` w each occurrence of <t,d> counts w for <t,d-1> and <t,d+1>, too. And
the window may be chosen at each training, by accuracy on the links that have just come (windows.py).

Active learning: of each batch only the share `active` with the largest |Pr(c*|u) - Pr(c*|v)| is learnt from. There the
baseline was most wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Literal, NamedTuple, Self, TypeAlias

import numpy as np

from forager.errors import ForagerError
from forager.learn.linear import Linear, Regression, number, sigmoid, slots
from forager.learn.naive_bayes import HashedNaiveBayes, Smoothing
from forager.strategies.apprentice.features import LinkContext, LinkWordOdds, WordFeature
from forager.strategies.apprentice.windows import WIDEST, WindowChoice, is_near, near
from forager.types import (
    NEVER,
    RELEVANT,
    Combine,
    Critic,
    Evidence,
    Floats,
    Graph,
    Miss,
    Parts,
    Policy,
    Ragged,
    ScoredLinks,
    Visit,
    Waiting,
    WeighsWords,
)

Form: TypeAlias = Literal["printed", "sum"]

HALF = 2000  # instances after which what was learnt counts half
SUREST = 1e-7  # relevance is kept this far from 0 and 1, where log-odds are infinite
ROOM = 1 << 22  # features of instances that may wait: 16 MB


class FormDefaults(NamedTuple):
    """What options are if they are not given."""

    combine: str
    batch: int
    trust: float


DEFAULTS: dict[Form, FormDefaults] = {
    "printed": FormDefaults(combine="first", batch=100, trust=0.0),
    "sum": FormDefaults(combine="best", batch=25, trust=1.0),
}


class Apprentice:
    """Learns from every link with two judged ends which links pay.

    clue = <t,d>; state = what is known of the link before anything is learnt, if `trust`
    """

    alone = True  # the new score of a link needs only its clues

    def __init__(
        self,
        *,
        classes: Sequence[str] = (),
        critic: Critic | None = None,
        form: Form = "printed",
        learner: Literal["naive-bayes", "logistic", "linear"] = "naive-bayes",
        features: WordFeature = "offset",
        d_max: int = 5,
        most: int = 100,
        topics: int = 0,
        cocitation: bool = False,
        batch: int | None = None,
        size: int = 1 << 20,
        combine: Literal["first", "best", "latest", "mean", "noisy-or"] | None = None,
        trust: float | None = None,
        tau: float = 0.0,
        active: float = 1.0,
        labels: Literal["raw", "calibrated"] = "raw",
        smoothing: Smoothing = "laplace",
        length: float = 0.0,
        rate: float = 0.3,
        passes: int = 3,
        vector: bool = False,
        spread: float = 0.0,
        choose_window: bool = False,
        prefixes: bool = True,
    ) -> None:
        usual = DEFAULTS[form]
        self.form, self.every = form, usual.batch if batch is None else batch
        _check(size, self.every, most, d_max, active)
        _check_windows(learner, features, d_max, spread, choose_window)
        self.combine = Combine(Policy(combine or usual.combine))
        self.trust = usual.trust if trust is None else trust
        self.tau, self.active, self.labels = tau, active, labels
        self.context = LinkContext(
            features, d_max, most, tuple(classes), topics, cocitation, vector, spread > 0, choose_window, prefixes
        )
        self._words = LinkWordOdds(critic if form == "sum" and isinstance(critic, WeighsWords) else None)
        self._learner: HashedNaiveBayes | Regression = (
            HashedNaiveBayes(size, smoothing=smoothing, length=length, spread=spread)
            if learner == "naive-bayes"
            else Regression(size, logistic=learner == "logistic", rate=rate, passes=passes)
        )
        self._made = f"{learner} on {features}, size {size}"  # saved parts must say the same
        self._made += ", side by side" * (spread > 0) + f", windows up to {d_max}" * choose_window
        self._windows = WindowChoice(d_max) if choose_window else None
        self._window = d_max  # the one in use
        self._model: Linear | None = None  # replaced, never changed in place: a sweep may still be using it
        self._pages = 0  # since the last training
        self._instances = WaitingInstances()  # since the last training

    # ---- learning

    def observe(self, outcome: Visit | Miss, evidence: Evidence) -> None:
        if self.labels == "calibrated" and evidence.calibrated is not None:
            evidence = replace(evidence, relevance=evidence.calibrated)
        self._instances.add(evidence)
        self._pages += isinstance(outcome, Visit)
        if self._pages >= self.every or self._instances.full:
            self._train()
        if self._pages >= self.every:
            self._pages = 0

    def _train(self) -> None:
        chosen = most_surprising(self._instances.all(), self.active)
        self._instances = WaitingInstances()
        if self._windows and self._model:
            split = self._learner.split if isinstance(self._learner, HashedNaiveBayes) else None
            self._windows.tried(self._model, chosen.clues, chosen.relevance > (RELEVANT if split is None else split))
            self._window = self._windows.best
        self._learner.learn(chosen.clues, chosen.relevance)
        self._model = self._weighed(self._learner)

    def _weighed(self, learner: HashedNaiveBayes | Regression) -> Linear | None:
        """What the learner has learnt, in the sum with the weight n / (n + HALF)."""
        model, n = learner.linear(), int(np.sum(learner.instances))
        if model is None or self.form == "printed":
            return model
        weight = n / (n + HALF)
        return replace(model, bias=weight * model.bias, gain=weight * model.gain)

    # ---- scoring

    def score(self, visit: Visit) -> ScoredLinks:
        clues, given = self.context(visit), self._given(visit)
        if visit.judgement.relevance < self.tau:
            scores = np.full(len(clues), NEVER, np.float32)
        elif self._model is None:
            scores = self._scaled(given)
        else:
            scores = self._scaled(self._model(self._seen(clues, self._window)) + np.float32(self.trust) * given)
        state = given[:, None] if self.trust else None
        return ScoredLinks(scores, state=state, clues=clues)

    def rescore(self, waiting: Waiting, graph: Graph) -> Iterator[Floats]:
        model, window = self._model, self._window  # taken now, not when the first batch is asked for
        if model is None:
            return (batch.scores for batch in waiting)
        return (
            np.where(batch.scores == NEVER, batch.scores, self._again(model, window, batch.clues, batch.state))
            for batch in waiting
        )

    def _again(self, model: Linear, window: int, clues: Ragged, state: Floats) -> Floats:
        trusted = np.float32(self.trust) * state[:, 0] if self.trust and state.shape[1] else np.float32(0)
        return self._scaled(model(self._seen(clues, window)) + trusted)

    def _seen(self, clues: Ragged, window: int) -> Ragged:
        """The features that are in the window in use; all if it is not chosen."""
        return near(clues, window) if self._windows else clues

    def _given(self, visit: Visit) -> Floats:
        """(n,) what is known of each link before anything is learnt: log-odds of u, in the sum with words(u,v)."""
        return np.float32(self._prior(visit)) + self._words(visit)

    def _prior(self, visit: Visit) -> float:
        chance = min(max(visit.judgement.relevance, SUREST), 1 - SUREST)
        return float(np.log(chance / (1 - chance)))

    def _scaled(self, log_odds: Floats) -> Floats:
        return sigmoid(log_odds) if self.combine.policy in (Policy.MEAN, Policy.NOISY_OR) else log_odds

    def explain(self, visit: Visit, link: int) -> list[tuple[str, float]]:
        """The terms of the sum that gives the log-odds: of the page, of the critic's words, of what was learnt."""
        model, trust = self._model, self.trust if self._model else 1.0
        told = {"relevance of the page": trust * self._prior(visit)} if trust else {}
        told |= {f"the critic on {word}": trust * odds for word, odds in self._words.told(visit, link).items()}
        if model:
            learnt = "learnt: " if self.form == "sum" else ""
            row = self.context(visit).take(np.array([link]))
            weights = model.weights[slots(row.values, len(model.weights))]
            weights = weights * model.scale(self._seen(row, self._window))[0]
            if self._windows:
                weights = weights * is_near(row.values, self._window)
            told[f"{learnt}links in general"] = model.bias
            for name, weight in zip(self.context.names(visit, link), weights.tolist(), strict=True):
                told[learnt + name] = told.get(learnt + name, 0.0) + weight
        return sorted(told.items(), key=lambda item: -abs(item[1]))

    # ---- keeping

    def parts(self) -> Parts:
        chosen = self._windows.parts() if self._windows else {}
        waiting = self._instances.parts()
        return {**self._learner.parts(), **waiting, **chosen, "made": self._made, "pages": self._pages}

    def from_parts(self, parts: Parts) -> Self:
        if (made := str(np.asarray(parts["made"]))) != self._made:
            raise ForagerError(
                f"apprentice: this was learnt with {made}, the settings ask for {self._made}: use the same"
            )
        new = copy(self)
        new._learner = self._learner.from_parts(parts)
        new._model = self._weighed(new._learner)
        new._instances, new._pages = WaitingInstances.of_parts(parts), int(number(parts, "pages"))
        if self._windows:
            new._windows = WindowChoice.of_parts(parts)
            new._window = new._windows.best
        return new

    def merge(self, parts: Sequence[Parts]) -> Parts:
        """Counts are added, weights averaged; instances that wait to be learnt are put together."""
        pages = sum(int(number(part, "pages")) for part in parts)
        learnt, waiting = self._learner.merge(parts), WaitingInstances.of_parts(*parts).parts()
        chosen = WindowChoice.of_parts(*parts).parts() if self._windows else {}
        return {**learnt, **waiting, **chosen, "made": self._made, "pages": pages}


class WaitingInstances:
    """Links with both ends judged that wait to be learnt from."""

    def __init__(self, waiting: Sequence[Evidence] = ()) -> None:
        self._waiting = [each for each in waiting if len(each.clues)]
        self._features = sum(len(each.clues.values) for each in self._waiting)

    def add(self, evidence: Evidence) -> None:
        if len(evidence.clues):
            self._waiting.append(evidence)
            self._features += len(evidence.clues.values)

    @property
    def full(self) -> bool:
        return self._features > ROOM

    def all(self) -> Evidence:
        nothing = np.empty(0, np.float32)
        return Evidence(
            Ragged.concat([each.clues for each in self._waiting]),
            np.concatenate([nothing, *(each.relevance for each in self._waiting)]),
            np.concatenate([nothing, *(each.source_relevance for each in self._waiting)]),
        )

    def parts(self) -> Parts:
        waiting = self.all()
        return {
            "waiting_features": waiting.clues.values,
            "waiting_offsets": waiting.clues.offsets,
            "waiting_relevance": waiting.relevance,
            "waiting_source_relevance": waiting.source_relevance,
        }

    @classmethod
    def of_parts(cls, *parts: Parts) -> Self:
        """The instances that wait in all these parts together."""
        return cls([_evidence(each) for each in parts])


def most_surprising(evidence: Evidence, share: float) -> Evidence:
    """The share of the instances with the largest |Pr(c*|u) - Pr(c*|v)|, in the order they came."""
    if share == 1:
        return evidence
    surprise = np.abs(evidence.source_relevance - evidence.relevance)
    rows = np.sort(np.argsort(-surprise, kind="stable")[: int(np.ceil(share * len(surprise)))])
    return Evidence(evidence.clues.take(rows), evidence.relevance[rows], evidence.source_relevance[rows])


def _evidence(parts: Parts) -> Evidence:
    clues = Ragged(np.asarray(parts["waiting_features"]), np.asarray(parts["waiting_offsets"]))
    return Evidence(clues, np.asarray(parts["waiting_relevance"]), np.asarray(parts["waiting_source_relevance"]))


def _check(size: int, batch: int, most: int, d_max: int, active: float) -> None:
    if size < 2 or size & (size - 1):
        raise ForagerError(f"apprentice: size is {size}, must be a power of two, such as {1 << 20}")
    if batch < 1 or most < 1 or d_max < 0 or not 0 < active <= 1:
        raise ForagerError(
            "apprentice: batch and most must be at least 1, d_max at least 0, active above 0 and up to 1"
        )


def _check_windows(learner: str, features: str, d_max: int, spread: float, choose_window: bool) -> None:
    if spread < 0 or (spread and (learner != "naive-bayes" or features != "offset" or choose_window)):
        raise ForagerError(
            "apprentice: spread must be at least 0; it needs naive-bayes, features offset, and a window that stays"
        )
    if choose_window and d_max > WIDEST:
        raise ForagerError(f"apprentice: d_max is {d_max}; where the window is chosen it may be at most {WIDEST}")
