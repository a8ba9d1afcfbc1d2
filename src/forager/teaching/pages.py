"""The pages of a session: fetched politely, only once, and kept as WARC.

pages.warc.gz   the pages, and the redirects that led to them, as they came
aliases.tsv     the URLs that redirect, with the page that each leads to

A folder with these is a recorded web (`forager.fetch.replay.open_recording`).
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from math import inf, nan
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

from forager.clock import Clock
from forager.config import CrawlConfig
from forager.crawl.step import HOPS
from forager.errors import ForagerError
from forager.fetch import make_http
from forager.fetch.http import HttpFetcher
from forager.fetch.replay import RecordPlace, Replay, open_recording
from forager.fetch.robots import EVERYTHING, LARGEST, Robots, RobotsRules
from forager.files import append_whole, replace_whole
from forager.store import Record
from forager.store.warc import pack, warcinfo
from forager.types import Answer, Exchange, Failure, Fetch, Fetcher, Page, Reason, Redirect, Url
from forager.web.page import parse
from forager.web.urls import UrlRules, host

ARCHIVE, ALIASES = "pages.warc.gz", "aliases.tsv"
_CHUNK = 1 << 20
_TOO_MANY_REQUESTS = 429

Waits: TypeAlias = Callable[[str, float], None]  # hears which host must rest, and for how many seconds


# ---- fetching -------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def polite_web(
    config: CrawlConfig, rules: UrlRules, clock: Clock, *, rested: bool, waits: Waits
) -> AsyncIterator[Fetcher]:
    """A fetcher for the network, or for the recorded web that the configuration names.

    `rested` is False if an earlier session may have asked the hosts just before; then each host rests its delay first.
    """
    fetch = config.fetch
    if fetch.replay is not None:
        yield open_recording(Path(fetch.replay), rules).fetcher
        return
    async with make_http(fetch, rules, clock) as fetcher:
        yield PoliteFetcher(fetcher, config, rules, clock, rested=rested, waits=waits)


class PoliteFetcher:
    """One request at a time, as robots.txt allows, each after the delay of its host."""

    def __init__(
        self, fetcher: HttpFetcher, config: CrawlConfig, rules: UrlRules, clock: Clock, *, rested: bool, waits: Waits
    ) -> None:
        self._fetcher, self._clock, self._waits = fetcher, clock, waits
        self._least, self._longest = config.frontier.delay, config.fetch.longest_delay
        ask = partial(self._in_turn, partial(fetcher.fetch_start, largest=LARGEST))
        robots = Robots(ask, fetcher.agent, clock=clock, urls=rules, longest_delay=config.fetch.longest_delay)
        self._robots = robots if config.fetch.robots else None
        self._ended: dict[str, float] = {}  # by host: when its last answer came
        self._busy: dict[str, float] = {}  # by host, and by URL: until when it must not be asked
        self._before = -inf if rested else clock.now()
        self._turn = asyncio.Lock()

    async def fetch(self, url: Url) -> Answer:
        """The answer of the network, or a failure if robots.txt forbids the request."""
        async with self._turn:
            rules = await self._rules(url)
            if rules.problem is not None:
                told = f"robots.txt: {rules.problem.reason} {rules.problem.detail}".rstrip()
                return Failure(url, rules.problem.reason, told, rules.problem.retry_after)
            if not rules.allows(url):
                return Failure(url, Reason.ROBOTS, "robots.txt does not allow it")
            return await self._in_turn(self._fetcher.fetch, url)

    async def _rules(self, url: Url) -> RobotsRules:
        """What robots.txt says, also through redirects."""
        rules = None if self._robots else EVERYTHING
        while self._robots and rules is None:
            rules = await self._robots.rules(url)
        return rules or EVERYTHING

    async def _in_turn(self, ask: Callable[[Url], Awaitable[Answer]], url: Url) -> Answer:
        name, now = host(url), self._clock.now()
        busy = max(self._busy.get(name, -inf), self._busy.get(url, -inf)) - now
        if busy > self._longest:
            return Failure(url, Reason.BUSY, f"must not be asked for {busy:.0f} s", busy)
        wait = max(busy, self._ended.get(name, self._before) + self._delay(url) - now)
        if wait > 0:
            self._waits(name, wait)
            await self._clock.sleep(wait)
        try:
            answer = await ask(url)
        finally:
            self._ended[name] = self._clock.now()
        if isinstance(answer, Failure) and answer.reason is Reason.BUSY:
            whole = answer.status == _TOO_MANY_REQUESTS  # otherwise only the page is busy, not its host
            self._busy[name if whole else url] = self._clock.now() + (answer.retry_after or 0.0)
        return answer

    def _delay(self, url: Url) -> float:
        """Seconds between two requests to a host. The delay in its robots.txt counts as soon as it is known."""
        rules = self._robots.known(url) if self._robots else None
        return max(self._least, (rules.delay if rules else None) or 0.0)


# ---- saving ---------------------------------------------------------------------------------------------------------


class SessionArchive:
    """The pages in a folder: those of its own WARC file, and of other WARC files there."""

    def __init__(self, folder: Path, rules: UrlRules, clock: Clock) -> None:
        self._folder, self._clock = folder, clock
        self._session, self._count = uuid4(), 0
        _cut_off(folder / ARCHIVE)
        kept = [*folder.glob("*.warc.gz"), *folder.glob("*.warc")]
        found = open_recording(folder, rules).fetcher if kept else None
        self._places: dict[Url, RecordPlace] = dict(found.places) if found else {}
        self._aliases: dict[Url, Url] = dict(found.aliases) if found else {}
        self._replay = Replay(self._places, self._aliases, rules)

    async def answer(self, url: Url) -> Fetch | Redirect | None:
        """The saved answer of a URL; None if there is none, or only a failure."""
        if url not in self._places and url not in self._aliases:
            return None
        answer = await self._replay.fetch(url)
        return None if isinstance(answer, Failure) else answer

    def keep(self, answers: Sequence[Fetch | Redirect], why: Mapping[str, Any]) -> None:
        """Save these answers."""
        packed = [(answer.url, self._members(answer, why)) for answer in answers]
        if not packed:
            return
        first = b"" if (self._folder / ARCHIVE).exists() else self._info()
        at = append_whole(self._folder / ARCHIVE, first + b"".join(members for _, members in packed)) + len(first)
        for url, members in packed:
            self._places[url] = RecordPlace(self._folder / ARCHIVE, at)
            at += len(members)

    def lead(self, urls: Iterable[Url], page: Url) -> None:
        """Save that these URLs lead to a page."""
        new = [url for url in urls if self._aliases.get(url) != page]
        if new:
            self._aliases.update(dict.fromkeys(new, page))
            rows = "".join(f"{url}\t{led}\n" for url, led in self._aliases.items())
            replace_whole(self._folder / ALIASES, f"url\tpage\n{rows}".encode())

    def _info(self) -> bytes:
        return warcinfo(ARCHIVE, self._session, f"forager/{version('forager')}", self._clock.utc())

    def _members(self, answer: Fetch | Redirect, why: Mapping[str, Any]) -> bytes:
        """The WARC records of an answer. There is no judgement and no score here, so these columns are empty."""
        record = Record(
            seq=self._count,
            asked=-1,
            answered=-1,
            outcome="page" if isinstance(answer, Fetch) else "moved",
            reason="",
            detail="",
            status=answer.status,
            parent=-1,
            depth=0,
            score=nan,
            relevance=nan,
            raw=nan,
            topics=None,
            critic="",
            label="",
            asked_at=self._clock.utc(),
            seconds=answer.seconds,
            title="",
            answer=_with_heads(answer),
            why=why,
        )
        self._count += 1
        packed = pack(record, self._session)
        assert packed is not None  # there are heads
        return packed[0]


def _with_heads(answer: Fetch | Redirect) -> Fetch | Redirect:
    """The answer with HTTP heads. A redirect from a recorded web has none, so they are made up."""
    if isinstance(answer, Fetch) or answer.exchange is not None:
        return answer
    path = answer.url[answer.url.index("/", 8) :]
    request = f"GET {path} HTTP/1.1\r\nHost: {host(answer.url)}\r\n\r\n"
    response = f"HTTP/1.1 {answer.status} Moved\r\nLocation: {answer.target}\r\nContent-Length: 0\r\n\r\n"
    return Redirect(answer.url, answer.target, answer.status, exchange=Exchange(request.encode(), response.encode()))


def _cut_off(file: Path) -> None:
    """Remove a last record that a kill has cut off, or a file without a page. A file that is damaged in another way is
    not changed, because the records after the damage may still be saved."""
    if not file.exists():
        return
    ends = _whole(file)
    if len(ends) < 2:  # the first record describes the file
        file.unlink()
    elif ends[-1] < file.stat().st_size:
        with file.open("r+b") as stream:
            stream.truncate(ends[-1])


def _whole(file: Path) -> list[int]:
    """The end of each whole member of a gzip file."""
    ends: list[int] = []
    read, member = 0, zlib.decompressobj(wbits=31)
    try:
        with file.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                read += len(chunk)
                while chunk:
                    member.decompress(chunk)
                    chunk = member.unused_data
                    if member.eof:
                        ends.append(read - len(chunk))
                        member = zlib.decompressobj(wbits=31)
    except zlib.error as error:
        after = ends[-1] if ends else 0
        raise ForagerError(f"{file} is damaged after byte {after} ({error}): restore it, or move it away") from None
    return ends


class SessionPages:
    """Pages from the archive; those that it does not have come from the web, and are saved in it."""

    def __init__(self, archive: SessionArchive, web: Fetcher, rules: UrlRules) -> None:
        self._archive, self._web, self._rules = archive, web, rules

    async def read(self, url: Url, why: Mapping[str, Any]) -> Page | Failure:
        """The page at a URL, also through redirects. Answers that bring no page are not saved."""
        new: list[Fetch | Redirect] = []
        passed: list[Url] = []
        for _ in range(HOPS + 1):
            kept = await self._archive.answer(url)
            answer = kept or await self._web.fetch(url)
            if isinstance(answer, Failure):
                return answer
            if kept is None:
                new.append(answer)
            if isinstance(answer, Fetch):
                return self._taken(answer, new, passed, why)
            passed.append(url)
            url = answer.target
        return Failure(url, Reason.TOO_MANY_REDIRECTS, f"more than {HOPS}")

    def _taken(
        self, answer: Fetch, new: Sequence[Fetch | Redirect], passed: Iterable[Url], why: Mapping[str, Any]
    ) -> Page | Failure:
        page = parse(answer, self._rules)
        if isinstance(page, Page):
            self._archive.keep(new, why)
            self._archive.lead(passed, page.url)
        return page
