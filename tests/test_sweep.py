"""Sweeps beside the loop: the crawl goes on meanwhile, and what was changed meanwhile stays."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from forager.config import CrawlConfig, FrontierConfig, StopConfig
from forager.crawl import Crawl
from forager.types import FIRST, Answer, Floats, Graph, ScoredLinks, Url, Visit, Waiting
from tests.contracts.test_strategies import many_pages
from tests.small_web import SmallWeb, WordCritic, url


class Swept:
    """Swept scores put the links found last first; the first sweep waits until the crawl has gone on without it."""

    combine = FIRST
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
    assert made.tally.pages == 60
    assert made.tally.sweeps_skipped >= 2
    assert made.tally.sweeps >= 1
    assert made.tally.sweeps + made.tally.sweeps_skipped <= 60 // 5
    assert threading.get_ident() not in strategy.threads


def test_the_new_scores_decide_what_comes_next() -> None:
    made = crawl(Swept())
    scores = [visit.trace.score for visit in made]
    assert made.tally.sweeps >= 2
    assert max(score for score in scores if np.isfinite(score)) > 0


def test_a_crawl_that_ends_during_a_sweep_ends() -> None:
    """The sweep is waited for, but has no effect: it finds no batch any more."""
    told = threading.Event()
    made = crawl(Swept(told), Unhurried(6, told), pages=7)
    made.run()
    assert made.tally.pages == 7


def test_an_error_in_a_sweep_is_not_lost() -> None:
    made = crawl(Swept(wrong=True))
    with pytest.raises(ZeroDivisionError):
        made.run()
    assert made.tally.pages < 60
