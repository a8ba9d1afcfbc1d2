"""The crawls of the study: each by the shipping loop, with a strategy made beforehand or on the way.

An apprentice *trained beforehand* is shown the instances of a baseline crawl, learns from them once, and then guides
a crawl without learning more, as in section 3.5 of the paper. The *recall crawler* is the same, kept within the pages
that the baseline fetched. One *switched on in mid-crawl* is the baseline until it has been trained: its first batch is
so many pages, and what it scores before that is the relevance of the source.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from forager.clock import VirtualClock
from forager.config import CrawlConfig, FrontierConfig, StopConfig
from forager.crawl.loop import Crawl
from forager.errors import ForagerError
from forager.registry import Spec
from forager.types import (
    Combine,
    Critic,
    Evidence,
    Floats,
    Ids,
    Judgement,
    Learns,
    Mask,
    Page,
    ScoredLinks,
    Strategy,
    Url,
    Visit,
)
from forager.web.scope import Scope
from forager_lab.laboratory import Laboratory
from forager_lab.protocol import Trial, strategy_for
from studies.apprentice.instances import Instances

NO_SCORES: Floats = np.empty(0, np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Crawled:
    """What a crawl fetched, page by page."""

    order: tuple[Url, ...]
    relevant: Mask  # by truth
    expected: Floats  # by the critic
    raw: Floats  # by the critic, before calibration
    before: Floats  # what waited when the apprentice was switched on, as the baseline scored it
    after: Floats  # the same links, as the apprentice scores them


def crawl(lab: Laboratory, trial: Trial, strategy: Strategy, pages: int, *, watch: int | None = None) -> Crawled:
    """Fetch so many pages. `watch`: after that many, look at what waits before and after it is scored again."""
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
    visits: list[tuple[Url, float, float]] = []
    waiting: Ids = np.empty(0, np.int32)
    before = after = NO_SCORES
    for visit in loop:
        visits.append((visit.page.url, visit.judgement.relevance, visit.judgement.raw))
        if len(visits) == watch:  # it has learnt, but not yet scored anew
            waiting, before = loop.frontier.waiting, loop.frontier.scores(loop.frontier.waiting)
        elif watch is not None and len(visits) == watch + 1:
            still = np.isin(waiting, loop.frontier.waiting)
            before, after = before[still], loop.frontier.scores(waiting[still])
    order = tuple(url for url, *_ in visits)
    return Crawled(
        order,
        np.array([url in trial.relevant for url in order], bool),
        np.array([relevance for _, relevance, _ in visits], np.float32),
        np.array([raw for *_, raw in visits], np.float32),
        before,
        after,
    )


def within(lab: Laboratory, pages: Sequence[Page]) -> Scope:
    """Nothing but these pages, and the URLs on them that lead to one of them."""
    inside = {page.url for page in pages}
    leading = (url for page in pages for url in page.links.targets if lab.web.final(url) in inside)
    return Scope(within="list", seeds=inside.union(leading))


class Calibrated:
    """A critic whose raw score is its calibrated relevance: a learner is taught what the crawl is steered by."""

    def __init__(self, critic: Critic) -> None:
        self._critic = critic

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

    def judge(self, pages: Sequence[Page]) -> list[Judgement]:
        return [replace(judgement, raw=judgement.relevance) for judgement in self._critic.judge(pages)]


class Frozen:
    """A strategy as it is now: it learns no more."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy

    @property
    def combine(self) -> Combine:
        return self._strategy.combine

    def score(self, visit: Visit) -> ScoredLinks:
        return self._strategy.score(visit)


def trained(lab: Laboratory, trial: Trial, spec: Spec, instances: Instances) -> Frozen:
    """The strategy after it was shown these instances, page by page, as one batch; from then on it only scores."""
    if not isinstance(strategy_for(lab, trial, spec), Learns):
        raise ForagerError(f"{spec} does not learn while crawling: the study is about one that does, as apprentice")
    learner = strategy_for(lab, trial, Spec(spec.name, {**spec.options, "batch": len(instances.visits)}))
    assert isinstance(learner, Learns)
    ends = np.searchsorted(instances.sources, np.arange(len(instances.visits) + 1))
    relevance, source_relevance = instances.relevance, instances.source_relevance
    for at, visit in enumerate(instances.visits):
        rows = slice(ends[at], ends[at + 1])
        clues = learner.score(visit).clues
        assert clues is not None, "a strategy without clues cannot learn from links"
        evidence = Evidence(clues.take(instances.links[rows]), relevance[rows], source_relevance[rows])
        learner.observe(visit, evidence)
    return Frozen(learner)
