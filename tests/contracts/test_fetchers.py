"""One suite over every fetcher: whatever is asked, the answer is a value, and the same question has the same answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from forager.clock import WallClock
from forager.config import FetchConfig
from forager.fetch import FETCHERS, make_fetcher, opened
from forager.types import Answer, Failure, Fetch, Fetcher, Page, Redirect, Url
from forager.web.page import parse
from forager.web.urls import RULES
from forager_lab.webs.procedural import ProceduralWeb, WebPlan
from forager_lab.webs.server import Server
from tests.lab.warc import write_warc
from tests.small_web import SmallWeb

PLAN = WebPlan(hosts=3, pages_per_host=15, traps=0.0)
WEB = ProceduralWeb(PLAN)
HOME = next(WEB.homes())
URLS = [
    HOME,
    *WEB.links(HOME)[:12],
    Url(f"{HOME}no/such/page"),
    Url("http://nobody.web.test/"),
    Url(f"{HOME}robots.txt"),
]
Opening = Callable[[Path], AbstractAsyncContextManager[Fetcher]]


def made(name: str, settings: FetchConfig) -> AbstractAsyncContextManager[Fetcher]:
    """A fetcher of ours by its name, as a crawl makes it."""
    return opened(make_fetcher(name, {"fetch": settings, "rules": RULES, "clock": WallClock()}, {}))


@asynccontextmanager
async def procedural(folder: Path) -> AsyncIterator[Fetcher]:
    yield WEB


@asynccontextmanager
async def over_http(folder: Path) -> AsyncIterator[Fetcher]:
    async with Server(WEB, slowness=0) as server:
        mapped = {"*.web.test": f"127.0.0.1:{server.port}"}
        async with made("http", FetchConfig(contact="me@example.org", resolve=mapped)) as fetcher:
            yield fetcher


@asynccontextmanager
async def recorded(folder: Path) -> AsyncIterator[Fetcher]:
    pages = {str(url): response.body.decode() for url in URLS if (response := WEB.respond(url)).status == 200}
    write_warc(folder / "pages.warc.gz", pages)
    async with made("replay", FetchConfig(replay=str(folder))) as fetcher:
        yield fetcher


@asynccontextmanager
async def by_heart(folder: Path) -> AsyncIterator[Fetcher]:
    yield SmallWeb({HOME: WEB.respond(HOME).body.decode()})


EACH: dict[str, Opening] = {
    "procedural": procedural,
    "http": over_http,
    "replay": recorded,
    "stub": by_heart,
}


def test_every_fetcher_of_ours_is_here() -> None:
    assert set(FETCHERS) <= set(EACH)


async def ask_all(opening: Opening, folder: Path) -> list[tuple[Answer, Answer]]:
    async with opening(folder) as fetcher:
        return [(await fetcher.fetch(url), await fetcher.fetch(url)) for url in URLS]


@pytest.mark.parametrize("opening", EACH.values(), ids=EACH.keys())
def test_every_answer_is_a_value_about_the_url_that_was_asked(opening: Opening, tmp_path: Path) -> None:
    answers = asyncio.run(ask_all(opening, tmp_path))
    for url, (answer, again) in zip(URLS, answers, strict=True):
        assert isinstance(answer, Fetch | Redirect | Failure)
        assert answer.url == url
        assert type(answer) is type(again)
        assert answer.status == again.status
        assert answer.seconds >= 0
        if isinstance(answer, Fetch) and isinstance(again, Fetch):
            assert answer.body == again.body
    assert isinstance(parse(_fetch(answers[0][0])), Page)
    assert all(isinstance(answer, Failure) for answer, _ in answers[-3:-1])


def _fetch(answer: Answer) -> Fetch:
    assert isinstance(answer, Fetch)
    return answer


def test_the_network_says_what_the_web_itself_says(tmp_path: Path) -> None:
    """The same bytes by socket as in process."""
    near, far = (asyncio.run(ask_all(opening, tmp_path)) for opening in (procedural, over_http))
    for (here, _), (there, _) in zip(near, far, strict=True):
        if isinstance(here, Fetch):
            assert _fetch(there).body == here.body
        elif isinstance(here, Redirect):
            assert isinstance(there, Redirect)
            assert there.target == here.target
