"""How far a command is, on stderr: in place on a terminal, elsewhere a plain line every few seconds."""

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
SHORT = 0.25  # seconds between two changes on a terminal


class CrawlView:
    """A crawl that goes on, in words."""

    def __init__(self, crawl: Crawl, title: str = "") -> None:
        self._crawl, self._title = crawl, title
        self._before, self._start = crawl.stats.pages, time.monotonic()  # pages of earlier sessions; now

    def _rate(self) -> float:
        return (self._crawl.stats.pages - self._before) / max(1e-9, time.monotonic() - self._start)

    def line(self) -> str:
        """The state of the crawl on one line."""
        stats = self._crawl.stats
        misses = " ".join(f"{reason}={count}" for reason, count in stats.misses.most_common()) or "none"
        return (
            f"{self._title}{stats.pages} pages, {self._rate():.1f}/s, harvest {stats.harvest:.3f} "
            f"(last 100: {stats.recent_harvest:.3f}), {len(self._crawl.frontier)} waiting on "
            f"{self._crawl.facts.addresses.host_count} hosts, failures: {misses}"
        )

    def table(self, visit: Visit) -> Table:
        """The state of the crawl as a table."""
        stats, shown = self._crawl.stats, Table(show_header=False, box=None, padding=(0, 2, 0, 0))
        rows = {
            "pages": f"{self._title}{stats.pages:,}   {self._rate():.1f}/s",
            "harvest": f"{stats.harvest:.3f}   last 100: {stats.recent_harvest:.3f}",
            "waiting": f"{len(self._crawl.frontier):,} links on {self._crawl.facts.addresses.host_count:,} hosts",
            "failures": ", ".join(f"{count} {reason}" for reason, count in stats.misses.most_common(5)) or "none",
            "now": f"{visit.judgement.relevance:.2f} {visit.page.url}"[:100],
        }
        for name, value in rows.items():
            shown.add_row(name, value)
        return shown


class Progress:
    """A crawl as it goes on: `with Progress(console) as progress: progress.began(crawl); progress.each(visit)`."""

    def __init__(self, console: Console, title: str = "") -> None:
        self._console, self._title, self._told = console, title, time.monotonic()
        self._view: CrawlView | None = None  # None: no crawl has begun
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
        if self._view:
            self._print(self._view)

    def began(self, crawl: Crawl) -> None:
        """Show this crawl from now on."""
        self._view, self._told = CrawlView(crawl, self._title), time.monotonic()

    def each(self, visit: Visit) -> None:
        """Show the state of the crawl after this visit, if enough time has passed."""
        now = time.monotonic()
        if self._view is None or now - self._told < (SHORT if self._live else EVERY):
            return
        self._told = now
        if self._live:
            self._live.update(self._view.table(visit))
        else:
            self._print(self._view)

    def _print(self, view: CrawlView) -> None:
        self._console.print(view.line(), highlight=False, markup=False, soft_wrap=True)


class StatusLine:
    """One line about work of unknown length: `with StatusLine(console) as status: status.update(lambda: "7 pages")`.

    The first line comes after `patience` seconds, so that short work needs no words.
    """

    def __init__(self, console: Console, patience: float = EVERY) -> None:
        self._console = console
        self._next = time.monotonic() + patience
        self._shown = False
        self._status = console.status("") if console.is_terminal else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status:
            self._status.stop()

    def update(self, line: Callable[[], str]) -> None:
        """Show a line, if enough time has passed since the last one."""
        now = time.monotonic()
        if now >= self._next:
            self._next, self._shown = now + (SHORT if self._status else EVERY), True
            self._show(line())

    def last(self, line: str) -> None:
        """Show a line now, if any was shown before."""
        if self._shown:
            self._show(line)

    def _show(self, line: str) -> None:
        if self._status:
            self._status.start()
            self._status.update(line)
        else:
            self._console.print(line, highlight=False, markup=False)


@contextmanager
def counting(console: Console, title: str, all: int) -> Iterator[Callable[[int], None]]:
    """How many of `all` are done: `with counting(console, "judging again", pages) as tell: … tell(done)`."""
    with Bar(console=console, transient=True, disable=not console.is_terminal) as bar:
        task, told = bar.add_task(title, total=all), time.monotonic()

        def tell(done: int) -> None:
            nonlocal told
            bar.update(task, completed=done)
            if not console.is_terminal and (now := time.monotonic()) - told >= EVERY:
                told = now
                console.print(f"{title}: {done} of {all}", highlight=False, markup=False)

        yield tell
