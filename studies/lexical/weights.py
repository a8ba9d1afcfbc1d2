"""The weights of a link's three levels (context, content, page), found by two searches.

*Exhaustive*, the search of the thesis. Links that were followed, each with its three levels and with the level of the
page it led to, make a queue ordered by

    a context + b content + c page,        ties in order of discovery

The best weights are those with the smallest

    sum over k of level_k / k              level_k: the level of the page behind the k-th link

among all with a, b = 1/s, 2/s, …, a + b <= 1 and c = 1 - a - b; s is 1000 in the thesis. Of several best ones the one
nearest to their mean is taken (ours).

*Genetic*, ours. In the queue above all links are there from the start. In a crawl a link is there only when a page that
has it was fetched. So here each set of weights crawls recorded pages again, and

    fitness(w) = mean over the crawls of  sum over the relevant pages of (1 - k / N) / the largest that sum can be

k = 0, 1, … is the place of a page among the N fetched. Fitness is 1 if all relevant pages come first, and 0 if none
comes. Weights (a, b, c) are positive and have the sum 1. The first generation has the weights that are given, and
random ones. Each next generation is made of

    survivors  the best `elite`
    children   until it is full: u one + (1 - u) other, u from -1/4 to 5/4, plus normal noise; the noise is `spread` and
               is halved every four generations; `one` and `other` are each the best of `rivals` drawn by chance

Weights are rounded to three digits, and none is tried twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.errors import ForagerError
from forager.learn.chains.rows import Reals
from forager.registry import Spec
from forager.strategies.lexical import LexicalStrategy
from forager.strategies.lexical.links import FEATURES, LEARNT, LinkScore
from forager.types import Floats, Ids, Mask, Page, Url, Visit
from forager_lab.laboratory import Laboratory
from forager_lab.protocol import Trial, strategy_for
from studies.apprentice.crawls import gather

Integers: TypeAlias = NDArray[np.int64]
LevelWeights: TypeAlias = tuple[float, float, float]  # context, content, page
Fitness: TypeAlias = Callable[[LevelWeights], float]

# The method as the thesis has it, in full, with its own terms: phrases only, and all that the examples have. It stays
# the same if the defaults change.
PLAIN = "lexical:weighted=false:parent_share=0.0:finer=false:navigation=1.0:proximity=0.0:reward=0.0:combine=best"
PLAIN_CRITIC = "lexical:mode=thesis:terms=0:least_c=0.0:strict=true:above=exact:navigation=true:counts=levels"
STEPS = 1000  # s
CHUNK = 1 << 20  # links sorted at a time
CLOSE = 1e-9  # sums that differ by less are equal: the same fractions may have been added in another order
LEAST, DIGITS = 0.001, 3
PRODUCT = LinkScore()
EQUALLY: LevelWeights = (0.334, 0.333, 0.333)
MULTIPLIED, EQUAL, THESIS, STATIC, GENETIC = (
    *("product", "sum, equal weights", "sum, weights of the thesis"),
    *("sum, exhaustive search", "sum, genetic search"),
)


# ---- the exhaustive search ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class FollowedLinkLevels:
    """The levels of links that were followed, in order of discovery."""

    levels: Ids  # (m, 3) context, content, page
    reached: Ids  # (m,) the level of the page behind each

    @classmethod
    def of(cls, visits: Iterable[Visit], level_of: Callable[[Page], int]) -> FollowedLinkLevels:
        """The links that led a crawl to its pages. Its strategy was `lexical`, with all three features."""
        found = sorted(
            (visit.trace.asked, *visit.trace.inlinks.state[0, : len(FEATURES)].tolist(), level_of(visit.page))
            for visit in visits
            if len(visit.trace.inlinks.state)
        )
        table = np.array(found, np.int32).reshape(-1, len(FEATURES) + 2)
        return cls(table[:, 1:-1], table[:, -1])

    @classmethod
    def together(cls, crawls: Sequence[FollowedLinkLevels]) -> FollowedLinkLevels:
        """Those of several crawls, one after the other."""
        return cls(np.concatenate([one.levels for one in crawls]), np.concatenate([one.reached for one in crawls]))


@dataclass(frozen=True, slots=True)
class BestWeights:
    """What the exhaustive search found."""

    a: float  # context
    b: float  # content
    c: float  # page
    order_score: float  # the sum that is smallest
    equals: int  # how many weights have that sum, these included


def search(followed: FollowedLinkLevels, steps: int = STEPS) -> BestWeights:
    """The best weights in steps of 1/s.

    Half a million queues need not be sorted. With weights in units of 1/s all numbers are whole, and the order of the
    queue depends only on the sign of (a,b,c) . d for each difference d of two links' levels. There are few such
    differences, so few sets of weights differ in these signs, and only those are tried.
    """
    _check(followed, steps)
    weights = all_weights(steps)
    _, first, kinds = np.unique(_signs(weights, followed.levels), return_index=True, return_inverse=True)
    sums = order_scores(followed, weights[first])
    equals = weights[sums[kinds] <= sums.min() + CLOSE]
    from_mean = ((equals - equals.mean(axis=0)) ** 2).sum(axis=1)
    a, b, c = (equals[from_mean.argmin()] / steps).tolist()
    return BestWeights(a, b, c, float(sums.min()), len(equals))


def all_weights(steps: int) -> Integers:
    """(w, 3) in units of 1/s; a rises, and b rises for each a."""
    a, b = (axis.ravel() for axis in np.meshgrid(np.arange(1, steps), np.arange(1, steps), indexing="ij"))
    kept = a + b <= steps
    return np.column_stack((a, b, steps - a - b))[kept].astype(np.int64)


def order_scores(followed: FollowedLinkLevels, weights: Integers) -> Reals:
    """(w,) the sum for each of (w, 3) weights."""
    count = len(followed.reached)
    reached, places, numbers = followed.reached.astype(np.float64), np.arange(1, count + 1), np.arange(count)
    sums = [np.zeros(0)]
    for some in np.array_split(weights, len(weights) * count // CHUNK + 1):
        queue = np.sort(some @ followed.levels.T.astype(np.int64) * count + numbers, axis=1) % count
        sums.append((reached[queue] / places).sum(axis=1))
    return np.concatenate(sums)


def _signs(weights: Integers, levels: Ids) -> NDArray[np.uint64]:
    """(w,) the same number for weights that order all links alike, and for no others."""
    a, b, c = weights.T.astype(np.int32)
    differences = _differences(levels)
    numbers = np.random.default_rng(0).integers(1 << 63, size=(len(differences), 2), dtype=np.uint64)
    hashed = np.zeros(len(weights), np.uint64)
    for (x, y, z), (behind, level) in zip(differences.tolist(), numbers, strict=True):
        ahead = a * x + b * y + c * z
        hashed += np.where(ahead > 0, behind, np.where(ahead == 0, level, np.uint64(0)))  # wraps around
    return hashed


def _differences(levels: Ids) -> Integers:
    """Between any two links, each direction once."""
    distinct = np.unique(levels, axis=0).astype(np.int64)
    one, other = np.triu_indices(len(distinct), 1)  # rows rise, so the first number that is not 0 is positive
    apart = distinct[other] - distinct[one]
    return np.unique(apart // np.gcd.reduce(apart, axis=1)[:, None], axis=0)


def _check(followed: FollowedLinkLevels, steps: int) -> None:
    if len(followed.reached) < 2:
        raise ForagerError(f"{len(followed.reached)} followed links teach no weights: crawl further")
    if followed.levels.min() < 1:
        raise ForagerError('some levels were not looked at: crawl with features = "content,context,page"')
    if steps < 2:
        raise ForagerError(f"weights in {steps} steps: give 2 or more")


# ---- replayed crawls ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class ReplayedCrawl:
    """What a replayed crawl fetched, in order, and the links it followed."""

    order: tuple[Url, ...]
    levels: Ids  # (m, 3) of the link that led to each of the last m pages; the pages before are seeds
    numbers: Ids  # (m,) of that link's URL, in order of discovery


@dataclass(frozen=True, slots=True, eq=False)
class _Links:
    targets: Sequence[Url]
    levels: Floats  # (n, 3)


class _Queue:
    """The links that wait in a replayed crawl: the lowest score first, ties in order of discovery."""

    def __init__(self, seeds: Sequence[Url]) -> None:
        self.via: dict[Url, Floats] = {}  # the levels of the link to each URL that has the lowest score
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
        """It waits no longer. False if it was taken before."""
        new = url not in self._gone
        self._gone.add(url)
        return new

    def offer(self, links: _Links, scores: Floats) -> None:
        for url, score, levels in zip(links.targets, scores.tolist(), links.levels, strict=True):
            if url not in self._gone and score < self._best.get(url, np.inf):
                self._best[url], self.via[url] = score, levels
                heappush(self._waiting, (score, self.number.setdefault(url, len(self.number)), url))


class LexicalReplay:
    """Crawls of a trial by the lexical strategy, with any link score. The levels of links are computed once.

    A replay follows the same links as a crawl if redirects stay on their host.
    """

    def __init__(self, lab: Laboratory, trial: Trial) -> None:
        strategy = strategy_for(lab, trial, Spec.parse(PLAIN))
        if not isinstance(strategy, LexicalStrategy):
            raise ForagerError("only the lexical strategy can be replayed")
        self.lab, self.trial, self._strategy = lab, trial, strategy
        self._known: dict[Url, _Links | None] = {}

    def crawl(self, score: LinkScore, pages: int) -> ReplayedCrawl:
        """Fetch so many pages, in the order of this score."""
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
        return ReplayedCrawl(tuple(order), levels, np.array([queue.number[url] for url in followed], np.int32))

    def found(self, crawl: ReplayedCrawl) -> Mask:
        """Which of the pages are relevant and not examples."""
        wanted = self.trial.relevant - self.trial.trained
        return np.array([url in wanted for url in crawl.order], bool)

    def followed(self, pages: int) -> FollowedLinkLevels:
        """The links that the product of the levels follows."""
        crawl = self.crawl(PRODUCT, pages)
        behind = self.lab.pages(crawl.order[len(crawl.order) - len(crawl.levels) :])
        reached = np.array([self._strategy.page_level(page) for page in behind if page is not None], np.int32)
        discovered = np.argsort(crawl.numbers)
        return FollowedLinkLevels(crawl.levels[discovered], reached[discovered])

    def fitness(self, score: LinkScore, pages: int) -> float:
        """How well this score does in a crawl of so many pages."""
        return earliness(self.found(self.crawl(score, pages)), len(self.trial.relevant - self.trial.trained), pages)

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


# ---- the genetic search ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GeneticSettings:
    """How the genetic search goes."""

    size: int = 16  # of a generation
    generations: int = 12
    elite: int = 2
    rivals: int = 3
    spread: float = 0.15

    def __post_init__(self) -> None:
        if self.generations < 1 or not 1 <= self.elite < self.size or self.rivals < 1:
            raise ForagerError("a genetic search needs a generation, more members than survivors, and a rival")


@dataclass(frozen=True)
class EvolvedWeights:
    """What the genetic search found."""

    weights: LevelWeights
    fitness: float
    history: tuple[float, ...]  # the best fitness of each generation
    tried: int  # different weights


def evolve(
    fitness: Fitness, first: Sequence[LevelWeights], settings: GeneticSettings, seed: int
) -> EvolvedWeights:  # fmt: skip
    """The weights that do best; the same for the same seed."""
    draw = np.random.default_rng([seed, settings.size, settings.generations])
    known: dict[LevelWeights, float] = {}

    def rank(weights: LevelWeights) -> float:
        if weights not in known:
            known[weights] = fitness(weights)
        return known[weights]

    several = [rounded(np.array(weights)) for weights in first][: settings.size]
    several += [rounded(draw.dirichlet(np.ones(3))) for _ in range(settings.size - len(several))]
    history = [max(map(rank, several))]
    for generation in range(1, settings.generations):
        several.sort(key=rank, reverse=True)
        noise = settings.spread / 2 ** (generation / 4)
        children = [_child(several, rank, settings.rivals, noise, draw) for _ in range(settings.size - settings.elite)]
        several = [*several[: settings.elite], *children]
        history.append(max(map(rank, several)))
    best = max(several, key=rank)
    return EvolvedWeights(best, rank(best), tuple(history), len(known))


def rounded(weights: Reals) -> LevelWeights:
    """Positive, with the sum 1, to three digits."""
    least = np.maximum(weights, LEAST)
    a, b, _ = np.maximum(np.round(least / least.sum(), DIGITS), LEAST).tolist()
    return a, b, max(0.0, round(1 - a - b, DIGITS))


def _child(
    several: Sequence[LevelWeights], rank: Fitness, rivals: int, noise: float, draw: np.random.Generator
) -> LevelWeights:
    one, other = (
        np.array(max((several[at] for at in draw.integers(len(several), size=rivals).tolist()), key=rank))
        for _ in range(2)
    )
    share = draw.uniform(-0.25, 1.25)
    return rounded(share * one + (1 - share) * other + draw.normal(0, noise, 3))


# ---- both searches --------------------------------------------------------------------------------------------------


def summed(weights: LevelWeights) -> LinkScore:
    """The weighted sum of the levels."""
    return LinkScore(FEATURES, "sum", weights)


@dataclass(frozen=True)
class FormFitness:
    """A way to combine the levels, and how well it does in the replayed crawls."""

    weights: LevelWeights | None  # None: the product of the levels
    fitness: float


@dataclass(frozen=True)
class SearchedForms:
    """The ways to combine the levels, by name, and how the searches went."""

    forms: Mapping[str, FormFitness]
    history: Sequence[float]  # the best fitness of each generation
    tried: int  # weights, by the genetic search
    links: int  # in the queue of the exhaustive search


def search_weights(
    lab: Laboratory, trials: Sequence[Trial], pages: int, settings: GeneticSettings, seed: int
) -> SearchedForms:
    """Both searches, over crawls of so many pages."""
    replays = [LexicalReplay(lab, trial) for trial in trials]
    queue = FollowedLinkLevels.together([replay.followed(pages) for replay in replays])
    best = search(queue)

    def fitness(score: LinkScore) -> float:
        return float(np.mean([replay.fitness(score, pages) for replay in replays]))

    given = {EQUAL: EQUALLY, THESIS: LEARNT, STATIC: rounded(np.array([best.a, best.b, best.c]))}
    evolved = evolve(lambda weights: fitness(summed(weights)), list(given.values()), settings, seed)
    forms = {MULTIPLIED: FormFitness(None, fitness(PRODUCT))}
    for name, weights in {**given, GENETIC: evolved.weights}.items():
        forms[name] = FormFitness(weights, fitness(summed(weights)))
    return SearchedForms(forms, evolved.history, evolved.tried, len(queue.reached))
