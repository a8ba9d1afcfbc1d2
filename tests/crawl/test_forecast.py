"""What a crawl may expect: against simulated webs, through real crawls, and over lives of a crawl."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from forager.clock import VirtualClock
from forager.config import CrawlConfig, FrontierConfig, StopConfig
from forager.crawl import keeper
from forager.crawl.forecast import EVERY, Forecaster, interval
from forager.crawl.loop import Crawl
from forager.crawl.resume import resume
from forager.errors import ForagerError
from forager.frontier import LaneFrontier
from forager.store import Store
from forager.strategies import BestFirst
from forager.types import BEST, Evidence, Floats, Judgement, Mask, Miss, Page, Parts, ScoredLinks, Visit
from tests.small_web import SmallWeb, WordCritic, html, url

GOOD, POOR = 200, 1500  # pages of the small web


class Hopeful:
    """It goes by the name of the target, and its chances are too large."""

    combine = BEST

    def score(self, visit: Visit) -> ScoredLinks:
        return ScoredLinks(np.array([2.0 if "bird" in target else -3.0 for target in visit.links.targets], np.float32))

    def chances(self, scores: Floats) -> Floats:
        return np.asarray(1 / (1 + np.exp(-scores)), np.float32)

    def observe(self, outcome: Visit | Miss, evidence: Evidence) -> None:
        """Learns nothing."""

    def parts(self) -> Parts:
        return {"nothing": 0}

    def from_parts(self, parts: Parts) -> Hopeful:
        return Hopeful()

    def merge(self, parts: Sequence[Parts]) -> Parts:
        return parts[0]


def waiting(scores: Floats) -> LaneFrontier:
    frontier = LaneFrontier(BEST)
    ids = np.arange(len(scores), dtype=np.int32)
    frontier.add(ids, np.zeros_like(ids), np.zeros_like(ids), scores)
    return frontier


# ---- against simulated webs -----------------------------------------------------------------------------------------


def simulated(seed: int, honesty: float, ahead: int = 300) -> tuple[Forecaster, LaneFrontier, list[bool]]:
    """A crawl of 1,200 links that come true `honesty` times as often as their chances say: half of them were fetched,
    the best first; what will come of the others is told apart."""
    draw, strategy = np.random.default_rng(seed), Hopeful()
    scores = np.sort(draw.normal(-1.5, 1.2, 1200).astype(np.float32))[::-1]
    came = draw.random(1200) < honesty * strategy.chances(scores)
    forecaster = Forecaster(strategy, ahead)
    for at in range(600):
        forecaster.saw(float(scores[at]), relevant=bool(came[at]))
        if forecaster.fetches % EVERY == 0:
            forecaster.look_if_due(waiting(scores[at + 1 :]))
    return forecaster, waiting(scores[600:]), came[600:].tolist()


@pytest.mark.parametrize("honesty", [1.0, 0.5, 0.2])
def test_it_believes_chances_as_far_as_they_came_true(honesty: float) -> None:
    said, came, inside, shares = [], [], [], []
    for seed in range(60):
        forecaster, frontier, rest = simulated(seed, honesty)
        found = forecaster.forecast(frontier)
        assert found is not None
        assert found.fetches == 300
        said.append(found.expected)
        came.append(sum(rest[:300]))
        inside.append(np.floor(found.low) <= came[-1] <= np.ceil(found.high))
        shares.append((found.share, found.found / (found.found + sum(rest))))
    assert abs(np.mean(said) / np.mean(came) - 1) < 0.15
    assert np.mean(inside) >= 0.75
    assert abs(np.mean([share - true for share, true in shares])) < 0.05


def test_without_correction_it_would_be_far_off() -> None:
    """The test above can fail: chances that are too large, taken as they are, promise far too much."""
    forecaster, frontier, rest = simulated(1, 0.2)
    chances = Hopeful().chances(np.sort(frontier.waiting_scores)[::-1][:300])
    assert chances.sum() > 3 * sum(rest[:300])
    assert forecaster.worth < 0.4


def test_the_interval_is_that_of_many_draws() -> None:
    chances = np.random.default_rng(0).beta(1, 9, 500)
    counts = (np.random.default_rng(1).random((20_000, 500)) < chances).sum(axis=1)
    low, high = interval(float(chances.sum()), float((chances * (1 - chances)).sum()))
    assert abs(low - np.quantile(counts, 0.1)) < 1.5
    assert abs(high - np.quantile(counts, 0.9)) < 1.5
    assert interval(0.0, 0.0) == (0.0, 0.0)


def test_forecasts_that_were_far_off_make_the_interval_wider() -> None:
    def width(came: Mask) -> float:
        forecaster, frontier = Forecaster(Hopeful(), 100), waiting(np.full(1000, -1.5, np.float32))
        for relevant in came:
            forecaster.saw(-1.5, relevant=bool(relevant))
            forecaster.look_if_due(frontier)
        found = forecaster.forecast(frontier)
        assert found is not None
        return (found.high - found.low) / found.expected

    draw = np.random.default_rng(0)
    steady = draw.random(1200) < 0.2
    by_turns = draw.random(1200) < np.repeat([0.38, 0.02] * 6, 100)
    assert width(by_turns) > 1.3 * width(steady)


def test_seeds_that_wait_are_judged_by_what_came_of_seeds() -> None:
    forecaster, inf = Forecaster(Hopeful()), float("inf")
    for at in range(EVERY):
        forecaster.saw(inf if at < 9 else -3.0, relevant=at < 9)
    found = forecaster.forecast(waiting(np.full(10, inf, np.float32)))
    assert found is not None
    assert found.expected == pytest.approx(10 * 10 / 11)


def test_there_is_none_before_the_first_fetches_or_from_scores_that_are_no_chances() -> None:
    early, other = Forecaster(Hopeful()), Forecaster(BestFirst())
    for _ in range(EVERY - 1):
        early.saw(0.0, relevant=True)
    for _ in range(2 * EVERY):
        other.saw(0.5, relevant=True)
    frontier = waiting(np.zeros(10, np.float32))
    assert early.forecast(frontier) is None
    assert "fewer than" in early.why_not
    assert other.forecast(frontier) is None
    assert "no chances" in other.why_not
    early.saw(0.0, relevant=True)
    assert early.forecast(frontier) is not None
    assert not early.why_not


# ---- through crawls -------------------------------------------------------------------------------------------------


def web() -> SmallWeb:
    """Good pages that are found one after the other, and from the first page on many poor ones."""
    pages = {url(f"/bird-{n}"): html("bird bird", f"/bird-{n + 1}") for n in range(1, GOOD)}
    pages[url(f"/bird-{GOOD}")] = html("bird")
    pages |= {url(f"/stone-{n}"): html(f"stone {n}") for n in range(POOR)}
    pages[url("/bird-0")] = html("bird", "/bird-1", *(f"/stone-{n}" for n in range(POOR)))
    return SmallWeb(pages)


class Birds(WordCritic):
    """Every page with the word is relevant."""

    def judge(self, pages: Sequence[Page]) -> list[Judgement]:
        return [replace(said, relevance=float(said.relevance > 0)) for said in super().judge(pages)]


def settings(least: float | None) -> CrawlConfig:
    stop = StopConfig(least_yield=least)
    return CrawlConfig(seeds=[url("/bird-0")], frontier=FrontierConfig(delay=0, links_per_page=2 * POOR), stop=stop)


def crawled(least: float | None) -> Crawl:
    crawl = Crawl(settings(least), critic=Birds(), strategy=Hopeful(), fetcher=web(), clock=VirtualClock())
    crawl.run()
    return crawl


def test_a_crawl_stops_when_little_is_to_come() -> None:
    crawl = crawled(0.02)
    assert re.fullmatch(
        r"the next 500 fetches promise \d\.\d relevant pages, a yield of less than 0\.02", crawl.stats.stopped
    )
    assert 500 <= crawl.stats.pages <= 900  # not before as many fetches as are forecast
    found = crawl.state.forecaster.forecast(crawl.frontier)
    assert found is not None
    assert found.found == GOOD + 1
    assert found.expected < 0.02 * 500
    assert found.share > 0.9


def test_it_goes_on_while_enough_is_to_come_and_by_default_to_the_end() -> None:
    assert crawled(None).stats.stopped == "nothing is left to fetch"
    assert crawled(0.0).stats.pages == GOOD + 1 + POOR


def test_a_strategy_without_chances_cannot_be_stopped_by_its_yield() -> None:
    crawl = Crawl(settings(0.02), critic=Birds(), strategy=BestFirst(), fetcher=web(), clock=VirtualClock())
    with pytest.raises(ForagerError, match=r"stop.yield.*leave the key out"):
        crawl.run()


@pytest.mark.parametrize(
    ("fetches", "seeds", "stops"), [(500, 0, True), (500, 1, False), (499, 0, False)], ids=["late", "a seed", "early"]
)
def test_it_is_too_little_only_late_and_without_seeds(fetches: int, seeds: int, stops: bool) -> None:
    forecaster, scores = Forecaster(Hopeful()), np.full(900, -6.0, np.float32)
    scores[:seeds] = np.inf
    for _ in range(fetches):
        forecaster.saw(-3.0, relevant=False)
    forecaster.look(waiting(scores))
    assert bool(forecaster.too_little(0.02)) is stops
    assert not forecaster.too_little(None)


def test_links_that_bring_no_page_count_as_fetches() -> None:
    pages = {url("/bird-0"): html("bird", "/bird-1", "/bird-2", "/bird-3"), url("/bird-2"): html("bird")}
    crawl = Crawl(settings(None), critic=Birds(), strategy=Hopeful(), fetcher=SmallWeb(pages), clock=VirtualClock())
    crawl.run()
    forecaster = crawl.state.forecaster
    assert (forecaster.fetches, forecaster.found) == (4, 2)
    assert forecaster.worth < 1  # two of three links were dead


def test_seeds_are_asked_however_little_is_to_come(tmp_path: Path) -> None:
    def go_on(seeds: Sequence[str]) -> Crawl:
        clock, config = VirtualClock(), settings(0.02)
        config = CrawlConfig(seeds=seeds, frontier=config.frontier, stop=config.stop)
        with Store(tmp_path, clock=clock) as store:
            made = resume(config, store, critic=Birds(), strategy=Hopeful(), clock=clock, fetcher=web())
            made.run()
            made.checkpoint()
        return made

    before = go_on([url("/bird-0")]).stats.pages
    assert go_on([url("/bird-0")]).stats.pages == before  # still too little is to come
    again = go_on([url("/bird-0"), url("/stone-1499")])
    assert again.stats.pages > before
    assert "promise" in again.stats.stopped


def test_a_crawl_that_is_resumed_forecasts_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "CHECKPOINT", 150)

    def life(folder: Path, pages: int | None) -> Crawl:
        clock = VirtualClock()
        with Store(folder, clock=clock) as store:
            crawl = resume(settings(0.02), store, critic=Birds(), strategy=Hopeful(), clock=clock, fetcher=web())
            for visit in crawl:
                assert visit
                if crawl.stats.pages == pages:
                    break
        return crawl

    whole = life(tmp_path / "whole", None)
    for pages in (120, 333, 480, None):
        again = life(tmp_path / "parts", pages)
    assert again.stats.stopped == whole.stats.stopped
    assert again.stats.pages == whole.stats.pages
    ours, theirs = again.state.forecaster.parts(), whole.state.forecaster.parts()
    assert ours["counts"] == theirs["counts"]
    assert ours["sums"] == pytest.approx(theirs["sums"])
    assert ours["pending"] == [pytest.approx(each) for each in theirs["pending"]]
