"""How far a command is, on stderr: in place on a terminal, elsewhere a plain line every few seconds."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.progress import Progress as Bar
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from forager.cli.terminal import duration, plain
from forager.collection.harvest import HarvestCorrection
from forager.crawl.loop import Crawl
from forager.types import Visit

EVERY = 5.0  # seconds between two plain lines
SHORT = 0.25  # seconds between two changes on a terminal
WINDOW = 60.0  # seconds over which the rate is taken
WIDTH = 40  # of the bar
NOT_CORRECTED = HarvestCorrection()


class CrawlView:
    """A crawl that goes on, in words."""

    def __init__(self, crawl: Crawl, title: str = "", correction: HarvestCorrection = NOT_CORRECTED) -> None:
        self._crawl, self._title, self._correction = crawl, title, correction
        self._start = time.monotonic()
        self._counts = deque([(self._start, crawl.stats.pages)])  # of the last seconds: when, and how many pages
        self.visit: Visit | None = None  # the last one

    def count(self) -> None:
        """Note how many pages there are now, for the rate."""
        now = time.monotonic()
        self._counts.append((now, self._crawl.stats.pages))
        while len(self._counts) > 2 and self._counts[1][0] <= now - WINDOW:
            self._counts.popleft()

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._start

    @property
    def rate(self) -> float:
        """Pages a second, lately."""
        began, before = self._counts[0]
        return (self._crawl.stats.pages - before) / max(1e-9, time.monotonic() - began)

    @property
    def share(self) -> float | None:
        """How much of the budget is used up, from 0 to 1. None: there is no budget."""
        stop, stats = self._crawl.config.stop, self._crawl.stats
        shares = [
            *([stats.pages / stop.pages] if stop.pages else []),
            *([stats.bytes / stop.bytes] if stop.bytes else []),
            *([self.elapsed / stop.seconds] if stop.seconds else []),
        ]
        return min(1.0, max(shares)) if shares else None

    @property
    def remaining(self) -> float | None:
        """Seconds until the budget is used up, at this rate. None: nobody knows."""
        stop, stats = self._crawl.config.stop, self._crawl.stats
        if stats.stopped:
            return None
        ends = [stop.seconds - self.elapsed] if stop.seconds is not None else []
        if stop.pages is not None and self.rate > 0:
            ends.append((stop.pages - stats.pages) / self.rate)
        return max(0.0, min(ends)) if ends else None

    @property
    def waits_for(self) -> str:
        """What is waited for, in words. "" while there are answers to come, and when the crawl has ended."""
        return "" if self._crawl.stats.stopped else self._crawl.waiting_for

    def line(self) -> str:
        """The state of the crawl on one line."""
        stats, waits = self._crawl.stats, self.waits_for
        misses = " ".join(f"{reason}={count}" for reason, count in stats.misses.most_common()) or "none"
        return plain(
            f"{self._title}{self._pages()}, {self.rate:.1f}/s, {self._times()}, harvest {self._harvest():.3f} "
            f"(last 100: {self._recent():.3f}; {self._correction.words}), {len(self._crawl.frontier)} waiting on "
            f"{self._crawl.facts.addresses.host_count} hosts, failures: {misses}{f'; {waits}' if waits else ''}"
        )

    def table(self) -> Table:
        """The state of the crawl as a table, under a bar if there is a budget."""
        stats, shown = self._crawl.stats, Table(show_header=False, box=None, padding=(0, 2, 0, 0))
        visit, waits = self.visit, self.waits_for
        rows = {
            "pages": f"{self._title}{self._pages()}   {self.rate:.1f}/s",
            "time": self._times(),
            "harvest": f"{self._harvest():.3f}   last 100: {self._recent():.3f}   {self._correction.words}",
            "waiting": f"{len(self._crawl.frontier):,} links on {self._crawl.facts.addresses.host_count:,} hosts",
            "failures": ", ".join(f"{count} {reason}" for reason, count in stats.misses.most_common(5)) or "none",
            "now": waits or (f"{visit.judgement.relevance:.2f} {visit.page.url}"[:100] if visit else ""),
        }
        share = self.share
        if share is not None:
            shown.add_row(f"{share:.0%}", ProgressBar(1.0, share, width=WIDTH))
        for name, value in rows.items():
            shown.add_row(name, Text(plain(value)))
        return shown

    def _harvest(self) -> float:
        stats = self._crawl.stats
        return self._correction.mean(stats.levels) if self._correction.labels and stats.pages else stats.harvest

    def _recent(self) -> float:
        recent = self._crawl.stats.recent
        return float(self._correction([*recent]).mean()) if recent else 0.0

    def _pages(self) -> str:
        budget = self._crawl.config.stop.pages
        return f"{self._crawl.stats.pages:,}{f' of {budget:,}' if budget else ''} pages"

    def _times(self) -> str:
        left = self.remaining
        return duration(self.elapsed) + (f", about {duration(left)} left" if left and left >= 1 else "")


class Progress:
    """A crawl as it goes on: `with Progress(console) as progress: progress.began(crawl); progress.each(visit)`.

    It is shown anew as time passes, not only when pages come: an outage must be seen. A timer of the event loop does
    this, because only there the crawl may be looked at.
    """

    def __init__(self, console: Console, title: str = "", correction: HarvestCorrection = NOT_CORRECTED) -> None:
        self._console, self._title, self._correction = console, title, correction
        self._view: CrawlView | None = None  # None: no crawl has begun
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer:
            self._timer.cancel()
        if self._live:
            self._live.stop()
        if self._view:
            self._print(self._view)

    def began(self, crawl: Crawl) -> None:
        """Show this crawl from now on. Called inside the event loop that runs it."""
        self._view = CrawlView(crawl, self._title, self._correction)
        if self._timer:
            self._timer.cancel()
        self._wait()

    def each(self, visit: Visit) -> None:
        """The crawl has brought this page."""
        if self._view:
            self._view.visit = visit

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(SHORT if self._live else EVERY, self._tick)

    def _tick(self) -> None:
        if self._view:
            self._view.count()
            if self._live:
                self._live.update(self._view.table(), refresh=True)
            else:
                self._print(self._view)
        self._wait()

    def _print(self, view: CrawlView) -> None:
        self._console.print(view.line(), highlight=False, markup=False, emoji=False, soft_wrap=True)


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
            self._status.update(Text(plain(line)))
        else:
            self._console.print(plain(line), highlight=False, markup=False, soft_wrap=True)


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
