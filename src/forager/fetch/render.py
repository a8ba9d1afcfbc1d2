"""Pages that scripts make, as a browser shows them.

A page that was fetched goes into a browser, its scripts run, and what comes out is its DOM as HTML (tab.py). Its host
is not asked for the page again: the browser gets the body and the headers that we have. The browser itself reaches
nobody (browser.py). The scripts and the data that the page asks for are asked for by us (subrequests.py).
"""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from fnmatch import translate
from types import TracebackType
from typing import Protocol, Self

from yarl import URL

from forager.clock import Clock, WallClock
from forager.errors import ForagerError
from forager.fetch.browser import MEMORY, BrowserSettings, Chromium, check_browser
from forager.fetch.dns import Lookup, system_lookup
from forager.fetch.failures import one_line
from forager.fetch.http import user_agent
from forager.fetch.subrequests import Allowed, Subrequests, SubrequestSettings
from forager.fetch.tab import GRACE, LARGEST, BrowserTab, TabSettings
from forager.types import Answer, Failure, Fetch, Page, Reason, Url
from forager.web.urls import RULES, UrlRules

HTML_TYPES = ("text/html", "application/xhtml+xml")
FEW_WORDS = 30  # a page with fewer has no text, if it has scripts
START_AGAIN = 60.0  # seconds after a start that failed
TRIES = 2  # a browser that dies takes innocent pages with it
_SCRIPT = re.compile(rb"<script[\s>/]", re.IGNORECASE)


class RenderSettings(BrowserSettings, TabSettings, Protocol):
    """The table [render] of a configuration."""

    @property
    def hosts(self) -> Sequence[str]: ...
    @property
    def patterns(self) -> Sequence[str]: ...
    @property
    def empty(self) -> bool: ...
    @property
    def at_once(self) -> int: ...


def make_renderer(
    render: RenderSettings, fetch: SubrequestSettings, *, rules: UrlRules, clock: Clock, allowed: Allowed | None = None
) -> Renderer | None:
    """What renders the pages that a configuration names. None if it names none."""
    if not (render.hosts or render.patterns or render.empty):
        return None
    return Renderer(render, fetch, rules=rules, clock=clock, allowed=allowed)


class Renderer:
    """`async with Renderer(...) as renderer: await renderer.render(fetch)`. The first page starts the browser.

    `allowed` says whether robots.txt lets us ask for a URL. Without it, nobody is asked. ForagerError if a page could
    never be rendered here.
    """

    def __init__(
        self,
        settings: RenderSettings,
        fetch: SubrequestSettings,
        *,
        rules: UrlRules = RULES,
        clock: Clock | None = None,
        allowed: Allowed | None = None,
        lookup: Lookup = system_lookup,
    ) -> None:
        if fetch.replay is not None or fetch.proxy:
            kind = "a recorded web has no answers for scripts" if fetch.replay else "scripts cannot be asked by a proxy"
            raise ForagerError(f"pages cannot be rendered here: {kind}; leave out [render]")
        self._program, self._settings, self._largest = check_browser(settings), settings, fetch.largest
        self._hosts = re.compile("|".join(translate(name.lower()) for name in settings.hosts) or "(?!)")
        self._patterns = [re.compile(text) for text in settings.patterns]
        self._rules, self._clock, self._agent = rules, clock or WallClock(), user_agent(fetch.contact)
        self._subrequests = Subrequests(
            fetch, self._agent, rules=rules, clock=self._clock, lookup=lookup, allowed=allowed
        )
        self._slots, self._starting = asyncio.Semaphore(settings.at_once), asyncio.Lock()
        self._chromium: Chromium | None = None
        self._problem, self._start_again = "", -math.inf  # why it did not start, and when to try again
        self._open = AsyncExitStack()
        self.refused: Counter[Reason] = Counter()  # requests of pages that brought nothing, by reason
        self.starts = 0  # of the browser

    async def __aenter__(self) -> Self:
        import playwright.async_api  # noqa: F401 - slow, so before the crawl is under way

        await self._open.enter_async_context(self._subrequests)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._chromium is not None:
            await self._chromium.aclose()
            self._chromium = None
        await self._open.aclose()

    @property
    def asked(self) -> int:
        """Requests that were sent for pages."""
        return self._subrequests.asked

    def wants(self, fetch: Fetch, page: Page) -> bool:
        """Whether a page is to be rendered: it is named, or it has scripts but no text or no links."""
        if fetch.content_type not in HTML_TYPES or len(fetch.body) > LARGEST:
            return False
        if self._hosts.fullmatch(URL(fetch.url, encoded=True).raw_host or "") or any(
            pattern.search(fetch.url) for pattern in self._patterns
        ):
            return True
        bare = self._settings.empty and (len(page.terms.values) < FEW_WORDS or not len(page.links))
        return bare and _SCRIPT.search(fetch.body) is not None

    async def render(self, fetch: Fetch) -> Answer:
        """The page as the browser shows it, as HTML; or where its scripts lead; or why it cannot be shown."""
        async with self._slots:
            began = self._clock.now()
            for _ in range(TRIES):
                chromium = await self._running(fetch.url)
                if isinstance(chromium, Failure):
                    return chromium
                answer = await self._show(chromium, fetch)
                if chromium.alive:
                    break
            return replace(answer, seconds=self._clock.now() - began)

    async def _running(self, url: Url) -> Chromium | Failure:
        """The browser. If there is none that lives, one is started."""
        async with self._starting:
            if self._chromium is not None and not self._chromium.alive:
                await self._chromium.aclose()
                self._chromium = None
            if self._chromium is None and self._clock.now() >= self._start_again:
                try:
                    self._chromium, self.starts = await Chromium.start(self._program), self.starts + 1
                except Exception as error:
                    self._problem = one_line(f"the browser does not start: {error}")
                    self._start_again = self._clock.now() + START_AGAIN
            return self._chromium or Failure(url, Reason.LOCAL, self._problem)

    async def _show(self, chromium: Chromium, fetch: Fetch) -> Answer:
        tab = BrowserTab(fetch, self._settings, self._subrequests, self._rules, self._largest)
        killed = chromium.killed
        answer: Answer = Failure(fetch.url, Reason.TIMEOUT, "the browser did not answer")
        try:
            async with asyncio.timeout(self._settings.seconds + 2 * GRACE):
                context = await chromium.open(self._agent)
                try:
                    answer = await tab.run(context)
                finally:
                    await tab.stop()
                    await chromium.close(context)
        except TimeoutError:
            chromium.kill()  # it would answer no other page either
        except Exception as error:  # Playwright has one for everything
            answer = Failure(fetch.url, Reason.UNREADABLE, one_line(f"the browser says: {error}"))
        self.refused += tab.refused
        if isinstance(answer, Failure) and chromium.killed > killed:
            return Failure(fetch.url, Reason.TOO_LARGE, f"it took more than {MEMORY:,} bytes of memory")
        if isinstance(answer, Failure) and not await chromium.answers():
            return Failure(fetch.url, Reason.LOCAL, "the browser died")
        return answer
