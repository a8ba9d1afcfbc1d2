"""Weights of a link's levels, found by a genetic search over replayed crawls.

The search of the thesis (`studies.lexical.level_weights`) orders a queue of links that are all there from the
start. In a crawl a link is there only when a page that has it was fetched, so weights are also worth what they lead to.
Here each set of weights crawls recorded pages anew, and

    fitness(w) = mean over the crawls of  sum over the relevant pages of (1 - k / N) / the largest that sum can be

k = 0, 1, … being the place of a page among the N fetched: 1 where all that is relevant comes first, 0 where nothing
comes. Weights (a, b, c) are positive and have the sum 1. The first generation has weights that are given, the others by
chance. Then, until a generation is full,

    survivors  the best `elite`
    parents    two, each the best of `rivals` drawn by chance
    child      u one + (1 - u) other, u from -1/4 to 5/4, plus normal noise: `spread`, halved every four generations

Weights are rounded to three digits, and none is tried twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TypeAlias

import numpy as np

from forager.errors import ForagerError
from forager.learn.chains.rows import Reals
from forager.registry import Spec
from forager.strategies.lexical import LexicalStrategy
from forager.strategies.lexical.links import FEATURES, LEARNT, LinkScore
from forager.types import Floats, Ids, Mask, Url
from forager_lab.laboratory import Laboratory
from forager_lab.protocol import Trial, strategy_for
from studies.apprentice.instances import gather
from studies.lexical.level_weights import Followed, search

Weights: TypeAlias = tuple[float, float, float]  # context, content, page
Fitness: TypeAlias = Callable[[Weights], float]

# The method as the thesis has it, spelt out: it stays what it is, whatever becomes the default.
PLAIN = "lexical:weighted=false:parent_terms=0:finer=false:navigation=1.0:proximity=0.0:reward=0.0:combine=best"
PLAIN_CRITIC = "lexical:mode=all:terms=160:strict=true:above=exact:navigation=true:counts=levels"
LEAST, DIGITS = 0.001, 3
PRODUCT = LinkScore()
EQUALLY: Weights = (0.334, 0.333, 0.333)
MULTIPLIED, EQUAL, THESIS, STATIC, GENETIC = (
    *("product", "sum, equal weights", "sum, weights of the thesis"),
    *("sum, exhaustive search", "sum, genetic search"),
)


def summed(weights: Weights) -> LinkScore:
    return LinkScore(FEATURES, "sum", weights)


# ---- replayed crawls ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """What a replayed crawl fetched, in order, and the links it followed."""

    order: tuple[Url, ...]
    levels: Ids  # (m, 3) of the link that led to each of the last m pages; those before are seeds
    numbers: Ids  # (m,) of that link's URL, in order of discovery


@dataclass(frozen=True, slots=True, eq=False)
class _Links:
    targets: Sequence[Url]
    levels: Floats  # (n, 3)


class _Queue:
    """What waits in a replayed crawl: the lowest score first, ties in order of discovery."""

    def __init__(self, seeds: Sequence[Url]) -> None:
        self.via: dict[Url, Floats] = {}  # the levels of the link by which a URL was found, that of the lowest score
        self._gone: set[Url] = set()
        self._best = dict.fromkeys(seeds, -np.inf)
        self.number = {url: at for at, url in enumerate(seeds)}  # in order of discovery
        self._waiting = [(-np.inf, at, url) for url, at in self.number.items()]

    def next(self) -> Url | None:
        while self._waiting:
            score, _, url = heappop(self._waiting)
            if score <= self._best[url] and self.take(url):
                return url
        return None

    def take(self, url: Url) -> bool:
        """Let it wait no longer; whether it did, or might have."""
        new = url not in self._gone
        self._gone.add(url)
        return new

    def offer(self, links: _Links, scores: Floats) -> None:
        for url, score, levels in zip(links.targets, scores.tolist(), links.levels, strict=True):
            if url not in self._gone and score < self._best.get(url, np.inf):
                self._best[url], self.via[url] = score, levels
                heappush(self._waiting, (score, self.number.setdefault(url, len(self.number)), url))


class Replay:
    """The crawls of a trial by the lexical strategy, with any link score. What its links are is found out once.

    The links followed are those of the crawl where redirects stay on their host.
    """

    def __init__(self, lab: Laboratory, trial: Trial) -> None:
        strategy = strategy_for(lab, trial, Spec.parse(PLAIN))
        if not isinstance(strategy, LexicalStrategy):
            raise ForagerError("only the lexical strategy can be replayed")
        self.lab, self.trial, self._strategy = lab, trial, strategy
        self._known: dict[Url, _Links | None] = {}

    def walk(self, score: LinkScore, pages: int) -> Walk:
        """The pages that a crawl fetches whose links have this score."""
        queue, order, followed = _Queue(self.trial.seeds), list[Url](), list[Url]()
        while len(order) < pages and (asked := queue.next()) is not None:
            url = self.lab.web.final(asked)
            links = self._links(url) if queue.take(url) or url == asked else None
            if links is None:
                continue
            order.append(url)
            if asked in queue.via:
                followed.append(asked)
            queue.offer(links, score(links.levels))
        levels = np.array([queue.via[url] for url in followed], np.int32).reshape(-1, len(FEATURES))
        return Walk(tuple(order), levels, np.array([queue.number[url] for url in followed], np.int32))

    def found(self, walk: Walk) -> Mask:
        """Which of the pages are relevant, and no examples."""
        wanted = self.trial.relevant - self.trial.trained
        return np.array([url in wanted for url in walk.order], bool)

    def followed(self, pages: int) -> Followed:
        """The links that the product of the levels follows, with the levels of the pages behind them."""
        walk = self.walk(PRODUCT, pages)
        behind = self.lab.pages(walk.order[len(walk.order) - len(walk.levels) :])
        reached = np.array([self._strategy.page_level(page) for page in behind if page is not None], np.int32)
        discovered = np.argsort(walk.numbers)
        return Followed(walk.levels[discovered], reached[discovered])

    def fitness(self, score: LinkScore, pages: int) -> float:
        return earliness(self.found(self.walk(score, pages)), len(self.trial.relevant - self.trial.trained), pages)

    def _links(self, url: Url) -> _Links | None:
        if url not in self._known:
            visits = gather(self.lab, self.trial, [url]).visits
            self._known[url] = _Links(visits[0].links.targets, self._strategy.links(visits[0])) if visits else None
        return self._known[url]


def earliness(found: Mask, count: int, pages: int) -> float:
    """From 0 to 1: how many of the `count` relevant pages are found, and how early, in so many pages."""
    worth = 1 - np.arange(pages) / pages
    most = worth[:count].sum()
    return float(worth[np.flatnonzero(found)].sum() / most) if most else 0.0


# ---- the search -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Breeding:
    size: int = 16  # of a generation
    generations: int = 12
    elite: int = 2
    rivals: int = 3
    spread: float = 0.15

    def __post_init__(self) -> None:
        if self.generations < 1 or not 1 <= self.elite < self.size or self.rivals < 1:
            raise ForagerError("a genetic search needs a generation, more in it than survive, and a rival")


@dataclass(frozen=True)
class Evolved:
    weights: Weights
    fitness: float
    history: tuple[float, ...]  # the best fitness of each generation
    tried: int  # different weights


def evolve(fitness: Fitness, first: Sequence[Weights], breeding: Breeding, seed: int) -> Evolved:
    """The weights that do best; the same for the same seed."""
    draw = np.random.default_rng([seed, breeding.size, breeding.generations])
    known: dict[Weights, float] = {}

    def rank(weights: Weights) -> float:
        if weights not in known:
            known[weights] = fitness(weights)
        return known[weights]

    several = [rounded(np.array(weights)) for weights in first][: breeding.size]
    several += [rounded(draw.dirichlet(np.ones(3))) for _ in range(breeding.size - len(several))]
    history = [max(map(rank, several))]
    for generation in range(1, breeding.generations):
        several.sort(key=rank, reverse=True)
        noise = breeding.spread / 2 ** (generation / 4)
        children = [_child(several, rank, breeding.rivals, noise, draw) for _ in range(breeding.size - breeding.elite)]
        several = [*several[: breeding.elite], *children]
        history.append(max(map(rank, several)))
    best = max(several, key=rank)
    return Evolved(best, rank(best), tuple(history), len(known))


def rounded(weights: Reals) -> Weights:
    """Positive, with the sum 1, to three digits."""
    least = np.maximum(weights, LEAST)
    a, b, _ = np.maximum(np.round(least / least.sum(), DIGITS), LEAST).tolist()
    return a, b, max(0.0, round(1 - a - b, DIGITS))


def _child(several: Sequence[Weights], rank: Fitness, rivals: int, noise: float, draw: np.random.Generator) -> Weights:
    one, other = (
        np.array(max((several[at] for at in draw.integers(len(several), size=rivals).tolist()), key=rank))
        for _ in range(2)
    )
    share = draw.uniform(-0.25, 1.25)
    return rounded(share * one + (1 - share) * other + draw.normal(0, noise, 3))


# ---- both searches --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    weights: Weights | None  # None: the product of the levels
    fitness: float


@dataclass(frozen=True)
class Searched:
    """Link scores of several sources, and how they did in the replayed crawls."""

    forms: Mapping[str, Found]
    history: Sequence[float]  # the best fitness of each generation
    tried: int  # weights, by the genetic search
    links: int  # in the queue of the exhaustive search


def search_weights(lab: Laboratory, trials: Sequence[Trial], pages: int, breeding: Breeding, seed: int) -> Searched:
    """By trying all on the links that the product follows, and by a genetic search over crawls of so many pages."""
    replays = [Replay(lab, trial) for trial in trials]
    queue = Followed.together([replay.followed(pages) for replay in replays])
    best = search(queue)

    def fitness(score: LinkScore) -> float:
        return float(np.mean([replay.fitness(score, pages) for replay in replays]))

    given = {EQUAL: EQUALLY, THESIS: LEARNT, STATIC: rounded(np.array([best.a, best.b, best.c]))}
    evolved = evolve(lambda weights: fitness(summed(weights)), list(given.values()), breeding, seed)
    forms = {MULTIPLIED: Found(None, fitness(PRODUCT))}
    for name, weights in {**given, GENETIC: evolved.weights}.items():
        forms[name] = Found(weights, fitness(summed(weights)))
    return Searched(forms, evolved.history, evolved.tried, len(queue.reached))
