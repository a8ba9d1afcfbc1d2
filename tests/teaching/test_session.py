"""A session that shows the way, without a terminal."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forager.clock import VirtualClock
from forager.config import CrawlConfig, FetchConfig, FrontierConfig
from forager.errors import ForagerError
from forager.fetch.http import HttpFetcher
from forager.fetch.replay import open_recording
from forager.paths import PathOutcome, ShownPath, load_paths, write_paths
from forager.teaching import PATHS, UNFINISHED, Teaching, open_teaching
from forager.teaching.pages import Polite
from forager.teaching.session import choices
from forager.teaching.training_webs import shown_ground
from forager.types import Failure, Fetch, Page, Reason, Url
from forager.web.page import parse
from forager.web.urls import RULES
from tests.fetch.wire import CONTACT, Wire
from tests.walks import START, A, content, follow, nothing, page_of, recorded, taught, to_cs1, where


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("teaching") / "web")


# ---- a walk


def test_a_walk_becomes_a_path(tmp_path: Path, web: Path) -> None:
    async def walk(teaching: Teaching) -> ShownPath:
        teaching.label(" home   page ")
        await to_cs1(teaching)
        return await teaching.goal()

    folder = tmp_path / "new" / "lessons"
    path = taught(folder, web, walk)
    assert (path.id, path.outcome) == ("path-1", PathOutcome.GOAL)
    assert [(step.url, step.anchor, step.label) for step in path.steps] == [
        (START, None, "home page"),
        (f"{A}/courses", "Course pages", "course list"),
        (f"{A}/cs1", "CS 1", None),
    ]
    assert load_paths(folder / PATHS).paths == (path,)
    write_paths(tmp_path / "same.jsonl", [path])
    assert (folder / PATHS).read_bytes() == (tmp_path / "same.jsonl").read_bytes()


def test_a_page_come_to_again_has_its_label_again_but_not_as_the_last(tmp_path: Path, web: Path) -> None:
    async def first(teaching: Teaching) -> None:
        await to_cs1(teaching)
        await teaching.goal()
        await follow(teaching, "course")
        assert teaching.show().label == "course list"
        await teaching.fail()

    async def second(teaching: Teaching) -> list[str | None]:
        await follow(teaching, "course pages", "cs 2")
        path = await teaching.goal()
        await follow(teaching, "course")
        teaching.unlabel()
        await follow(teaching, "cs 2")
        return [path.steps[1].label, (await teaching.goal()).steps[1].label]

    taught(tmp_path / "f", web, first)
    assert taught(tmp_path / "f", web, second) == ["course list", None]
    labels = [[step.label for step in path.steps] for path in load_paths(tmp_path / "f" / PATHS).paths]
    assert labels == [[None, "course list", None], [None, None], [None, "course list", None], [None, None, None]]


def test_where_the_next_path_begins(tmp_path: Path, web: Path) -> None:
    async def walk(teaching: Teaching) -> list[tuple[str, list[str]]]:
        seen = []
        for then in (None, 2, "http://b.test/", 1):
            if where(teaching) == ["/"]:
                await follow(teaching, "course pages")
            if where(teaching)[-1] == "/courses":
                await follow(teaching, "cs 1")
            else:
                await follow(teaching, "a")
            await teaching.goal(then)
            seen.append((teaching.show().path, where(teaching)))
        await follow(teaching, "a")
        await teaching.drop()
        return [*seen, (teaching.show().path, where(teaching))]

    assert taught(tmp_path / "f", web, walk) == [
        ("path-2", ["/"]),
        ("path-3", ["/", "/courses"]),
        ("path-4", ["http://b.test/"]),
        ("path-5", ["http://b.test/"]),
        ("path-5", ["http://b.test/"]),
    ]
    anchors = [[step.anchor for step in path.steps] for path in load_paths(tmp_path / "f" / PATHS).paths]
    assert anchors == [[None, "Course pages", "CS 1"]] * 3 + [[None, "a"]]


def test_what_cannot_be_done_changes_nothing(tmp_path: Path, web: Path) -> None:
    folder = tmp_path / "f"

    async def walk(teaching: Teaching) -> None:
        await follow(teaching, "people")
        wrong: list[tuple[Callable[[], Any], str]] = [
            (lambda: teaching.choose(4), "no link 4 on this page, which has 3"),
            (lambda: teaching.choose(0), "no link 0"),
            (lambda: teaching.choose(2), "leads back to this page"),
            (lambda: teaching.back(2), "1 pages before this one"),
            (lambda: teaching.back(0), "0 is no way back"),
            (lambda: teaching.goal(2), "cannot begin at page 2: give one of this path, 1 to 1"),
            (lambda: teaching.goal("ftp://a.test/"), "not an http or https URL"),
            (lambda: teaching.fail("http://gone.test/"), "http://gone.test/ brought no page .not-found"),
            (lambda: teaching.label("\n "), "the label is blank"),
            (lambda: teaching.label("goal"), "'goal' has a meaning of its own"),
            (lambda: teaching.label("prefix(x)"), "has a meaning of its own"),
        ]
        view, before = teaching.show(), content(folder)
        for verb, message in wrong:
            with pytest.raises(ForagerError, match=message):
                await verb()
            assert (teaching.show(), content(folder)) == (view, before)

    async def at_the_start(teaching: Teaching) -> None:
        for verb in (teaching.goal, teaching.fail):
            with pytest.raises(ForagerError, match="a path of one page shows no way"):
                await verb()

    taught(folder, web, walk)
    taught(tmp_path / "g", web, at_the_start)


def test_a_filter_has_all_words_in_text_or_place_and_numbers_stay(tmp_path: Path, web: Path) -> None:
    async def walk(teaching: Teaching) -> list[list[int]]:
        found = [
            [link.number for link in teaching.filter(words).links] for words in ("COURSE pages", "b.test", "s", "x")
        ]
        assert (teaching.show().filter, teaching.show().count) == ("x", 4)
        return [*found, [link.number for link in teaching.filter().links]]

    assert taught(tmp_path / "f", web, walk) == [[1], [4], [1, 3, 4], [], [1, 2, 3, 4]]


def test_links_are_offered_once_and_by_a_name_if_they_have_one() -> None:
    body = "<a href='/x'><img></a><a href='/x'>X</a><a href='/x'>X</a><a href='/x'>More</a><a href='//b.test/y'></a>"
    page = parse(Fetch(Url(START), body.encode()))
    assert isinstance(page, Page)
    assert [(link.number, link.anchor, link.place) for link in choices(page)] == [
        (1, "X", "/x"),
        (2, "More", "/x"),
        (3, "", "http://b.test/y"),
    ]


def test_redirects_are_folded_and_the_folder_is_a_ground(tmp_path: Path, web: Path) -> None:
    async def walk(teaching: Teaching) -> None:
        await follow(teaching, "news", "all courses", "cs 2")
        await teaching.goal()

    folder = tmp_path / "f"
    taught(folder, web, walk)
    (path,) = load_paths(folder / PATHS).paths
    assert [step.url.removeprefix(A) for step in path.steps] == ["/", "/news", "/courses", "/cs2"]
    ground = shown_ground([path], folder)  # raises where a step is no link of the page before
    assert ground.graph.targets.tolist()
    replay = open_recording(folder).fetcher
    assert replay.aliases == {f"{A}/moved": f"{A}/news", f"{A}/hop": f"{A}/news"}
    assert {url.removeprefix(A) for url in replay.places} == {"/", "/moved", "/hop", "/news", "/courses", "/cs2"}


def test_verbs_at_the_same_time_are_obeyed_in_order(tmp_path: Path) -> None:
    """As when somebody clicks twice in a browser; answers come over a socket, so that each verb has to wait."""

    async def click() -> list[str]:
        replies = {f"/{name}": page_of(f"<a href='/{name}1'>x</a> <a href='/{name}2'>y</a>") for name in ("", "1", "2")}
        async with Wire({**replies, "*": page_of("")}) as wire:
            fetch = FetchConfig(contact=CONTACT, robots=False, allow=("127.0.0.0/8",))
            config = CrawlConfig(fetch=fetch, frontier=FrontierConfig(delay=0.0))
            async with open_teaching(tmp_path / "f", [wire.url()], config) as teaching:
                await teaching.open()
                verbs = [teaching.choose(1), teaching.choose(2), teaching.goal(2), teaching.choose(1), teaching.fail()]
                tasks = [asyncio.ensure_future(verb) for verb in verbs]
                await asyncio.sleep(0)
                teaching.label("start")
                await asyncio.gather(*tasks)
                return [step.url.rpartition("/")[2] for step in teaching.show().steps]

    assert asyncio.run(click()) == [""]
    paths = load_paths(tmp_path / "f" / PATHS).paths
    assert [[(step.url.rpartition("/")[2], step.label) for step in path.steps] for path in paths] == [
        [("", "start"), ("1", None), ("12", None)],
        [("", "start"), ("1", None), ("11", None)],
    ]


# ---- folders


def test_folders_that_are_something_else(tmp_path: Path, web: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x.txt").write_text("x")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "forager.toml").write_text("")
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / PATHS).write_text('{"path": "a", "outcome": "won", "steps": [{"url": "http://a.test/"}]}\n')
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / PATHS).write_text("")
    (tmp_path / "broken" / UNFINISHED).write_text('{"id": 3}')
    for name, message in {
        "file": "File exists",
        "other": "holds something else, and no paths.jsonl: name a new folder",
        "project": "is a project",
        "wrong": "line 1: path 'a' has the outcome 'won': write goal or fail",
        "broken": "unfinished.json cannot be read",
    }.items():
        with pytest.raises(ForagerError, match=message):
            taught(tmp_path / name, web, nothing)
    with pytest.raises(ForagerError, match="no page to start from"):
        taught(tmp_path / "new", web, nothing, ())


def test_one_session_at_a_time(tmp_path: Path, web: Path) -> None:
    async def twice(teaching: Teaching) -> None:
        with pytest.raises(ForagerError, match=f"in use by process {os.getpid()}"):
            async with open_teaching(tmp_path / "f", [START], CrawlConfig(fetch=FetchConfig(replay=str(web)))):
                pass

    taught(tmp_path / "f", web, twice)
    assert taught(tmp_path / "f", web, nothing) == ["/"]


# ---- asking


def test_a_busy_host_is_left_alone_as_long_as_it_asks() -> None:
    """Waiting is virtual: what is slept is noted."""

    async def ask() -> None:
        busy = b"HTTP/1.1 429 Busy\r\nRetry-After: %d\r\nContent-Length: 0\r\n\r\n"
        async with Wire({"/long": busy % 500, "/short": busy % 30, "/page": page_of("x"), "*": busy % 0}) as wire:
            clock, waited = VirtualClock(), list[tuple[str, float]]()
            fetch = FetchConfig(contact=CONTACT, robots=False, allow=("127.0.0.0/8",))
            config = CrawlConfig(fetch=fetch, frontier=FrontierConfig(delay=2.0))
            async with HttpFetcher(CONTACT, allow=fetch.allow, clock=clock) as fetcher:
                told = lambda host, seconds: waited.append((host, seconds))  # noqa: E731
                web = Polite(fetcher, config, RULES, clock, rested=False, waits=told)
                assert isinstance(await web.fetch(wire.url("/page")), Fetch)
                await web.fetch(wire.url("/short"))
                assert isinstance(await web.fetch(wire.url("/page")), Fetch)
                await web.fetch(wire.url("/long"))
                refused = await web.fetch(wire.url("/page"))
            assert isinstance(refused, Failure)
            assert (refused.reason, len(wire.requests)) == (Reason.BUSY, 4)
            assert [round(seconds) for _, seconds in waited] == [2, 2, 30, 2]

    asyncio.run(ask())
