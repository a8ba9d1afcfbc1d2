"""The apprentice of Chakrabarti, Punera & Subramanyam (2002): it learns on the job which links pay.

The critic judges pages. The apprentice predicts from u alone what the critic will say of v: the features of (u,v) are
<t,d>, the words around the link with their offsets in the leaves of u (`around`). Every (u,v) with both ends fetched is
an instance, labelled with the critic's raw score of v. Naive Bayes over a low and a high bucket of relevance
(`forager.learn.naive_bayes`) predicts Pr(high | u,v); logistic regression and the linear unit (`forager.learn.linear`)
may stand in for it.

After each batch of pages the apprentice is trained, and all that waits is scored again with the new weights. Before
there is anything to learn from, the prior is the baseline: Pr(c*|u).

The score is the log-odds of Pr(high), with `combine` = mean or noisy-or the probability itself. The order is the same,
but naive Bayes is so sure of itself that a float32 would call many probabilities 1. With z the learner's log-odds,

    score(u,v) = trust * log Pr(c*|u)/(1 - Pr(c*|u)) + z(u,v)

trust = 0 is the paper. trust = 1 starts from what the baseline believes of this link instead of what holds for links in
general. Only pages u with Pr(c*|u) >= tau are expanded.

Labels are the critic's raw scores, or calibrated ones, which are better judgements: `labels`.

Active learning: of each batch only the share `active` with the largest |Pr(c*|u) - Pr(c*|v)|, where the baseline erred
most, is learnt from.
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
from forager.strategies.apprentice.around import Around, Kind
from forager.strategies.apprentice.instances import Instances, most_surprising
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

SUREST = 1e-7  # no page is taken for surer than this


class Apprentice:
    alone = True  # a link's new score needs nothing but its clues

    def __init__(
        self,
        *,
        classes: Sequence[str] = (),
        learner: Literal["naive-bayes", "logistic", "linear"] = "naive-bayes",
        features: Kind = "offset",
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
        self.around = Around(features, d_max, most, tuple(classes), topics, cocitation)
        self._learner: HashedNaiveBayes | Regression = (
            HashedNaiveBayes(size, smoothing=smoothing, length=length)
            if learner == "naive-bayes"
            else Regression(size, logistic=learner == "logistic", rate=rate, passes=passes)
        )
        self._made = f"{learner} on {features}, size {size}"  # what parts must agree on
        self._model: Linear | None = None  # never changed, only replaced: a sweep may still be using it
        self._pages = 0  # since the last training
        self._instances = Instances()  # since then

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
        self._instances = Instances()
        self._learner.learn(chosen.clues, chosen.relevance)
        self._model = self._learner.linear()

    # ---- scoring

    def score(self, visit: Visit) -> ScoredLinks:
        clues, prior = self.around(visit), self._prior(visit)
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
        """What adds up to the log-odds, by word and offset."""
        prior, model = self._prior(visit), self._model
        if model is None:
            return [("relevance of the page", prior)]
        row = self.around(visit).take(np.array([link]))
        weights = model.weights[slots(row.values, len(model.weights))] * model.scale(row)[0]
        told = {"links in general": model.bias}
        if self.trust:
            told["relevance of the page"] = self.trust * prior
        for name, weight in zip(self.around.names(visit, link), weights.tolist(), strict=True):
            told[name] = told.get(name, 0.0) + weight
        return sorted(told.items(), key=lambda item: -abs(item[1]))

    # ---- keeping

    def parts(self) -> Parts:
        return {**self._learner.parts(), **self._instances.parts(), "made": self._made, "pages": self._pages}

    def from_parts(self, parts: Parts) -> Self:
        if (made := str(np.asarray(parts["made"]))) != self._made:
            raise ForagerError(f"apprentice: this was learnt with {made}, wanted is {self._made}; set parameters alike")
        new = copy(self)
        new._learner = self._learner.from_parts(parts)
        new._model = new._learner.linear()
        new._instances, new._pages = Instances.of_parts(parts), int(number(parts, "pages"))
        return new

    def merge(self, parts: Sequence[Parts]) -> Parts:
        """Counts add, weights average; what waits to be learnt waits together."""
        pages = sum(int(number(part, "pages")) for part in parts)
        learnt = self._learner.merge(parts)
        return {**learnt, **Instances.of_parts(*parts).parts(), "made": self._made, "pages": pages}


def _check(size: int, batch: int, most: int, d_max: int, active: float) -> None:
    if size < 2 or size & (size - 1):
        raise ForagerError(f"apprentice: size is {size}, must be a power of two, such as {1 << 20}")
    if batch < 1 or most < 1 or d_max < 0 or not 0 < active <= 1:
        raise ForagerError(
            "apprentice: batch and most must be at least 1, d_max at least 0, active above 0 and up to 1"
        )
