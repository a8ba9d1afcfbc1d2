"""Connections: how many, for how long, to whom, with whose certificate, through which proxy.

Some things are done here that aiohttp does otherwise. An answer that is longer than its Content-Length says is kept, as
browsers do. A head has limits of size and time as a whole. What goes wrong in the middle of a body is told to its
reader at once. And what comes after an answer is never taken for the next one.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import aiohttp
from aiohttp import ClientRequest, ClientResponse, ClientSession
from aiohttp.abc import AbstractCookieJar, AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from forager.errors import ForagerError
from forager.fetch.body import StalledError
from forager.fetch.guard import Guard

LONGEST_HEAD = 262_144  # bytes before the end of a head, with all that comes before it
_HEAD_END = re.compile(rb"\n\r?\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long a request may take, and how much it may bring."""

    connect: float = 15.0  # seconds, with name lookup and TLS
    read: float = 20.0  # seconds of silence
    total: float = 60.0
    rate: int = 1_000  # bytes that a body must bring a second,
    grace: float = 10.0  # counted over so many seconds,
    patience: float = 2.0  # or over so many, while others wait for memory
    largest: int = 10_000_000  # bytes of a body, decompressed
    header: int = 16_384  # bytes of a header line
    headers: int = 256
    longest_wait: float = 3600.0  # seconds; a longer Retry-After is shortened to this
    connections: int = 0  # at the same time; 0: as many as hosts are asked
    per_host: int = 1
    keep_alive: float = 30.0  # seconds that an idle connection is kept
    keep_names: int = 600  # seconds until a name is looked up again
    memory: int = 64_000_000  # bytes of all bodies that are read, and of large ones until they are stored


class AddressedResponse(ClientResponse):
    """A response that knows the address it came from. After a short answer was read, its connection no longer tells."""

    address = ""

    def start(self, connection: Any) -> Coroutine[Any, Any, ClientResponse]:
        peer = connection.transport.get_extra_info("peername") if connection.transport else None
        self.address = str(peer[0]) if peer else ""
        return super().start(connection)


class AnswerReader(ResponseHandler):
    """Reads answers as they come, with aiohttp's parser.

    If more follows than the Content-Length says, the parser complains, and head and body are lost with what follows.
    Then they are read once more, the head apart from the rest. They have come when the parser complains again, and only
    the connection is closed.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._params: dict[str, Any] = {}
        self._awaits_head, self._came, self._size, self._began = False, list[bytes](), 0, 0.0

    def set_response_params(self, **params: Any) -> None:
        self._params, self._awaits_head, self._size = params, True, 0
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        if not self._awaits_head:
            if data and (self._payload is None or self._payload.is_eof()):
                self._close()  # what belongs to no answer would be taken for the beginning of the next one
            else:
                super().data_received(data)
            return
        self._came.append(data)
        super().data_received(data)
        if self._awaits_head:
            self._limit_head(len(data))
        else:
            self._came.clear()

    def feed_data(self, data: Any, size: int = 0) -> None:
        """Take a head from the parser. An answer to no request closes the connection, or it would be taken for that to
        the next one."""
        if not self._awaits_head:
            self._close()
            return
        status = data[0].code
        self._awaits_head = 100 <= status < 200 and status != 101
        super().feed_data(data, size)

    def set_exception(self, exc: BaseException, *cause: BaseException) -> None:
        """Tell who waits for the head, or reads the body, what is wrong."""
        came, self._came = self._came, []
        if came and isinstance(exc, HttpProcessingError):
            self._read_apart(b"".join(came))
            return
        super().set_exception(exc, *cause)
        if self._payload is not None and not self._payload.is_eof():
            self._payload.set_exception(exc, *cause)
            self._payload.feed_eof()  # a reader that the end of a chunk has just woken does not look at the error

    def _read_apart(self, came: bytes) -> None:
        super().set_response_params(**self._params)  # with a new parser
        while self._awaits_head and self.exception() is None and (end := _HEAD_END.search(came)):
            super().data_received(came[: end.end()])
            came = came[end.end() :]
        if self.exception() is None:
            super().data_received(came)

    def _limit_head(self, more: int) -> None:
        if not self._size:
            self._began = self._loop.time()
        self._size += more
        if self._size > LONGEST_HEAD:
            self._give_up(HttpProcessingError(code=400, message=f"a head of more than {LONGEST_HEAD:,} bytes"))
        elif self.read_timeout and self._loop.time() - self._began > self.read_timeout:
            self._give_up(StalledError("head: it came too slowly"))

    def _give_up(self, error: Exception) -> None:
        self._came.clear()
        self._close()
        self.set_exception(error)

    def _close(self) -> None:
        if self.transport is not None:
            self.transport.close()


class WebConnector(aiohttp.TCPConnector):
    """Makes connections whose answers are read as above."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._factory = cast("partial[ResponseHandler]", partial(AnswerReader, loop=self._loop))


class SocksConnector(WebConnector):
    """Makes them through a SOCKS proxy."""

    def __init__(self, proxy: URL, **options: Any) -> None:
        try:
            from python_socks import ProxyType
            from python_socks.async_.asyncio import Proxy
        except ImportError:
            raise ForagerError("a SOCKS proxy needs another package: pip install 'forager[socks]'") from None
        super().__init__(**options)
        where = (proxy.host or "", proxy.port or 1080, proxy.user, proxy.password)
        self._proxy = Proxy(ProxyType.SOCKS5, *where, rdns=True)  # what it is given is not resolved again

    async def _wrap_create_connection(
        self, *factory: Any, addr_infos: list[Any], req: ClientRequest, timeout: aiohttp.ClientTimeout, **options: Any
    ) -> Any:
        """A connection to the first of these addresses; aiohttp comes again for the others."""
        from python_socks import ProxyConnectionError, ProxyError

        host, port = addr_infos[0][4][:2]
        try:
            tunnel = await self._proxy.connect(host, port, timeout=timeout.sock_connect or timeout.connect)
        except ProxyConnectionError as error:
            raise aiohttp.ClientProxyConnectionError(req.connection_key, error) from error
        except ProxyError as error:
            reached = error.error_code is not None  # if not, the proxy itself does not let us in
            kind = aiohttp.ClientConnectorError if reached else aiohttp.ClientProxyConnectionError
            raise kind(req.connection_key, OSError(f"the proxy says: {error}")) from error
        return await self._wrap_existing_connection(*factory, req=req, timeout=timeout, sock=tunnel, **options)


class AsNamed(AbstractResolver):
    """Leaves names as they are: a proxy resolves them."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host=host, port=port, family=family, proto=0, flags=0)]

    async def close(self) -> None:
        """There is nothing to close."""


def open_session(
    limits: Limits,
    agent: Mapping[str, str],
    resolver: AbstractResolver,
    *,
    guard: Guard | None = None,
    tls: ssl.SSLContext | bool = True,
    jar: AbstractCookieJar | None = None,
    proxy: URL | None = None,
) -> ClientSession:
    """A session with connections of its own. `agent` are headers of every request. No `guard`: all may be reached."""
    options = {
        "resolver": resolver,  # which keeps what it finds
        "use_dns_cache": False,
        "socket_factory": guard.socket if guard else None,
        "limit": limits.connections,
        "limit_per_host": limits.per_host,
        "keepalive_timeout": limits.keep_alive,
        "ssl": tls,
    }
    by_socks = proxy is not None and proxy.scheme.startswith("socks")
    session = ClientSession(
        connector=SocksConnector(proxy, **options) if proxy and by_socks else WebConnector(**options),
        timeout=aiohttp.ClientTimeout(total=limits.total, connect=limits.connect, sock_read=limits.read),
        headers=agent,
        cookie_jar=aiohttp.DummyCookieJar() if jar is None else jar,
        response_class=AddressedResponse,
        auto_decompress=False,
        max_line_size=limits.header,
        max_field_size=limits.header,
        max_headers=limits.headers,
        proxy=None if by_socks else proxy,
    )
    session._retry_connection = False  # a host must not be asked twice within its delay
    return session


def any_tls() -> ssl.SSLContext:
    """TLS with whoever answers: no certificate is checked, and old versions and ciphers are taken as far as the system
    has them."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    context.options |= getattr(ssl, "OP_LEGACY_SERVER_CONNECT", 0x4)
    return context


def proxy_url(text: str) -> URL:
    """The URL of a proxy."""
    try:
        url = URL(text)
        if url.scheme in ("http", "https", "socks5", "socks5h") and url.host and url.explicit_port:
            return url
    except ValueError:
        pass
    raise ForagerError(  # without the text, which may have a password
        'proxy is not the URL of a proxy: write it like "http://proxy.example:3128", "socks5://127.0.0.1:1080" or, if '
        'the proxy shall look up names, "socks5h://127.0.0.1:1080"'
    )
