"""A server of raw bytes on loopback. It sends what the test wrote, valid HTTP or not, and keeps the requests."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Self, TypeAlias

from forager.fetch.connection import Limits
from forager.fetch.http import HttpFetcher
from forager.types import Answer, Failure, Fetch, Reason, Url
from forager.web.urls import RULES

Act: TypeAlias = Callable[[asyncio.StreamWriter], Awaitable[None]]
CONTACT = "crawl@example.org"
QUICK = Limits(connect=5.0, read=5.0, total=5.0, largest=1_000_000)


class Wire:
    """Answers by path, else by "*". The connection ends after bytes without a Content-Length, or after an act."""

    def __init__(
        self, replies: Mapping[str, bytes | Act], *, greeting: bytes = b"", tls: ssl.SSLContext | None = None
    ) -> None:
        self.replies, self._greeting, self._tls = dict(replies), greeting, tls
        self.requests: list[bytes] = []
        self.connections = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls, backlog=1000)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def url(self, path: str = "/", scheme: str = "http") -> Url:
        found = RULES.canonical(f"{scheme}://127.0.0.1:{self.port}{path}")
        assert found
        return found

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        self.connections += 1
        writer.write(self._greeting)
        try:
            while await self._exchange(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        self.requests.append(head)
        path = head.split(b" ")[1].decode()
        reply = self.replies.get(path) or self.replies.get("*") or page(b"", status="404 Not Found")
        if not isinstance(reply, bytes):
            await reply(writer)
            return False
        writer.write(reply)
        await writer.drain()
        return b"content-length: " in reply.lower() and b"connection: close" not in reply.lower()


def page(body: bytes = b"<p>a page", *headers: str, status: str = "200 OK", kind: str = "text/html") -> bytes:
    """A well-formed answer that leaves the connection open."""
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def raw(text: str, body: bytes = b"") -> bytes:
    """The lines of a head as they are. Without a Content-Length the connection ends after it."""
    return text.strip().replace("\n", "\r\n").encode("latin-1") + b"\r\n\r\n" + body


def drip(start: bytes, piece: bytes = b"", pause: float = 0.02) -> Act:
    """Send a beginning, then a piece after each pause, without end. With an empty piece: nothing more."""

    async def act(writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        while True:
            await asyncio.sleep(pause)
            writer.write(piece)
            await writer.drain()

    return act


def fetcher(**options: Any) -> HttpFetcher:
    return HttpFetcher(CONTACT, **{"limits": QUICK, "allow": ["127.0.0.0/8"], **options})


def ask(reply: bytes | Act, path: str = "/", **options: Any) -> Answer:
    """The answer to one request, if the server replies with this."""

    async def run() -> Answer:
        async with Wire({"*": reply}) as wire, fetcher(**options) as client:
            return await client.fetch(wire.url(path))

    return asyncio.run(run())


def visit(url: str, **options: Any) -> tuple[Answer, int]:
    """The answer, and the number of connections to a server on loopback. {port} in the URL is its port."""

    async def run() -> tuple[Answer, int]:
        async with Wire({"*": page()}) as wire, fetcher(**{"allow": (), **options}) as client:
            target = RULES.canonical(url.replace("{port}", str(wire.port)))
            assert target
            answer = await client.fetch(target)
            return answer, wire.connections

    return asyncio.run(run())


def fetched(answer: Answer) -> Fetch:
    assert isinstance(answer, Fetch), answer
    return answer


def failed(answer: Answer, reason: Reason) -> Failure:
    assert isinstance(answer, Failure), answer
    assert answer.reason is reason, answer
    assert "\n" not in answer.detail
    assert answer.seconds > 0
    return answer
