"""The MEMM crawler, as a strategy. See the package's docstring.

State T_j: a page is j links from a target; the last state means "that many or more". With the observations o of
observations.py and the model of forager/learn/chains/memm.py, along the path to u and for each of its links (u,v):

    alpha_u(s') = sum over s of alpha_t(s) p(s'|s,o_u)       t the page before u; o_u with O6 of the link (u,v)

The paper leaves open by what v is scored. Two readings:

    published   alpha = alpha_u       how near u is, if this is the link by which one goes on
    step        alpha(s') = sum over s of alpha_u(s) p(s'|s,o_v)       o_v only what is known before v is fetched
    fitting     published for a model taught with walks, step for one taught with links

Walks never show an o_v of which only the link is seen, so only links teach the step. But they do not teach what O6 says
of u: any link of u is drawn. Then the score is

    marginal    - sum over j of j alpha(T_j)
    viterbi     delta, with max for the sums: - argmax delta, ties by its share
    discounted  sum over j < k - 1 of gamma^j alpha(T_j)                                                   (ours)

In both readings alpha_u travels with v, and so do the potentials that the link itself adds to o_v: alpha_v follows from
them when v is fetched. A first page has no page before it. training.py says how the model is taught.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Literal, Self

import numpy as np

from forager.errors import ForagerError
from forager.learn.chains import memm
from forager.learn.chains.fitting import FitSettings
from forager.learn.chains.rows import CURE, finite, shares
from forager.learn.tfidf import Query
from forager.paths import Ground, ShownPath
from forager.strategies.memm.model import MemmModel
from forager.strategies.memm.observations import VERSION, ObservationSet
from forager.strategies.memm.training import Drawn, MemmTrainer
from forager.strategies.taught import check_made, only_unmet
from forager.types import BEST, Floats, Parts, ReportIteration, ScoredLinks, Visit

TOLD = 1e-6  # smaller differences of a score are not explained


class MemmCrawler:
    """Links by the likely distance of their targets from what is wanted. state = alpha_u and potentials of the link"""

    combine = BEST

    def __init__(
        self,
        *,
        query: Query,
        seed: int = 0,
        inference: Literal["discounted", "marginal", "viterbi"] = "discounted",
        features: Literal["ours", "all", "words", "text"] = "ours",
        words: Literal["binary", "counts"] = "binary",
        drawn: Drawn = "links",
        reading: Literal["fitting", "published", "step"] = "fitting",
        states: int = 4,
        gamma: float = 0.3,
        count: int = 12_000,
        keywords: int = 1_000,
        variance: float = 0.3,
        iterations: int = 40,
        least: int = 5,
    ) -> None:
        """`keywords`: the number of words of the targets, besides those of the topic; `least`: the number of rows that
        a feature must be in; `count`: the number of sequences to draw."""
        if states < 2 or not 0 < gamma < 1 or count < 1 or keywords < 0 or least < 1:
            raise ForagerError(
                "memm: states must be at least 2, gamma between 0 and 1, count and least at least 1, keywords 0 or more"
            )
        self.inference, self.states, self.gamma = inference, states, gamma
        self._ahead = reading == "step" or (reading == "fitting" and drawn == "links")
        settings = FitSettings(variance=variance, iterations=iterations, tolerance=1e-5)
        self.trainer = MemmTrainer(
            tuple(query.words),
            ObservationSet(features),
            words == "counts",
            drawn,
            states,
            count,
            keywords,
            least,
            settings,
            seed,
        )
        worth = -np.arange(states) if inference == "marginal" else np.append(gamma ** np.arange(states - 1), 0)
        self._worth = worth.astype(np.float32)
        counted = ", words counted" if words == "counts" else ""
        self._made = f"features {features} of version {VERSION}{counted}, {states} states"
        self._model: MemmModel | None = None

    # ---- learning

    def taught(self, ground: Ground, shown: Sequence[ShownPath] = (), heard: ReportIteration | None = None) -> Self:
        return self._with(self.trainer.trained(ground, shown, heard))

    # ---- scoring

    @only_unmet
    def score(self, visit: Visit) -> ScoredLinks:
        model, links = self._model, len(visit.links)
        if model is None or not links:
            width = self.states * (1 + self.states)
            return ScoredLinks(np.zeros(links, np.float32), state=np.zeros((links, width), np.float32))
        before, arrived = self._carried(visit)
        u = model.potentials(visit.page, visit.links, first=before is None)
        alpha, scores = self._steps(model.memm, before, u + arrived)
        return ScoredLinks(scores, state=np.concatenate((alpha, u[:, -(self.states**2) :]), axis=1))

    def _steps(self, model: memm.Memm, before: Floats | None, u: Floats) -> tuple[Floats, Floats]:
        """alpha_u (with Viterbi delta_u) and the score of each link, from the potentials u of both pages."""
        if self.inference == "viterbi":
            delta, scored = model.best_steps(before, u, ahead=self._ahead)
            return delta.astype(np.float32), memm.viterbi_priority(scored).astype(np.float32)
        alpha, chances = model.steps(before, u, ahead=self._ahead)
        scores: Floats = self._worth @ chances
        return alpha, scores

    def _carried(self, visit: Visit) -> tuple[Floats | None, Floats | float]:
        """What travelled with the link to the page: alpha of the page before it, and the potentials of the link. They
        are added to the potentials of this page only. None and 0 for a first page."""
        came, k = visit.trace.inlinks.state, self.states
        if not len(came):
            return None, 0.0
        if came.shape[1] != k * (k + 1):
            raise ForagerError(f"model has {k} states, this path carries {came.shape[1]} numbers: {CURE}")
        row = finite(came[0])
        return row[:k], np.append(row[k:], np.zeros(k * k, np.float32))

    def explain(self, visit: Visit, link: int) -> list[tuple[str, float]]:
        """The chance that the page is 0, 1, … links from a target; then how much each observation adds to the score."""
        if (model := self._model) is None:
            return []
        before, arrived = self._carried(visit)
        links = visit.links.take([link])
        codes, _ = model.observer(visit.page, links).once()
        u = model.each(codes, first=before is None)
        alpha, scores = self._steps(model.memm, before, _without_each(u) + arrived)
        hops = [f"{hops} links to go from the page" for hops in range(self.states)]
        hops[-1] += ", or more"
        told = zip(model.observer.in_words(visit.page, links, codes), (scores[0] - scores[1:]).tolist(), strict=True)
        moved = sorted((word for word in told if abs(word[1]) > TOLD), key=lambda word: -abs(word[1]))
        return [*zip(hops, shares(alpha)[0].tolist(), strict=True), *moved]

    # ---- keeping

    def parts(self) -> Parts:
        model = self._model
        return {"made": self._made, "taught": model is not None, **({} if model is None else model.parts())}

    def from_parts(self, parts: Parts) -> Self:
        check_made("memm", parts, self._made)
        return self._with(MemmModel.from_parts(parts) if parts["taught"] else None)

    def merge(self, parts: Sequence[Parts]) -> Parts:
        """All shards carry the same model."""
        return parts[0]

    def _with(self, model: MemmModel | None) -> Self:
        new = copy(self)
        new._model = model
        return new


def _without_each(rows: Floats) -> Floats:
    """The sum of all rows; then, for each row, the sum of all others."""
    whole = rows.sum(axis=0)
    return np.vstack((whole, whole - rows))
