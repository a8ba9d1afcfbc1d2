"""Links by what links like them gave, with a tree that says which are alike: TRES, of Kontogiannis et al. (2021-25).

"Tree-based Focused Web Crawling with Reinforcement Learning" (arXiv 2112.07620), the Tree REinforcement Spider. An
action is a link on a page s that was fetched. x(s,a) has nine features; the first three are of s and the path to it:

    1  relevant      s is relevant, 0 or 1
    2  nearness      1 / d, d = 1 if s is relevant, else one more than at the page before it on the path
    3  share         of the pages on the path to s, with s, that are relevant
    4  keyword-url   the address of the link has a keyword, 0 or 1
    5  keyword       its anchor has a keyword, 0 or 1
    6  keyphrase     its anchor has two keywords or more, 0 or 1
    7  host          share of the relevant among the pages fetched from its host; 1/2 if there are none
    8  unknown       no page was fetched from its host, 0 or 1
    9  chance        what the critic says of the anchor, as if it were a page

3 and 7 are rounded down to tenths; 7 and 8 are those of today. The reward r of an action is 1 if the page it led to is
relevant, else 0. Tree-Frontier is a decision tree over x that grows with each experience (x, r). One link drawn from
each leaf is a representative, and the representative with the largest Q is followed. Here Q is a number for each leaf
l, by a step of value iteration with each page, over the experiences E(l) in it; A(s') are the links of the page s' that
the action led to, or all leaves if it has none:

    y     = r + gamma max over a' in A(s') of Q(leaf of a'),   gamma = 0.99       with q = true
    y     = r                                                                     with q = false
    Q(l) <- mean of y over E(l)

So all representatives of a leaf are worth the same. Drawn from the best leaf means:

    priority(a) = Q(leaf of a) - max Q + h(seed, url) / 100000

In the paper Q is a network (double deep Q-learning) that also tells links in one leaf apart, and the tree is split by r
alone; here it is split by y, or links that pay later would stay in one leaf with those that never do. Other numbers are
kept: leaves are split from 5 experiences on, however small a side is (with at most 20 pages of a domain their code has
10, and a fifth), down to a depth of 18. The features are those of the authors' code, as the text of the paper was not
at hand. Ours are: keywords are the words of the query and not an extended list; a keyphrase is two of them; the critic
stands for their classifier; a host for a domain; and there is no limit of pages for each of these. Their code draws
from the leaves at random for the first 500 pages; here Q counts from the first one.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forager.errors import ForagerError
from forager.learn.tfidf import Query
from forager.types import (
    BEST,
    RELEVANT,
    Critic,
    Evidence,
    Floats,
    Graph,
    Miss,
    Page,
    Ragged,
    ScoredLinks,
    Terms,
    Visit,
    Waiting,
)
from forager.web.text import url_terms
from forager_lab.rivals.host_bandit import HOSTS, host_slots
from forager_lab.rivals.ngrams import chances

FEATURES = 9
HOST, UNKNOWN, CHANCE = 6, 7, 8  # columns of features
GOOD, BAD, SLOT, LOT = range(FEATURES, FEATURES + 4)  # further columns of state
LEAF = -1  # in place of the feature of a node that is not split
TIE = 1e-5  # what a draw may add to Q
REMEMBERED = 50_000  # anchors whose judgement is kept


class Tres:
    """Links by the value of their leaf.

    state = (nine features, relevant pages on the path, others, slot of the host, draw)
    """

    combine = BEST
    alone = True

    def __init__(
        self,
        *,
        query: Query,
        critic: Critic,
        seed: int = 0,
        q: bool = True,
        gamma: float = 0.99,
        fewest: int = 5,
        least: float = 0.0,
        deepest: int = 18,
        every: int = 5,
    ) -> None:
        """`fewest`: experiences of a leaf that may be split; `least`: share of them on either side; `deepest`: depth of
        the tree; `every`: pages between
        sweeps."""
        if not 0 <= gamma < 1 or fewest < 2 or deepest < 0 or every < 1:
            raise ForagerError("tres: gamma must lie in 0..1, fewest be at least 2, deepest 0, every 1")
        self.query, self.critic, self.seed, self.q, self.gamma, self.every = query, critic, seed, q, gamma, every
        self.tree = RewardTree(FEATURES, fewest=fewest, least=least, deepest=deepest)
        self.values = np.zeros(1, np.float32)  # Q of each node of the tree
        self.hosts = np.zeros((2, HOSTS), np.float32)  # pages of each host that are not relevant, and that are
        self._rewards = np.zeros(0, np.float32)  # r of each experience
        self._ahead: list[Floats] = []  # of each experience: the different x of the links of s'
        self._said: dict[str, float] = {}  # of the critic, by anchor

    # ---- features

    def _states(self, visit: Visit) -> Floats:
        links = visit.links
        state = np.zeros((len(links), LOT + 1), np.float32)
        near, relevant, others = _path(visit)
        state[:, 0] = visit.judgement.relevance >= RELEVANT
        state[:, 1], state[:, 2] = near, tenths(np.array(relevant / (relevant + others)))
        anchors = _anchors(visit)
        said = self.query.counts(anchors)
        state[:, 3] = self.query.counts(url_terms(links.targets)) > 0
        state[:, 4], state[:, 5] = said > 0, said > 1
        state[:, CHANCE] = self._chances(visit, anchors)
        state[:, GOOD], state[:, BAD] = relevant, others
        state[:, SLOT] = host_slots(links.targets)
        state[:, LOT] = chances(links.targets, self.seed)
        return _today(self.hosts, state)

    def _chances(self, visit: Visit, anchors: Ragged) -> Floats:
        """What the critic says of each anchor; of one that stands on many pages, once."""
        texts = visit.links.anchors
        new = {text: row for row, text in enumerate(texts) if text not in self._said}
        if len(self._said) + len(new) > REMEMBERED:
            self._said, new = {}, {text: row for row, text in enumerate(texts)}
        judged = self.critic.judge([_as_page(visit.page, text, anchors[row]) for text, row in new.items()])
        self._said.update(zip(new, (judgement.relevance for judgement in judged), strict=True))
        return np.array([self._said[text] for text in texts], np.float32)

    # ---- learning

    def observe(self, outcome: Visit | Miss, evidence: Evidence) -> None:
        if isinstance(outcome, Miss):
            return
        led, good = outcome.trace.inlinks, int(outcome.judgement.relevance >= RELEVANT)
        followed = _today(self.hosts, led.state[:1]) if led.state.size else None
        self.hosts[good, host_slots([outcome.page.url])] += 1
        if followed is not None:
            self._rewards = np.append(self._rewards, np.float32(good))
            if self.q:
                self._ahead.append(np.unique(self._states(outcome)[:, :FEATURES], axis=0))
            self.tree.add(followed[0, :FEATURES], self._targets())
            self.values = self.tree.means()

    def _targets(self) -> Floats:
        """y of each experience."""
        return self._rewards + np.float32(self.gamma) * self._best_ahead() if self.q else self._rewards

    def _best_ahead(self) -> Floats:
        """max over a' in A(s') of Q(leaf of a') of each experience."""
        lengths = np.array([len(rows) for rows in self._ahead], np.intp)
        best, starts = np.full(len(lengths), self.values.max()), np.cumsum(lengths) - lengths
        if lengths.any():
            q = self.values[self.tree.leaves(np.concatenate(self._ahead))]
            best[lengths > 0] = np.maximum.reduceat(q, starts[lengths > 0])
        return best

    # ---- scoring

    def score(self, visit: Visit) -> ScoredLinks:
        state = self._states(visit)
        return ScoredLinks(_priority(self.tree, self.values, state), state=state)

    def rescore(self, waiting: Waiting, graph: Graph) -> Iterator[Floats]:
        tree, values, hosts = copy(self.tree), self.values, self.hosts.copy()
        return (
            _priority(tree, values, _today(hosts, batch.state)) if batch.state.shape[1] else batch.scores
            for batch in waiting
        )


def _priority(tree: RewardTree, values: Floats, state: Floats) -> Floats:
    """Below the best leaf, so that a float32 has room for the draw."""
    below = values[tree.leaves(state[:, :FEATURES])] - values.max()
    return np.asarray(below + np.float32(TIE) * state[:, LOT], np.float32)


def _today(hosts: Floats, state: Floats) -> Floats:
    """The state of links with what is known of their hosts now."""
    bad, good = hosts[:, state[:, SLOT].astype(np.intp)]
    known = state.copy()
    known[:, UNKNOWN] = bad + good == 0
    known[:, HOST] = np.where(bad + good == 0, 0.5, tenths(good / np.maximum(bad + good, 1)))
    return known


def tenths(share: NDArray[Any]) -> Floats:
    """Rounded down to tenths."""
    return np.asarray(np.floor(10 * share + 1e-6) / 10, np.float32)


def _path(visit: Visit) -> tuple[float, int, int]:
    """1 / d of a page, and the relevant and the other pages on the path to it, with itself."""
    good, led = bool(visit.judgement.relevance >= RELEVANT), visit.trace.inlinks.state
    relevant, others = (int(led[0, GOOD]), int(led[0, BAD])) if led.size else (0, 0)
    distance = 1.0 if good or not led.size else 1 / float(led[0, 1]) + 1
    return 1 / distance, relevant + good, others + (not good)


def _anchors(visit: Visit) -> Ragged:
    """The words of each anchor."""
    terms, links = visit.page.terms, visit.links
    starts = terms.offsets[links.first_leaf]
    return Ragged.cut(terms.values, starts, terms.offsets[links.last_leaf + 1] - starts)


def _as_page(page: Page, anchor: str, terms: Terms) -> Page:
    """A page that has only the words of an anchor."""
    bare = replace(page, title="", leaves=(anchor,), tags=("a",), terms=Ragged.of([terms]), headings=(), keywords="")
    return replace(bare, regions=page.regions[:1], links=page.links.take([]), description="")


# ---- the tree ------------------------------------------------------------------------------------------------------


class RewardTree:
    """A decision tree that grows as examples come: a leaf is split where that makes the rewards in it most alike.

    Of the n examples of a leaf with rewards r, a split puts n_1 with x_f <= value on one side and n_2 on the other:

        gain = var(r) - n_1/n var(r_1) - n_2/n var(r_2)

    A leaf with at least `fewest` examples is split where the gain is largest, if it is above 0. Either side must have
    at least a share of `least` of the examples. Leaves are numbers of nodes; node 0 is the root.
    """

    def __init__(self, features: int, *, fewest: int, least: float, deepest: int) -> None:
        self.fewest, self.least, self.deepest = fewest, least, deepest
        self.feature, self.value = np.full(1, LEAF, np.intp), np.zeros(1, np.float32)
        self.children, self.parent = np.zeros((1, 2), np.intp), np.zeros(1, np.intp)
        self.depth = np.zeros(1, np.intp)
        self.x, self.rewards = np.zeros((0, features), np.float32), np.zeros(0, np.float32)
        self.leaf = np.zeros(0, np.intp)  # of each example

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self.feature)

    def leaves(self, x: Floats) -> NDArray[np.intp]:
        """The leaf of each row."""
        at, rows = np.zeros(len(x), np.intp), np.arange(len(x))
        while len(rows):
            rows = rows[self.feature[at[rows]] != LEAF]
            node = at[rows]
            right = x[rows, self.feature[node]] > self.value[node]
            at[rows] = self.children[node, right.astype(np.intp)]
        return at

    def add(self, x: Floats, rewards: Floats) -> None:
        """Take in an example, and split its leaf if that is due. `rewards`: of all examples, the new one last."""
        leaf = int(self.leaves(x[None])[0])
        self.x, self.rewards = np.vstack((self.x, x)), rewards
        self.leaf = np.append(self.leaf, leaf)
        rows = np.flatnonzero(self.leaf == leaf)
        if len(rows) >= self.fewest and self.depth[leaf] < self.deepest:
            gain, feature, value = best_split(self.x[rows], self.rewards[rows], self.least)
            if gain > 0:
                self._split(leaf, feature, value)
                self.leaf[rows] = self.leaves(self.x[rows])

    def _split(self, leaf: int, feature: int, value: float) -> None:
        """In new arrays: a copy of the tree stays as it was."""
        left, right = len(self), len(self) + 1
        self.feature, self.value = np.append(self.feature, [LEAF] * 2), np.append(self.value, [0, 0]).astype(np.float32)
        self.children = np.vstack((self.children, np.zeros((2, 2), np.intp)))
        self.feature[leaf], self.value[leaf], self.children[leaf] = feature, value, (left, right)
        self.parent, self.depth = np.append(self.parent, [leaf] * 2), np.append(self.depth, [self.depth[leaf] + 1] * 2)

    def means(self) -> Floats:
        """The mean reward of each leaf; 0 for a node that is split."""
        counts = np.bincount(self.leaf, minlength=len(self))
        return (np.bincount(self.leaf, self.rewards, len(self)) / np.maximum(counts, 1)).astype(np.float32)


def best_split(x: Floats, rewards: Floats, least: float = 0.0) -> tuple[float, int, float]:
    """The largest gain, and the feature and value that have it. All features and values are tried in one go."""
    count = len(x)
    order = np.argsort(x, axis=0, kind="stable")
    ordered, r = np.take_along_axis(x, order, axis=0), rewards[order].astype(np.float64)
    left, sums = np.arange(1, count)[:, None], np.cumsum(r, axis=0)
    squares = sums[:-1] ** 2 / left + (sums[-1] - sums[:-1]) ** 2 / (count - left)
    gains = (squares - sums[-1] ** 2 / count) / count  # what the squared rewards add to the variances cancels out
    gains[ordered[1:] == ordered[:-1]] = 0  # no value lies between equal ones
    gains[(np.minimum(left, count - left) < least * count)[:, 0]] = 0
    place, feature = np.unravel_index(np.argmax(gains), gains.shape)
    gain = float(gains[place, feature])
    return (gain if gain > 1e-9 else 0.0), int(feature), float(ordered[place, feature])
