"""The fetcher of the network: one request, one answer. Redirects and failures are answers too; nothing is raised.

It does not follow redirects, ask again, keep a delay or read robots.txt. The loop does that, because it knows the lease
of the host. aiohttp silently repeats a request when the connection is lost. That is switched off here, because a host
must not be asked twice within its delay.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from types import TracebackType
from typing import Any, Self

import aiohttp
from aiohttp import ClientRequest, ClientResponse, ClientSession
from aiohttp.abc import AbstractResolver
from aiohttp.client_middlewares import ClientHandlerType
from yarl import URL

from forager.clock import Clock, WallClock
from forager.errors import ForagerError
from forager.fetch.body import ACCEPT_ENCODING, BadCodingError, BodyMemory, TooLargeError, read_body
from forager.fetch.failures import LostError, backoff, of_error, of_status, one_line, retry_after
from forager.fetch.guard import Guard, Lookup, MappedNames, Resolver, system_lookup
from forager.types import Answer, Exchange, Failure, Fetch, Reason, Redirect, Url
from forager.web.urls import RULES, UrlRules

ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,text/plain;q=0.8,*/*;q=0.1"
PAGE_TYPES = frozenset(  # that `page.parse` reads; for the vague ones it looks at the bytes
    (
        *("text/html", "application/xhtml+xml", "text/plain", "text/xml", "application/xml"),
        *("", "application/octet-stream", "unknown/unknown"),
    )
)
REDIRECTS = (301, 302, 303, 307, 308)
DRAIN = 65_536  # bytes of an unwanted body that are read, so that the connection can be used again
DRAIN_SECONDS = 1.0
_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([^\s"';,]{1,40})""", re.IGNORECASE)
_ABOUT_THE_BODY = (b"content-encoding", b"transfer-encoding", b"content-length")
_CONTACT = re.compile(r"[^\s@()<>]+@[^\s@()<>]+\.[^\s@()<>]+|https?://[^\s()<>]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long a request may take, and how much it may bring."""

    connect: float = 15.0  # seconds, with name lookup and TLS
    read: float = 20.0  # seconds of silence
    total: float = 60.0
    largest: int = 10_000_000  # bytes of a body, decompressed
    header: int = 16_384  # bytes of a header line
    headers: int = 256
    longest_wait: float = 3600.0  # seconds; a longer Retry-After is shortened to this
    connections: int = 0  # at the same time; 0: as many as hosts are asked
    per_host: int = 1
    keep_alive: float = 30.0  # seconds that an idle connection is kept
    keep_names: int = 600  # seconds until a name is looked up again
    memory: int = 64_000_000  # bytes of all bodies that are being read


class AddressedResponse(ClientResponse):
    """A response that knows the address it came from. After a short answer was read, its connection no longer tells."""

    address = ""

    def start(self, connection: Any) -> Coroutine[Any, Any, ClientResponse]:
        peer = connection.transport.get_extra_info("peername") if connection.transport else None
        self.address = str(peer[0]) if peer else ""
        return super().start(connection)


class HttpFetcher:
    """`async with HttpFetcher("me@example.org") as fetcher: await fetcher.fetch(url)`.

    `contact` is a mail address or a page by which the owner of a site can reach whoever crawls it. `allow` names
    networks that the guard would refuse. `resolve` maps names to addresses, which are then allowed for these names.
    """

    def __init__(
        self,
        contact: str,
        *,
        limits: Limits = Limits(),  # noqa: B008
        allow: Sequence[str] = (),
        resolve: Mapping[str, str] | None = None,
        rules: UrlRules = RULES,
        clock: Clock | None = None,
        lookup: Lookup = system_lookup,
        tls: ssl.SSLContext | bool = True,
    ) -> None:
        self.agent = user_agent(contact)
        self._limits, self._rules, self._tls, self._lookup = limits, rules, tls, lookup
        self._clock = clock or WallClock()
        self._guard, self._names = Guard(allow), MappedNames(resolve or {})
        self._memory = BodyMemory(limits.memory)
        self._session: ClientSession | None = None
        self._mapped: ClientSession | None = None

    async def __aenter__(self) -> Self:
        resolver = Resolver(self._guard, self._clock, self._lookup)
        self._session = self._open(resolver, self._guard)
        self._mapped = self._open(self._names, None)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        for session in (self._session, self._mapped):
            if session is not None:
                await session.close()
        self._session = self._mapped = None

    def _open(self, resolver: AbstractResolver, guard: Guard | None) -> ClientSession:
        limits = self._limits
        connector = aiohttp.TCPConnector(
            resolver=resolver,
            socket_factory=guard.socket if guard else None,
            ttl_dns_cache=limits.keep_names,
            dns_cache_max_size=100_000,
            limit=limits.connections,
            limit_per_host=limits.per_host,
            keepalive_timeout=limits.keep_alive,
            ssl=self._tls,
        )
        return ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=limits.total, connect=limits.connect, sock_read=limits.read),
            headers={"User-Agent": self.agent, "Accept": ACCEPT, "Accept-Encoding": ACCEPT_ENCODING},
            cookie_jar=aiohttp.DummyCookieJar(),
            response_class=AddressedResponse,
            auto_decompress=False,
            max_line_size=limits.header,
            max_field_size=limits.header,
            max_headers=limits.headers,
            middlewares=(_asked_once,),
        )

    async def fetch(self, url: Url) -> Answer:
        """The page at a URL. A body that cannot be a page is not read."""
        return await self._ask(url, PAGE_TYPES, self._limits.largest)

    async def fetch_start(self, url: Url, largest: int) -> Answer:
        """What is at a URL, of any type, but of a longer body only the beginning. For robots.txt."""
        return await self._ask(url, None, largest)

    async def _ask(self, url: Url, types: frozenset[str] | None, largest: int) -> Answer:
        began = self._clock.now()
        try:
            where = URL(url, encoded=True)
            async with self._session_for(where).get(where, allow_redirects=False) as response:
                answer = await self._answer(url, response, types, largest, began)
        except Exception as error:
            answer = of_error(url, error)
        return answer if isinstance(answer, Fetch) else replace(answer, seconds=self._clock.now() - began)

    def _session_for(self, where: URL) -> ClientSession:
        """Mapped names have their own connections: an address that is allowed for them is allowed for no other name."""
        session = self._mapped if self._names.place(where.raw_host or "") else self._session
        if session is None:
            raise ForagerError("the fetcher is closed; use it inside `async with HttpFetcher(...)`")
        return session

    async def _answer(
        self, url: Url, response: ClientResponse, types: frozenset[str] | None, largest: int, began: float
    ) -> Answer:
        status = response.status
        if 200 <= status < 300:
            return await self._body(url, response, types, largest, began)
        await _drain(response)
        if status in REDIRECTS:
            return self._redirect(url, response)
        if status >= 400:
            return self._refused(url, response)
        reason = Reason.BAD_REDIRECT if status >= 300 else Reason.PROTOCOL
        return _failure(url, response, reason, f"status {status}, which was not asked for")

    async def _body(
        self, url: Url, response: ClientResponse, types: frozenset[str] | None, largest: int, began: float
    ) -> Answer:
        header = response.headers.get("Content-Type", "")
        kind, cut = _content_type(header), types is None
        if types is not None and kind not in types:
            await _drain(response)
            return _failure(url, response, Reason.NOT_HTML, kind)
        if response.status in (204, 205, 206):
            await _drain(response)
            reason = Reason.PROTOCOL if response.status == 206 else Reason.NOT_HTML
            return _failure(url, response, reason, f"status {response.status} {response.reason}: not a whole page")
        if not cut and (response.content_length or 0) > largest:
            detail = f"{response.content_length:,} bytes, at most {largest:,} are read"
            return _failure(url, response, Reason.TOO_LARGE, detail)
        try:
            with self._memory.share() as share:
                body = await read_body(response.content, _encoding(response), largest, share, cut=cut)
        except TooLargeError:
            return _failure(url, response, Reason.TOO_LARGE, f"more than {largest:,} bytes when decompressed")
        except BadCodingError as error:
            return _failure(url, response, Reason.PROTOCOL, f"not what its Content-Encoding says: {error}")
        head = _exchange(response, len(body))
        return Fetch(url, body, kind, _charset(header), response.status, self._clock.now() - began, head)

    def _redirect(self, url: Url, response: ClientResponse) -> Answer:
        text = _location(response)
        target = self._rules.join(url, text) if text else None
        if target is None:
            detail = f"location {text[:100]!r} cannot be followed" if text else f"status {response.status}, no location"
            return _failure(url, response, Reason.BAD_REDIRECT, detail)
        if target == url:  # it would do so for ever, because we send no cookies
            return _failure(url, response, Reason.BAD_REDIRECT, "redirects to itself")
        return Redirect(url, target, response.status, exchange=_exchange(response, 0))

    def _refused(self, url: Url, response: ClientResponse) -> Failure:
        header = response.headers.get("Retry-After", "")
        asked = retry_after(header, self._clock.utc(), self._limits.longest_wait) if header else None
        reason, again = of_status(response.status, asked)
        failure = _failure(url, response, reason, f"status {response.status} {response.reason or ''}")
        wait = backoff(url, 1) if asked is None else asked
        return replace(failure, retry_after=wait if again else None)


async def _asked_once(request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
    """Middleware: turns a lost connection into an error after which aiohttp does not ask again."""
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise LostError(str(error)) from error


async def _drain(response: ClientResponse) -> None:
    """Read the rest of a short body, so that its connection can be used again. Else the connection is closed."""
    left = DRAIN
    if (response.content_length or 0) > left:
        return
    with suppress(Exception):
        async with asyncio.timeout(DRAIN_SECONDS):
            while left > 0 and (chunk := await response.content.readany()):
                left -= len(chunk)


def _encoding(response: ClientResponse) -> str:
    return ",".join(response.headers.getall("Content-Encoding", ()))


def _failure(url: Url, response: ClientResponse, reason: Reason, detail: str) -> Failure:
    return Failure(url, reason, one_line(detail), status=response.status, exchange=_exchange(response, 0))


def user_agent(contact: str) -> str:
    """Our name, for the owners of sites and their robots.txt."""
    if not _CONTACT.fullmatch(contact.strip()):
        raise ForagerError(
            f"contact {contact!r} is neither a mail address nor a page: owners of sites must be able to reach you; "
            'give one, like contact = "you@example.org"'
        )
    return f"Forager/{version('forager')} (+{contact.strip()})"


# ---- heads of an exchange


def _content_type(header: str) -> str:
    """Only the type, in lower case; "" if there is none."""
    return header.partition(";")[0].strip().lower()


def _charset(header: str) -> str:
    found = _CHARSET.search(header)
    return found[1] if found else ""


def _location(response: ClientResponse) -> str:
    """The Location as ASCII. Servers put bytes of any charset there; such a byte stands for its escape."""
    raw = next((value for name, value in response.raw_headers if name.lower() == b"location"), b"")
    return "".join(chr(byte) if byte < 0x80 else f"%{byte:02X}" for byte in raw) if not raw.isascii() else raw.decode()


def _exchange(response: ClientResponse, length: int) -> Exchange:
    """Both heads, for a decoded body of that length; 0 if the body is not kept.

    In an archive a head must fit the body stored with it. The body is stored decoded, so Content-Encoding and
    Transfer-Encoding cannot stay, and Content-Length must be that of the decoded body. Their first values are kept
    under the same names with `X-Crawl-` before them, as Common Crawl does. The rest is as received, with its order and
    case.
    """
    info = response.request_info
    sent = "".join([f"{name}: {value}\r\n" for name, value in info.headers.items()])
    request = f"{info.method} {info.url.raw_path_qs} HTTP/1.1\r\n{sent}\r\n".encode("utf-8", "surrogateescape")
    version = response.version or (1, 1)
    line = f"HTTP/{version[0]}.{version[1]} {response.status} {response.reason or ''}"
    received = _headers(response.raw_headers, length)
    status = line.rstrip().encode("utf-8", "surrogateescape")
    return Exchange(request, status + b"\r\n" + received + b"\r\n", getattr(response, "address", ""))


def _headers(raw: Iterable[tuple[bytes, bytes]], length: int) -> bytes:
    lines = [
        b"X-Crawl-%s: %s\r\n" % line if line[0].lower() in _ABOUT_THE_BODY else b"%s: %s\r\n" % line for line in raw
    ]
    lines.append(b"Content-Length: %d\r\n" % length)
    return b"".join(lines)
