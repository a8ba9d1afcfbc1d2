"""Fetchers: what is at this URL? `HttpFetcher` asks the network, `Replay` answers from a recorded web.

A fetcher has one verb, `async fetch(url) -> Fetch | Redirect | Failure`, and these duties:

- It never raises. Whatever goes wrong is a `Failure` with a reason, and with a time to wait if asking again may help.
- A redirect is an answer: it is not followed, and `Redirect` says where it leads.
- The answer is about the URL that was asked: `answer.url == url`.
- It sends one request, and keeps no delay: the crawl knows when a host may be asked.
- If it holds connections or files, it closes them in `aclose`. If it must be opened first, it is an async context
  manager. `opened` calls what is there.

A package offers fetchers of its own as entry points of the group `forager.fetchers`. A maker is a class or function; it
is given what it asks for by name:

    fetch  the table [fetch] of the configuration         clock  the clock of the crawl
    rules  the rules by which URLs are made               and the parameters of the configuration
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from forager import registry
from forager.clock import Clock
from forager.errors import ForagerError
from forager.types import Fetcher
from forager.web.urls import UrlRules

if TYPE_CHECKING:  # imported when a maker is called: aiohttp takes a quarter of a second
    from forager.fetch.http import HttpFetcher
    from forager.fetch.login import HeaderSettings, LoginSettings
    from forager.fetch.replay import Replay


class FetchSettings(Protocol):
    """What the makers read of the table [fetch] of a configuration."""

    @property
    def replay(self) -> str | None: ...
    @property
    def contact(self) -> str: ...
    @property
    def connect(self) -> float: ...
    @property
    def read(self) -> float: ...
    @property
    def total(self) -> float: ...
    @property
    def largest(self) -> int: ...
    @property
    def allow(self) -> tuple[str, ...]: ...
    @property
    def resolve(self) -> Mapping[str, str]: ...
    @property
    def tls(self) -> str: ...
    @property
    def cookies(self) -> bool: ...
    @property
    def proxy(self) -> str: ...
    @property
    def headers(self) -> Sequence[HeaderSettings]: ...
    @property
    def logins(self) -> Sequence[LoginSettings]: ...


def make_http(fetch: FetchSettings, rules: UrlRules, clock: Clock) -> HttpFetcher:
    """A fetcher of the network."""
    from forager.fetch.connection import Limits, any_tls
    from forager.fetch.http import HttpFetcher

    return HttpFetcher(
        fetch.contact,
        limits=Limits(connect=fetch.connect, read=fetch.read, total=fetch.total, largest=fetch.largest),
        allow=fetch.allow,
        resolve=fetch.resolve,
        rules=rules,
        clock=clock,
        tls=any_tls() if fetch.tls == "any" else True,
        cookies=fetch.cookies,
        proxy=fetch.proxy,
        headers=fetch.headers,
        logins=fetch.logins,
    )


def make_replay(fetch: FetchSettings, rules: UrlRules) -> Replay:
    """A fetcher of the recorded web in the folder `fetch.replay`."""
    from forager.fetch.replay import open_recording

    if fetch.replay is None:
        raise ForagerError('no recorded web to crawl: name its folder, [fetch] replay = "FOLDER"')
    return open_recording(Path(fetch.replay), rules).fetcher


FETCHERS: Mapping[str, registry.Maker] = {"http": make_http, "replay": make_replay}
GROUP = "forager.fetchers"  # of entry points


def fetcher_names() -> list[str]:
    """The names of all fetchers, also of those in plug-ins."""
    return registry.names(FETCHERS, GROUP)


def make_fetcher(name: str, given: Mapping[str, object], params: Mapping[str, object]) -> Fetcher:
    """The fetcher of that name. Its maker gets what it asks for from `given`, and all parameters of a configuration."""
    maker = registry.find("fetcher", name, builtin=FETCHERS, group=GROUP)
    return cast(Fetcher, registry.make(maker, given, params))


@asynccontextmanager
async def opened(fetcher: Fetcher) -> AsyncIterator[Fetcher]:
    """The fetcher, opened if it is an async context manager; closed at the end, if it can be closed."""
    if isinstance(fetcher, AbstractAsyncContextManager):
        async with fetcher:
            yield fetcher
        return
    try:
        yield fetcher
    finally:
        close = getattr(fetcher, "aclose", None)
        if close is not None:
            await close()


__all__ = ["FETCHERS", "GROUP", "FetchSettings", "fetcher_names", "make_fetcher", "make_http", "make_replay", "opened"]
