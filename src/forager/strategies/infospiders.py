"""Agents that live on relevance, learn while they crawl, and multiply: for studies of such agents.

InfoSpiders, Menczer & Belew (2000).

*What an agent expects.* An agent has a name, energy E, keywords k_1..k_m, and a net of one unit with a weight for each
keyword and a bias. For a link l:

    in(k,l)     = sum over the occurrences of keyword k of 1/dist, where dist <= 5
    lambda(x)   = tanh(w.x + b)                                 what the agent expects behind a link with inputs x
    Pr(l)       ~ e^(beta lambda_l)                             the link that the agent follows next

dist counts the links from the occurrence to l: l itself, the links between, and the link whose anchor has the word. So
dist is 1 in the anchor of l and in the text on either side of it, and 2 in the next anchor.

*Life.*

    E          += benefit - cost                                benefit = relevance of the page, 0 for a miss
    E > theta     the agent gives half of its energy to a child;    E < 0: the agent dies

The weights of a child are those of its parent with Gaussian noise. The keyword with the weight nearest to zero is
replaced: the child gets the strongest new term of the page where it is born, by (1 + log n) idf, with the largest
weight of the parent. The last agent does not die.

*Learning* (Q-learning), from the link that led to a page with links l':

    target      = benefit + mu max over l' of lambda_l'
    (w,b)      += eta (target - lambda)(1 - lambda^2) (x,1) / (1 + |x|^2)       a step against (target - lambda)^2 / 2

The step is divided by the squared length of (x,1), because inputs are sums of counts and have no upper bound.

*One frontier for all agents.* If the G_l are independent with Pr(G < g) = e^(-e^-g), then the largest of
beta lambda_l + G_l is a draw with Pr ~ e^(beta lambda) (Gumbel-max), and the next largest is the next draw without the
first. So

    priority(l) = beta lambda_l + G(seed, url, agent)

with G made from a hash: links sorted by priority are the draws, and `score` stays pure. A link found by two agents
takes the better of two priorities, which is the same as adding their e^(beta lambda).

state = (agent, its energy, G, in(k_1,l)..in(k_m,l)), so that a sweep can score each link with what its agent has learnt
since. Links of dead agents fall below all others, or are dropped (option `abandon`). The agent with the most energy
takes over the pages that links of dead agents lead to. So a crawl goes on as long as there are links.

Agents and populations are replaced, never changed in place: a sweep in another thread goes on with the population that
it began with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from xxhash import xxh3_64_intdigest

from forager.errors import ForagerError
from forager.learn.tfidf import Idf, Query, find
from forager.types import (
    BEST,
    NEVER,
    Evidence,
    Floats,
    Graph,
    Links,
    Mask,
    Miss,
    Page,
    Parts,
    ScoredLinks,
    Terms,
    Url,
    Visit,
    Waiting,
    WaitingBatch,
)
from forager.web.text import count, term

FALL = 1e4  # links of dead agents wait this far below all others
OWNER, ENERGY, NOISE, INPUTS = range(4)  # columns of state

ANCESTOR = 0  # the name of the first agent, which is on the seeds
WINDOW = 5  # the largest dist
NAMES = 24  # bits of a name: it travels with a link as a float32

# Places on a page are counted in half steps: 2i in the anchor of link i, 2i + 1 between links i and i + 1.
_REACH = 2 * WINDOW - 1
_CLOSENESS = (1 / (1 + np.abs(np.arange(-_REACH, _REACH + 1)) // 2)).astype(np.float32)  # 1 / dist


class InfoSpiders:
    """Agents that share one frontier. state = (agent, its energy, G, inputs)"""

    combine = BEST
    alone = True  # the new score of a link needs only its state

    def __init__(
        self,
        *,
        query: Query,
        seed: int = 0,
        beta: float = 8.0,
        cost: float = 0.05,
        theta: float = 2.0,
        mu: float = 0.5,
        eta: float = 0.05,
        mutation: float = 0.1,
        keywords: int = 24,
        most: int = 32,
        abandon: bool = False,
        every: int = 50,
    ) -> None:
        if theta <= 0 or keywords < 1 or most < 1:
            raise ForagerError("infospiders: theta, keywords and most must be above 0; leave them out for the defaults")
        self.query, self.every = query, every
        self.seed = seed % 2 ** (64 - NAMES)  # leaves room for a name in the key of the hash
        self.beta, self.cost, self.theta, self.mu, self.eta = beta, cost, theta, mu, eta
        self.mutation, self.keywords, self.most, self.abandon = mutation, keywords, most, abandon
        self.population = Population.of([Agent.first(query, keywords, theta / 2)])

    def score(self, visit: Visit) -> ScoredLinks:
        rivals = np.stack([self._state(agent, visit) for agent in self._on(visit)])
        priorities = np.stack([self._priorities(self.population, state)[0] for state in rivals])
        owner, link = priorities.argmax(axis=0), np.arange(len(visit.links))
        return ScoredLinks(priorities[owner, link], state=rivals[owner, link])

    def rescore(self, waiting: Waiting, graph: Graph) -> Iterator[Floats]:
        population = self.population
        return (self._again(population, batch) for batch in waiting)

    def _again(self, population: Population, batch: WaitingBatch) -> Floats:
        if not batch.state.shape[1]:  # only seeds wait
            return batch.scores
        priorities, alive = self._priorities(population, batch.state)
        fallen = np.where(batch.scores < -FALL / 2, batch.scores, batch.scores - np.float32(FALL))
        return np.where(alive, priorities, np.float32(NEVER) if self.abandon else fallen)

    def _priorities(self, population: Population, state: Floats) -> tuple[Floats, Mask]:
        """beta lambda + G of each row, and whether its agent lives. Without a living agent there is no lambda."""
        expected, alive = population.expects(state[:, OWNER], state[:, INPUTS:])
        return np.float32(self.beta) * expected + state[:, NOISE], alive

    def _state(self, agent: Agent, visit: Visit) -> Floats:
        state = np.empty((len(visit.links), INPUTS + len(agent.keywords)), np.float32)
        state[:, OWNER], state[:, ENERGY] = agent.name, agent.energy
        state[:, NOISE] = gumbel(visit.links.targets, self.seed << NAMES | agent.name)
        state[:, INPUTS:] = keyword_inputs(visit.page, visit.links, agent.keywords)
        return state

    def _on(self, outcome: Visit | Miss) -> list[Agent]:
        """The agent that followed the link to a page and the agent born there; if neither lives, the richest agent."""
        agents, led = self.population.agents, outcome.trace.inlinks.state
        names = (int(led[0, OWNER]) if led.size else ANCESTOR, born_on(_url(outcome)))
        return [agents[name] for name in names if name in agents] or [self.population.richest]

    # ---- energy and learning

    def observe(self, outcome: Visit | Miss, evidence: Evidence) -> None:
        agent = self._on(outcome)[0]
        benefit = outcome.judgement.relevance if isinstance(outcome, Visit) else 0.0
        agent = self._taught(agent, outcome, benefit)
        self.population = self._fed(agent, outcome, benefit - self.cost)

    def _taught(self, agent: Agent, outcome: Visit | Miss, benefit: float) -> Agent:
        led = outcome.trace.inlinks.state
        if not led.size or led[0, OWNER] != agent.name:  # a seed, or a link of another agent with other keywords
            return agent
        ahead = 0.0
        if isinstance(outcome, Visit) and len(outcome.links):
            ahead = float(agent.expects(keyword_inputs(outcome.page, outcome.links, agent.keywords)).max())
        return agent.taught(led[0, INPUTS:], benefit + self.mu * ahead, self.eta)

    def _fed(self, agent: Agent, outcome: Visit | Miss, gain: float) -> Population:
        fed, name = replace(agent, energy=agent.energy + gain), born_on(_url(outcome))
        if fed.energy < 0:
            return self.population.losing(fed)
        if fed.energy <= self.theta or isinstance(outcome, Miss):
            return self.population.having(fed)
        if len(self.population) >= self.most or name in self.population.agents:  # no room for a child
            return self.population.having(replace(fed, energy=self.theta))
        noise = np.random.default_rng([self.seed, name]).normal(0, self.mutation, len(fed.weights))
        return self.population.having(
            *fed.split(name, outcome.page.terms.values, self.query.idf, noise.astype(np.float32))
        )

    # ---- parts

    def parts(self) -> Parts:
        return self.population.parts()

    def from_parts(self, parts: Parts) -> Self:
        if parts["keywords"].shape[1] != self.keywords:
            raise ForagerError(
                f"infospiders: these agents have {parts['keywords'].shape[1]} keywords each, the crawl is set to "
                f"{self.keywords}: set keywords = {parts['keywords'].shape[1]}, or start again from the seeds"
            )
        new = copy(self)
        new.population = Population.from_parts(parts)
        return new

    def merge(self, parts: Sequence[Parts]) -> Parts:
        return Population.union([Population.from_parts(each) for each in parts], self.most).parts()


def gumbel(urls: Sequence[Url], key: int) -> Floats:
    """G = -log(-log U), with U in (0,1) from a hash of each URL."""
    bits = (xxh3_64_intdigest(url.encode(), key) >> 12 for url in urls)
    chance = (np.fromiter(bits, np.float64, len(urls)) + 0.5) / 2.0**52
    return (-np.log(-np.log(chance))).astype(np.float32)


def born_on(url: Url) -> int:
    """The name of an agent born on this page. No two shards have the same page, so names are unique."""
    return xxh3_64_intdigest(url.encode()) >> 64 - NAMES or 1  # never ANCESTOR


def _url(outcome: Visit | Miss) -> Url:
    return outcome.page.url if isinstance(outcome, Visit) else outcome.url


# ---- agents ---------------------------------------------------------------------------------------------------------


def keyword_inputs(page: Page, links: Links, keywords: Terms) -> Floats:
    """in(k,l): a row for each link, a column for each keyword."""
    if not len(links):
        return np.zeros((0, len(keywords)), np.float32)
    occurrences = np.flatnonzero(np.isin(page.terms.values, keywords))
    order = np.argsort(keywords)
    which = order[np.searchsorted(keywords, page.terms.values[occurrences], sorter=order)]
    leaves = np.searchsorted(page.terms.offsets, occurrences, "right") - 1
    before = np.searchsorted(page.links.first_leaf, leaves, "right") - 1  # the last link that begins there or before
    places = 2 * before + 1 - ((before >= 0) & (leaves <= page.links.last_leaf[before]))
    width = 2 * len(page.links) + 2 * _REACH - 1  # half steps, with room at both ends for the windows
    cells = which * width + places + _REACH
    counts = np.bincount(cells, minlength=len(keywords) * width).reshape(len(keywords), width).astype(np.float32)
    near = sliding_window_view(counts, len(_CLOSENESS), axis=1)[:, ::2] @ _CLOSENESS  # (keywords, page.links)
    return near[:, np.searchsorted(page.links.first_leaf, links.first_leaf)].T


@dataclass(frozen=True, slots=True, eq=False)
class Agent:
    """One agent. Its keywords never change; a change of energy or weights gives a new value."""

    name: int
    energy: float
    keywords: Terms  # (m,) 0: a free place
    weights: Floats  # (m + 1,) w of the keywords, then b

    @classmethod
    def first(cls, query: Query, places: int, energy: float) -> Self:
        """The first agent. Its keywords are the words of the query, weighted by idf; children may use free places."""
        said = np.array([term(word) for word in query.words[:places]], np.uint32)
        trust = query.idf(said)
        weights = trust / max(float(np.linalg.norm(trust)), 1e-9)
        empty = places - len(said)
        return cls(ANCESTOR, energy, np.pad(said, (0, empty)), np.pad(weights, (0, empty + 1)))

    def expects(self, inputs: Floats) -> Floats:
        """lambda(x) of each row x of inputs."""
        return np.asarray(np.tanh(inputs @ self.weights[:-1] + self.weights[-1]), np.float32)

    def taught(self, inputs: Floats, target: float, eta: float) -> Self:
        """The agent after one step of learning."""
        x = np.append(inputs, np.float32(1))
        estimate = float(self.expects(inputs))
        slope = (target - estimate) * (1 - estimate * estimate) / float(x @ x)
        return replace(self, weights=self.weights + np.float32(eta * slope) * x)

    def split(self, name: int, words: Terms, idf: Idf, noise: Floats) -> tuple[Self, Self]:
        """The agent and its child, which is born on a page with these words."""
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
    """The living agents, by name. There is always at least one: the last agent does not die."""

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
        """The population with these agents, which replace those of the same names."""
        return replace(self, agents={**self.agents, **{agent.name: agent for agent in agents}})

    def losing(self, agent: Agent) -> Self:
        """The population without this agent. If it is the last one, it stays with no energy."""
        others = {name: other for name, other in self.agents.items() if name != agent.name}
        return replace(self, agents=others or {agent.name: replace(agent, energy=0.0)})

    def expects(self, names: Floats, inputs: Floats) -> tuple[Floats, Mask]:
        """lambda of each row by the agent with its name, and whether that agent lives."""
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
        """The richest `most` agents of all populations. Copies of one agent become their mean."""
        names = {name for population in populations for name in population.agents}
        met = [[p.agents[name] for p in populations if name in p.agents] for name in sorted(names)]
        together = sorted((_mean(same) for same in met), key=lambda agent: (-agent.energy, agent.name))
        return cls.of(together[:most])


def _mean(agents: Sequence[Agent]) -> Agent:
    """The mean of copies of one agent that lived in different shards. Its keywords are the same in all."""
    energy = float(np.mean([agent.energy for agent in agents]))
    weights = np.mean([agent.weights for agent in agents], axis=0)
    return replace(agents[0], energy=energy, weights=np.asarray(weights, np.float32))
