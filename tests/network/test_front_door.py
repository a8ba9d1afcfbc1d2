"""`Crawl` as a library on the live web: HTTP, robots.txt and delays, without a project."""

from __future__ import annotations

import os
import threading
from functools import partial
from pathlib import Path

import pytest

from forager import Crawl, CrawlConfig, ForagerError
from forager.config import FetchConfig, FrontierConfig, Named, StopConfig
from forager.crawl import asking
from forager.critics import Predicate
from forager.fetch.body import MemoryShare
from forager.types import Failure, Fetch, Page, Reason
from forager.web.page import parse
from forager_lab.webs.procedural import ProceduralWeb, WebPlan
from forager_lab.webs.server.log import read_log
from tests.network.serving import served

NUMBERS = {"hosts": 6, "pages_per_host": 22, "traps": 0.0, "slow_hosts": 0.0, "seed": 3}
HOMES = list(ProceduralWeb(WebPlan(**NUMBERS)).homes())  # type: ignore[arg-type]


def config(port: int, **fetch: object) -> CrawlConfig:
    settings: dict[str, object] = {"contact": "me@example.org", "resolve": {"*.web.test": f"127.0.0.1:{port}"}, **fetch}
    return CrawlConfig(
        seeds=HOMES,
        strategy=Named(name="best-first"),
        frontier=FrontierConfig(delay=0.0),
        stop=StopConfig(pages=40),
        fetch=FetchConfig(**settings),  # type: ignore[arg-type]
    )


def critic() -> Predicate:
    return Predicate(keywords=["species", "planet"])


def test_a_crawl_asks_the_live_web_and_keeps_to_robots_txt(tmp_path: Path) -> None:
    log = tmp_path / "requests.log"
    with served(log, slowness=0, **NUMBERS) as port:
        crawl = Crawl(config(port), critic=critic())
        stats = crawl.run()
    assert (stats.pages, stats.stopped) == (40, "the budget of 40 pages is used up")
    asked = [seen.target for seen in read_log(log)]
    assert asked.count("/robots.txt") == len({seen.host for seen in read_log(log)})
    assert stats.misses[Reason.ROBOTS]  # for the links to /login
    assert not [target for target in asked if target.startswith("/login")]


def test_all_ways_to_run_work_on_the_live_web_and_go_on_where_they_were(tmp_path: Path) -> None:
    with served(tmp_path / "log", slowness=0, **NUMBERS) as port:
        crawl, seen = Crawl(config(port), critic=critic()), []
        for visit in crawl:
            seen.append(visit.page.url)
            if len(seen) == 5:
                break
        assert crawl.run().pages == 40
        assert len(seen) == 5


def test_robots_txt_may_be_left_out_and_then_is(tmp_path: Path) -> None:
    log = tmp_path / "requests.log"
    with served(log, slowness=0, **NUMBERS) as port:
        stats = Crawl(config(port, robots=False), critic=critic()).run()
    assert Reason.ROBOTS not in stats.misses
    assert not [seen for seen in read_log(log) if seen.target == "/robots.txt"]


def test_without_a_contact_nothing_is_asked() -> None:
    with pytest.raises(ForagerError, match="contact"):
        Crawl(CrawlConfig(seeds=["http://a.web.test/"]), critic=critic()).run()


def test_the_guard_is_on_by_default() -> None:
    plain = CrawlConfig(seeds=["http://127.0.0.1/"], fetch=FetchConfig(contact="me@example.org"))
    stats = Crawl(plain, critic=critic()).run()
    assert set(stats.misses) == {Reason.FORBIDDEN}


def takes_the_process_down(fetch: Fetch) -> Page | Failure:
    """A reader that is no match for some of the pages."""
    if fetch.url in HOMES[:2]:
        os._exit(7)
    return parse(fetch)


def test_a_page_that_takes_the_process_down_which_parses_it_is_unreadable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "LARGE", 0)
    with served(tmp_path / "log", slowness=0, **NUMBERS) as port:
        stats = Crawl(config(port), critic=critic(), read=takes_the_process_down).run()
    assert (stats.pages, stats.misses[Reason.UNREADABLE]) == (40, 2)


def where_it_is_read(fetch: Fetch, note: Path) -> Page | Failure:
    with note.open("a", encoding="utf-8") as notes:
        notes.write(f"{os.getpid()}\n")
    return parse(fetch)


def test_large_pages_are_parsed_in_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "LARGE", 0)
    monkeypatch.setattr(MemoryShare, "hold", lambda _: threading.Lock())  # what no other process can have
    with served(tmp_path / "log", slowness=0, **NUMBERS) as port:
        read = partial(where_it_is_read, note=tmp_path / "pids")
        stats = Crawl(config(port), critic=critic(), read=read).run()
    pids = (tmp_path / "pids").read_text(encoding="utf-8").split()
    assert len(pids) >= stats.pages
    assert str(os.getpid()) not in pids
