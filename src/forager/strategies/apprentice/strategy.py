"""The apprentice, as a strategy. See the package's docstring.

The features of (u,v) are <t,d>, the words around the link with their offsets in the leaves of u (features.py). Every
(u,v) with both ends fetched is an instance, labelled with the critic's score of v. Naive Bayes over a low and a high
bucket of relevance (forager/learn/naive_bayes.py) predicts Pr(high | u,v). Logistic regression or a linear unit
(forager/learn/regression.py) may take its place.

The score is the log-odds of Pr(high); with `combine` = mean or noisy-or it is the probability itself. The order is the
same, but naive Bayes is so sure of itself that a float32 would round many probabilities to 1. With z the learner's
log-odds,

    score(u,v) = trust * log Pr(c*|u)/(1 - Pr(c*|u)) + z(u,v)

trust = 0 is the paper. trust = 1 starts from what the baseline believes of this link, not from what holds for links in
general. Only pages u with Pr(c*|u) >= tau are expanded.

Labels are the critic's raw scores, or calibrated ones, which are better judgements: option `labels`.

Active learning: of each batch only the share `active` with the largest |Pr(c*|u) - Pr(c*|v)| is learnt from. There the
baseline was most wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Literal, Self

import numpy as np

from forager.errors import ForagerError
from forager.learn.linear import Linear, Regression, number, sigmoid, slots
from forager.learn.naive_bayes import HashedNaiveBayes, Smoothing
from forager.strategies.apprentice.features import LinkContext, WordFeature
from forager.types import (
    NEVER,
    Combine,
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
)

SUREST = 1e-7  # relevance is kept this far from 0 and 1, where log-odds are infinite
ROOM = 1 << 22  # features of instances that may wait: 16 MB


class Apprentice:
    """Learns from every link with two judged ends which links pay. clue = <t,d>; state = log-odds of u if `trust`"""

    alone = True  # the new score of a link needs only its clues

    def __init__(
        self,
        *,
        classes: Sequence[str] = (),
        learner: Literal["naive-bayes", "logistic", "linear"] = "naive-bayes",
        features: WordFeature = "offset",
        d_max: int = 5,
        most: int = 100,
        topics: int = 0,
        cocitation: bool = False,
        batch: int = 100,
        size: int = 1 << 20,
        combine: Literal["first", "best", "latest", "mean", "noisy-or"] = "first",
        trust: float = 0.0,
        tau: float = 0.0,
        active: float = 1.0,
        labels: Literal["raw", "calibrated"] = "raw",
        smoothing: Smoothing = "laplace",
        length: float = 0.0,
        rate: float = 0.3,
        passes: int = 3,
    ) -> None:
        _check(size, batch, most, d_max, active)
        self.combine, self.every = Combine(Policy(combine)), batch
        self.trust, self.tau, self.active, self.labels = trust, tau, active, labels
        self.context = LinkContext(features, d_max, most, tuple(classes), topics, cocitation)
        self._learner: HashedNaiveBayes | Regression = (
            HashedNaiveBayes(size, smoothing=smoothing, length=length)
            if learner == "naive-bayes"
            else Regression(size, logistic=learner == "logistic", rate=rate, passes=passes)
        )
        self._made = f"{learner} on {features}, size {size}"  # saved parts must say the same
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
        self._learner.learn(chosen.clues, chosen.relevance)
        self._model = self._learner.linear()

    # ---- scoring

    def score(self, visit: Visit) -> ScoredLinks:
        clues, prior = self.context(visit), self._prior(visit)
        if visit.judgement.relevance < self.tau:
            scores = np.full(len(clues), NEVER, np.float32)
        elif self._model is None:
            scores = self._scaled(np.full(len(clues), prior, np.float32))
        else:
            scores = self._scaled(self._model(clues) + np.float32(self.trust * prior))
        state = np.full((len(clues), 1), prior, np.float32) if self.trust else None
        return ScoredLinks(scores, state=state, clues=clues)

    def rescore(self, waiting: Waiting, graph: Graph) -> Iterator[Floats]:
        model = self._model  # taken now, not when the first batch is asked for
        if model is None:
            return (batch.scores for batch in waiting)
        return (
            np.where(batch.scores == NEVER, batch.scores, self._again(model, batch.clues, batch.state))
            for batch in waiting
        )

    def _again(self, model: Linear, clues: Ragged, state: Floats) -> Floats:
        trusted = np.float32(self.trust) * state[:, 0] if self.trust and state.shape[1] else np.float32(0)
        return self._scaled(model(clues) + trusted)

    def _prior(self, visit: Visit) -> float:
        chance = min(max(visit.judgement.relevance, SUREST), 1 - SUREST)
        return float(np.log(chance / (1 - chance)))

    def _scaled(self, log_odds: Floats) -> Floats:
        return sigmoid(log_odds) if self.combine.policy in (Policy.MEAN, Policy.NOISY_OR) else log_odds

    def explain(self, visit: Visit, link: int) -> list[tuple[str, float]]:
        """The terms of the sum that gives the log-odds, by word and offset."""
        prior, model = self._prior(visit), self._model
        if model is None:
            return [("relevance of the page", prior)]
        row = self.context(visit).take(np.array([link]))
        weights = model.weights[slots(row.values, len(model.weights))] * model.scale(row)[0]
        told = {"links in general": model.bias}
        if self.trust:
            told["relevance of the page"] = self.trust * prior
        for name, weight in zip(self.context.names(visit, link), weights.tolist(), strict=True):
            told[name] = told.get(name, 0.0) + weight
        return sorted(told.items(), key=lambda item: -abs(item[1]))

    # ---- keeping

    def parts(self) -> Parts:
        return {**self._learner.parts(), **self._instances.parts(), "made": self._made, "pages": self._pages}

    def from_parts(self, parts: Parts) -> Self:
        if (made := str(np.asarray(parts["made"]))) != self._made:
            raise ForagerError(
                f"apprentice: this was learnt with {made}, the settings ask for {self._made}: use the same"
            )
        new = copy(self)
        new._learner = self._learner.from_parts(parts)
        new._model = new._learner.linear()
        new._instances, new._pages = WaitingInstances.of_parts(parts), int(number(parts, "pages"))
        return new

    def merge(self, parts: Sequence[Parts]) -> Parts:
        """Counts are added, weights averaged; instances that wait to be learnt are put together."""
        pages = sum(int(number(part, "pages")) for part in parts)
        learnt = self._learner.merge(parts)
        return {**learnt, **WaitingInstances.of_parts(*parts).parts(), "made": self._made, "pages": pages}


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
