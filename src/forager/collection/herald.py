"""Tells a webhook of new relevant pages while a crawl runs beside it.

    catalogue -> new pages after the last one told -> POST -> a clean answer (2xx) -> the last one told, in told.json

Nothing is lost: what the other side did not take is sent again later, also by the next crawl. Only a kill between the
answer and the file, or an answer that got lost, make it hear something twice. Reading and waiting are done beside the
loop, so that the crawl never waits. The URL of the webhook is often a secret: it goes into no log and no file.
"""

from __future__ import annotations

import asyncio
import math
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import urlsplit

import msgspec

from forager.config import RefreshConfig
from forager.errors import ForagerError
from forager.fetch.secrets import from_environment
from forager.files import replace_whole
from forager.store.catalogue import Catalogue, Entry
from forager.types import Url
from forager.watch.log import CrawlLog

if TYPE_CHECKING:  # imported when there is a webhook: aiohttp takes a quarter of a second
    from aiohttp import ClientSession

KEY = "[refresh] webhook"
FILE = "told.json"
EVERY = 5.0  # seconds between two looks at the catalogue
LONGEST_PAUSE = 600.0  # seconds, after failures
TIMEOUT = 10.0  # seconds for a request
LAST = 5.0  # seconds for what is left when the crawl has ended
MOST = 50  # pages in a request


class _LastTold(msgspec.Struct):
    """What is in the file."""

    seq: int  # all new relevant pages up to here were told


class _News(NamedTuple):
    """Some pages to tell, and the seq up to which there are no others."""

    message: Mapping[str, Any]
    upto: int

    @property
    def pages(self) -> int:
        return len(self.message["pages"])


class Herald:
    """Runs beside a crawl: `async with Herald(folder, config.refresh, crawl.log):`. Without a webhook it does nothing.

    The project must have its database by then. If it has pages, but never had a webhook, these are not told.
    """

    def __init__(self, folder: Path, settings: RefreshConfig, log: CrawlLog, *, every: float = EVERY) -> None:
        self._folder, self._relevance, self._log, self._every = folder, settings.relevance, log, every
        self._url = _webhook(settings.webhook)
        self._leaving = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self._told = -1  # all up to this seq was told
        self._saved: int | None = None  # what the file says

    async def __aenter__(self) -> Self:
        if self._url:
            await asyncio.to_thread(self._begin)
            self._running = asyncio.create_task(self._run(self._url))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """After a crawl that has ended by itself there is one last try. Else the next crawl tells what is left."""
        if self._running is None:
            return
        try:
            if kind is None:
                self._leaving.set()
                _, late = await asyncio.wait({self._running}, timeout=LAST)
                if late:
                    self._log.warning("webhook takes too long", note="the next crawl tells what is left")
        finally:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _run(self, url: str) -> None:
        from aiohttp import ClientSession, ClientTimeout, DummyCookieJar

        agent, pause = {"User-Agent": "forager"}, self._every
        timeout = ClientTimeout(total=TIMEOUT)
        async with ClientSession(timeout=timeout, headers=agent, cookie_jar=DummyCookieJar()) as session:
            while True:
                last = self._leaving.is_set()
                why = await self._tell_all(session, url)
                if last:
                    break
                pause = min(2 * pause, LONGEST_PAUSE) if why else self._every
                if why:
                    self._log.warning("webhook failed", reason=why, again_in=pause)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._leaving.wait(), pause)
        if why:
            self._log.warning("webhook failed", reason=why, note="the next crawl tells what is left")

    async def _tell_all(self, session: ClientSession, url: str) -> str:
        """Tell all that is new; why that failed, or ""."""
        try:
            while (news := await asyncio.to_thread(self._read)).pages:
                why = await _post(session, url, news.message)
                if why:
                    return why
                self._told = news.upto
                await asyncio.to_thread(self._save)
            self._told = news.upto
            if self._leaving.is_set():
                await asyncio.to_thread(self._save)
        except (ForagerError, OSError, sqlite3.Error) as error:  # our disk: no reason to stop a crawl either
            return str(error)
        return ""

    # ---- in a thread

    def _begin(self) -> None:
        """Find the last seq that was told. It is saved at once, so that a crawl that is killed early loses nothing.
        If the catalogue ends before it, it is an older copy, and goes on from there."""
        with Catalogue(self._folder) as catalogue:
            self._told = catalogue.last_seq
        try:
            self._saved = msgspec.json.decode((self._folder / FILE).read_bytes(), type=_LastTold).seq
            self._told = min(self._told, self._saved)
        except FileNotFoundError:
            pass
        except (OSError, ValueError):
            self._log.warning("webhook begins anew", note=f"{FILE} cannot be read: pages so far are not told")
        self._save()

    def _save(self) -> None:
        if self._told != self._saved:
            replace_whole(self._folder / FILE, msgspec.json.encode(_LastTold(self._told)))
            self._saved = self._told

    def _read(self) -> _News:
        """The next pages to tell."""
        with Catalogue(self._folder) as catalogue:
            upto = catalogue.last_seq
            new = (change.entry for change in catalogue.changes(after=self._told) if change.kind == "new")
            pages = list(islice((page for page in new if page.relevance >= self._relevance), MOST))
            message = {"project": catalogue.project, "name": self._folder.resolve().name}
        upto = pages[-1].seq if len(pages) == MOST else max([upto, *(page.seq for page in pages)])
        return _News(message | {"pages": [_row(page) for page in pages]}, upto)


def _row(page: Entry) -> dict[str, Any]:
    relevance = round(page.relevance, 6) if math.isfinite(page.relevance) else None
    return {"url": page.url, "title": page.title, "relevance": relevance, "found_at": page.asked_at.isoformat()}


def _webhook(text: str) -> str:
    """The URL to send to; "" if there is none. What is wrong is told without it."""
    url = from_environment(text, KEY)
    with suppress(ValueError):
        parts = urlsplit(url)
        if not url or (parts.scheme in ("http", "https") and parts.hostname and parts.port != 0):
            return url
    raise ForagerError(f'{KEY} is not an http or https URL: write it like "https://example.org/$NAME"')


async def _post(session: ClientSession, url: str, message: Mapping[str, Any]) -> str:
    """Send a message. Why that failed, in a word that has nothing of the URL; or ""."""
    from forager.fetch.failures import of_error

    try:
        async with session.post(url, json=message, allow_redirects=False) as answer:
            return "" if 200 <= answer.status < 300 else f"status {answer.status}"
    except Exception as error:  # whatever the other side does, the crawl goes on
        return str(of_error(Url(""), error).reason)
