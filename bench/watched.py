"""The command line, watched: python -m bench.watched FIGURES words …

Names are looked up by the hostile web's name server, so that nothing is ever asked of the real one. At the end FIGURES
has one JSON object: how long the event loop was held up at most, the peak of memory, and the CPU time.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

from forager.cli import main
from forager.crawl.folder import CrawlFolder
from forager.fetch.http import HttpFetcher
from forager_lab.webs.hostile.addresses import lookup

TICK = 0.01  # seconds


class LoopWatch:
    """Wakes up again and again, and notes how late. A machine that is busy with others makes everybody late. So it also
    notes how much of that time this process has computed: with a core for itself, it would be late by so much."""

    def __init__(self) -> None:
        self.longest = self.longest_cpu = 0.0
        self.at, self._start = 0.0, time.monotonic()

    async def watch(self) -> None:
        while True:
            due, cpu = time.monotonic() + TICK, time.process_time()
            await asyncio.sleep(TICK)
            late, spent = time.monotonic() - due, time.process_time() - cpu
            if late > self.longest:
                self.longest, self.at = late, due - self._start
            self.longest_cpu = max(self.longest_cpu, min(late, spent))


def watched(figures: Path) -> None:
    """From now on, watch the crawls of this process."""
    crawl, watch, began = CrawlFolder.crawl, LoopWatch(), time.monotonic()

    async def watched_crawl(self: CrawlFolder, *given: Any, **named: Any) -> Any:
        task = asyncio.ensure_future(watch.watch())
        try:
            return await crawl(self, *given, **named)
        finally:
            task.cancel()
            _write(figures, watch, began)

    CrawlFolder.crawl = watched_crawl  # type: ignore[method-assign]
    defaults = HttpFetcher.__init__.__kwdefaults__
    assert defaults
    defaults["lookup"] = lookup


def _write(figures: Path, watch: LoopWatch, began: float) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    wall = time.monotonic() - began
    told = {
        "pause": watch.longest,
        "pause_at": watch.at,
        "pause_cpu": watch.longest_cpu,
        "rss_mb": used.ru_maxrss / 1024,
        "cpu": used.ru_utime + used.ru_stime,
        "wall": wall,
        "starved": _waited_for_core() / wall,
    }
    figures.write_text(json.dumps(told), encoding="utf-8")


def _waited_for_core() -> float:
    """Seconds that the main thread was ready and did not run, because the machine was busy with others. Linux only."""
    try:
        return int(Path("/proc/self/schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


if __name__ == "__main__":
    watched(Path(sys.argv[1]))
    sys.argv[1:] = sys.argv[2:]
    main()
