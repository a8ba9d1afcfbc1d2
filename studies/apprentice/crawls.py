"""The crawls of the study and the instances they give. All crawls run in the loop that Forager ships.

An *instance* (u,v) is a link whose two ends were both fetched; its label is the critic's score of v. What is learnt
before a crawl of the same closed web may only have seen targets in a random half A of its pages; then only the pages of
the other half, B, count. So instances are always split by their targets.

An apprentice *trained beforehand* is shown the instances of a baseline crawl, learns from them once, and then guides a
crawl without learning more, as in section 3.5 of the paper. The *recall crawler* is the same, but it stays within the
pages that the baseline fetched. An apprentice *switched on in mid-crawl* is the baseline until it has been trained: its
first batch is so many pages, and before that a link has the relevance of its source. A *primed* one begins with what it
learnt in an earlier crawl, as a project does that was made with `forager new --apprentice-from`, and goes on learning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from forager.clock import VirtualClock
from forager.config import CrawlConfig, FrontierConfig, StopConfig
from forager.crawl.loop import Crawl
from forager.errors import ForagerError
from forager.registry import Spec
from forager.types import (
    RELEVANT,
    Combine,
    Critic,
    Evidence,
    Floats,
    Ids,
    Inlinks,
    Judgement,
    Known,
    Learns,
    Mask,
    Page,
    Parts,
    Persists,
    Ragged,
    ScoredLinks,
    Strategy,
    Terms,
    Trace,
    Url,
    Visit,
    WeighsWords,
)
from forager.web.scope import Scope
from forager_lab.laboratory import Laboratory
from forager_lab.protocol import Trial, strategy_for

Places: TypeAlias = NDArray[np.int64]

NO_SCORES: Floats = np.empty(0, np.float32)
_NO_PLACES: Places = np.empty(0, np.int64)
_NO_INLINKS = Inlinks(np.empty(0, np.int32), np.empty(0, np.float32), np.empty((0, 0), np.float32), Ragged.of([]))


# ---- instances ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class CrawlInstances:
    """The instances of a crawl in columns: one row for each, by source and then in the order of the source's links."""

    visits: Sequence[Visit]  # all pages of the crawl, as a strategy sees them when they are fetched
    sources: Places  # (m,) place of u among the visits
    links: Places  # (m,) which of the links of u
    targets: Places  # (m,) place of v among the visits

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def relevance(self) -> Floats:
        """(m,) the critic's raw score of each target."""
        return self._raw[self.targets]

    @property
    def source_relevance(self) -> Floats:
        """(m,) the critic's raw score of each source."""
        return self._raw[self.sources]

    @property
    def _raw(self) -> Floats:
        return np.array([visit.judgement.raw for visit in self.visits], np.float32)

    def take(self, rows: NDArray[Any]) -> CrawlInstances:
        """Some rows, given by place in ascending order or as a mask."""
        return CrawlInstances(self.visits, self.sources[rows], self.links[rows], self.targets[rows])

    def sample(self, most: int, seed: int) -> CrawlInstances:
        """At most so many rows, drawn by chance, in their order."""
        if len(self) <= most:
            return self
        return self.take(np.sort(np.random.default_rng([seed, len(self)]).choice(len(self), most, replace=False)))

    def by_source(self) -> Iterator[tuple[Visit, Places]]:
        """Each page that has instances, with the links that are instances; in the order of the rows."""
        ends = np.searchsorted(self.sources, np.arange(len(self.visits) + 1))
        for at in np.flatnonzero(np.diff(ends)).tolist():
            yield self.visits[at], self.links[ends[at] : ends[at + 1]]


def gather(lab: Laboratory, trial: Trial, order: Sequence[Url]) -> CrawlInstances:
    """The instances of a crawl that fetched these pages in this order."""
    pages = [page for page in lab.pages(order) if page is not None]
    judged = trial.critic.judge(pages)
    place = {page.url: at for at, page in enumerate(pages)}
    leads = [np.array([place.get(lab.web.final(url), -1) for url in page.links.targets], np.int64) for page in pages]
    visits = list(_visits(pages, judged, leads))
    links = [np.flatnonzero(targets >= 0) for targets in leads]
    sources = np.repeat(np.arange(len(pages)), [len(rows) for rows in links])
    targets = [those[rows] for those, rows in zip(leads, links, strict=True)]
    return CrawlInstances(visits, sources, np.concatenate([_NO_PLACES, *links]), np.concatenate([_NO_PLACES, *targets]))


def _visits(pages: Sequence[Page], judged: Sequence[Judgement], leads: Sequence[Places]) -> Iterator[Visit]:
    """The visits of the pages, in order. Each knows what the crawl knew then of the targets of its links."""
    relevance = np.array([judgement.relevance for judgement in judged], np.float32)
    inlinks, good = np.zeros(len(pages), np.int32), np.zeros(len(pages), np.int32)
    for at, (page, judgement, targets) in enumerate(zip(pages, judged, leads, strict=True)):
        inside = targets >= 0
        before = np.where(inside & (targets < at), relevance[targets], np.float32(np.nan))
        known = Known(before, np.where(inside, inlinks[targets], 0), np.where(inside, good[targets], 0))
        yield Visit(page, page.links, judgement, Trace(at, at, at, 0, 0.0, _NO_INLINKS), known)
        linked = np.unique(targets[inside])
        inlinks[linked] += 1
        good[linked] += judgement.relevance >= RELEVANT


def random_half(urls: Sequence[Url], seed: int, run: int) -> frozenset[Url]:
    """Half A: half of the pages of a web, drawn by chance; each run has another one."""
    order = np.random.default_rng([seed, run, 0xA]).permutation(len(urls))
    return frozenset(urls[at] for at in order[: len(urls) // 2].tolist())


def split_by_target(instances: CrawlInstances, seed: int) -> Mask:
    """True for the instances to learn from: those of a random half of the targets. No target is on both sides."""
    targets, at = np.unique(instances.targets, return_inverse=True)
    chosen = np.zeros(len(targets), bool)
    chosen[np.random.default_rng([seed, len(targets)]).permutation(len(targets))[: len(targets) // 2]] = True
    return chosen[at]


# ---- crawls ---------------------------------------------------------------------------------------------------------

COLUMNS = ("relevant", "expected", "raw", "sampled", "before", "after", "leads")


@dataclass(frozen=True, slots=True, eq=False)
class CrawledPages:
    """What a crawl fetched, page by page."""

    order: tuple[Url, ...]
    relevant: Mask  # by truth
    expected: Floats  # by the critic
    raw: Floats  # by the critic, before calibration
    sampled: Mask  # a critic had learnt from the page
    before: Floats  # scores of what waited when the apprentice was switched on, by the baseline
    after: Floats  # scores of the same links, by the apprentice
    leads: Mask  # whether they lead to relevant pages, by truth

    def parts(self) -> Parts:
        """As it is kept."""
        order = np.frombuffer(msgspec.json.encode(self.order), np.uint8)
        return {"order": order} | {name: getattr(self, name) for name in COLUMNS}

    @classmethod
    def from_parts(cls, parts: Parts) -> CrawledPages:
        """What `parts` gave."""
        order = msgspec.json.decode(np.asarray(parts["order"]).tobytes(), type=tuple[str, ...])
        return cls(tuple(Url(url) for url in order), *(parts[name] for name in COLUMNS))


def crawl(
    lab: Laboratory,
    trial: Trial,
    strategy: Strategy,
    pages: int,
    *,
    watch: int | None = None,
    sampled: Collection[Url] = (),
) -> CrawledPages:
    """Fetch so many pages. `watch`: after that many, note the scores of what waits before and after a re-scoring.
    `sampled`: pages that a critic has learnt from."""
    loop = Crawl(
        CrawlConfig(
            seeds=tuple(trial.seeds), frontier=FrontierConfig(delay=0), stop=StopConfig(pages=pages), seed=trial.seed
        ),
        critic=trial.critic,
        strategy=strategy,
        fetcher=lab.web.fetcher,
        scope=trial.scope,
        clock=VirtualClock(),
        read=lab.cache.read,
    )
    visits: list[Visit] = []
    waiting: Ids = np.empty(0, np.int32)
    before = after = NO_SCORES
    for visit in loop:
        visits.append(visit)
        if len(visits) == watch:  # it has learnt, but not yet scored again
            waiting, before = loop.frontier.waiting, loop.frontier.scores(loop.frontier.waiting)
        elif watch is not None and len(visits) == watch + 1:
            still = np.isin(waiting, loop.frontier.waiting)
            waiting, before, after = waiting[still], before[still], loop.frontier.scores(waiting[still])
    order = tuple(visit.page.url for visit in visits)
    leads = [lab.web.final(loop.facts.addresses[id]) in trial.relevant for id in waiting.tolist()]
    return CrawledPages(
        order,
        np.array([url in trial.relevant for url in order], bool),
        np.array([visit.judgement.relevance for visit in visits], np.float32),
        np.array([visit.judgement.raw for visit in visits], np.float32),
        np.array([url in sampled for url in order], bool),
        before,
        after,
        np.array(leads, bool),
    )


def within(lab: Laboratory, pages: Sequence[Page]) -> Scope:
    """Only these pages, and the URLs on them that lead to one of them."""
    inside = {page.url for page in pages}
    leading = (url for page in pages for url in page.links.targets if lab.web.final(url) in inside)
    return Scope(within="list", seeds=inside.union(leading))


class OneScoreCritic:
    """A critic with one score, the raw or the calibrated one. So a learner is taught what guides the crawl."""

    def __init__(self, critic: Critic, score: Literal["raw", "calibrated"]) -> None:
        self._critic, self._raw = critic, score == "raw"

    @property
    def classes(self) -> tuple[str, ...]:
        return self._critic.classes

    @property
    def focus(self) -> tuple[str, ...]:
        return self._critic.focus

    @property
    def version(self) -> str:
        return self._critic.version

    def fit(self, pages: Iterable[Page], labels: Iterable[str]) -> None:
        self._critic.fit(pages, labels)

    def word_log_odds(self, terms: Terms) -> Floats:
        if isinstance(self._critic, WeighsWords):
            return self._critic.word_log_odds(terms)
        return np.zeros(len(terms), np.float32)

    def judge(self, pages: Sequence[Page]) -> list[Judgement]:
        judged = self._critic.judge(pages)
        if self._raw:
            return [replace(judgement, relevance=judgement.raw) for judgement in judged]
        return [replace(judgement, raw=judgement.relevance) for judgement in judged]


class FrozenStrategy:
    """A strategy as it is now. It scores and does not learn."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy

    @property
    def combine(self) -> Combine:
        return self._strategy.combine

    def score(self, visit: Visit) -> ScoredLinks:
        return self._strategy.score(visit)


def taught_by(lab: Laboratory, trial: Trial, spec: Spec, instances: CrawlInstances) -> Strategy:
    """The strategy after it was shown these instances, page by page, as one batch.

    One that chooses its window tries the windows on what it has not yet learnt. So it is shown two batches; of an odd
    number of pages the last one teaches nothing.
    """
    if not isinstance(strategy_for(lab, trial, spec), Learns):
        raise ForagerError(f"{spec} does not learn while crawling; this study needs one that does, such as apprentice")
    batch = max(1, len(instances.visits) // (2 if spec.options.get("choose_window") else 1))
    learner = strategy_for(lab, trial, Spec(spec.name, {**spec.options, "batch": batch}))
    assert isinstance(learner, Learns)
    ends = np.searchsorted(instances.sources, np.arange(len(instances.visits) + 1))
    relevance, source_relevance = instances.relevance, instances.source_relevance
    for at, visit in enumerate(instances.visits):
        rows = slice(ends[at], ends[at + 1])
        clues = learner.score(visit).clues
        assert clues is not None, "a strategy without clues cannot learn from links"
        evidence = Evidence(clues.take(instances.links[rows]), relevance[rows], source_relevance[rows])
        learner.observe(visit, evidence)
    return learner


def primed(lab: Laboratory, trial: Trial, spec: Spec, earlier: Strategy) -> Strategy:
    """A strategy that begins with what another one has learnt."""
    fresh = strategy_for(lab, trial, spec)
    if not isinstance(earlier, Persists) or not isinstance(fresh, Persists):
        raise ForagerError(f"{spec} cannot keep what it learns")
    return cast(Strategy, fresh.from_parts(earlier.parts()))
