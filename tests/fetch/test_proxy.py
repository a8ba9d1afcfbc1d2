"""Through proxies: real ones on loopback, for HTTP and SOCKS5. They are asked for no host that we would not ask."""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import socket
import ssl
import struct
import sys
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self

import pytest
import trustme

from forager.errors import ForagerError
from forager.fetch.connection import proxy_url
from forager.types import Answer, Reason, Url
from tests.fetch.wire import Wire, failed, fetched, fetcher, page

WHO, PASSWORD = "user", "pass word"
AUTHORITY = trustme.CA()
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Proxy:
    """Speaks HTTP (with CONNECT) and SOCKS5, on one port. All names lead to `port` on loopback; it notes who is asked
    for."""

    def __init__(self, port: int, *, login: bool = False) -> None:
        self._target, self._login = port, login
        self.asked: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            first = await reader.readexactly(1)
            await (self._socks(reader, writer) if first == b"\x05" else self._http(first, reader, writer))
        writer.close()

    async def _http(self, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = first + await reader.readuntil(b"\r\n\r\n")
        method, target, _ = head.split(b"\r\n")[0].split(b" ")
        basic = base64.b64encode(f"{WHO}:{PASSWORD}".encode())
        if self._login and b"Proxy-Authorization: Basic " + basic not in head:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            return
        self.asked.append(target.decode())
        if b"broken" in target:
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            return
        onward = await asyncio.open_connection("127.0.0.1", self._target)
        if method == b"CONNECT":
            writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        else:
            onward[1].write(head.replace(target, b"/" + target.split(b"/", 3)[3]))
        await self._pass((reader, writer), onward)

    async def _socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        methods = await reader.readexactly((await reader.readexactly(1))[0])
        wanted = 2 if self._login else 0
        writer.write(bytes([5, wanted if wanted in methods else 0xFF]))
        if self._login:
            await reader.readexactly(1)
            given = [await reader.readexactly((await reader.readexactly(1))[0]) for _ in range(2)]
            right = given == [WHO.encode(), PASSWORD.encode()]
            writer.write(bytes([1, not right]))
            if not right:
                return
        kind = (await reader.readexactly(4))[3]
        if kind == 3:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        else:
            host = str(ipaddress.ip_address(await reader.readexactly(4 if kind == 1 else 16)))
        (port,) = struct.unpack(">H", await reader.readexactly(2))
        self.asked.append(f"{host}:{port}")
        refused = b"broken" in host.encode()
        writer.write(b"\x05" + bytes([4 if refused else 0]) + b"\x00\x01" + bytes(6))
        if not refused:
            await self._pass((reader, writer), await asyncio.open_connection("127.0.0.1", self._target))

    async def _pass(self, one: Streams, other: Streams) -> None:
        async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while chunk := await reader.read(65_536):
                writer.write(chunk)
                await writer.drain()
            writer.close()

        try:
            await asyncio.gather(copy(one[0], other[1]), copy(other[0], one[1]))
        finally:
            other[1].close()


NAMES: Mapping[str, list[str]] = {
    "public.example": ["8.8.8.8"],  # nobody connects to it: only the proxy does, and that leads to loopback
    "inside.example": ["10.0.0.1"],
    "mixed.example": ["8.8.8.8", "10.0.0.1"],
}


def lookup(host: str) -> list[str]:
    if host not in NAMES:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    return NAMES[host]


def through(proxy: str, url: str, *, tls: bool = False, login: bool = False) -> tuple[Answer, list[str]]:
    """The answer to one request through a proxy, and whom the proxy was asked for. {port} in `proxy` is its port."""
    context, trusted = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    AUTHORITY.issue_cert("public.example").configure_cert(context)
    AUTHORITY.configure_trust(trusted)

    async def run() -> tuple[Answer, list[str]]:
        wire = Wire({"*": page(b"<p>hello")}, tls=context if tls else None)
        async with wire, Proxy(wire.port, login=login) as server:
            place = proxy.replace("{port}", str(server.port))
            async with fetcher(proxy=place, lookup=lookup, allow=(), tls=trusted) as client:
                return await client.fetch(Url(url)), server.asked

    return asyncio.run(run())


KINDS = [
    "http://127.0.0.1:{port}",
    "http://localhost:{port}",
    "socks5://127.0.0.1:{port}",
    "socks5h://127.0.0.1:{port}",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tls", [False, True])
def test_a_page_through_a_proxy(kind: str, tls: bool) -> None:
    answer, asked = through(kind, f"http{'s' * tls}://public.example/a?b", tls=tls)
    found = fetched(answer)
    assert found.body == b"<p>hello"
    assert found.exchange
    assert found.exchange.address == ""  # that of the proxy says nothing of the server
    assert b"GET /a?b HTTP/1.1\r\nHost: public.example\r\n" in found.exchange.request
    name = "8.8.8.8" if kind.startswith("socks5:") else "public.example"
    port = 443 if tls else 80
    assert asked == (["http://public.example/a?b"] if kind.startswith("http") and not tls else [f"{name}:{port}"])


@pytest.mark.parametrize("kind", ["http://{who}@127.0.0.1:{port}", "socks5h://{who}@127.0.0.1:{port}"])
@pytest.mark.parametrize("tls", [False, True])
def test_a_proxy_with_a_password_from_the_environment(kind: str, tls: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXY_PASSWORD", "pass%20word")
    proxy, url = kind.replace("{who}", "user:$PROXY_PASSWORD"), f"http{'s' * tls}://public.example/"
    found = fetched(through(proxy, url, tls=tls, login=True)[0])
    assert found.exchange
    assert base64.b64encode(b"user:pass word") not in found.exchange.request
    monkeypatch.setenv("PROXY_PASSWORD", "wrong")
    answer, asked = through(proxy, url, tls=tls, login=True)
    failure = failed(answer, Reason.LOCAL)
    assert failure.retry_after is not None
    assert asked == []
    assert "wrong" not in repr(failure)


@pytest.mark.parametrize("kind", KINDS[1:])
@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]", "[64:ff9b::7f00:1]", "inside.example", "mixed.example"),
        *("metadata.google.internal", "localhost", "printer", "db.internal", "nas.local", "public.example:22"),
        *("8.8.8.8:25", "unknown.example:6379"),
    ],
)
def test_a_proxy_is_not_asked_for_our_own_network(kind: str, host: str) -> None:
    """`localhost` and the like are unknown to this lookup: then their names tell."""
    answer, asked = through(kind, f"http://{host}/")
    expected = (Reason.FORBIDDEN, Reason.DNS) if kind.startswith("socks5:") else (Reason.FORBIDDEN,)
    assert getattr(answer, "reason", None) in expected
    assert asked == []


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[3]])
def test_names_that_only_the_proxy_can_look_up(kind: str) -> None:
    answer, asked = through(kind, "http://elsewhere.example/")
    fetched(answer)
    assert len(asked) == 1


def test_what_is_mapped_goes_past_the_proxy() -> None:
    async def run() -> Answer:
        async with Wire({"*": page()}) as wire:
            mapped = {"*.web.test": f"127.0.0.1:{wire.port}"}
            async with fetcher(proxy="http://127.0.0.1:9", resolve=mapped) as client:
                return await client.fetch(Url("http://a.web.test/"))

    fetched(asyncio.run(run()))


@pytest.mark.parametrize("kind", ["http", "socks5", "socks5h"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_is_down_is_our_fault(kind: str, scheme: str) -> None:
    async def run() -> Answer:
        async with Wire({}) as wire:
            port = wire.port
        async with fetcher(proxy=f"{kind}://127.0.0.1:{port}", lookup=lookup, allow=()) as client:
            return await client.fetch(Url(f"{scheme}://public.example/"))

    assert failed(asyncio.run(run()), Reason.LOCAL).retry_after is not None


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[3]])
def test_a_host_that_the_proxy_does_not_reach_may_be_asked_again(kind: str) -> None:
    answer, asked = through(kind, "https://broken.example/")
    assert failed(answer, Reason.UNREACHABLE).retry_after is not None
    assert asked == ["broken.example:443"]


@pytest.mark.parametrize(
    "text",
    ["sec.ret:3128", "http://u:sec.ret@a", "ftp://sec.ret:21", "socks5://:sec.ret@:1", "http://sec.ret[", "sec.ret"],
)
def test_what_is_no_proxy_is_told_without_its_password(text: str) -> None:
    with pytest.raises(ForagerError, match="not the URL of a proxy") as told:
        proxy_url(text)
    assert "sec.ret" not in str(told.value)


def test_socks_needs_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "python_socks", None)

    async def run() -> None:
        async with fetcher(proxy="socks5://127.0.0.1:1080"):
            pass

    with pytest.raises(ForagerError, match=r"pip install 'forager\[socks\]'"):
        asyncio.run(run())
