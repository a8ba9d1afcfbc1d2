"""Figures of a running crawl for Prometheus, on a port of this machine. They are read when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forager.errors import ForagerError, plain

if TYPE_CHECKING:
    from prometheus_client.core import Metric

HERE = "127.0.0.1"  # nobody else can ask
COUNTED = {
    "pages": "Pages that were taken in, in all sessions.",
    "requests": "Requests that were made.",
    "bytes": "Bytes of page bodies.",
    "relevance": "Relevance of the pages, summed.",
    "commits": "Groups of answers that were committed.",
    "sweeps": "Times that all waiting links were scored again.",
}
GAUGED = {
    "harvest": "Mean relevance of the pages.",
    "recent_harvest": "Mean relevance of the latest pages.",
    "waiting": "Links that wait to be asked for.",
    "hosts": "Hosts that are known.",
    "in_flight": "Requests that are running.",
    "longest_pause": "Seconds, the longest time that one page or one commit held up the loop.",
}


@dataclass(frozen=True, slots=True)
class CrawlFigures:
    """A running crawl in numbers, at one moment."""

    pages: int
    requests: int
    bytes: int
    relevance: float  # summed over the pages
    recent_harvest: float
    misses: Mapping[str, int]  # by reason
    waiting: int
    hosts: int
    in_flight: int
    longest_pause: float  # seconds
    commits: int = 0
    sweeps: int = 0

    @property
    def harvest(self) -> float:
        return self.relevance / self.pages if self.pages else 0.0


class CrawlCollector:
    """Gives Prometheus the figures of a crawl, as they are when it asks."""

    def __init__(self, figures: Callable[[], CrawlFigures]) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        now = self._figures()
        for name, words in COUNTED.items():
            yield CounterMetricFamily(f"forager_{name}", words, value=getattr(now, name))
        for name, words in GAUGED.items():
            yield GaugeMetricFamily(f"forager_{name}", words, value=getattr(now, name))
        misses = CounterMetricFamily("forager_misses", "Requests that brought no page, by reason.", labels=["reason"])
        for reason, count in now.misses.items():
            misses.add_metric([plain(reason)], count)
        yield misses


@contextmanager
def serve_metrics(port: int | None, figures: Callable[[], CrawlFigures]) -> Iterator[None]:
    """While this lasts, a thread answers Prometheus on this port of this machine. None: nobody answers.

    `figures` is called in that thread, so it may only read.
    """
    if port is None:
        yield
        return
    from prometheus_client import CollectorRegistry, start_http_server  # for those who want it

    registry = CollectorRegistry()
    registry.register(CrawlCollector(figures))
    try:
        server, thread = start_http_server(port, addr=HERE, registry=registry)
    except OSError as error:
        told = f"log.metrics: port {port} of {HERE} cannot be used: {error.strerror or error}"
        raise ForagerError(f"{told}; choose another port, or leave the key out") from None
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
