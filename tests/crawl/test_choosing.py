"""A choosy crawl waits for good links on hosts that rest, and always ends."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forager.clock import VirtualClock
from forager.config import CrawlConfig, FrontierConfig, ScopeConfig, StopConfig, StoreConfig
from forager.crawl.flights import AHEAD, Choosiness, Flights
from forager.crawl.loop import Crawl
from forager.crawl.state import CrawlState
from forager.strategies import make_strategy
from forager.types import NEVER, Answer, Redirect, Url
from tests.simulated import LoopClock, SimulatedLoop, simulate
from tests.small_web import SmallWeb, WordCritic, html

ANSWER = 0.1  # seconds


class SlowWeb(SmallWeb):
    """Answers after a while. Remembers when each request came."""

    def __init__(self, pages: Mapping[Url, str], seconds: Mapping[str, float] | None = None) -> None:
        super().__init__(pages)
        self.times: list[float] = []
        self._seconds = seconds or {}

    async def fetch(self, url: Url) -> Answer:
        self.times.append(asyncio.get_running_loop().time())
        answer = await super().fetch(url)
        seconds = self._seconds.get(url.split("/")[2], ANSWER)
        await asyncio.sleep(seconds)
        return replace(answer, seconds=seconds)

    def hosts(self) -> list[str]:
        return [url.split("/")[2] for url in self.asked]


def crawl(web: SlowWeb, seed: str, strategy: str = "best-first", pages: int | None = None, **limits: float) -> Crawl:
    defaults = {"delay": 1.0, "delay_factor": 0.0, "in_flight": 8}
    return Crawl(
        CrawlConfig(
            seeds=[seed],
            frontier=FrontierConfig(**{**defaults, **limits}),  # type: ignore[arg-type]
            scope=ScopeConfig(declared=False, feeds=False, sitemaps="none", traps=False),
            store=StoreConfig(duplicates="all"),
            stop=StopConfig(pages=pages),
        ),
        critic=WordCritic(),
        strategy=make_strategy(strategy, {}, {}),
        fetcher=web,
        clock=LoopClock(),
    )


async def ran(made: Crawl) -> Crawl:
    async with asyncio.timeout(1e6):
        await made.arun()
    return made


def run(web: SlowWeb, seed: str, **given: float) -> tuple[Crawl, SimulatedLoop]:
    async def work() -> Crawl:
        return await ran(crawl(web, seed, **given))  # type: ignore[arg-type]

    return simulate(work())


def uneven(good: int = 20, poor: int = 20) -> SlowWeb:
    """A page of birds links to others on one host; a page of stones links to others on another host."""
    pages = {
        Url("http://start.test/"): html("bird stone", "http://good.test/0", "http://poor.test/0"),
        Url("http://good.test/0"): html("bird bird", *(f"http://good.test/{n}" for n in range(1, good))),
        Url("http://poor.test/0"): html("stone", *(f"http://poor.test/{n}" for n in range(1, poor))),
    }
    pages |= {Url(f"http://good.test/{n}"): html(f"bird {n}") for n in range(1, good)}
    pages |= {Url(f"http://poor.test/{n}"): html(f"stone {n}") for n in range(1, poor)}
    return SlowWeb(pages)


def test_a_poor_link_waits_while_a_good_host_rests() -> None:
    choosy, impatient = uneven(), uneven()
    run(choosy, "http://start.test/", choosy=1.0)
    run(impatient, "http://start.test/", choosy=0.0)
    # Both hosts are asked once before anything is known of them. Then the good one has 19 links that are better.
    assert choosy.hosts()[1:3] == ["good.test", "poor.test"]
    assert choosy.hosts()[3:].index("poor.test") >= 19 - AHEAD
    assert impatient.hosts()[3:].index("poor.test") <= 1
    assert sorted(choosy.asked) == sorted(impatient.asked)  # in the end all is asked for


def test_the_poor_host_is_asked_once_the_good_one_has_nothing_better() -> None:
    """Both have their full speed then: it is not the case that one waits for the other for ever."""
    web = uneven(good=AHEAD + 4, poor=20)
    run(web, "http://start.test/", choosy=1.0)
    assert web.hosts().count("poor.test") == 20
    gaps = [b - a for a, b in zip(web.times, web.times[1:], strict=False)]
    assert max(gaps) <= 2 * (ANSWER + 1.0) + 0.5  # of simulated time


def test_off_means_that_a_free_host_is_asked_at_once() -> None:
    """The n-th request to each host comes as early as its delay allows."""
    web = uneven()
    run(web, "http://start.test/", choosy=0.0)
    for name in ("good.test", "poor.test"):
        times = [at for at, host in zip(web.times, web.hosts(), strict=True) if host == name]
        assert times == pytest.approx([ANSWER + n * (ANSWER + 1.0) for n in range(20)])


@pytest.mark.parametrize(
    ("strategy", "in_flight"),
    [("breadth-first", 8), ("best-first", 1)],
    ids=["all scores are equal", "one request at once"],
)
def test_where_there_is_nothing_to_choose_nothing_changes(strategy: str, in_flight: int) -> None:
    choosy, impatient = uneven(), uneven()
    for web, much in ((choosy, 5.0), (impatient, 0.0)):
        run(web, "http://start.test/", strategy=strategy, choosy=much, in_flight=in_flight)  # type: ignore[arg-type]
    assert choosy.asked == impatient.asked
    assert choosy.times == impatient.times


def test_one_host_is_asked_as_fast_as_it_may_be() -> None:
    names = [f"http://a.test/{n}" for n in range(12)]
    web = SlowWeb({Url(name): html("bird " * n, *names) for n, name in enumerate(names)})
    run(web, names[0], choosy=9.0)
    assert web.times == pytest.approx([n * (ANSWER + 1.0) for n in range(12)])


def test_a_host_that_is_silent_holds_up_nobody_for_long() -> None:
    """The best links are on a host that takes ten minutes for an answer."""
    web = uneven()
    slow = SlowWeb(web.pages, {"good.test": 600.0})  # type: ignore[arg-type]
    run(slow, "http://start.test/", choosy=1.0)
    poor = [at for at, host in zip(slow.times, slow.hosts(), strict=True) if host == "poor.test"]
    assert poor[-1] < 600.0


def test_a_choosy_crawl_ends_at_its_budget() -> None:
    web = uneven()
    made, _ = run(web, "http://start.test/", choosy=3.0, pages=15)
    assert made.stats.pages == 15
    assert made.stats.stopped == "the budget of 15 pages is used up"


def test_budgets_of_hosts_hold_and_what_they_leave_is_not_waited_for() -> None:
    web = uneven()
    made, _ = run(web, "http://start.test/", choosy=3.0, pages_per_host=5)
    assert made.stats.stopped.startswith("the budgets of hosts and sites are used up")
    assert (web.hosts().count("good.test"), web.hosts().count("poor.test")) == (5, 5)


def test_it_can_be_stopped_while_it_waits() -> None:
    async def work() -> Crawl:
        made = crawl(uneven(), "http://start.test/", choosy=5.0, delay=60.0)
        running = asyncio.ensure_future(ran(made))
        await asyncio.sleep(30.0)
        made.stop("enough")
        return await running

    made, loop = simulate(work())
    assert made.stats.stopped == "enough"
    assert loop.seconds == pytest.approx(30.0)


def choosiness(choosy: float, **limits: int) -> Choosiness:
    """After the first request, with 20 good links on one lane and 20 poor ones on another."""
    config = CrawlConfig(frontier=FrontierConfig(delay=1.0, delay_factor=0, choosy=choosy), stop=StopConfig(**limits))
    clock, state = VirtualClock(), CrawlState.empty(make_strategy("best-first", {}, {}))
    ids = np.arange(40, dtype=np.int32)
    state.frontier.add(ids, ids // 20, ids // 20, np.where(ids < 20, 0.9, 0.1).astype(np.float32))
    flights = Flights(8, clock)
    flights.usual, flights.launched, flights.ended = 0.1, 0.0, 1
    return Choosiness(config, flights, state, clock)


def test_the_floor_is_that_of_the_good_lane_until_nothing_was_asked_for_long() -> None:
    made = choosiness(1.0)
    assert made.floor(0.1) == pytest.approx(0.9)
    assert made.floor(2.1) == pytest.approx(0.9)
    assert made.floor(2.3) == NEVER  # two rounds of 1.1 s


def test_the_floor_holds_when_all_that_waits_has_new_scores() -> None:
    made = choosiness(1.0)
    frontier, ids = made._frontier, np.arange(40, dtype=np.int32)
    frontier.reorder(ids, np.where(ids < 20, 0.2, 0.8).astype(np.float32))
    assert made.floor(0.1) == pytest.approx(0.8)


def test_when_little_is_left_to_fetch_fewer_lanes_are_asked() -> None:
    """With so little patience both lanes would do."""
    assert choosiness(0.001).floor(0.1) == NEVER
    assert choosiness(0.001, pages=1).floor(0.1) == pytest.approx(0.9)
    assert choosiness(0.0, pages=1).floor(0.1) == NEVER


HOSTS = st.integers(0, 4)
LINKS = st.lists(st.tuples(HOSTS, st.integers(0, 6)), max_size=8)
PAGES = st.dictionaries(st.tuples(HOSTS, st.integers(0, 6)), st.tuples(st.integers(0, 4), LINKS), max_size=30)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    pages=PAGES,
    moved=st.dictionaries(st.tuples(HOSTS, st.integers(5, 6)), st.tuples(HOSTS, st.integers(0, 4)), max_size=3),
    choosy=st.sampled_from([0.1, 1.0, 7.0, 1000.0]),
    delay=st.sampled_from([0.0, 0.5, 3.0]),
    slow=st.dictionaries(HOSTS, st.sampled_from([0.0, 0.01, 40.0])),
    in_flight=st.integers(1, 6),
    budget=st.none() | st.integers(1, 20),
)
def test_every_choosy_crawl_ends_with_what_an_impatient_one_finds(
    pages: dict[tuple[int, int], tuple[int, list[tuple[int, int]]]],
    moved: dict[tuple[int, int], tuple[int, int]],
    choosy: float,
    delay: float,
    slow: dict[int, float],
    in_flight: int,
    budget: int | None,
) -> None:
    """Without a budget both fetch all; with one, as many. A loop that waits for nothing is an error of its own, and one
    that does not wait at all has too many rounds."""

    def name(place: tuple[int, int]) -> Url:
        return Url(f"http://h{place[0]}.test/{place[1]}")

    web = {name(at): html(f"bird {at} " * (1 + birds), *map(name, to)) for at, (birds, to) in pages.items()}
    web |= {name(at): Redirect(name(at), name(to), 301) for at, to in moved.items()}  # type: ignore[misc]
    web[Url("http://start.test/")] = html("bird", *map(name, pages))
    seconds = {f"h{host}.test": took for host, took in slow.items()}
    found = []
    for much in (choosy, 0.0):
        asked = SlowWeb(web, seconds)
        made, loop = run(
            asked,
            "http://start.test/",
            choosy=much,
            delay=delay,
            in_flight=in_flight,
            pages=budget,  # type: ignore[arg-type]
        )
        assert loop.rounds < 400 + 200 * len(asked.asked)
        found.append((made.stats.pages, sorted(asked.asked) if budget is None else None))
    assert found[0] == found[1]
