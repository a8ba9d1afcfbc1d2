"""After any kill every URL is waiting, fetched, missed for a reason, or merged into one that is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from forager.clock import VirtualClock
from forager.config import FrontierConfig
from forager.crawl.audit import lost_urls
from forager.store import Record, RecordedProject, Store
from forager.types import Failure, Fetch, Reason, Redirect, Strategy, Url
from tests.contracts.test_strategies import MAKERS
from tests.crawl.test_resuming import Dying, crawl, web
from tests.small_web import SmallWeb, html, url


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forager.store.commit.GROUP", 2)


def lost(folder: Path) -> list[Url]:
    with RecordedProject(folder) as recorded:
        return lost_urls(recorded, VirtualClock())


def chains(count: int = 10) -> SmallWeb:
    """Pages behind redirects, on the host and off it, whose server is away at first."""
    old = [url(f"/old-{n}") for n in range(count)]
    pages: dict[Url, str | Redirect | Failure] = {url("/bird-0"): html("bird", *old), url("/stone-1"): html("stone")}
    for n, source in enumerate(old):
        host = "" if n % 2 else f"h{n}.test"
        between, end = url(f"{host}/between-{n}"), url(f"{host}/new-{n}")
        pages |= {source: Redirect(source, between), between: Redirect(between, end), end: html(f"bird {n}")}
    return SmallWeb(pages)


@pytest.mark.parametrize("make", [MAKERS[name] for name in ("breadth-first", "best-first", "apprentice often")])
def test_wherever_it_is_killed_no_url_is_lost(tmp_path: Path, make: Callable[[], Strategy]) -> None:
    whole, _ = crawl(tmp_path / "whole", make, None, chains())
    assert whole.stats.pages == 12
    for after in range(1, 36):
        folder = tmp_path / str(after)
        crawl(folder, make, after, chains())
        assert lost(folder) == []
        made, asked = crawl(folder, make, None, chains())
        assert lost(folder) == []
        assert made.stats.pages == 12
        with Store(folder, clock=VirtualClock()) as store:
            outcomes = [record.outcome for record in store.records()]
        assert outcomes.count("page") == 12
        assert max(asked.requests().values(), default=1) == 1


def listing(count: int = 9) -> SmallWeb:
    """A sitemap, and the pages that only it names."""
    pages: dict[Url, str | Redirect | Failure | Fetch] = {url(f"/new-{n}"): html(f"bird {n}") for n in range(count)}
    named = "".join(f"<url><loc>{place}</loc></url>" for place in pages)
    sitemap = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{named}</urlset>'
    pages |= {
        url("/bird-0"): Fetch(url("/bird-0"), sitemap.encode(), "application/xml"),
        url("/stone-1"): html("stone"),
    }
    return SmallWeb(pages)  # type: ignore[arg-type]


def test_a_kill_between_two_parts_of_a_sitemap_loses_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add = Dying.add

    def add_and_commit(store: Dying, record: Record) -> None:
        add(store, record)
        store.commit()

    monkeypatch.setattr("forager.crawl.asking.PART", 2)
    monkeypatch.setattr(Dying, "add", add_and_commit)
    for after in range(1, 15):
        folder = tmp_path / str(after)
        crawl(folder, MAKERS["breadth-first"], after, listing())
        assert lost(folder) == []
        made, _ = crawl(folder, MAKERS["breadth-first"], None, listing())
        assert made.stats.pages == 10
        assert lost(folder) == []
        assert crawl(folder, MAKERS["breadth-first"], None, listing())[1].asked == []


def test_a_target_that_fails_for_the_moment_waits_over_a_restart(tmp_path: Path) -> None:
    """Ten redirects whose targets are away when they are first asked for, and a stop before they are back."""
    away = chains()
    ends = [place for place in away.pages if "/new-" in place]
    for place in ends:
        away.pages[place] = Failure(place, Reason.BUSY, "later", 3600.0, status=503)  # type: ignore[index]
    limits = FrontierConfig(delay=0, patience=60)
    made, _ = crawl(tmp_path, MAKERS["breadth-first"], None, away, frontier=limits)
    assert made.stats.pages == 2
    assert "all hosts rest" in made.stats.stopped
    assert lost(tmp_path) == []
    made, _ = crawl(tmp_path, MAKERS["breadth-first"], None, chains(), frontier=FrontierConfig(delay=0))
    assert made.stats.pages == 12
    assert made.stats.stopped == "nothing is left to fetch"


def test_a_url_that_is_dropped_without_a_word_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check can fail: here the targets of redirects are forgotten, as once they were."""
    crawl(tmp_path, MAKERS["breadth-first"], 9, web())
    assert lost(tmp_path) == []
    forget = lambda step, answer, target, *_, **__: step._frontier.drop(target)  # noqa: E731
    monkeypatch.setattr("forager.crawl.step.Step.moved", forget)
    assert lost(tmp_path) != []
