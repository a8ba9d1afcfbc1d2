"""InfoSpiders: agents that live on relevance, learn while they crawl, and multiply. Menczer & Belew (2000).

    in(k,l)     = sum of 1/dist over the occurrences of keyword k within 5 links of link l (agents.py)
    lambda_l    = net of the agent over its inputs in(.,l): one tanh unit
    Pr(l)       ~ e^(beta lambda_l)                             the link an agent follows next
    E          += benefit - cost                                benefit = relevance of the page, 0 of a miss
    E > theta     half of it goes to a child;    E < 0: the agent dies
    target      = benefit + mu max over l' of lambda_l'         Q-learning, of the link that led to a page with links l'

All agents share one frontier. A draw with Pr ~ e^(beta lambda) is the largest of beta lambda_l + G_l, if the G_l are
independent with Pr(G < g) = e^(-e^-g) (Gumbel-max), and the next largest is the next draw without the first. So

    priority(l) = beta lambda_l + G(seed, url, agent)

with G made from a hash draws by sorting, and `score` stays pure. A link found by two agents takes the better of two
priorities, which adds up their e^(beta lambda).

state = (agent, its energy, G, in(k_1,l)..in(k_m,l)): a sweep scores each link with what its agent has learnt since.
Links of the dead fall below all others, or are dropped (`abandon`). The last agent does not die, and the richest adopts
the pages that links of the dead lead to: so a crawl goes on as long as there are links.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Self

import numpy as np
from xxhash import xxh3_64_intdigest

from forager.errors import ForagerError
from forager.learn.tfidf import Query
from forager.strategies.agents import ANCESTOR, NAMES, Agent, Population, inputs
from forager.types import (
    BEST,
    NEVER,
    Evidence,
    Floats,
    Graph,
    Mask,
    Miss,
    Parts,
    ScoredLinks,
    Url,
    Visit,
    Waiting,
    WaitingBatch,
)

FALL = 1e4  # links of the dead wait this far below all others
OWNER, ENERGY, NOISE, INPUTS = range(4)  # columns of state


class InfoSpiders:
    combine = BEST
    alone = True  # a link's new score needs nothing but its state

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
        self.seed = seed % 2 ** (64 - NAMES)  # there is room for a name beside it in the key of a hash
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
        """beta lambda + G, and whether the agent lives: without it there is no lambda."""
        expected, alive = population.expects(state[:, OWNER], state[:, INPUTS:])
        return np.float32(self.beta) * expected + state[:, NOISE], alive

    def _state(self, agent: Agent, visit: Visit) -> Floats:
        state = np.empty((len(visit.links), INPUTS + len(agent.keywords)), np.float32)
        state[:, OWNER], state[:, ENERGY] = agent.name, agent.energy
        state[:, NOISE] = gumbel(visit.links.targets, self.seed << NAMES | agent.name)
        state[:, INPUTS:] = inputs(visit.page, visit.links, agent.keywords)
        return state

    def _on(self, outcome: Visit | Miss) -> list[Agent]:
        """The agent that followed the link to a page and the one born there, or else who adopts it."""
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
        if not led.size or led[0, OWNER] != agent.name:  # a seed, or a link scored by other keywords
            return agent
        ahead = 0.0
        if isinstance(outcome, Visit) and len(outcome.links):
            ahead = float(agent.expects(inputs(outcome.page, outcome.links, agent.keywords)).max())
        return agent.taught(led[0, INPUTS:], benefit + self.mu * ahead, self.eta)

    def _fed(self, agent: Agent, outcome: Visit | Miss, gain: float) -> Population:
        fed, name = replace(agent, energy=agent.energy + gain), born_on(_url(outcome))
        if fed.energy < 0:
            return self.population.losing(fed)
        if fed.energy <= self.theta or isinstance(outcome, Miss):
            return self.population.having(fed)
        if len(self.population) >= self.most or name in self.population.agents:  # no room: what is too much is lost
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
    """The name of the agent born on a page: no two shards have the same page."""
    return xxh3_64_intdigest(url.encode()) >> 64 - NAMES or 1  # never ANCESTOR


def _url(outcome: Visit | Miss) -> Url:
    return outcome.page.url if isinstance(outcome, Visit) else outcome.url
