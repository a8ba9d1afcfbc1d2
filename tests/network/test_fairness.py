"""Hosts share the crawl fairly, and none is asked more often than is polite: real sockets, one server for all."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from time import monotonic

import pytest

from forager.config import CrawlConfig, FetchConfig, FrontierConfig, StopConfig, StoreConfig
from forager.crawl.loop import Crawl
from forager.fetch.http import HttpFetcher
from forager.strategies import BreadthFirst
from tests.small_web import WordCritic, html

Respond = Callable[[str, str], "bytes | Awaitable[bytes | None] | None"]  # host and path; None: never


def answer(status: str = "200 OK", body: str = "", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", "Content-Type: text/html", f"Content-Length: {len(body.encode())}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


@dataclass
class Server:
    """Answers by host and path, and remembers what was asked, and how many at once."""

    respond: Respond
    asked: list[tuple[float, str, str]] = field(default_factory=list)
    at_once: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)
    port: int = 0

    async def __aenter__(self) -> Server:
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=512)
        self.port = self._listener.sockets[0].getsockname()[1]
        self._tasks: set[asyncio.Task[None]] = set()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listener.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                path = head.split(" ")[1]
                host = next(line for line in head.split("\r\n") if line.lower().startswith("host:"))[5:].strip()
                host = host.partition(":")[0]
                self.asked.append((monotonic(), host, path))
                for name in (host, "all"):
                    self.at_once[name] += 1
                    self.most[name] = max(self.most[name], self.at_once[name])
                found = self.respond(host, path)
                sent = found if isinstance(found, bytes) or found is None else await found
                if sent is None:
                    await asyncio.sleep(3600)
                for name in (host, "all"):
                    self.at_once[name] -= 1
                writer.write(sent or b"")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    def to(self, host: str, path: str = "/") -> int:
        """How often it was asked for."""
        return sum((name, place) == (host, path) for _, name, place in self.asked)


def crawl(port: int, seeds: list[str], *, seconds: float = 60.0, robots: bool = False, **limits: object) -> Crawl:
    config = CrawlConfig(
        seeds=seeds,
        store=StoreConfig(duplicates="all"),
        stop=StopConfig(seconds=seconds),
        frontier=FrontierConfig(**{"delay": 0.02, "delay_factor": 0.0, **limits}),  # type: ignore[arg-type]
        fetch=FetchConfig(contact="me@example.org", robots=robots, resolve={"*.test": f"127.0.0.1:{port}"}),
    )
    return Crawl(config, critic=WordCritic(), strategy=BreadthFirst())


async def until(made: Crawl, enough: Callable[[], bool]) -> None:
    """Crawl until it is enough, then stop."""
    async for _ in made.visits():
        if enough():
            made.stop("enough")


def test_two_hundred_silent_hosts_do_not_keep_good_ones_waiting() -> None:
    """They come first, and each is silent for longer than the whole crawl may take."""
    good = [f"http://good{number}.test/" for number in range(5)]

    def respond(host: str, path: str) -> bytes | None:
        links = [f"/{number}" for number in range(20)]
        return answer(body=html(f"bird {host} {path}", *links)) if host.startswith("good") else None

    async def run() -> int:
        async with Server(respond) as server:
            made = crawl(server.port, [*(f"http://silent{number}.test/" for number in range(200)), *good])
            await until(made, lambda: made.stats.pages >= 105)
            assert made.stats.stopped == "enough"
            return made.stats.pages

    assert asyncio.run(run()) == 105


def test_a_host_that_is_busy_rests_with_all_its_links() -> None:
    def respond(host: str, path: str) -> bytes:
        if path == "/":
            return answer(body=html("bird", *(f"/{number}" for number in range(50))))
        return answer("429 Too Many Requests", Retry_After="3600")

    async def run() -> Counter[str]:
        async with Server(respond) as server:
            made = crawl(server.port, ["http://a.test/", "http://b.test/"], seconds=3.0)
            await made.arun()
            assert made.stats.misses == {}
            assert len(made.frontier) == 100
            return Counter(host for _, host, _ in server.asked)

    assert asyncio.run(run()) == {"a.test": 2, "b.test": 2}  # the page, and one that said: not now


def test_a_crawl_ends_when_all_that_waits_rests_for_longer_than_its_patience() -> None:
    async def run() -> tuple[str, int]:
        async with Server(lambda host, path: answer("503 Busy", Retry_After="3600")) as server:
            made = crawl(server.port, ["http://a.test/"], seconds=20.0, patience=90.0)
            stats = await made.arun()
            return stats.stopped, len(made.frontier)

    stopped, waiting = asyncio.run(run())
    assert "all hosts rest" in stopped
    assert waiting == 1


@pytest.mark.parametrize("kind", ["redirects", "silence"])
def test_a_crawl_that_is_stopped_does_not_wait_for_slow_hosts(kind: str) -> None:
    """A host that wants a minute between two requests and redirects, and one that never answers."""

    def respond(host: str, path: str) -> bytes | None:
        if path == "/robots.txt":
            return answer(body="User-agent: *\nCrawl-delay: 60", Content_Type="text/plain")
        if kind == "silence":
            return None
        return answer("302 Found", Location=f"{path}x")

    async def run() -> None:
        async with Server(respond) as server, asyncio.timeout(45):
            made = crawl(server.port, ["http://a.test/"], robots=kind == "redirects", seconds=2.0)
            await made.arun()
            assert "2 seconds" in made.stats.stopped
            assert len(made.frontier) == 1  # it waits again

    asyncio.run(run())


def test_robots_txt_that_redirects_elsewhere_cannot_make_us_hit_a_victim() -> None:
    """A hundred hosts send us to a host that is none of theirs, each to another file of it."""

    def respond(host: str, path: str) -> bytes:
        if path == "/robots.txt" and host != "victim.test":
            return answer("301 Moved", Location=f"http://victim.test/robots.txt?for={host}")
        return answer(body="User-agent: *", Content_Type="text/plain")

    async def run() -> tuple[int, float]:
        async with Server(respond) as server:
            began = monotonic()
            made = crawl(server.port, [f"http://h{n}.test/" for n in range(100)], robots=True, delay=0.4, seconds=3.0)
            await made.arun()
            return sum(host == "victim.test" for _, host, _ in server.asked), monotonic() - began

    hits, seconds = asyncio.run(run())
    assert 1 <= hits <= 1 + seconds / 0.4


def test_hosts_at_one_address_share_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any name leads to the same machine, as with a wildcard in the DNS."""

    async def slowly() -> bytes:
        await asyncio.sleep(0.05)
        return answer(body=html("bird"))

    defaults = HttpFetcher.__init__.__kwdefaults__
    assert defaults
    monkeypatch.setitem(defaults, "lookup", lambda host: ["127.0.0.1"])

    async def run() -> tuple[int, int]:
        async with Server(lambda host, path: slowly()) as server:
            seeds = [f"http://h{number}.example:{server.port}/" for number in range(40)]
            config = CrawlConfig(
                seeds=seeds,
                store=StoreConfig(duplicates="all"),
                stop=StopConfig(seconds=60.0),
                frontier=FrontierConfig(delay=0.04, delay_factor=0.0, per_address=3),
                fetch=FetchConfig(contact="me@example.org", robots=False, allow=("127.0.0.0/8",)),
            )
            made = Crawl(config, critic=WordCritic(), strategy=BreadthFirst())
            stats = await made.arun()
            return stats.pages, server.most["all"]

    assert asyncio.run(run()) == (40, 3)
