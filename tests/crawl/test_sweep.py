"""Sweeps beside the loop: the crawl goes on meanwhile, and what was changed meanwhile stays."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from forager.config import CrawlConfig, FrontierConfig, StopConfig
from forager.crawl.loop import Crawl
from forager.crawl.sweep import WHOLE, Sweep, _Slices, swept
from forager.types import BEST, FIRST, Answer, Combine, Floats, Graph, Policy, ScoredLinks, Url, Visit, Waiting
from tests.contracts.test_strategies import many_pages
from tests.small_web import SmallWeb, WordCritic, url


class Swept:
    """Swept scores put the links found last first; the first sweep waits until the crawl has gone on without it."""

    combine: Combine = FIRST
    every = 5

    def __init__(self, gone_on: threading.Event | None = None, wrong: bool = False) -> None:
        self.gone_on, self.wrong = gone_on, wrong
        self.threads: set[int] = set()
        self.waited = False

    def score(self, visit: Visit) -> ScoredLinks:
        return ScoredLinks(np.zeros(len(visit.links), np.float32))

    def rescore(self, waiting: Waiting, graph: Graph) -> Iterator[Floats]:
        self.threads.add(threading.get_ident())
        if self.gone_on is not None:
            self.waited = self.gone_on.wait(20)
        if self.wrong:
            raise ZeroDivisionError
        for batch in waiting:
            yield batch.ids.astype(np.float32)


class Unhurried(SmallWeb):
    """Answers in turns of the event loop, and tells when it was asked often enough."""

    def __init__(self, enough: int = 0, told: threading.Event | None = None) -> None:
        super().__init__(many_pages())
        self._enough, self._told = enough, told

    async def fetch(self, url: Url) -> Answer:
        await asyncio.sleep(0.002)
        if self._told and len(self.asked) >= self._enough:
            self._told.set()
        return await super().fetch(url)


def crawl(strategy: Swept, web: SmallWeb | None = None, pages: int = 60) -> Crawl:
    config = CrawlConfig(seeds=(url("/bird-0"),), frontier=FrontierConfig(delay=0), stop=StopConfig(pages=pages))
    return Crawl(config, critic=WordCritic(), strategy=strategy, fetcher=web or Unhurried())


def test_the_loop_does_not_wait_for_a_sweep() -> None:
    """The first sweep, after 5 pages, ends only when 30 requests were made: inline it could not."""
    told = threading.Event()
    strategy = Swept(told)
    made = crawl(strategy, Unhurried(30, told))
    made.run()
    assert strategy.waited
    assert made.stats.pages == 60
    assert made.stats.sweeps_skipped >= 2
    assert made.stats.sweeps >= 1
    assert made.stats.sweeps + made.stats.sweeps_skipped <= 60 // 5
    assert threading.get_ident() not in strategy.threads


def test_the_new_scores_decide_what_comes_next() -> None:
    made = crawl(Swept())
    scores = [visit.trace.score for visit in made]
    assert made.stats.sweeps >= 2
    assert max(score for score in scores if np.isfinite(score)) > 0


def test_a_crawl_that_ends_during_a_sweep_ends() -> None:
    """The sweep is waited for, but has no effect: it finds no batch any more."""
    told = threading.Event()
    made = crawl(Swept(told), Unhurried(6, told), pages=7)
    made.run()
    assert made.stats.pages == 7


def test_an_error_in_a_sweep_is_not_lost() -> None:
    made = crawl(Swept(wrong=True))
    with pytest.raises(ZeroDivisionError):
        made.run()
    assert made.stats.pages < 60


class Alone(Swept):
    """As before, but the new score of a link is low, unless it is the wanted one; the sweep itself stands still."""

    alone = True

    def rescore(self, waiting: Waiting, graph: Graph) -> Iterator[Floats]:
        if isinstance(waiting, list):  # one link, on the loop
            assert threading.get_ident() not in self.threads
            yield -waiting[0].ids.astype(np.float32)
            return
        yield from super().rescore(waiting, graph)


def test_a_link_about_to_be_asked_for_has_the_newest_score() -> None:
    """A sweep that begins after 5 pages stands still until 30 requests were made. Meanwhile links found before it are
    asked for only if even their new score, below 0, is the best: those found since, with 0, are ahead of them."""

    def taken(kind: type[Swept]) -> list[tuple[int, float]]:
        told = threading.Event()
        return [(visit.trace.id, visit.trace.score) for visit in crawl(kind(told), Unhurried(30, told))][8:28]

    one_by_one, as_they_were = taken(Alone), taken(Swept)
    assert {score for _, score in as_they_were} == {0}
    assert np.mean([id for id, _ in one_by_one]) > np.mean([id for id, _ in as_they_were]) + 5
    assert all(score == 0 or score == -id for id, score in one_by_one)


def test_scores_already_swept_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forager.crawl.sweep.BATCH", 2)
    made = crawl(Swept(), pages=10)
    list(made)
    sweep = Sweep(made.strategy, Policy.FIRST, made.facts, made.frontier)  # type: ignore[arg-type]
    waiting = made.frontier.waiting
    assert len(waiting) > 2
    slices = _Slices(sweep)
    assert len(next(iter(slices)).ids) == 2
    assert len(sweep.score_now(int(waiting[0]))[0]) == 0
    sweep._fill(iter([np.array([5, 6], np.float32)]), slices)
    assert [sweep.score_now(int(id))[1].tolist() for id in waiting[:3]] == [[5], [6], []]
    assert len(sweep.score_now(10_000)[0]) == 0


class Parents(Swept):
    """A link is worth what the number of the page it is on says."""

    combine = BEST

    def rescore(self, waiting: Waiting, graph: Graph) -> Iterator[Floats]:
        for batch in waiting:
            yield batch.sources.astype(np.float32)


def test_a_sweep_sees_all_links_to_a_url_and_keeps_the_best() -> None:
    made = crawl(Parents(), SmallWeb(many_pages()), pages=23)
    list(made)
    made.step.sweep()
    waiting = made.frontier.waiting
    parents = {id: [int(made.facts.edges.sources[row]) for row in made.facts.edges.into(id)] for id in waiting.tolist()}
    assert max(map(len, parents.values())) > 1
    assert made.frontier.scores(waiting).tolist() == [max(found) for found in parents.values()]
    followed = [made.facts.trace(id, id, 0, 0.0).inlinks.sources[0] for id in parents]
    assert followed == [max(found) for found in parents.values()]


class AtTheTop(Swept):
    """Only the best few links matter to it."""

    top = 3


def test_most_sweeps_take_only_the_best_and_some_take_all() -> None:
    made, strategy = crawl(Swept(), pages=10), AtTheTop()
    list(made)
    frontier = made.frontier
    ids = frontier.waiting
    frontier.reorder(ids, np.random.default_rng(3).permutation(len(ids)).astype(np.float32))
    best = ids[np.argsort(-frontier.scores(ids))[:3]]
    assert swept(strategy, frontier, 5).tolist() == sorted(best.tolist())
    assert swept(strategy, frontier, 5 * WHOLE).tolist() == ids.tolist()
    assert swept(Swept(), frontier, 5).tolist() == ids.tolist()


def test_the_more_wait_the_rarer_all_are_swept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forager.crawl.sweep.LINKS", 2)
    made = crawl(Swept(), pages=10)
    list(made)
    whole = len(made.frontier.waiting) // 2
    assert whole > WHOLE
    assert len(swept(AtTheTop(), made.frontier, 5 * WHOLE)) == 3
    assert len(swept(AtTheTop(), made.frontier, 5 * whole)) == len(made.frontier.waiting)
