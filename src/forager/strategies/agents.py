"""The agents of InfoSpiders: what one sees and expects of a link, how it learns and multiplies, and all of them.

    in(k,l) = sum over the occurrences of keyword k of 1/dist, as far as dist <= 5

dist counts the links met on the way from the occurrence to l: l itself, those between, and that whose anchor the word
stands in. So it is 1 in l's own anchor and in the text on either side of it, and 2 in the next anchor.

An agent has a name, energy E, keywords k_1..k_m and a net of one unit with a weight a keyword and a bias:

    lambda(x) = tanh(w.x + b)                                              what it expects behind a link with inputs x
    (w,b) += eta (target - lambda)(1 - lambda^2) (x,1) / (1 + |x|^2)       a step against (target - lambda)^2 / 2

The step is divided by the squared length of (x,1), because inputs are sums of counts and have no upper bound. A child
takes half of the energy; its weights are its parent's with Gaussian noise, and in place of the keyword whose weight is
nearest to zero it has the strongest new term of the page where it is born, by (1 + log n) idf, with the largest weight.

Values are replaced, never changed in place: a sweep in another thread goes on with the population it began with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from forager.learn.tfidf import Idf, Query, find
from forager.types import Floats, Links, Mask, Page, Parts, Terms
from forager.web.text import count, term

ANCESTOR = 0  # the name of the first agent, which is on the seeds
WINDOW = 5  # links either way
NAMES = 24  # bits of a name: it travels with a link as a float32

# Places on a page are counted in half steps: 2i in the anchor of link i, 2i + 1 between links i and i + 1.
_REACH = 2 * WINDOW - 1
_CLOSENESS = (1 / (1 + np.abs(np.arange(-_REACH, _REACH + 1)) // 2)).astype(np.float32)  # 1 / dist


def inputs(page: Page, links: Links, keywords: Terms) -> Floats:
    """in(k,l): a row for each link, a column for each keyword."""
    if not len(links):
        return np.zeros((0, len(keywords)), np.float32)
    occurrences = np.flatnonzero(np.isin(page.terms.values, keywords))
    order = np.argsort(keywords)
    which = order[np.searchsorted(keywords, page.terms.values[occurrences], sorter=order)]
    leaves = np.searchsorted(page.terms.offsets, occurrences, "right") - 1
    before = np.searchsorted(page.links.first_leaf, leaves, "right") - 1  # the last link that begins there or earlier
    places = 2 * before + 1 - ((before >= 0) & (leaves <= page.links.last_leaf[before]))
    width = 2 * len(page.links) + 2 * _REACH - 1  # half steps, with room at both ends for the windows
    cells = which * width + places + _REACH
    counts = np.bincount(cells, minlength=len(keywords) * width).reshape(len(keywords), width).astype(np.float32)
    near = sliding_window_view(counts, len(_CLOSENESS), axis=1)[:, ::2] @ _CLOSENESS  # (keywords, page.links)
    return near[:, np.searchsorted(page.links.first_leaf, links.first_leaf)].T


@dataclass(frozen=True, slots=True, eq=False)
class Agent:
    name: int
    energy: float
    keywords: Terms  # (m,) 0: a place that no word has taken yet
    weights: Floats  # (m + 1,) of the keywords, then the bias

    @classmethod
    def first(cls, query: Query, places: int, energy: float) -> Self:
        """It believes in the words of the query, by their idf; places that are left over are for its children."""
        said = np.array([term(word) for word in query.words[:places]], np.uint32)
        trust = query.idf(said)
        weights = trust / max(float(np.linalg.norm(trust)), 1e-9)
        empty = places - len(said)
        return cls(ANCESTOR, energy, np.pad(said, (0, empty)), np.pad(weights, (0, empty + 1)))

    def expects(self, inputs: Floats) -> Floats:
        """lambda of each row of inputs."""
        return np.asarray(np.tanh(inputs @ self.weights[:-1] + self.weights[-1]), np.float32)

    def taught(self, inputs: Floats, target: float, eta: float) -> Self:
        x = np.append(inputs, np.float32(1))
        estimate = float(self.expects(inputs))
        slope = (target - estimate) * (1 - estimate * estimate) / float(x @ x)
        return replace(self, weights=self.weights + np.float32(eta * slope) * x)

    def split(self, name: int, words: Terms, idf: Idf, noise: Floats) -> tuple[Self, Self]:
        """The agent and its child, born on a page of these words."""
        half = replace(self, energy=self.energy / 2)
        keywords, weights = self.keywords.copy(), self.weights + noise
        distinct, n = count(words[~np.isin(words, keywords)])
        if len(distinct) and len(keywords):
            place = int(np.argmin(np.abs(self.weights[:-1])))
            keywords[place] = distinct[np.argmax((1 + np.log(n)) * idf(distinct))]
            weights[place] = self.weights[:-1].max()
        return half, replace(half, name=name, keywords=keywords, weights=weights)


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """The living, by name. Never empty: the last agent does not die."""

    agents: Mapping[int, Agent]

    @classmethod
    def of(cls, agents: Sequence[Agent]) -> Self:
        return cls({agent.name: agent for agent in agents})

    def __len__(self) -> int:
        return len(self.agents)

    @property
    def richest(self) -> Agent:
        return max(self.agents.values(), key=lambda agent: (agent.energy, -agent.name))

    def having(self, *agents: Agent) -> Self:
        """With these, in place of those of the same names."""
        return replace(self, agents={**self.agents, **{agent.name: agent for agent in agents}})

    def losing(self, agent: Agent) -> Self:
        others = {name: other for name, other in self.agents.items() if name != agent.name}
        return replace(self, agents=others or {agent.name: replace(agent, energy=0.0)})

    def expects(self, names: Floats, inputs: Floats) -> tuple[Floats, Mask]:
        """What the agent of each row expects of its inputs, and whether it lives."""
        living = sorted(self.agents)
        at, alive = find(names.astype(np.uint32), np.array(living, np.uint32))
        weights = np.stack([self.agents[name].weights for name in living])[at]
        return np.tanh(np.einsum("ij,ij->i", inputs, weights[:, :-1]) + weights[:, -1]), alive

    # ---- parts

    def parts(self) -> Parts:
        agents = [self.agents[name] for name in sorted(self.agents)]
        return {
            "names": np.array([agent.name for agent in agents], np.uint32),
            "energy": np.array([agent.energy for agent in agents]),
            "keywords": np.stack([agent.keywords for agent in agents]),
            "weights": np.stack([agent.weights for agent in agents]),
        }

    @classmethod
    def from_parts(cls, parts: Parts) -> Self:
        columns = zip(parts["names"], parts["energy"], parts["keywords"], parts["weights"], strict=True)
        return cls.of([Agent(int(name), float(energy), k.copy(), w.copy()) for name, energy, k, w in columns])

    @classmethod
    def union(cls, populations: Sequence[Population], most: int) -> Self:
        """All of them, but not more than the richest `most`; who lives in several is the mean of what it is there."""
        names = {name for population in populations for name in population.agents}
        met = [[p.agents[name] for p in populations if name in p.agents] for name in sorted(names)]
        together = sorted((_mean(same) for same in met), key=lambda agent: (-agent.energy, agent.name))
        return cls.of(together[:most])


def _mean(agents: Sequence[Agent]) -> Agent:
    """Of one agent that went different ways; its keywords are for life."""
    energy = float(np.mean([agent.energy for agent in agents]))
    weights = np.mean([agent.weights for agent in agents], axis=0)
    return replace(agents[0], energy=energy, weights=np.asarray(weights, np.float32))
