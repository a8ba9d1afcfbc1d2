"""Links in places that paid first: sleeping bandits over tag paths, of Gauquier, Manolescu & Senellart (2026).

"Efficient Crawling for Scalable Web Data Acquisition" (arXiv 2602.11874), SB-CLASSIFIER. The tag path of a link is the
path of elements from the root of the page to the link, each with its id and classes. Links with similar tag paths are
one arm of a bandit. p is the tag path as a bag of pairs of neighbouring steps (2-grams, with a mark at both ends),
hashed to m dimensions. A new path joins the arm with the nearest centroid c_a if it is near enough, and founds a new
arm otherwise:

    a(p) = argmax over a of cos(p, c_a)  if that cosine >= theta,  else a new arm;  c_a = mean of the paths of arm a

An arm sleeps while none of its links waits. Of the arms that are awake the next is that with the largest upper
confidence bound (UCB of sleeping bandits), after t pulls, n_a of them of arm a, with mean reward r_a:

    UCB(a)   = r_a + alpha sqrt(log t / n_a),  alpha = 2 sqrt 2;  arms that were never pulled come first

An online classifier (logistic, over character n-grams of the address) predicts Pr(v is wanted | address of v), and
orders the links inside an arm:

    score(v) = UCB(a) rounded to 1/1000 + Pr(v) / 2000

In the paper targets are files (tables and the like) on one site. The reward of a page is the number of new targets it
links to, and the classifier says which links are targets. Here a target is a relevant page: the reward of a pull is 1
if the page fetched is relevant, else 0; it is new in any case, since no page is fetched twice. A request that brings no
page is a pull without reward. Scores change after pages only, so an arm of dead links is pulled until one brings a
page; that costs requests, not pages. Only the abstract and summaries of the paper were at hand. That each distinct path
counts once in its centroid, and that a link stays in the arm in which it was found first, is our reading.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from forager.errors import ForagerError
from forager.learn.linear import Linear, Regression, sigmoid
from forager.types import (
    FIRST,
    RELEVANT,
    Evidence,
    Floats,
    Graph,
    Miss,
    Ragged,
    ScoredLinks,
    Visit,
    Waiting,
)
from forager_lab.rivals.ngrams import character_ngrams, step_pairs

UNTRIED = 100.0  # above the UCB of any arm that was pulled: that is at most 1 + alpha sqrt(log t)
STRANGE = -1  # the arm of a path that no visit has shown yet
SHARP = 1000  # steps of UCB in 1


class SleepingBandit:
    """Links by the upper confidence bound of their tag paths. state = (arm,); clues = character n-grams of the URL"""

    combine = FIRST
    alone = True

    def __init__(
        self,
        *,
        theta: float = 0.75,
        alpha: float = 2 * 2**0.5,
        size: int = 1 << 12,
        most: int = 1000,
        every: int = 5,
    ) -> None:
        """`size`: m; `most`: arms; when there are so many, a new path joins the nearest; `every`: pages between
        sweeps."""
        if not 0 <= theta <= 1 or alpha < 0 or size < 1 or most < 1 or every < 1:
            raise ForagerError("sb: theta must lie in 0..1, alpha be at least 0; size, most and every at least 1")
        self.theta, self.alpha, self.size, self.most, self.every = theta, alpha, size, most, every
        self.arms: dict[str, int] = {}  # by tag path
        self._sums, self._lengths = np.zeros((0, size), np.float32), np.zeros(0, np.float32)  # of the paths of each arm
        self.pulls, self.rewards = np.zeros(0), np.zeros(0)  # of each arm
        self._wanted = Regression(1 << 18)

    # ---- arms

    def _join(self, path: str) -> None:
        """Give a path its arm."""
        vector = step_pairs(path, self.size)
        arm, cosine = self._nearest(vector)
        if arm == STRANGE or (cosine < self.theta and len(self._sums) < self.most):
            arm = len(self._sums)
            self._sums = np.vstack((self._sums, np.zeros(self.size, np.float32)))
            self._lengths = np.append(self._lengths, np.float32(0))
            self.pulls, self.rewards = np.append(self.pulls, 0.0), np.append(self.rewards, 0.0)
        self._sums[arm] += vector
        self._lengths[arm] = np.linalg.norm(self._sums[arm])
        self.arms[path] = arm

    def _nearest(self, vector: Floats) -> tuple[int, float]:
        """The arm with the nearest centroid, and its cosine."""
        if not len(self._sums):
            return STRANGE, 0.0
        pairs = np.flatnonzero(vector)
        cosines = self._sums[:, pairs] @ vector[pairs] / self._lengths
        return int(np.argmax(cosines)), float(cosines.max())

    def _arms_of(self, paths: Sequence[str]) -> Floats:
        """(n, 1): the arm of each path, among those that there are."""
        return np.array([self.arms.get(path, STRANGE) for path in paths], np.float32).reshape(-1, 1)

    def bounds(self) -> Floats:
        """UCB of each arm; the last one is that of a path that nobody has met."""
        t = max(1.0, float(self.pulls.sum()))
        tried = np.maximum(self.pulls, 1)
        bound = self.rewards / tried + self.alpha * np.sqrt(np.log(t) / tried)
        return np.append(np.where(self.pulls > 0, bound, UNTRIED), UNTRIED).astype(np.float32)

    # ---- learning

    def observe(self, outcome: Visit | Miss, evidence: Evidence) -> None:
        led = outcome.trace.inlinks
        reward = isinstance(outcome, Visit) and outcome.judgement.relevance >= RELEVANT
        if len(led.sources):
            arm = int(led.state[0, 0])
            if arm != STRANGE:
                self.pulls[arm] += 1
                self.rewards[arm] += reward
            self._wanted.learn(led.clues.take(np.zeros(1, np.intp)), np.array([reward], np.float32))
        if isinstance(outcome, Visit):
            for path in dict.fromkeys(outcome.links.tag_paths):
                if path not in self.arms:
                    self._join(path)

    # ---- scoring

    def score(self, visit: Visit) -> ScoredLinks:
        state, clues = self._arms_of(visit.links.tag_paths), character_ngrams(visit.links.targets, 2, 4)
        return ScoredLinks(_scores(self.bounds(), self._wanted.linear(), state, clues), state=state, clues=clues)

    def rescore(self, waiting: Waiting, graph: Graph) -> Iterator[Floats]:
        bounds, model = self.bounds(), self._wanted.linear()
        return (
            _scores(bounds, model, batch.state, batch.clues) if batch.state.shape[1] else batch.scores
            for batch in waiting
        )


def _scores(bounds: Floats, model: Linear | None, state: Floats, clues: Ragged) -> Floats:
    arms = state[:, 0].astype(np.intp)  # STRANGE is the last of the bounds
    chance = np.full(len(clues), 0.5) if model is None else sigmoid(model(clues))
    return (np.round(bounds[arms] * SHARP) / SHARP + chance / (2 * SHARP)).astype(np.float32)
