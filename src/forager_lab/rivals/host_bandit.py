"""Links on hosts that paid first: the bandit of Anthelion, by Meusel, Mika & Blanco (2014).

"Focused Crawling for Structured Data" (CIKM 2014). Each host is an arm. With probability lambda the next host is one
drawn at random, of those whose links wait; otherwise it is the one with the largest value. Inside a host the link with
the largest prediction of an online classifier is taken. Of the pages of host h, g were relevant and b were not:

    success(h) = (g + 1) / (b + 1)                      as their code has it; orders hosts as (g + 1) / (g + b + 2) does
    best(h)    = max over the waiting links v of h of Pr(v)
    both(h)    = success(h) best(h)

Pr(v) is learnt as pages come (logistic regression here; theirs are naive Bayes and Hoeffding trees), from the words of
the address, the words of the anchor, and whether the page u on which the link was found is relevant. With decay, lambda
falls with the number n of pages: lambda_n = lambda / (floor(n / decay) + 1).

Chance is drawn for each page: in round n it is a hash of the seed and n that decides whether a host is drawn, and then
of the seed, n and the host which. A request that brings no page does not end a round. With `every` above 1 a round has
as many pages. As scores, with value in [0,1):

    success:  floor(1000 (g + 1) / (g + b + 2)) + Pr(v)       best: Pr(v)       both: Pr(v) (g + 1) / (b + 1)
    a drawn round:  1000 h(seed, n, host) + Pr(v)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from forager.errors import ForagerError
from forager.learn.linear import Linear, Regression, sigmoid
from forager.strategies.link_features import side_by_side
from forager.types import BEST, RELEVANT, Evidence, Floats, Graph, Miss, Ragged, ScoredLinks, Url, Visit, Waiting
from forager.web.text import mix, url_terms
from forager.web.urls import host
from forager_lab.rivals.ngrams import chances

HOSTS = 1 << 16  # slots in which hosts are counted
SHARP = 1000  # steps of a host's value in 1
ADDRESS, ANCHOR, PARENT = range(3)  # kinds of features


class HostBandit:
    """Links by what their host has given, then by an online classifier. state = (slot of the host,)"""

    combine = BEST
    alone = True

    def __init__(
        self,
        *,
        seed: int = 0,
        lam: float = 0.2,
        decay: int = 0,
        value: Literal["success", "best", "both"] = "success",
        every: int = 1,
    ) -> None:
        """`lam`: lambda; `decay`: 0 for none; `value`: of a host; `every`: pages of a round."""
        if not 0 <= lam <= 1 or decay < 0 or every < 1:
            raise ForagerError("host-bandit: lam must lie in 0..1, decay be at least 0, every at least 1")
        self.seed, self.lam, self.decay, self.value, self.every = seed, lam, decay, value, every
        self.pages = 0  # n
        self.counts = np.zeros((2, HOSTS), np.float32)  # b, g of each host
        self._wanted = Regression(1 << 18)

    # ---- learning

    def observe(self, outcome: Visit | Miss, evidence: Evidence) -> None:
        if isinstance(outcome, Miss):
            return
        good, led = int(outcome.judgement.relevance >= RELEVANT), outcome.trace.inlinks
        self.pages += 1
        self.counts[good, host_slots([outcome.page.url])] += 1
        if len(led.sources):
            self._wanted.learn(led.clues.take(np.zeros(1, np.intp)), np.array([good], np.float32))

    # ---- scoring

    def score(self, visit: Visit) -> ScoredLinks:
        state, clues = host_slots(visit.links.targets).astype(np.float32)[:, None], self._clues(visit)
        return ScoredLinks(_scores(self._worth(), self._wanted.linear(), state, clues), state=state, clues=clues)

    def rescore(self, waiting: Waiting, graph: Graph) -> Iterator[Floats]:
        worth, model = self._worth(), self._wanted.linear()
        return (
            _scores(worth, model, batch.state, batch.clues) if batch.state.shape[1] else batch.scores
            for batch in waiting
        )

    def _worth(self) -> HostWorth:
        """What each host is worth in this round."""
        bad, good = self.counts + 1
        if self.draws():
            return HostWorth(np.floor(SHARP * self._lots()), apart=True)
        if self.value == "success":
            return HostWorth(np.floor(SHARP * good / (good + bad)), apart=True)
        return HostWorth(good / bad if self.value == "both" else np.ones(HOSTS, np.float32), apart=False)

    # ---- chance

    def draws(self) -> bool:
        """Whether a host is drawn in this round."""
        lam = self.lam / (self.pages // self.decay + 1) if self.decay else self.lam
        return bool(chances([Url(f"round {self.pages // self.every}")], self.seed)[0] < lam)

    def _lots(self) -> Floats:
        """h(seed, n, host) of each host."""
        round_seed = xxh3_64_intdigest(f"lots {self.pages // self.every}".encode(), self.seed % 2**64)
        return np.random.default_rng(round_seed).random(HOSTS, np.float32)

    # ---- features

    def _clues(self, visit: Visit) -> Ragged:
        links, terms = visit.links, visit.page.terms
        starts = terms.offsets[links.first_leaf]
        anchors = Ragged.cut(terms.values, starts, terms.offsets[links.last_leaf + 1] - starts)
        address = url_terms(links.targets)
        good = int(visit.judgement.relevance >= RELEVANT)
        parent = np.full(len(links), mix(np.array([good], np.uint32), PARENT)[0], np.uint32)
        return side_by_side(
            [
                Ragged(mix(address.values, ADDRESS), address.offsets),
                Ragged(mix(anchors.values, ANCHOR), anchors.offsets),
                Ragged(parent, np.arange(len(links) + 1)),
            ]
        )


@dataclass(frozen=True, slots=True, eq=False)
class HostWorth:
    """The value of each host in one round."""

    of_host: Floats
    apart: bool  # hosts come one after the other: Pr(v) only orders the links of one; else it is a factor


def _scores(worth: HostWorth, model: Linear | None, state: Floats, clues: Ragged) -> Floats:
    chance = np.full(len(clues), 0.5, np.float32) if model is None else sigmoid(model(clues))
    of_host = worth.of_host[state[:, 0].astype(np.intp)]
    return (of_host + chance if worth.apart else of_host * chance).astype(np.float32)


def host_slots(urls: Sequence[Url]) -> NDArray[np.intp]:
    """Where the host of each URL is counted."""
    slots = {name: xxh3_64_intdigest(name.encode()) % HOSTS for name in {host(url) for url in urls}}
    return np.array([slots[host(url)] for url in urls], np.intp)
