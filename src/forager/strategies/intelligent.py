"""Learns during the crawl what comes before relevant pages: for any topic, and some hundred pages or more.

Aggarwal, Al-Garawi & Yu (2001): which events come before the pages that satisfy a predicate?

C is the predicate Pr(c*|v) >= tau. Of the n pages reached by a link, n_C satisfy C, n_E showed an event E before they
were fetched, and n_CE both. With p = Pr(C) = (n_C + 1/2) / (n + 1) and alpha pages of doubt:

    I(C,E) = Pr(C and E) / (Pr(C) Pr(E)) = (n_CE + alpha p) / ((n_E + alpha) p)              interest ratio
    z(C,E) = |n_CE - n_E p| / sqrt(n_E p (1 - p)),  the binomial deviation;  I = 1 where z < z_min

I says how much likelier C is if E was seen. z says how many standard deviations n_CE is from chance: n_E draws with
probability p.

    I_c = product over the words w of the page u that v was found on of I(C, w in a page that refers to v)
    I_u = product over the tokens t of v's URL of I(C, t)
    I_l = I(C,L)^s I(C,not L)^(1-s)      L: a page that refers to v satisfies C; s: the share of those that do
    I_s = (r + alpha p) / ((k + alpha) p)      k links on the pages that refer to v are judged, r of them satisfy C

    log priority(v) = w_c log I_c + w_u log I_u + w_l log I_l + w_s log I_s

Words and tokens are counted by hash in a table of fixed size. When v is visited, only the ids of the pages that refer
to it are known. For that reason the strategy remembers the most frequent words of the latest pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.errors import ForagerError
from forager.types import (
    LATEST,
    Evidence,
    Floats,
    Graph,
    Known,
    Mask,
    Miss,
    Page,
    Parts,
    Ragged,
    ScoredLinks,
    Terms,
    Visit,
    Waiting,
)
from forager.web.text import count, mix, url_terms

Doubles: TypeAlias = NDArray[np.float64]

SIZE = 1 << 18  # buckets of the table of words and tokens
NOTHING = SIZE  # fills the free places in the rows of remembered words
WORD, TOKEN = 0, 1  # kinds of event, with different hashes
FACTORS = ("words of the page", "words of the URL", "pages that link to it", "links beside it")
COUNTS, MEMORY = ("pages", "events", "pairs"), ("owners", "remembered", "visits")


class Intelligent:
    """Links by interest ratios that are learnt during the crawl.

    state = (u satisfies C,); clues = tokens of the URL, common = words of u, both as buckets of the table
    """

    combine = LATEST

    def __init__(
        self,
        *,
        threshold: float = 0.5,
        significance: float = 2.0,
        doubt: float = 1.0,
        content: float = 1.0,
        url: float = 1.0,
        links: float = 1.0,
        siblings: float = 1.0,
        words: int = 256,
        remember: int = 4096,
        every: int = 50,
    ) -> None:
        if doubt <= 0 or words < 1 or remember < 1 or every < 1:
            raise ForagerError("intelligent: doubt must be above 0; words, remember and every at least 1")
        self.threshold, self.significance, self.doubt, self.every = threshold, significance, doubt, every
        self.weights = np.array([content, url, links, siblings])
        self.pages = np.zeros(2, np.int64)  # n, n_C
        self.events = np.zeros((2, SIZE), np.int32)  # n_E, n_CE of each bucket
        self.pairs = np.zeros((2, 2), np.int64)  # n_E, n_CE of not L, L
        self.owners = np.full(remember, -1, np.int32)  # ids of the latest pages, in a ring buffer
        self.remembered = np.full((remember, words), NOTHING, np.uint32)  # their words
        self.visits = np.zeros((), np.int64)

    # ---- learning

    def observe(self, outcome: Visit | Miss, evidence: Evidence) -> None:
        if isinstance(outcome, Visit):
            if len(outcome.trace.inlinks.sources):
                self._count(outcome)
            self._remember(outcome.trace.id, self._words(outcome.page))

    def _count(self, visit: Visit) -> None:
        inlinks = visit.trace.inlinks
        words = np.unique(self.remembered[np.isin(self.owners, inlinks.sources)])
        present = np.concatenate((words[words != NOTHING], inlinks.clues[0]))
        referring = np.bincount(inlinks.state[:, 0].astype(np.intp), minlength=2)
        for row in (0, 1) if visit.judgement.relevance >= self.threshold else (0,):
            self.pages[row] += 1
            self.events[row, present] += 1
            self.pairs[row] += referring

    def _remember(self, id: int, words: Terms) -> None:
        slot = int(self.visits) % len(self.owners)
        self.owners[slot], self.remembered[slot] = id, NOTHING
        self.remembered[slot, : len(words)] = words
        self.visits += 1

    @property
    def interest(self) -> InterestRatio:
        p = (int(self.pages[1]) + 0.5) / (int(self.pages[0]) + 1)
        return InterestRatio(p, self.doubt, self.significance)

    # ---- events

    def _words(self, page: Page) -> Terms:
        distinct, often = count(mix(page.terms.values, WORD) % np.uint32(SIZE))
        return distinct[np.argsort(-often, kind="stable")[: self.remembered.shape[1]]]

    def _tokens(self, urls: Sequence[str]) -> Ragged:
        """The tokens of each URL, each once."""
        found = url_terms(urls)
        rows = np.repeat(np.arange(len(found), dtype=np.uint64), found.lengths) << np.uint64(32)
        keys = np.unique(rows | mix(found.values, TOKEN) % np.uint32(SIZE))
        starts = np.arange(len(found) + 1, dtype=np.uint64) << np.uint64(32)
        return Ragged(keys.astype(np.uint32), np.searchsorted(keys, starts))

    # ---- scoring

    def score(self, visit: Visit) -> ScoredLinks:
        words, tokens = self._words(visit.page), self._tokens(visit.links.targets)
        satisfied = visit.judgement.relevance >= self.threshold
        scores = self.weights @ self._factors(words, tokens, visit.known, satisfied)
        state = np.full((len(scores), 1), satisfied, np.float32)
        return ScoredLinks(scores.astype(np.float32), state=state, clues=tokens, common=words)

    def _factors(self, words: Terms, tokens: Ragged, known: Known, satisfied: bool) -> Doubles:
        """(4, n): the log of each factor for each link. For I_s only the links on this page count."""
        interest = self.interest
        share = (known.relevant_inlinks + satisfied) / (known.inlinks + 1)
        judged, good = ~np.isnan(known.relevance), known.relevance >= self.threshold
        beside = interest.ratio(np.asarray(judged.sum()), np.asarray(good.sum()))
        content = interest(*self.events[:, words]).sum()
        url = sums(interest(*self.events[:, tokens.values]), tokens)
        without, with_ = interest(*self.pairs)
        every = np.ones(len(tokens))
        return np.stack((content * every, url, share * with_ + (1 - share) * without, beside * every))

    def rescore(self, waiting: Waiting, graph: Graph) -> Iterator[Floats]:
        interest = self.interest  # a copy of what is known now: the rest may run in another thread than `observe`
        return self._again(waiting, graph, interest, interest(*self.events), interest(*self.pairs))

    def _again(
        self, waiting: Waiting, graph: Graph, interest: InterestRatio, of_event: Doubles, of_pair: Doubles
    ) -> Iterator[Floats]:
        share, judged, good = neighbours(graph, graph.relevance >= self.threshold)
        linked = share * of_pair[1] + (1 - share) * of_pair[0]
        beside = interest.ratio(judged, good)
        for batch in waiting:
            content = sums(of_event[batch.common.values], batch.common)
            url = sums(of_event[batch.clues.values], batch.clues)
            yield (self.weights @ np.stack((content, url, linked[batch.ids], beside[batch.ids]))).astype(np.float32)

    def explain(self, visit: Visit, link: int) -> list[tuple[str, float]]:
        """What each factor adds to the log priority."""
        words, tokens = self._words(visit.page), self._tokens(visit.links.targets)
        factors = self._factors(words, tokens, visit.known, visit.judgement.relevance >= self.threshold)
        told = zip(FACTORS, (self.weights * factors[:, link]).tolist(), strict=True)
        return sorted(told, key=lambda factor: -abs(factor[1]))

    # ---- keeping

    def parts(self) -> Parts:
        return {name: np.array(getattr(self, name)) for name in COUNTS + MEMORY}

    def from_parts(self, parts: Parts) -> Self:
        """Merged parts have no remembered pages: ids differ between shards, so each shard keeps its own."""
        new = copy(self)
        for name in COUNTS + MEMORY:
            own = np.asarray(getattr(self, name))
            given = np.array(parts.get(name, own), own.dtype)
            if given.shape != own.shape:
                raise ForagerError(
                    f"intelligent: {name} was {given.shape}, is {own.shape}: set `words` and `remember` as they were"
                )
            setattr(new, name, given)
        return new

    def merge(self, parts: Sequence[Parts]) -> Parts:
        return {name: np.sum([each[name] for each in parts], axis=0, dtype=np.int64) for name in COUNTS}


@dataclass(frozen=True, slots=True)
class InterestRatio:
    """log I(C,E) from counts."""

    p: float  # Pr(C)
    doubt: float  # alpha
    significance: float  # z_min

    def ratio(self, n: NDArray[Any], n_c: NDArray[Any]) -> Doubles:
        """log I of each event, significant or not: n = n_E, n_c = n_CE."""
        return np.log((n_c + self.doubt * self.p) / ((n + self.doubt) * self.p))

    def __call__(self, n: NDArray[Any], n_c: NDArray[Any]) -> Doubles:
        """log I of each event; 0 where z < z_min."""
        deviation = np.abs(n_c - n * self.p)
        return np.where(deviation < self.significance * np.sqrt(n * self.p * (1 - self.p)), 0, self.ratio(n, n_c))


def sums(values: Doubles, rows: Ragged) -> Doubles:
    """The sum of the values of each row."""
    return sums_at(np.repeat(np.arange(len(rows)), rows.lengths), values, len(rows))


def neighbours(graph: Graph, good: Mask) -> tuple[Doubles, Doubles, Doubles]:
    """For each id: the share s of the links to it that are on good pages; how many links on the pages that refer to it
    are judged (k); how many of those lead to good pages (r)."""
    count, targets = len(good), graph.targets
    sources = np.repeat(np.arange(count), np.diff(graph.offsets))
    share = sums_at(targets, good[sources], count) / np.maximum(np.bincount(targets, minlength=count), 1)
    judged, satisfied = (
        sums_at(targets, sums_at(sources, these[targets], count)[sources], count)
        for these in (~np.isnan(graph.relevance), good)
    )
    return share, judged, satisfied


def sums_at(at: NDArray[Any], values: NDArray[Any], count: int) -> Doubles:
    """For each of `count` places the sum of the values with that place."""
    return np.asarray(np.bincount(at, values, count), np.float64)
