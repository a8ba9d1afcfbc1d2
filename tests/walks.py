"""A small recorded web, and somebody who shows the way through it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from forager.config import CrawlConfig, FetchConfig
from forager.teaching import PATHS, UNFINISHED, TeachingSession, open_teaching
from tests.lab.warc import write_web

T = TypeVar("T")
A = "http://a.test"
START = f"{A}/"
LINKS = {
    "/": {"/courses": "Course pages", "/people": "People", "/moved": "News", "http://b.test/": "Elsewhere"},
    "/courses": {"/": "Home", "/cs1": "CS 1", "/cs2": "CS 2", "/none": "CS 3"},
    "/people": {"/": "Home", "/round": "Here", "/cs1": "Teaches CS 1"},
    "/news": {"/": "Home", "/courses": "All courses"},
    "/cs1": {"/courses": "Up"},
    "/cs2": {"/courses": "Up"},
}


def html(title: str, links: dict[str, str]) -> str:
    return f"<title>{title}</title>" + "".join(f"<p><a href='{to}'>{text}</a></p>" for to, text in links.items())


def recorded(folder: Path) -> Path:
    """The web of `LINKS` on disk."""
    pages = {f"{A}{path}": ("", html(path.strip("/"), links)) for path, links in LINKS.items()}
    pages["http://b.test/"] = ("", html("b", {START: "a"}))
    aliases = f"url\tpage\n{A}/moved\t{A}/hop\n{A}/hop\t{A}/news\n{A}/round\t{A}/people\n"
    return write_web(folder, pages, aliases=aliases)


def taught(
    folder: Path,
    web: Path,
    verbs: Callable[[TeachingSession], Coroutine[Any, Any, T]],
    starts: Sequence[str] = (START,),
) -> T:
    """One session, from its opening to its end."""

    async def session() -> T:
        config = CrawlConfig(fetch=FetchConfig(replay=str(web)))
        async with open_teaching(folder, starts, config) as teaching:
            await teaching.open()
            return await verbs(teaching)

    return asyncio.run(session())


async def follow(teaching: TeachingSession, *words: str) -> None:
    """Choose the one link that has these words, once for each."""
    for word in words:
        (link,) = teaching.filter(word).links
        await teaching.choose(link.number)


async def to_cs1(teaching: TeachingSession) -> None:
    await follow(teaching, "course pages")
    teaching.label("course list")
    await follow(teaching, "cs 1")


def where(teaching: TeachingSession) -> list[str]:
    return [step.url.removeprefix(A) for step in teaching.show().steps]


async def nothing(teaching: TeachingSession) -> list[str]:
    return where(teaching)


def content(folder: Path) -> dict[str, bytes]:
    """Of what was shown; a page that was read is kept in any case."""
    return {name: (folder / name).read_bytes() for name in (PATHS, UNFINISHED)}


def page_of(body: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
