"""Figures for Prometheus: read when they are asked for, on this machine alone."""

from __future__ import annotations

import socket
from collections import Counter
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from forager.errors import ForagerError
from forager.types import Reason
from forager.watch import CrawlFigures, serve_metrics

MISSES = Counter({Reason.DNS: 3, Reason.TIMEOUT: 2})


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def figures(pages: int = 4, misses: dict[str, int] | None = None) -> CrawlFigures:
    given = {str(reason): count for reason, count in MISSES.items()} if misses is None else misses
    return CrawlFigures(
        pages=pages, requests=9, bytes=1000, relevance=1.0, recent_harvest=0.5, misses=given,
        waiting=77, hosts=5, in_flight=3, longest_pause=0.04, commits=2, sweeps=1,
    )  # fmt: skip


def asked(port: int) -> dict[str, float]:
    """The figures by name and label."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    assert all(line.isprintable() for line in text.splitlines())
    return {
        "".join((sample.name, *(f"{{{value}}}" for value in sample.labels.values()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_prometheus_gets_the_figures_as_they_are_now() -> None:
    now = figures()
    port = free_port()
    with serve_metrics(port, lambda: now):
        assert asked(port) == {
            "forager_pages_total": 4,
            "forager_requests_total": 9,
            "forager_bytes_total": 1000,
            "forager_relevance_total": 1,
            "forager_commits_total": 2,
            "forager_sweeps_total": 1,
            "forager_harvest": 0.25,
            "forager_recent_harvest": 0.5,
            "forager_waiting": 77,
            "forager_hosts": 5,
            "forager_in_flight": 3,
            "forager_longest_pause": 0.04,
            "forager_misses_total{dns}": 3,
            "forager_misses_total{timeout}": 2,
        }
        now = figures(pages=5, misses={"\x1b[31m\n": 1})
        assert asked(port)["forager_pages_total"] == 5
    with pytest.raises(OSError, match="refused"):
        asked(port)


def test_a_port_that_is_taken_is_told_in_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        told = rf"^log\.metrics: port {port} of 127\.0\.0\.1 cannot be used: .* in use; choose another port"
        with pytest.raises(ForagerError, match=told), serve_metrics(port, figures):
            pass


def test_only_this_machine_may_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    import prometheus_client

    given: dict[str, object] = {}
    start = prometheus_client.start_http_server

    def noted(*args: object, **more: object) -> object:
        given.update(more)
        return start(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(prometheus_client, "start_http_server", noted)
    with serve_metrics(free_port(), figures):
        assert given["addr"] == "127.0.0.1"


def test_without_a_port_nobody_answers() -> None:
    def never() -> CrawlFigures:
        raise AssertionError

    with serve_metrics(None, never):
        pass
