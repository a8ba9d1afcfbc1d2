"""Copies are kept once and traps are left, in a real crawl over real sockets; a resumed crawl knows what it knew."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from forager.cli import app
from forager.clock import WallClock
from forager.config import CrawlConfig, FetchConfig, FrontierConfig, Named, ScopeConfig, StopConfig, StoreConfig
from forager.crawl.audit import lost_urls
from forager.crawl.folder import CrawlFolder
from forager.crawl.loop import Crawl
from forager.store import Catalogue, RecordedProject
from forager.types import Reason
from tests.network.test_discovery import page
from tests.network.test_fairness import Server, answer
from tests.small_web import WordCritic

WORDS = [f"{one}{two}" for one in ("owl", "fern", "rock", "wind", "moss", "reed") for two in "abcdefghijklmnop"]


def text(number: int) -> str:
    """Words of a page, unlike those of any other."""
    return " ".join(Random(number).choices(WORDS, k=150))


def almost(number: int) -> str:
    return f"{text(number)} printed"


def month(path: str) -> bytes:
    """A calendar without end: every month says the same, and leads to the next one and the one after."""
    at = int(path.rsplit("/", 1)[1])
    links = f'<a href="/month/{at + 1}">next</a> <a href="/month/{at + 2}">later</a>'
    return page(body=f"<p>{text(999)}</p><p>month {at}</p>{links}")


def respond(host: str, path: str) -> bytes:
    if path.startswith("/month/"):
        return month(path)
    if path == "/":
        links = [*(f"/page/{n}" for n in range(6)), *(f"/copy/{n}" for n in range(3)), "/print/4", "/month/1"]
        return page(body=text(500) + "".join(f'<p><a href="{link}">{link}</a></p>' for link in links))
    found = re.fullmatch("/(page|copy|print)/([0-9]+)", path)
    if found is None:
        return answer("404 Not Found")
    number = int(found[2])
    more = '<p><a href="/page/5">five</a></p>'
    return page(body=(almost(number) if found[1] == "print" else text(number)) + more)


class Watched:
    """Crawls of one project, in several lives."""

    def __init__(self, folder: Path, **more: object) -> None:
        self.folder, self.more = folder, more
        self.asked: list[str] = []

    def crawl(self, pages: int | None = None) -> Crawl:
        return asyncio.run(self._crawl(pages))

    async def _crawl(self, pages: int | None) -> Crawl:
        async with Server(respond) as server:
            settings: dict[str, object] = {
                "seeds": ("http://a.test/",),
                "scope": ScopeConfig(within="host"),
                "strategy": Named(name="breadth-first"),
                "frontier": FrontierConfig(delay=0.0, delay_factor=0.0),
                "fetch": FetchConfig(contact="me@example.org", resolve={"*.test": f"127.0.0.1:{server.port}"}),
                "stop": StopConfig(pages=pages, seconds=60.0),
            }
            made: list[Crawl] = []
            project = CrawlFolder(self.folder, CrawlConfig(**settings | self.more))  # type: ignore[arg-type]
            await project.crawl(lambda crawl, notes: made.append(crawl), critic=WordCritic())
            self.asked += [path for _, _, path in server.asked if path != "/robots.txt"]
            return made[0]

    @property
    def kept(self) -> set[str]:
        with Catalogue(self.folder) as catalogue:
            return {entry.url.removeprefix("http://a.test") for entry in catalogue.pages()}

    def copies(self) -> dict[str, str]:
        with Catalogue(self.folder) as catalogue:
            return {
                entry.url.removeprefix("http://a.test"): original.removeprefix("http://a.test")
                for entry, original in catalogue.copies()
            }


def test_copies_are_kept_once_and_listed(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    made = watched.crawl()
    assert {f"/page/{n}" for n in range(6)} <= watched.kept
    assert not {path for path in watched.kept if path.startswith(("/copy/", "/print/"))}
    copies = watched.copies()
    assert {path: copies[path] for path in ("/copy/0", "/copy/1", "/copy/2", "/print/4")} == {
        **{f"/copy/{n}": f"/page/{n}" for n in range(3)},
        "/print/4": "/page/4",
    }
    assert made.stats.misses[Reason.DUPLICATE] == 3
    assert made.stats.passed[Reason.DUPLICATE] >= 1


def test_a_calendar_without_end_is_left_and_told_of(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    made = watched.crawl()
    assert "nothing is left" in made.stats.stopped
    assert len([path for path in watched.asked if path.startswith("/month/")]) < 40
    [trap] = [trap for trap in made.state.traps.report() if trap.pattern.startswith("a.test/month")]
    assert trap.copies >= 10
    with Catalogue(tmp_path) as catalogue:
        assert trap in catalogue.status().traps
    with RecordedProject(tmp_path) as recorded:
        assert lost_urls(recorded, WallClock()) == []


def test_copies_may_be_kept_and_traps_followed(tmp_path: Path) -> None:
    watched = Watched(tmp_path, scope=ScopeConfig(within="host", traps=False), store=StoreConfig(duplicates="all"))
    watched.crawl(pages=70)
    assert {f"/copy/{n}" for n in range(3)} <= watched.kept
    assert len([path for path in watched.asked if path.startswith("/month/")]) > 40


@pytest.mark.parametrize("stops", [(3, 6), (5,), (2, 4, 6)])
def test_a_resumed_crawl_knows_copies_and_traps(tmp_path: Path, stops: tuple[int, ...]) -> None:
    whole, pieces = Watched(tmp_path / "whole"), Watched(tmp_path / "pieces")
    for folder in (whole.folder, pieces.folder):
        folder.mkdir()
    at_once = whole.crawl()
    for pages in stops:
        pieces.crawl(pages)
    in_pieces = pieces.crawl()
    again = pieces.crawl()  # what is played back
    assert pieces.kept == whole.kept
    assert pieces.copies().keys() >= {"/copy/0", "/copy/1", "/copy/2"}
    told = [[trap._replace(held_back=0) for trap in made.state.traps.report()] for made in (in_pieces, again)]
    assert told[0] == told[1]
    assert len(again.state.twins) == len(in_pieces.state.twins) == len(at_once.state.twins)


def test_people_see_copies_and_traps(tmp_path: Path) -> None:
    (tmp_path / "forager.toml").write_text('seeds = ["http://a.test/"]\n')
    Watched(tmp_path).crawl()
    listed = CliRunner().invoke(app, ["pages", str(tmp_path), "--copies"]).stdout
    assert "http://a.test/copy/1  is a copy of  http://a.test/page/1" in listed
    assert "a.test/month/" in CliRunner().invoke(app, ["status", str(tmp_path)]).stdout
