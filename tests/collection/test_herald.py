"""The webhook is told of every new relevant page, once if it answers, and later if it does not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from forager.collection import Herald, herald
from forager.config import RefreshConfig
from forager.errors import ForagerError
from forager.project import Project
from forager.store import Catalogue, Record, Store
from forager.watch import CrawlLog
from tests.crawl.test_resuming import web as small_web
from tests.store.making import new_url, record, url

SECRET = "s3cr3t-t0ken"
LEAST = 0.5
QUICK = 0.02


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", SECRET)


class Receiver:
    """A server on loopback that keeps what it is sent, and answers as it is told."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.answer: Callable[[], Coroutine[Any, Any, web.Response]] = self.fine
        self.port = 0
        self.closing = asyncio.Event()

    async def fine(self) -> web.Response:
        return web.Response(status=204)

    async def silent(self) -> web.Response:
        await self.closing.wait()
        return web.Response(status=500)

    async def _serve(self, request: web.Request) -> web.Response:
        message, self.paths = await request.json(), [*self.paths, request.path]
        answer = await self.answer()
        if answer.status < 300:
            self.messages.append(message)
        return answer

    @asynccontextmanager
    async def open(self) -> Any:
        app = web.Application()
        app.router.add_post("/{path:.*}", self._serve)
        runner = web.AppRunner(app, shutdown_timeout=0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self.port)
        await site.start()
        self.port = runner.addresses[0][1]
        try:
            yield self
        finally:
            self.closing.set()
            await runner.cleanup()
            self.closing.clear()

    @property
    def urls(self) -> list[str]:
        return [page["url"] for message in self.messages for page in message["pages"]]


class Life:
    """A project that grows, and the log of those who tell of it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log, self.lines = folder, CrawlLog(), list[str]()
        self.log.listen(self.lines.append, "debug")
        self.receiver = Receiver()
        with Store(folder) as store:
            store.add_urls([new_url(0)])
        self.next = 0

    def grow(self, count: int) -> None:
        with Store(self.folder) as store:
            for seq in range(self.next, self.next + count):
                store.add(record(seq))
        self.next += count

    def expected(self, since: int = 0) -> list[str]:
        return [url(each.answered) for each in map(record, range(since, self.next)) if relevant(each)]

    def herald(self) -> Herald:
        settings = RefreshConfig(webhook=f"http://127.0.0.1:{self.receiver.port}/$HOOK/new", relevance=LEAST)
        return Herald(self.folder, settings, self.log, every=QUICK)

    @property
    def told(self) -> int:
        return int(json.loads((self.folder / herald.FILE).read_text())["seq"])

    async def until(self, done: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not done():
                await asyncio.sleep(0.01)

    def check_no_secret(self) -> None:
        assert SECRET not in "\n".join(self.lines)
        assert SECRET not in (self.folder / herald.FILE).read_text()


def relevant(each: Record) -> bool:
    return each.outcome == "page" and each.relevance >= LEAST


@pytest.fixture
def life(tmp_path: Path) -> Life:
    return Life(tmp_path / "owls")


def run(deed: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(deed, 60))


def test_every_new_relevant_page_is_told_once(life: Life) -> None:
    async def crawl() -> None:
        async with life.receiver.open(), life.herald():
            for _ in range(4):
                await asyncio.to_thread(life.grow, 40)
                await life.until(lambda: life.receiver.urls == life.expected())
        async with life.receiver.open(), life.herald():
            await asyncio.to_thread(life.grow, 300)  # told in the end, in several messages

    run(crawl())
    assert life.receiver.urls == life.expected()
    assert max(len(message["pages"]) for message in life.receiver.messages) == herald.MOST
    first, told = life.receiver.messages[0], record(5 if relevant(record(5)) else 6)
    with Catalogue(life.folder) as catalogue:
        assert (first["project"], first["name"]) == (catalogue.project, "owls")
    assert first["pages"][0] == {
        **{"url": url(told.seq), "title": told.title, "relevance": told.relevance},
        "found_at": told.asked_at.isoformat(),
    }
    assert set(life.receiver.paths) == {f"/{SECRET}/new"}
    assert life.told == life.next - 1
    life.check_no_secret()


def test_pages_from_before_the_webhook_are_not_told(life: Life) -> None:
    async def crawl() -> None:
        life.grow(20)
        async with life.receiver.open(), life.herald():
            assert life.told == 19
            await asyncio.to_thread(life.grow, 20)

    run(crawl())
    assert life.receiver.urls == life.expected(since=20)


def test_a_page_that_has_changed_is_not_new(life: Life) -> None:
    async def crawl() -> None:
        async with life.receiver.open(), life.herald():
            await asyncio.to_thread(life.grow, 10)
            with Store(life.folder) as store:
                store.add(record(10, asked=8, answered=8, outcome="page", relevance=0.9))

    run(crawl())
    assert life.receiver.urls == life.expected()


@pytest.mark.parametrize("status", [500, 503, 404, 302])
def test_a_server_that_refuses_is_told_later(life: Life, status: int) -> None:
    async def refuse() -> web.Response:
        return web.Response(status=status, headers={"Location": "/elsewhere"})

    async def crawl() -> None:
        async with life.receiver.open(), life.herald():
            life.receiver.answer = refuse
            await asyncio.to_thread(life.grow, 30)
            await life.until(lambda: len(life.lines) >= 2)
            assert not life.receiver.messages
            life.receiver.answer = life.receiver.fine
            await life.until(lambda: life.receiver.urls == life.expected())

    run(crawl())
    assert all(f'WARNING webhook failed  reason="status {status}"' in line for line in life.lines)
    assert set(life.receiver.paths) == {f"/{SECRET}/new"}  # no redirect was followed
    pauses = [float(line.rpartition("again_in=")[2]) for line in life.lines]
    assert pauses == sorted(set(pauses))
    life.check_no_secret()


def test_a_server_that_is_down_is_told_by_the_next_crawl(life: Life) -> None:
    async def crawl() -> None:
        async with life.receiver.open():
            pass  # so that the port is known, and nobody listens there
        async with life.herald():
            await asyncio.to_thread(life.grow, 30)
            await life.until(lambda: len(life.lines) >= 2)
        assert life.told == -1
        assert "reason=unreachable" in life.lines[0]
        assert "the next crawl tells what is left" in life.lines[-1]
        await asyncio.to_thread(life.grow, 30)
        async with life.receiver.open(), life.herald():
            pass

    run(crawl())
    assert life.receiver.urls == life.expected()
    life.check_no_secret()


def test_a_server_that_fails_in_between_misses_nothing_and_hears_nothing_twice(life: Life) -> None:
    async def every_second() -> web.Response:
        return web.Response(status=200 if len(life.receiver.paths) % 2 == 0 else 500)

    async def crawl() -> None:
        life.receiver.answer = every_second
        async with life.receiver.open(), life.herald():
            await asyncio.to_thread(life.grow, 400)
            await life.until(lambda: len(life.receiver.urls) == len(life.expected()))

    run(crawl())
    assert life.receiver.urls == life.expected()


def test_a_slow_server_holds_nobody_up(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop turns while the server thinks, and in the end it is not waited for."""
    monkeypatch.setattr(herald, "LAST", 0.1)
    asked, turns = asyncio.Event(), 0

    async def think() -> web.Response:
        asked.set()
        return await life.receiver.silent()

    async def crawl() -> None:
        nonlocal turns
        life.receiver.answer = think
        async with life.receiver.open():
            async with life.herald():
                await asyncio.to_thread(life.grow, 20)
                await asked.wait()
                for _ in range(100):
                    await asyncio.sleep(0)
                    turns += 1
            assert "webhook takes too long" in life.lines[-1]
            life.receiver.answer = life.receiver.fine
            async with life.herald():
                pass

    run(crawl())
    assert turns == 100
    assert life.receiver.urls == life.expected()


def test_a_server_that_takes_too_long_is_a_failure(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(herald, "TIMEOUT", 0.05)

    async def crawl() -> None:
        life.receiver.answer = life.receiver.silent
        async with life.receiver.open(), life.herald():
            await asyncio.to_thread(life.grow, 20)
            await life.until(lambda: bool(life.lines))

    run(crawl())
    assert "reason=timeout" in life.lines[0]


def test_a_crawl_that_is_stopped_at_once_waits_for_nobody(life: Life) -> None:
    asked = asyncio.Event()

    async def think() -> web.Response:
        asked.set()
        return await life.receiver.silent()

    async def beside() -> None:
        async with life.herald():
            await asyncio.Event().wait()

    async def crawl() -> None:
        life.receiver.answer = think
        async with life.receiver.open():
            crawling = asyncio.create_task(beside())
            await life.until((life.folder / herald.FILE).exists)
            await asyncio.to_thread(life.grow, 20)
            await asked.wait()
            crawling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await crawling
            life.receiver.answer = life.receiver.fine
            async with life.herald():
                pass

    run(crawl())
    assert not life.lines
    assert life.receiver.urls == life.expected()


@pytest.mark.parametrize("left", ["", "{", '{"seq": "x"}', "\x00\xff"])
def test_a_broken_file_is_told_and_nothing_is_flooded(life: Life, left: str) -> None:
    async def crawl() -> None:
        life.grow(20)
        (life.folder / herald.FILE).write_text(left, encoding="latin-1")
        async with life.receiver.open(), life.herald():
            await asyncio.to_thread(life.grow, 20)

    run(crawl())
    assert life.receiver.urls == life.expected(since=20)
    assert "told.json cannot be read" in life.lines[0]


def test_an_older_copy_of_the_project_goes_on_from_its_end(life: Life) -> None:
    async def crawl() -> None:
        life.grow(20)
        (life.folder / herald.FILE).write_text('{"seq": 1000}')
        async with life.receiver.open(), life.herald():
            assert life.told == 19
            await asyncio.to_thread(life.grow, 20)

    run(crawl())
    assert life.receiver.urls == life.expected(since=20)


@pytest.mark.parametrize(
    ("webhook", "message"),
    [
        ("$NOT_SET_ANYWHERE", r"\[refresh\] webhook: the environment variable NOT_SET_ANYWHERE is not set"),
        ("ftp://a.test/$HOOK", r"\[refresh\] webhook is not an http or https URL"),
        ("$HOOK", r"\[refresh\] webhook is not an http or https URL"),
        ("http:///$HOOK", r"\[refresh\] webhook is not an http or https URL"),
        ("http://a.test:99999/$HOOK", r"\[refresh\] webhook is not an http or https URL"),
        ("http://[a.test/$HOOK", r"\[refresh\] webhook is not an http or https URL"),
    ],
)
def test_a_wrong_webhook_is_one_line_without_the_secret(tmp_path: Path, webhook: str, message: str) -> None:
    with pytest.raises(ForagerError, match=message) as told:
        Herald(tmp_path, RefreshConfig(webhook=webhook), CrawlLog())
    assert SECRET not in str(told.value)


# ---- a whole crawl

TOML = """
seeds = ["http://a.test/bird-0", "http://a.test/stone-1"]
topic.keywords = ["bird"]
strategy.name = "best-first"
frontier.delay = 0
stop.pages = {pages}
[refresh]
webhook = "http://127.0.0.1:{port}/$HOOK"
relevance = 0.5
"""


def relevant_pages(project: Path) -> list[str]:
    with Catalogue(project) as catalogue:
        return [page.url for page in catalogue.pages(min_relevance=0.5)]


def test_a_crawl_tells_its_webhook(tmp_path: Path) -> None:
    receiver, folder = Receiver(), tmp_path / "project"

    async def crawl() -> None:
        async with receiver.open():
            await Project.create(folder, TOML.format(pages=8, port=receiver.port)).crawl(fetcher=small_web())
            assert receiver.urls == relevant_pages(folder)
            (folder / "forager.toml").write_text(TOML.format(pages=16, port=receiver.port))
            await Project(folder).crawl(fetcher=small_web())

    run(crawl())
    assert receiver.urls == relevant_pages(folder)
    assert 2 <= len(receiver.urls) < 16
    assert not [file for file in files(folder) if SECRET.encode() in file.read_bytes()]


def files(folder: Path) -> Iterable[Path]:
    return (file for file in folder.rglob("*") if file.is_file())


def test_a_crawl_whose_webhook_is_down_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    stats = asyncio.run(Project.create(folder, TOML.format(pages=8, port=1)).crawl(fetcher=small_web()))
    assert stats.pages == 8
    log = (folder / "log" / "forager.log").read_text()
    assert "WARNING webhook failed  reason=unreachable" in log
    assert not [file for file in files(folder) if SECRET.encode() in file.read_bytes()]
