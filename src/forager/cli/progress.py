"""What goes on, on stderr: a live table or a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.progress import Progress as Bar
from rich.table import Table

from forager.crawl.loop import Crawl
from forager.types import Visit

EVERY = 5.0  # seconds between two plain lines


class Progress:
    """`with Progress(console) as progress: progress.began(crawl); progress.each(visit)`."""

    def __init__(self, console: Console, title: str = "") -> None:
        self._console, self._title = console, title
        self._crawl: Crawl | None = None
        self._start = self._told = time.monotonic()
        self._before = 0  # pages of earlier sessions
        self._live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()
        if self._crawl:
            self._console.print(self.line(), highlight=False, markup=False, soft_wrap=True)

    def began(self, crawl: Crawl) -> None:
        self._crawl, self._before = crawl, crawl.stats.pages
        self._start = self._told = time.monotonic()

    def each(self, visit: Visit) -> None:
        now = time.monotonic()
        if self._live:
            if now - self._told >= 0.25:
                self._told = now
                self._live.update(self.table(visit))
        elif now - self._told >= EVERY:
            self._told = now
            self._console.print(self.line(), highlight=False, markup=False, soft_wrap=True)

    def _rate(self) -> float:
        assert self._crawl
        return (self._crawl.stats.pages - self._before) / max(1e-9, time.monotonic() - self._start)

    def line(self) -> str:
        assert self._crawl
        tally = self._crawl.stats
        misses = " ".join(f"{reason}={count}" for reason, count in tally.misses.most_common()) or "none"
        return (
            f"{self._title}{tally.pages} pages, {self._rate():.1f}/s, harvest {tally.harvest:.3f} "
            f"(last 100: {tally.recent_harvest:.3f}), {len(self._crawl.frontier)} waiting on "
            f"{self._crawl.facts.addresses.host_count} hosts, failures: {misses}"
        )

    def table(self, visit: Visit) -> Table:
        assert self._crawl
        tally, shown = self._crawl.stats, Table(show_header=False, box=None, padding=(0, 2, 0, 0))
        rows = {
            "pages": f"{self._title}{tally.pages:,}   {self._rate():.1f}/s",
            "harvest": f"{tally.harvest:.3f}   last 100: {tally.recent_harvest:.3f}",
            "waiting": f"{len(self._crawl.frontier):,} links on {self._crawl.facts.addresses.host_count:,} hosts",
            "failures": ", ".join(f"{count} {reason}" for reason, count in tally.misses.most_common(5)) or "none",
            "now": f"{visit.judgement.relevance:.2f} {visit.page.url}"[:100],
        }
        for name, value in rows.items():
            shown.add_row(name, value)
        return shown


@contextmanager
def counting(console: Console, title: str, all: int) -> Iterator[Callable[[int], None]]:
    """`with counting(console, "judging again", pages) as tell: … tell(done)`."""
    with Bar(console=console, transient=True, disable=not console.is_terminal) as bar:
        task, told = bar.add_task(title, total=all), time.monotonic()

        def tell(done: int) -> None:
            nonlocal told
            bar.update(task, completed=done)
            if not console.is_terminal and (now := time.monotonic()) - told >= EVERY:
                told = now
                console.print(f"{title}: {done} of {all}", highlight=False, markup=False)

        yield tell
