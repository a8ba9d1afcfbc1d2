"""Pages that scripts make, as a browser shows them.

A page that was fetched goes into a browser, its scripts run, and what comes out is its DOM as HTML. Its host is not
asked for the page again: the browser gets the body and the headers that we have. The browser itself reaches nobody
(browser.py); the scripts and the data that the page asks for are asked for by us (subrequests.py).

What a page may do, and what becomes of it:

- Scripts, `fetch` and XMLHttpRequest are served, `requests` of them. A style sheet is given as an empty one. Pictures,
  fonts, media, frames, event streams, sockets, beacons, hints and downloads are not asked for: no text comes of them,
  and frames are links that the crawl follows by itself.
- The DOM is taken when the page has loaded and asked for nothing for half a second, or else after `seconds`: then what
  still runs is ended. If the page does not answer even then, or takes too much memory, or crashes, that is a `Failure`.
- A page that goes to another URL is a `Redirect`, as if its host had said so. Otherwise its URL stays: what it tells
  its history is only taken as the base of its links.
- Dialogs are dismissed, windows are closed, permissions are not given, nothing is kept from page to page.

In the DOM shadow trees are opened, so that their text and links are found, and <noscript> is left out.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from fnmatch import translate
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from yarl import URL

from forager.clock import Clock, WallClock
from forager.errors import ForagerError
from forager.fetch.browser import MEMORY, BrowserSettings, Chromium, check_browser
from forager.fetch.failures import one_line
from forager.fetch.guard import Lookup, system_lookup
from forager.fetch.http import user_agent
from forager.fetch.subrequests import Allowed, Subanswer, Subrequest, Subrequests, SubrequestSettings
from forager.types import Answer, Failure, Fetch, Page, Reason, Redirect, Url
from forager.web.urls import RULES, UrlRules

if TYPE_CHECKING:  # an extra, and slow to import
    from playwright.async_api import BrowserContext, CDPSession, Request, Route
    from playwright.async_api import Page as Tab

HTML_TYPES = ("text/html", "application/xhtml+xml")
FEW_WORDS = 30  # a page with fewer has no text, if it has scripts
QUIET = 0.5  # seconds without a request, after which a page has made itself
STEP = 0.05  # seconds between two looks at that
PATIENCE = 1.0  # seconds with a script, when the DOM is wanted
GRACE = 5.0  # seconds in which a page must give its DOM
LARGEST = 4_000_000  # bytes of a page that is rendered, and of an answer to it: the loop stops for 6 ms a megabyte
PAGE_BYTES = 30_000_000  # that the answers to a page's requests may have together
STOPPING = 1.0  # seconds
FLOOD = 50  # times as many requests as are allowed: the page is ended
TRIES = 2  # a browser that dies takes innocent pages with it
SERVED = ("script", "fetch", "xhr")
_GIVEN = ("content-language", "content-security-policy", "last-modified", "referrer-policy")
_SCRIPT = re.compile(rb"<script[\s>/]", re.IGNORECASE)
_DOM = """(() => {
  const open = (root) => {
    for (const element of root.querySelectorAll("*"))
      if (element.shadowRoot) {
        open(element.shadowRoot);
        element.append(...element.shadowRoot.childNodes);
      }
  };
  open(document);
  for (const element of document.querySelectorAll("noscript")) element.remove();
  const here = document.URL.split("#")[0];
  if (here !== %s && document.head && !document.querySelector("base[href]"))
    document.head.prepend(Object.assign(document.createElement("base"), {href: here}));
  const markup = document.documentElement ? document.documentElement.outerHTML : "";
  return {url: document.URL, markup: ((document.doctype ? "<!DOCTYPE html>" : "") + markup).slice(0, %d)};
})()"""


class RenderSettings(BrowserSettings, Protocol):
    """The table [render] of a configuration."""

    @property
    def hosts(self) -> Sequence[str]: ...
    @property
    def patterns(self) -> Sequence[str]: ...
    @property
    def empty(self) -> bool: ...
    @property
    def seconds(self) -> float: ...
    @property
    def requests(self) -> int: ...
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
        self._patterns = [_pattern(text) for text in settings.patterns]
        self._rules, self._clock, self._agent = rules, clock or WallClock(), user_agent(fetch.contact)
        self._subrequests = Subrequests(
            fetch, self._agent, rules=rules, clock=self._clock, lookup=lookup, allowed=allowed
        )
        self._slots, self._starting = asyncio.Semaphore(settings.at_once), asyncio.Lock()
        self._chromium: Chromium | None = None
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
            if self._chromium is None:
                try:
                    self._chromium = await Chromium.start(self._program)
                except Exception as error:
                    return Failure(url, Reason.LOCAL, one_line(f"the browser does not start: {error}"))
                self.starts += 1
            return self._chromium

    async def _show(self, chromium: Chromium, fetch: Fetch) -> Answer:
        rendering = _Rendering(fetch, self._settings, self._subrequests, self._rules, self._largest)
        killed = chromium.killed
        try:
            async with asyncio.timeout(self._settings.seconds + 2 * GRACE):
                context = await chromium.open(self._agent)
                try:
                    answer = await rendering.run(context)
                finally:
                    await rendering.stop()
                    await chromium.close(context)
        except TimeoutError:
            chromium.kill()  # it would answer no other page either
            return Failure(fetch.url, Reason.TIMEOUT, "the browser did not answer")
        except Exception as error:  # of Playwright, which has one for everything
            answer = Failure(fetch.url, Reason.UNREADABLE, one_line(f"the browser says: {error}"))
        self.refused += rendering.refused
        if not chromium.alive:
            return Failure(fetch.url, Reason.LOCAL, "the browser died")
        if isinstance(answer, Failure) and chromium.killed > killed:
            return Failure(fetch.url, Reason.TOO_LARGE, f"it took more than {MEMORY:,} bytes of memory")
        return answer


class _Rendering:
    """One page in the browser, until it has made itself."""

    def __init__(
        self, fetch: Fetch, settings: RenderSettings, subrequests: Subrequests, rules: UrlRules, largest: int
    ) -> None:
        self._fetch, self._settings, self._subrequests, self._rules = fetch, settings, subrequests, rules
        self._largest, self._bytes_left = largest, PAGE_BYTES
        self._loop = asyncio.get_running_loop()
        self._deadline, self._came = self._loop.time() + settings.seconds, self._loop.time()
        self._tab: Tab | None = None
        self._given = self._loaded = self._crashed = False
        self._target: Url | None = None  # where its scripts lead
        self._asked = 0  # requests
        self._ended = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()  # that talk to the browser
        self._work: set[asyncio.Task[Subanswer | Failure]] = set()  # that ask for what it wants
        self.refused: Counter[Reason] = Counter()

    async def run(self, context: BrowserContext) -> Answer:
        url = self._fetch.url
        await context.route("**/*", self._take)
        self._tab = tab = await context.new_page()
        session = await context.new_cdp_session(tab)
        context.on("page", self._close)
        tab.on("load", self._note_load)
        tab.on("crash", self._note_crash)
        tab.on("close", self._note_crash)  # with the browser, or because a script closes it
        with suppress(asyncio.TimeoutError):
            async with asyncio.timeout_at(self._deadline):
                await tab.goto(url, wait_until="commit", timeout=0)
        quiet = await self._settle()
        if self._target is not None:
            return Redirect(url, self._target)
        if self._crashed:
            return Failure(url, Reason.UNREADABLE, "it crashed in the browser")
        try:
            async with asyncio.timeout(GRACE):
                return await self._dom(session, ended=not quiet)
        except TimeoutError:
            crashed = "it crashed in the browser" if self._crashed else "its scripts do not end"
            return Failure(url, Reason.UNREADABLE if self._crashed else Reason.TIMEOUT, crashed)

    async def stop(self) -> None:
        """Ask for nothing more, and tell the browser so."""
        for work in self._work:
            work.cancel()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=STOPPING)
            for task in late:
                task.cancel()

    async def _settle(self) -> bool:
        """Wait until the page has made itself. False if it has not in its time, or is at an end."""
        while not self._ended.is_set() and (now := self._loop.time()) < self._deadline:
            if self._loaded and not self._work and now - self._came >= QUIET:
                return True
            with suppress(TimeoutError):
                async with asyncio.timeout(STEP):
                    await self._ended.wait()
        return False

    async def _dom(self, session: CDPSession, *, ended: bool) -> Answer:
        """The DOM, read where the page's scripts cannot reach."""
        url = self._fetch.url
        world = await session.send("Page.createIsolatedWorld", {"frameId": await self._frame(session, ended)})
        what = {"expression": _DOM % (json.dumps(url), self._largest), "returnByValue": True}
        told = await session.send("Runtime.evaluate", {**what, "contextId": world["executionContextId"]})
        found: dict[str, str] = told["result"].get("value") or {}
        if not found.get("url", "").startswith(("http://", "https://")):
            return Failure(url, Reason.UNREADABLE, "its scripts leave no page")
        body = found["markup"].encode("utf-8", "replace")[: self._largest]
        return replace(self._fetch, body=body, content_type="text/html", charset="utf-8")

    async def _frame(self, session: CDPSession, ended: bool) -> str:
        """The id of its frame. The page tells it between two scripts; a script that does not end is ended."""
        while True:
            if ended:
                await session.send("Runtime.terminateExecution")
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    return str((await session.send("Page.getFrameTree"))["frameTree"]["frame"]["id"])
            ended = True

    # ---- what the browser tells

    def _note_load(self, tab: Tab | None) -> None:
        self._loaded, self._came = True, self._loop.time()

    def _note_crash(self, tab: Tab) -> None:
        self._crashed = True
        self._ended.set()

    def _close(self, tab: Tab) -> None:
        """Close a window that the page has opened."""
        self._begin(tab.close())

    def _take(self, route: Route, request: Request) -> None:
        self._begin(self._serve(route, request))

    def _begin(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # the page was closed meanwhile

    # ---- what the page asks for

    async def _serve(self, route: Route, request: Request) -> None:
        if request.is_navigation_request():
            await self._navigate(route, request)
        elif request.resource_type == "stylesheet":
            await route.fulfill(content_type="text/css", body="")
        elif request.resource_type in SERVED:
            await self._answer(route, request)
        else:
            await route.abort()

    async def _navigate(self, route: Route, request: Request) -> None:
        """Give the page itself, once. After that it may tell where it wants to go, but it does not go there."""
        if not self._is_own(request):
            await route.abort("aborted")
        elif not self._given:
            self._given = True
            await route.fulfill(status=self._fetch.status, headers=_headers(self._fetch), body=self._fetch.body)
        else:
            target = self._rules.canonical(request.url) if request.method == "GET" else None
            if target is not None and target != self._fetch.url:
                self._target = target
                self._ended.set()
            await route.abort("aborted")
            self._note_load(self._tab)  # after that it loads no further

    def _is_own(self, request: Request) -> bool:
        """Whether it is the page that navigates, not a frame in it or a window that it opens."""
        with suppress(Exception):  # a window that is being opened has no frame yet
            return self._tab is not None and request.frame == self._tab.main_frame
        return False

    async def _answer(self, route: Route, request: Request) -> None:
        self._asked += 1
        if self._asked > self._settings.requests or self._bytes_left <= 0:
            if self._asked > FLOOD * self._settings.requests:
                self._ended.set()
            self.refused[Reason.TOO_LARGE] += 1
            await route.abort()
            return
        wanted = Subrequest(
            *(self._fetch.url, request.url, request.resource_type),
            *(request.method, request.headers, request.post_data_buffer),
        )
        work = asyncio.ensure_future(self._subrequests.ask(wanted, min(LARGEST, self._bytes_left)))
        self._work.add(work)
        try:
            await asyncio.wait((work,))
            await self._give(route, _stopped(wanted) if work.cancelled() else work.result())
        finally:
            self._work.discard(work)
            self._came = self._loop.time()

    async def _give(self, route: Route, answer: Subanswer | Failure) -> None:
        if isinstance(answer, Failure):
            self.refused[answer.reason] += 1
            await route.abort()
            return
        self._bytes_left -= len(answer.body)
        await route.fulfill(status=answer.status, headers=dict(answer.headers), body=answer.body)


def _stopped(wanted: Subrequest) -> Failure:
    return Failure(wanted.page, Reason.TIMEOUT, "it asked until its end")


def _headers(fetch: Fetch) -> dict[str, str]:
    """The headers that matter in the browser."""
    lines = fetch.exchange.response.decode("latin-1").split("\r\n")[1:] if fetch.exchange else []
    pairs = ((name.strip().lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines))
    charset = f"; charset={fetch.charset}" if fetch.charset else ""
    return {
        **{name: value for name, value in pairs if name in _GIVEN},
        "content-type": f"{fetch.content_type}{charset}",
    }


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise ForagerError(f"render.patterns: {text!r} is not a regular expression: {error}") from None
