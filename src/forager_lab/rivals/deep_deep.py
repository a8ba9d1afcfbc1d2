"""Links by what can be gained behind them: the Q-learning crawler deep-deep of TeamHG-Memex (2016-17).

A link a on a page s has features x(s,a): the pieces of 3 to 5 characters of its anchor, those of 4 or 5 characters of
its path and query, whether it stays on the host, and words of the page s. All are hashed, and each of n features counts
1/sqrt(n). Q is linear, and is learnt by Q-learning with gamma = 0.4. After a link a was followed, with reward r = 1 if
the page s' it led to is relevant, else 0 (also for a request that brought no page):

    Q(s,a) = b + w.x(s,a)
    y      = r + gamma Q-(s', argmax over the links a' of s' of Q(s',a')),    0 without links
    w     <- w - step * gradient of (Q(s,a) - y)^2 / 2

Q- has the weights that Q had at the last switch (double learning). Each new experience goes into a memory; with it, a
few others that are drawn from there are learnt once more (experience replay), with y computed anew. Links are followed
by Q-, and scored again after each switch.

    priority(a) = Q-(s,a)      or, with a temperature T,      Q-(s,a) / T + G(seed, url)

With G drawn from the Gumbel distribution, the order of priorities is a draw by softmax (see forager's infospiders).

The memory of the original has room for 100,000 experiences; the laboratory's crawls are shorter, and some numbers are
smaller. It learns 300 old experiences with each new one (here `replay`) and switches after 100 (here `switch`). It
draws a random link with probability .2, and hosts by softmax with T = 1 (here T = 0: no chance). Address and page words
are switched off (here on), and steps have a constant size and an L1 penalty (here they adapt to each feature, as in
forager.learn.linear).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from forager.errors import ForagerError
from forager.learn.linear import Linear, Regression
from forager.strategies.infospiders import gumbel
from forager.strategies.link_features import side_by_side
from forager.types import FIRST, RELEVANT, Evidence, Floats, Graph, Miss, Ragged, ScoredLinks, Terms, Visit, Waiting
from forager.web.text import mix
from forager.web.urls import host
from forager_lab.rivals.ngrams import character_ngrams

NO_LINKS = Ragged.of([])
ANCHOR, ADDRESS, STAYS, PAGE = range(4)  # kinds of features
SIZE = 1 << 20
AT_FIRST = 0.05  # Q before anything is learnt


@dataclass(frozen=True, slots=True, eq=False)
class LinkExperience:
    """A link that was followed, and what came of it."""

    action: Terms  # x(s,a)
    reward: float
    links: Ragged  # x(s',a') of the links a' of s'


class DeepDeep:
    """Links by a linear Q. state = (G,); clues = x(s,a)"""

    combine = FIRST  # a link that was seen before is not offered again
    alone = True

    def __init__(
        self,
        *,
        seed: int = 0,
        gamma: float = 0.4,
        temperature: float = 0.0,
        pages: bool = True,
        words: int = 64,
        replay: int = 24,
        memory: int = 1000,
        switch: int = 20,
    ) -> None:
        """`pages`: words of the page are features, the most frequent `words`; `memory`: experiences kept."""
        if not 0 <= gamma < 1 or temperature < 0 or words < 0 or replay < 0 or memory < 1 or switch < 1:
            raise ForagerError(
                "deep-deep: gamma must lie in 0..1, temperature, words and replay be at least 0, memory and switch 1"
            )
        self.seed, self.gamma, self.temperature = seed, gamma, temperature
        self.words, self.replay, self.memory, self.switch = words if pages else 0, replay, memory, switch
        self.every = switch
        self._learner = Regression(SIZE, logistic=False, passes=1)
        self._target: Linear | None = None  # Q-
        self._kept: list[LinkExperience] = []
        self._steps = 0

    # ---- features

    def _features(self, visit: Visit) -> Ragged:
        """x(s,a) of each link of the page."""
        links, home = visit.links, host(visit.page.url)
        paths = [url.partition("://")[2].partition("/")[2] for url in links.targets]
        stays = np.array([host(url) == home for url in links.targets], np.uint32)
        bag = visit.page.bag
        often = bag.terms[np.argsort(-bag.counts, kind="stable")[: self.words]]
        each = np.arange(len(links) + 1)
        parts = [
            (ANCHOR, character_ngrams(links.anchors, 3, 5)),
            (ADDRESS, character_ngrams(paths, 4, 5)),
            (STAYS, Ragged(stays, each)),
            (PAGE, Ragged(np.tile(often, len(links)), each * len(often))),
        ]
        return side_by_side([Ragged(mix(rows.values, kind), rows.offsets) for kind, rows in parts])

    # ---- learning

    def observe(self, outcome: Visit | Miss, evidence: Evidence) -> None:
        led = outcome.trace.inlinks
        if not len(led.sources):
            return
        good = isinstance(outcome, Visit) and outcome.judgement.relevance >= RELEVANT
        links = self._features(outcome) if isinstance(outcome, Visit) else NO_LINKS
        experience = LinkExperience(led.clues[0], float(good), links)
        drawn = np.random.default_rng([self.seed % 2**64, self._steps])
        self._learn([experience, *self._recalled(drawn)])
        self._remember(experience, drawn)
        self._steps += 1
        if self._steps % self.switch == 0:
            self._target = self._learner.linear()

    def _recalled(self, drawn: np.random.Generator) -> list[LinkExperience]:
        count = min(self.replay, len(self._kept))
        return [self._kept[at] for at in drawn.choice(len(self._kept), count, replace=False)] if count else []

    def _remember(self, experience: LinkExperience, drawn: np.random.Generator) -> None:
        """A full memory loses one at random, so that it has old and new ones."""
        if len(self._kept) < self.memory:
            self._kept.append(experience)
        else:
            self._kept[int(drawn.integers(self.memory))] = experience

    def _learn(self, experiences: list[LinkExperience]) -> None:
        online = self._learner.linear()
        y = [each.reward + self.gamma * self._ahead(each, online) for each in experiences]
        self._learner.learn(Ragged.of([each.action for each in experiences]), np.array(y, np.float32))

    def _ahead(self, experience: LinkExperience, online: Linear | None) -> float:
        """Q- of the link of s' that Q prefers; 0 without links."""
        if not len(experience.links):
            return 0.0
        best = np.argmax(q_values(online, experience.links))
        return float(q_values(self._target, experience.links.take(np.array([best])))[0])

    # ---- scoring

    def score(self, visit: Visit) -> ScoredLinks:
        clues, state = self._features(visit), gumbel(visit.links.targets, self.seed % 2**64)[:, None]
        return ScoredLinks(self._priority(self._target, clues, state), state=state, clues=clues)

    def rescore(self, waiting: Waiting, graph: Graph) -> Iterator[Floats]:
        target = self._target
        return (
            self._priority(target, batch.clues, batch.state) if batch.state.shape[1] else batch.scores
            for batch in waiting
        )

    def _priority(self, model: Linear | None, clues: Ragged, state: Floats) -> Floats:
        q = q_values(model, clues)
        return q if not self.temperature else (q / self.temperature + state[:, 0]).astype(np.float32)


def q_values(model: Linear | None, rows: Ragged) -> Floats:
    """Q of each row. A learner's linear unit gives 4 Q - 2."""
    if model is None:
        return np.full(len(rows), AT_FIRST, np.float32)
    return np.asarray((model(rows) + 2) / 4, np.float32)
