"""One page in the browser, from the body that we have to the DOM that its scripts make of it.

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
from collections import Counter
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from forager.fetch.subrequests import Subanswer, Subrequest, Subrequests
from forager.types import Answer, Failure, Fetch, Reason, Redirect, Url
from forager.web.urls import UrlRules

if TYPE_CHECKING:  # an extra, and slow to import
    from playwright.async_api import BrowserContext, CDPSession, Page, Request, Route

QUIET = 0.5  # seconds without a request, after which a page has made itself
STEP = 0.05  # seconds between two looks at that
PATIENCE = 1.0  # seconds with a script, when the DOM is wanted
GRACE = 5.0  # seconds in which a page must give its DOM
STOPPING = 1.0  # seconds in which the browser must hear that no more is asked for
LARGEST = 4_000_000  # bytes of a page that is rendered, and of an answer to it: the loop stops for 6 ms a megabyte
PAGE_BYTES = 30_000_000  # that the answers to a page's requests may have together
FLOOD = 50  # times as many requests as are allowed: the page is ended
SERVED = ("script", "fetch", "xhr")
_GIVEN = ("content-language", "content-security-policy", "last-modified", "referrer-policy")
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


class TabSettings(Protocol):
    """How long a page may take, and how much it may ask for."""

    @property
    def seconds(self) -> float: ...
    @property
    def requests(self) -> int: ...


class BrowserTab:
    """One page in the browser, until it has made itself."""

    def __init__(
        self, fetch: Fetch, settings: TabSettings, subrequests: Subrequests, rules: UrlRules, largest: int
    ) -> None:
        self._fetch, self._settings, self._subrequests, self._rules = fetch, settings, subrequests, rules
        self._largest, self._bytes_left = largest, PAGE_BYTES
        self._loop = asyncio.get_running_loop()
        self._deadline = self._came = self._loop.time()  # when its time is over, and when it last got something
        self._tab: Page | None = None
        self._given = self._loaded = self._crashed = False
        self._target: Url | None = None  # where its scripts lead
        self._asked = 0  # requests
        self._ended = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()  # that talk to the browser
        self._work: set[asyncio.Task[Subanswer | Failure]] = set()  # that ask for what it wants
        self.refused: Counter[Reason] = Counter()

    async def run(self, context: BrowserContext) -> Answer:
        """Show the page, wait until it has made itself, and take its DOM."""
        url = self._fetch.url
        await context.route("**/*", self._take)
        self._tab = tab = await context.new_page()
        session = await context.new_cdp_session(tab)
        context.on("page", self._close)
        tab.on("load", self._note_load)
        tab.on("crash", self._note_crash)
        tab.on("close", self._note_crash)  # with the browser, or because a script closes it
        self._deadline = self._loop.time() + self._settings.seconds
        try:
            async with asyncio.timeout_at(self._deadline):
                await tab.goto(url, wait_until="commit", timeout=0)
        except TimeoutError:
            pass
        except Exception:  # the browser is gone, or does not show it
            self._ended.set()
        quiet = await self._settle()
        if self._target is not None:
            return Redirect(url, self._target)
        with suppress(TimeoutError):
            async with asyncio.timeout(0 if self._crashed else GRACE):
                return await self._dom(session, ended=not quiet)
        if self._crashed:
            return Failure(url, Reason.UNREADABLE, "it crashed in the browser")
        return Failure(url, Reason.TIMEOUT, "its scripts do not end")

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

    def _note_load(self, tab: Page | None) -> None:
        self._loaded, self._came = True, self._loop.time()

    def _note_crash(self, tab: Page) -> None:
        self._crashed = True
        self._ended.set()

    def _close(self, tab: Page) -> None:
        """Close a window that the page has opened."""
        self._begin(tab.close())

    def _take(self, route: Route, request: Request) -> None:
        self._begin(self._serve(route, request))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
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
            lost = work.cancelled() or work.exception() is not None
            await self._give(route, None if lost else work.result())
        finally:
            self._work.discard(work)
            self._came = self._loop.time()

    async def _give(self, route: Route, answer: Subanswer | Failure | None) -> None:
        if isinstance(answer, Subanswer) and len(answer.body) <= self._bytes_left:
            self._bytes_left -= len(answer.body)
            await route.fulfill(status=answer.status, headers=dict(answer.headers), body=answer.body)
            return
        self.refused[answer.reason if isinstance(answer, Failure) else Reason.TOO_LARGE] += 1
        await route.abort()


def _headers(fetch: Fetch) -> dict[str, str]:
    """The headers that matter in the browser."""
    lines = fetch.exchange.response.decode("latin-1").split("\r\n")[1:] if fetch.exchange else []
    pairs = ((name.strip().lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines))
    kind = f"{fetch.content_type}; charset={fetch.charset}" if fetch.charset else fetch.content_type
    given = {**{name: value for name, value in pairs if name in _GIVEN}, "content-type": kind}
    return {name: value for name, value in given.items() if value.isascii() and value.isprintable()}
