"""The fetcher of the network: one request, one answer. Redirects and failures are answers too; nothing is raised.

It does not follow redirects, ask again, keep a delay or read robots.txt. The loop does that, because it knows the lease
of the host. aiohttp silently repeats a request when the connection is lost. That is switched off here, because a host
must not be asked twice within its delay.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from types import TracebackType
from typing import Self

from aiohttp import ClientResponse, ClientSession
from aiohttp.abc import AbstractResolver
from yarl import URL

from forager.clock import Clock, WallClock
from forager.errors import ForagerError
from forager.fetch.body import ACCEPT_ENCODING, BadCodingError, BodyMemory, TooLargeError, read_body
from forager.fetch.connection import AsNamed, Limits, open_session, proxy_url
from forager.fetch.dns import Lookup, MappedNames, Resolver, system_lookup
from forager.fetch.failures import backoff, of_error, of_status, one_line, retry_after
from forager.fetch.guard import Guard
from forager.fetch.login import HeaderSettings, HostHeaders, Logins, LoginSettings, SiteCookies
from forager.fetch.secrets import SECRET_HEADERS, from_environment, without_secrets
from forager.types import Answer, Exchange, Failure, Fetch, Reason, Redirect, Url
from forager.web.urls import RULES, UrlRules

ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,text/plain;q=0.8,*/*;q=0.1"
PAGE_TYPES = frozenset(  # that may be a page, a feed or a sitemap; for the vague ones `page.parse` looks at the bytes
    (
        *("text/html", "application/xhtml+xml", "text/plain", "text/xml", "application/xml"),
        *("application/rss+xml", "application/atom+xml", "application/rdf+xml"),
        *("application/gzip", "application/x-gzip"),
        *("", "application/octet-stream", "unknown/unknown"),
    )
)
REDIRECTS = (301, 302, 303, 307, 308)
DRAIN = 65_536  # bytes of an unwanted body that are read, so that the connection can be used again
DRAIN_SECONDS = 1.0
LOGIN_PAGE = 1_000_000  # bytes of a page with a form
OWNERS = "https://github.com/forager-crawler/forager/blob/main/docs/guides/for-site-owners.md"
EVERYWHERE = Guard(("0.0.0.0/0", "::/0"))
_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([^\s"';,]{1,40})""", re.IGNORECASE)
_ABOUT_THE_BODY = (b"content-encoding", b"transfer-encoding", b"content-length")
_CONTACT = re.compile(r"[^\s@()<>;]+@[^\s@()<>;]+\.[^\s@()<>;]+|https?://[^\s()<>]+")
_VALIDATOR = re.compile(r"[\x20-\x7e]{1,1000}")
_SET_COOKIE = frozenset((b"set-cookie",))
_VALIDATORS = frozenset(("If-None-Match", "If-Modified-Since"))


class HttpFetcher:
    """`async with HttpFetcher("me@example.org") as fetcher: await fetcher.fetch(url)`.

    `contact` is a mail address or a page by which the owner of a site can reach whoever crawls it. `allow` names
    networks that the guard would refuse. `resolve` maps names to addresses, which are then allowed for these names.
    `headers` and `logins` say who we are to some hosts; `$NAME` in them and in `proxy` comes from the environment.
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
        cookies: bool = False,
        proxy: str = "",
        headers: Sequence[HeaderSettings] = (),
        logins: Sequence[LoginSettings] = (),
    ) -> None:
        self.agent = user_agent(contact)
        self._limits, self._rules, self._tls, self._cookies = limits, rules, tls, cookies
        self._clock = clock or WallClock()
        self._guard, self._names = Guard(allow), MappedNames(resolve or {})
        self._resolver = Resolver(self._guard, self._clock, lookup, limits.keep_names)
        self._proxy = proxy_url(from_environment(proxy, "[fetch] proxy")) if proxy else None
        self._headers = HostHeaders(headers) if headers else None
        self._logins = Logins(logins, self._clock, self._send_form) if logins else None
        self._secret = SECRET_HEADERS | (self._headers.names if self._headers else frozenset())
        self._is_stranger = not (proxy or headers or logins or cookies)  # then there are no secrets
        self.holds_bodies = False  # whether large bodies hold their memory until nobody has them any more
        self._memory = BodyMemory(
            limits.memory, self._clock, rate=limits.rate, grace=limits.grace, patience=limits.patience
        )
        self._jar: SiteCookies | None = None
        self._session: ClientSession | None = None
        self._mapped: ClientSession | None = None

    async def __aenter__(self) -> Self:
        limits, tls, proxy = self._limits, self._tls, self._proxy
        agent = {"User-Agent": self.agent, "Accept": ACCEPT, "Accept-Encoding": ACCEPT_ENCODING}
        if self._cookies:
            self._jar = SiteCookies(lambda host: True)
        elif self._logins:
            self._jar = SiteCookies(self._logins.keeps)
        jar = self._jar
        if proxy is None:
            self._session = open_session(limits, agent, self._resolver, guard=self._guard, tls=tls, jar=jar)
        else:  # connections go to the proxy, wherever that is; `_ask` guards whom it is asked for
            self._session = open_session(limits, agent, self._names_for(proxy), tls=tls, jar=jar, proxy=proxy)
        self._mapped = open_session(limits, agent, self._names, tls=tls, jar=jar)
        return self

    def _names_for(self, proxy: URL) -> AbstractResolver:
        """What looks up the names that a connector asks for: those of hosts for SOCKS, else that of the proxy."""
        if proxy.scheme == "socks5h":
            return AsNamed()
        return self._resolver if proxy.scheme == "socks5" else Resolver(EVERYWHERE, self._clock)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        for session in (self._session, self._mapped):
            if session is not None:
                await session.close()
        await self._resolver.close()
        self._session = self._mapped = None

    # ---- verbs

    async def fetch(self, url: Url) -> Answer:
        """The page at a URL. A body that cannot be a page is not read."""
        return await (self._visit if self._logins else self._ask)(url, PAGE_TYPES, self._limits.largest)

    async def fetch_start(self, url: Url, largest: int) -> Answer:
        """What is at a URL, of any type, but of a longer body only the beginning. For robots.txt."""
        return await self._visit(url, None, largest)

    async def fetch_again(self, url: Url, etag: str, modified: str) -> Answer:
        """The page at a URL if it has changed since an answer with these headers ("": it had none). If it has not, a
        `Fetch` without a body, with status 304."""
        validators = {"If-None-Match": etag.strip(), "If-Modified-Since": modified.strip()}
        known = {name: value for name, value in validators.items() if _VALIDATOR.fullmatch(value)}
        return await self._visit(url, PAGE_TYPES, self._limits.largest, known)

    async def locate(self, url: Url) -> str | Failure:
        """The address that a request goes to: the first that is found and may be connected to. "" if the name is mapped
        or a proxy is asked. The request itself uses what was found here."""
        began, name = self._clock.now(), _name(url)
        if self._proxy is not None or self._names.place(name):
            return ""
        try:
            async with asyncio.timeout(self._limits.connect):
                return await self._resolver.first(name)
        except TimeoutError:
            failure = Failure(url, Reason.TIMEOUT, "connect: no address in the time allowed", backoff(url, 1))
        except Exception as error:
            failure = of_error(url, error)
        return replace(failure, seconds=self._clock.now() - began)

    # ---- one request

    async def _visit(
        self, url: Url, types: frozenset[str] | None, largest: int, extra: Mapping[str, str] | None = None
    ) -> Answer:
        """Ask, after logging in where that is needed."""
        if self._logins is None:
            return await self._ask(url, types, largest, extra)
        name = _name(url)
        problem = await self._logins.enter(url, name)
        return problem or self._logins.left(await self._ask(url, types, largest, extra), name)

    async def _send_form(self, url: Url, form: Mapping[str, str] | None) -> Answer:
        """Send a form; None: the page that it is on."""
        return await self._ask(url, PAGE_TYPES, LOGIN_PAGE, None, form)

    async def _ask(
        self,
        url: Url,
        types: frozenset[str] | None,
        largest: int,
        extra: Mapping[str, str] | None = None,
        form: Mapping[str, str] | None = None,
    ) -> Answer:
        began = self._clock.now()
        response: ClientResponse | None = None
        try:
            where = URL(url, encoded=True)
            if "@" in url:  # credentials do not become a header
                where = where.with_user(None)
            if self._headers is not None:
                extra = {**self._headers.of(where.raw_host or ""), **(extra or {})}
            session, method = self._session_for(where), "GET" if form is None else "POST"
            if self._proxy is not None and session is not self._mapped:
                await self._resolver.refuse(where.raw_host or "", where.port or 80)
            where, told = self._names.as_sent(where)
            extra = {**told, **(extra or {})} if told else extra
            async with session.request(method, where, allow_redirects=False, headers=extra, data=form) as response:
                answer = await self._answer(url, response, types, largest, began)
        except Exception as error:
            answer = of_error(url, error, response.status if response else 0)
            if answer.status == 0 and answer.reason in (Reason.UNREACHABLE, Reason.TIMEOUT):
                self._resolver.forget(_name(url))
        return answer if isinstance(answer, Fetch) else replace(answer, seconds=self._clock.now() - began)

    def _session_for(self, where: URL) -> ClientSession:
        """Mapped names have their own connections: an address that is allowed for them is allowed for no other name."""
        session = self._mapped if self._names.place(where.raw_host or "") else self._session
        if session is None:
            raise ForagerError("the fetcher is closed; use it inside `async with HttpFetcher(...)`")
        return session

    # ---- its answer

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
        if status == 304 and not _VALIDATORS.isdisjoint(response.request_info.headers):
            header, head = response.headers.get("Content-Type", ""), self._exchange(response, 0)
            return Fetch(url, b"", _content_type(header), _charset(header), status, self._clock.now() - began, head)
        reason = Reason.BAD_REDIRECT if status >= 300 else Reason.PROTOCOL
        return self._failure(url, response, reason, f"status {status}, which was not asked for")

    async def _body(
        self, url: Url, response: ClientResponse, types: frozenset[str] | None, largest: int, began: float
    ) -> Answer:
        header = response.headers.get("Content-Type", "")
        kind, cut = _content_type(header), types is None
        if types is not None and kind not in types:
            await _drain(response)
            return self._failure(url, response, Reason.NOT_HTML, kind)
        if response.status in (204, 205, 206):
            await _drain(response)
            reason = Reason.PROTOCOL if response.status == 206 else Reason.NOT_HTML
            return self._failure(url, response, reason, f"status {response.status} {response.reason}: not a whole page")
        if not cut and (response.content_length or 0) > largest:
            detail = f"{response.content_length:,} bytes, at most {largest:,} are read"
            return self._failure(url, response, Reason.TOO_LARGE, detail)
        try:
            with self._memory.share(response.url.raw_host or "") as share:
                body = await read_body(response.content, _encoding(response), largest, share, cut=cut)
                wrong = response.content.exception()
                if wrong is not None:
                    raise wrong
                held = share.hold() if self.holds_bodies else None
        except TooLargeError:
            return self._failure(url, response, Reason.TOO_LARGE, f"more than {largest:,} bytes when decompressed")
        except BadCodingError as error:
            return self._failure(url, response, Reason.PROTOCOL, f"not what its Content-Encoding says: {error}")
        head = self._exchange(response, len(body))
        took = self._clock.now() - began
        return Fetch(url, body, kind, _charset(header), response.status, took, head, held=held)

    def _redirect(self, url: Url, response: ClientResponse) -> Answer:
        text = _location(response)
        target = self._rules.join(url, text) if text else None
        if target is None:
            detail = f"location {text[:100]!r} cannot be followed" if text else f"status {response.status}, no location"
            return self._failure(url, response, Reason.BAD_REDIRECT, detail)
        if target == url:  # without a cookie it would do so for ever
            failure = self._failure(url, response, Reason.BAD_REDIRECT, "redirects to itself")
            kept = self._keeps_cookies(response) and "Set-Cookie" in response.headers
            return replace(failure, retry_after=backoff(url, 1)) if kept else failure
        return Redirect(url, target, response.status, exchange=self._exchange(response, 0))

    def _refused(self, url: Url, response: ClientResponse) -> Failure:
        header = response.headers.get("Retry-After", "")
        asked = retry_after(header, self._clock.utc(), self._limits.longest_wait) if header else None
        reason, again = of_status(response.status, asked)
        if response.status == 407 and self._proxy is not None:  # the proxy says so
            reason, again = Reason.LOCAL, True
        failure = self._failure(url, response, reason, f"status {response.status} {response.reason or ''}")
        wait = backoff(url, 1) if asked is None else asked
        return replace(failure, retry_after=wait if again else None)

    def _failure(self, url: Url, response: ClientResponse, reason: Reason, detail: str) -> Failure:
        return Failure(url, reason, one_line(detail), status=response.status, exchange=self._exchange(response, 0))

    def _exchange(self, response: ClientResponse, length: int) -> Exchange:
        exchange = _exchange(response, length)
        if self._is_stranger:
            return exchange
        received = (
            without_secrets(exchange.response, _SET_COOKIE) if self._keeps_cookies(response) else exchange.response
        )
        address = "" if self._proxy is not None else exchange.address  # that of the proxy says nothing of the server
        return Exchange(without_secrets(exchange.request, self._secret), received, address)

    def _keeps_cookies(self, response: ClientResponse) -> bool:
        return self._jar is not None and self._jar.keeps(response.url.raw_host or "")


def _name(url: Url) -> str:
    """The host of a URL without its port. "" if it is no URL."""
    try:
        return URL(url, encoded=True).raw_host or ""
    except ValueError:
        return ""


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


def user_agent(contact: str) -> str:
    """Our name, for the owners of sites and their robots.txt, with a page that tells them how to reach or block us."""
    contact = contact.strip()
    if not _CONTACT.fullmatch(contact):
        raise ForagerError(
            f"contact {contact!r} is neither a mail address nor a page: owners of sites must be able to reach you; "
            'give one, like contact = "you@example.org"'
        )
    page = contact if contact.startswith(("http://", "https://")) else f"{OWNERS}; {contact}"
    return f"Forager/{version('forager')} (+{page})"


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
