"""What a page asks for while its scripts run. The browser asks nobody; we do, with our guard and our limits.

Every hop of a redirect is checked as the first request was: by the guard at the socket, and by robots.txt. We tell our
name, and send no cookies, no logins and no headers of ours. A script could ask for anything in our name, so:

- Only GET, and POST within the site of the page.
- To another origin only the headers go that a page may set without asking that origin.
- What another origin does not let this page read, the page does not get. The browser does not check this when we
  answer.

Scripts that many pages share are kept for a while, so that their host is asked once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Protocol, Self, TypeAlias

from aiohttp import ClientResponse
from yarl import URL

from forager.clock import Clock
from forager.fetch import FetchSettings
from forager.fetch.body import ACCEPT_ENCODING, BadCodingError, BodyMemory, TooLargeError, read_body
from forager.fetch.connection import Limits, any_tls, open_session
from forager.fetch.dns import Lookup, MappedNames, Resolver
from forager.fetch.failures import of_error
from forager.fetch.guard import Guard
from forager.types import Failure, Reason, Url
from forager.web.urls import UrlRules, host, site

Allowed: TypeAlias = Callable[[Url], Awaitable[bool]]  # whether robots.txt lets us ask for a URL

HOPS = 5
PER_HOST = 2  # requests at once to a host
MEMORY = 64_000_000  # bytes of all bodies that are being read
SHELF, LARGEST_KEPT = 32_000_000, 4_000_000  # bytes of the scripts that are kept, and of one
SHELF_SECONDS = 3600.0
READ_BY_SCRIPTS = ("fetch", "xhr")  # kinds of requests whose answers a script can read
_REDIRECTS = (301, 302, 303, 307, 308)
_TO_OTHERS = ("accept", "accept-language", "content-type", "origin", "referer")
_NOT_SENT = ("accept-encoding", "authorization", "connection", "content-length", "cookie", "host", "te", "upgrade")
_NOT_SENT_BEGIN = ("sec-", "proxy-", "user-agent", "if-")
_NOT_GIVEN = frozenset(  # of an answer's headers: those of the connection, and those by which a host wants to be kept
    (
        *("connection", "keep-alive", "transfer-encoding", "content-encoding", "content-length", "trailer", "upgrade"),
        *("alt-svc", "set-cookie", "strict-transport-security", "nel", "report-to", "reporting-endpoints"),
        *("clear-site-data", "service-worker-allowed", "www-authenticate", "proxy-authenticate", "link"),
    )
)


class SubrequestSettings(FetchSettings, Protocol):
    """What is read of the table [fetch] of a configuration."""


@dataclass(frozen=True, slots=True)
class Subrequest:
    """A request of a page."""

    page: Url
    url: str  # as the browser has it
    kind: str  # what for: "script", "fetch" …
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)  # names in lower case
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Subanswer:
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes


class ScriptShelf:
    """Scripts that pages have asked for, up to a size and an age. What was not asked for longest goes first."""

    def __init__(self, clock: Clock, size: int = SHELF) -> None:
        self._clock, self._size, self._held = clock, size, 0
        self._kept: OrderedDict[str, tuple[float, Subanswer]] = OrderedDict()  # until when, and what

    def get(self, url: str) -> Subanswer | None:
        until, answer = self._kept.get(url, (0.0, None))
        if answer is None or self._clock.now() >= until:
            return None
        self._kept.move_to_end(url)
        return answer

    def put(self, url: str, answer: Subanswer) -> None:
        control = answer.headers.get("cache-control", "").lower()
        if answer.status != 200 or len(answer.body) > LARGEST_KEPT or "no-store" in control or "private" in control:
            return
        _, before = self._kept.pop(url, (0.0, None))
        self._held += len(answer.body) - (len(before.body) if before else 0)
        self._kept[url] = (self._clock.now() + SHELF_SECONDS, answer)
        while self._held > self._size:
            _, (_, oldest) = self._kept.popitem(last=False)
            self._held -= len(oldest.body)


class Subrequests:
    """`async with Subrequests(...) as subrequests: await subrequests.ask(...)`."""

    def __init__(
        self,
        settings: SubrequestSettings,
        agent: str,
        *,
        rules: UrlRules,
        clock: Clock,
        lookup: Lookup,
        allowed: Allowed | None = None,
    ) -> None:
        self._settings, self._agent, self._rules, self._allowed = settings, agent, rules, allowed
        self._guard, self._names = Guard(settings.allow), MappedNames(settings.resolve)
        self._resolver = Resolver(self._guard, clock, lookup)
        self._memory, self._shelf = BodyMemory(MEMORY), ScriptShelf(clock)
        self.asked = 0  # requests that were sent

    async def __aenter__(self) -> Self:
        settings, tls = self._settings, any_tls() if self._settings.tls == "any" else True
        limits = Limits(connect=settings.connect, read=settings.read, total=settings.total, per_host=PER_HOST)
        headers = {"User-Agent": self._agent, "Accept-Encoding": ACCEPT_ENCODING}
        self._session = open_session(limits, headers, self._resolver, guard=self._guard, tls=tls)
        self._mapped = open_session(limits, headers, self._names, tls=tls)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()
        await self._mapped.close()
        await self._resolver.close()

    async def ask(self, wanted: Subrequest, largest: int) -> Subanswer | Failure:
        """The answer to a request of a page, or why there is none."""
        shared = wanted.kind == "script" and wanted.method == "GET"
        kept = self._shelf.get(wanted.url) if shared else None
        if kept is not None:
            return kept if len(kept.body) <= largest else _too_large(wanted, largest)
        answer = await self._follow(wanted, largest)
        if shared and isinstance(answer, Subanswer):
            self._shelf.put(wanted.url, answer)
        return answer

    async def _follow(self, wanted: Subrequest, largest: int) -> Subanswer | Failure:
        for _ in range(HOPS + 1):
            url = self._rules.canonical(wanted.url)
            if url is None:
                return Failure(wanted.page, Reason.PROTOCOL, "it asks for what is no URL")
            answer = await self._refuse(wanted, url) or await self._send(wanted, url, largest)
            if isinstance(answer, Failure):
                return answer
            target = answer.headers.get("location")
            if answer.status not in _REDIRECTS or not target:
                return _readable(wanted, url, answer)
            wanted = _redirected(wanted, answer.status, self._rules.join(url, target) or "")
        return Failure(wanted.page, Reason.TOO_MANY_REDIRECTS, f"more than {HOPS}")

    async def _refuse(self, wanted: Subrequest, url: Url) -> Failure | None:
        if wanted.method not in ("GET", "POST"):
            return Failure(url, Reason.CLIENT_ERROR, f"{wanted.method} is not sent for a page")
        if wanted.method == "POST" and site(host(url)) != site(host(wanted.page)):
            return Failure(url, Reason.CLIENT_ERROR, "nothing is sent to another site")
        if self._allowed is not None and not await self._allowed(url):
            return Failure(url, Reason.ROBOTS, "robots.txt does not allow it")
        return None

    async def _send(self, wanted: Subrequest, url: Url, largest: int) -> Subanswer | Failure:
        self.asked += 1
        try:
            where = URL(wanted.url, encoded=True).with_fragment(None).with_user(None)
            session = self._mapped if self._names.place(where.raw_host or "") else self._session
            where, told = self._names.as_sent(where)
            headers = {**told, **_sent(wanted, url)}
            async with session.request(
                wanted.method, where, headers=headers, data=wanted.body, allow_redirects=False
            ) as response:
                return await self._read(response, largest)
        except TooLargeError:
            return _too_large(wanted, largest)
        except BadCodingError as error:
            return Failure(url, Reason.PROTOCOL, f"not what its Content-Encoding says: {error}")
        except Exception as error:
            return of_error(url, error)

    async def _read(self, response: ClientResponse, largest: int) -> Subanswer:
        received, status, body = _received(response), response.status, b""
        if status not in _REDIRECTS:
            with self._memory.share() as share:
                body = await read_body(response.content, received.get("content-encoding", ""), largest, share)
        given = {name: value for name, value in received.items() if name not in _NOT_GIVEN and _is_plain(value)}
        return Subanswer(status if 200 <= status < 600 else 502, given, body)  # the browser takes no other


def _received(response: ClientResponse) -> dict[str, str]:
    """The headers of an answer by their names in lower case."""
    headers: dict[str, str] = {}
    for name, value in response.headers.items():
        before = headers.get(name.lower())
        headers[name.lower()] = value if before is None else f"{before}, {value}"
    return headers


def _is_plain(value: str) -> bool:
    """Whether the browser takes a value of a header."""
    return value.isascii() and value.isprintable()


def _origin(url: Url) -> str:
    return url[: url.index("/", 8)]


def _sent(wanted: Subrequest, url: Url) -> dict[str, str]:
    """The headers of the page's request that are sent."""
    if _origin(url) != _origin(wanted.page):
        return {name: value for name, value in wanted.headers.items() if name in _TO_OTHERS}
    return {
        name: value
        for name, value in wanted.headers.items()
        if name not in _NOT_SENT and not name.startswith(_NOT_SENT_BEGIN)
    }


def _redirected(wanted: Subrequest, status: int, target: str) -> Subrequest:
    """The request after a redirect, as browsers make it."""
    if wanted.method == "POST" and status in (301, 302, 303):
        return replace(wanted, url=target, method="GET", body=None)
    return replace(wanted, url=target)


def _readable(wanted: Subrequest, url: Url, answer: Subanswer) -> Subanswer | Failure:
    """The answer, if the origin it comes from lets the page have it."""
    origin = _origin(wanted.page)
    if wanted.kind not in READ_BY_SCRIPTS or _origin(url) == origin:
        return answer
    if answer.headers.get("access-control-allow-origin") in ("*", origin):
        return answer
    return Failure(url, Reason.CLIENT_ERROR, f"{host(url)} does not let pages of other origins read it")


def _too_large(wanted: Subrequest, largest: int) -> Failure:
    return Failure(wanted.page, Reason.TOO_LARGE, f"more than {largest:,} bytes")
