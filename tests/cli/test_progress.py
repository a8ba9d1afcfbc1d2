"""How far something is: in place on a terminal, a line now and then elsewhere, also while nothing comes."""

from __future__ import annotations

import asyncio
import time
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from forager.cli import progress
from forager.cli.progress import CrawlView, Progress, counting
from forager.config import CrawlConfig, FrontierConfig, StopConfig
from forager.crawl.loop import Crawl
from forager.critics import Predicate
from forager.types import Answer, Failure, Fetch, Reason, Url


def told(*, terminal: bool) -> str:
    out = StringIO()
    with counting(Console(file=out, force_terminal=terminal, width=80), "writing pages", 3) as tell:
        for done in (1, 2, 3):
            tell(done)
    return out.getvalue()


def test_elsewhere_a_line_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(terminal=False) == ""  # not so soon
    monkeypatch.setattr(progress, "EVERY", 0.0)
    assert told(terminal=False).splitlines() == [f"writing pages: {done} of 3" for done in (1, 2, 3)]


def test_on_a_terminal_a_bar_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.0)
    shown = told(terminal=True)
    assert "writing pages" in shown
    assert "100%" in shown
    assert "of 3" not in shown


# ---- a crawl


class Pages:
    """Every URL has a page with a link to the next; from the third on, nobody answers until `wake` is set."""

    def __init__(self) -> None:
        self.asked = 0
        self.wake = asyncio.Event()

    async def fetch(self, url: Url) -> Answer:
        self.asked += 1
        await asyncio.sleep(0)
        if self.asked == 2:
            return Failure(url, Reason.TIMEOUT)
        if self.asked > 3:
            await self.wake.wait()
        body = "".join(f"<a href='/[/b]{self.asked}{k}'>x</a>" for k in range(3))
        return Fetch(url, f"<title>[/b]\x1b[31m</title>{body}".encode())


def crawled(console: Console, ticks: int, **stop: Any) -> str:
    """What is shown of a crawl that gets stuck, until it was shown anew so many times since."""

    async def main() -> None:
        web = Pages()
        config = CrawlConfig(
            seeds=["http://a.test/[/b]1", "http://a.test/[/b]2", "http://b.test/[bold]"],
            frontier=FrontierConfig(delay=0, in_flight=1),
            stop=StopConfig(**{"pages": 6, **stop}),
        )
        crawl = Crawl(config, critic=Predicate(keywords=["x"]), fetcher=web)
        with Progress(console, "try: ") as shown:
            shown.began(crawl)
            views = 0
            tick = shown._tick

            def counted() -> None:
                nonlocal views
                tick()
                views += web.asked > 3
                if views == ticks:
                    web.wake.set()

            shown._tick = counted  # type: ignore[method-assign]
            async for visit in crawl.visits():
                shown.each(visit)

    asyncio.run(asyncio.wait_for(main(), 60))
    out = console.file
    assert isinstance(out, StringIO)
    return out.getvalue()


def test_on_a_pipe_lines_come_while_no_page_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.01)
    lines = crawled(Console(file=StringIO(), width=80), ticks=3).splitlines()
    stuck = [line for line in lines if line.startswith("try: 2 of 6 pages, ")]
    assert len(stuck) >= 3
    assert "harvest 1.000 (last 100: 1.000; critic's estimate)" in stuck[-1]
    assert "waiting on 2 hosts, failures: timeout=1" in stuck[-1]
    assert lines[-1].startswith("try: 6 of 6 pages")
    assert all(line.isprintable() for line in lines)


def test_on_a_terminal_urls_are_no_markup_and_a_budget_has_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SHORT", 0.01)
    shown = crawled(Console(file=StringIO(), force_terminal=True, width=100), ticks=3)
    assert "1.00 http://a.test/[/b]" in shown or "1.00 http://b.test/[bold]" in shown
    assert "━━━" in shown  # the bar
    assert "2 of 6 pages" in shown
    assert "\x1b[31m</title>" not in shown


def test_what_is_waited_for_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.01)
    monkeypatch.setattr(Crawl, "waiting_for", "every host rests until 12:04:10 \x1b[31m", raising=False)
    lines = crawled(Console(file=StringIO(), width=80), ticks=1, pages=3).splitlines()
    assert lines[0].endswith("; every host rests until 12:04:10  [31m")


@pytest.mark.parametrize(
    ("stop", "share", "remaining"),
    [
        ({}, None, None),
        ({"pages": 10}, 0.4, 6.0),
        ({"seconds": 8.0}, 0.25, 6.0),
        ({"pages": 10, "seconds": 4.0}, 0.5, 2.0),
        ({"bytes": 1000}, 0.5, None),
        ({"pages": 2}, 1.0, 0.0),
    ],
)
def test_the_budget_that_ends_first_counts(
    stop: dict[str, Any], share: float | None, remaining: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two seconds for two pages, beside two pages of an earlier session."""
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    crawl = Crawl(CrawlConfig(seeds=["http://a.test/"], stop=StopConfig(**stop)), critic=Predicate(keywords=["x"]))
    crawl.stats.pages = 2
    view = CrawlView(crawl)
    now, crawl.stats.pages, crawl.stats.bytes = 102.0, 4, 500
    view.count()
    assert view.rate == 1.0
    assert view.share == share
    assert view.remaining == remaining


def test_the_rate_is_that_of_the_last_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    crawl = Crawl(CrawlConfig(seeds=["http://a.test/"]), critic=Predicate(keywords=["x"]))
    view = CrawlView(crawl)
    for second in range(1, 301):
        now, crawl.stats.pages = float(second), min(second, 100) * 10
        view.count()
    assert view.rate == 0.0
    assert len(view._counts) < 70
