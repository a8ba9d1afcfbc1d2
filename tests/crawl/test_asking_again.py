"""Links that brought no page can be asked for again, and so can seeds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from forager.config import CrawlConfig, FrontierConfig
from forager.crawl.folder import CrawlFolder
from forager.errors import ForagerError
from forager.frontier.facts import Facts
from forager.types import Failure, Reason, Redirect, ScoredLinks, Url
from tests.contracts.test_strategies import MAKERS
from tests.crawl.test_audit import lost
from tests.crawl.test_resuming import crawl, order
from tests.small_web import SmallWeb, html, url

START = url("/bird-0")


def broken(place: Url) -> Failure:
    return Failure(place, Reason.SERVER_ERROR, "status 500", 10.0, status=500)


def web(*away: str) -> SmallWeb:
    """A start with four pages, of which some do not work."""
    places = [url("/a"), url("/b"), url("b.test/c"), url("b.test/d")]
    pages: dict[Url, str | Redirect | Failure] = {START: html("bird", *places, "/gone"), url("/stone-1"): html("stone")}
    pages |= {place: html(f"bird at {place}") for place in places}
    return SmallWeb(pages | {place: broken(place) for place in (*places, START) if place[-1] in away})


def folder(path: Path) -> CrawlFolder:
    return CrawlFolder(path, CrawlConfig(seeds=[START], frontier=FrontierConfig(delay=0)))


def test_misses_wait_again_by_reason_and_host(tmp_path: Path) -> None:
    make = MAKERS["breadth-first"]
    made, _ = crawl(tmp_path, make, None, web("a", "c", "d"))
    assert made.stats.misses == {Reason.SERVER_ERROR: 3, Reason.NOT_FOUND: 1}
    project = folder(tmp_path)
    with pytest.raises(ForagerError, match="no reason named 'dnss'; nearest: dns"):
        project.retry(["dnss"])
    assert project.retry(["timeout"]) == 0
    assert project.retry(hosts=["b.*"]) == 2
    assert project.retry(hosts=["b.test"]) == 0  # they wait already
    assert lost(tmp_path) == []
    made, asked = crawl(tmp_path, make, None, web())
    assert asked.asked == [url("b.test/c"), url("b.test/d")]
    assert made.stats.pages == 5
    assert project.retry(["not-found", "server-error"]) == 2
    made, asked = crawl(tmp_path, make, None, web())
    assert sorted(asked.asked) == [url("/a"), url("/gone")]
    assert lost(tmp_path) == []


def test_what_was_counted_against_them_is_forgotten(tmp_path: Path) -> None:
    make = MAKERS["breadth-first"]
    crawl(tmp_path, make, None, web("a"))
    assert folder(tmp_path).retry() == 1
    _, asked = crawl(tmp_path, make, None, web("a"))
    assert asked.asked == [url("/a")] * 3
    assert order(tmp_path).count((url("/a"), "miss")) == 2


def test_they_wait_over_a_kill(tmp_path: Path) -> None:
    make = MAKERS["breadth-first"]
    crawl(tmp_path, make, None, web("a", "b", "c"))
    assert folder(tmp_path).retry() == 3
    crawl(tmp_path, make, 1, web())
    made, _ = crawl(tmp_path, make, None, web())
    assert made.stats.pages == 6
    again, asked = crawl(tmp_path, make, None, web())
    assert asked.asked == []
    assert again.stats.pages == 6


def test_a_seed_that_failed_is_asked_again_by_the_next_crawl(tmp_path: Path) -> None:
    make = MAKERS["breadth-first"]
    made, _ = crawl(tmp_path, make, None, web("0"))
    assert made.stats.pages == 1
    made, _ = crawl(tmp_path, make, None, web())
    assert made.stats.pages == 6
    _, asked = crawl(tmp_path, make, None, web())
    assert asked.asked == []


def test_a_redirect_that_is_asked_again_counts_its_links_once() -> None:
    facts = Facts()
    start, source, target = facts.intern([START, url("/a"), url("/b")]).tolist()
    links = np.array([source], np.int32)
    facts.found(start, links, ScoredLinks(np.ones(1, np.float32)), np.ones(1, np.bool_))
    for _ in range(2):
        assert facts.redirect(source, target)
        assert facts.known(np.array([target], np.int32)).inlinks.tolist() == [1]
