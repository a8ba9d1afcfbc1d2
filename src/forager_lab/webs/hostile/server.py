"""The hostile server: one port for all hosts, and the places where some of them are not."""

from __future__ import annotations

import asyncio
import errno
import re
import socket
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from inspect import isawaitable
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from forager_lab.webs.hostile.addresses import CANARY, PUBLIC
from forager_lab.webs.hostile.kinds import KINDS, NO_ROBOTS, Call, Kind, Reply, kind_of
from forager_lab.webs.server.log import LoggedRequest, RequestLog

PRIVATE = ("127.0.0.1", "::1")  # where nobody may connect to
GREETING = 0x16  # the first byte of TLS
_NAME_IN_GREETING = re.compile(rb"[a-z0-9.-]+\.test")
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})")


@dataclass(frozen=True, slots=True)
class Listeners:
    """The ports of a hostile server, all at the address that stands for the public network."""

    port: int
    refused: int  # nobody listens there
    hole: int  # where packets are dropped

    def resolve(self) -> dict[str, str]:
        """Names to addresses, for the configuration of a crawl."""
        odd = {"refused": self.refused, "hole": self.hole}
        own = {f"{kind.name}.test": f"{PUBLIC}:{odd[kind.listener]}" for kind in KINDS.values() if kind.listener}
        return {"*.test": f"{PUBLIC}:{self.port}", **own}


@runtime_checkable
class Prepares(Protocol):
    """An act that takes long the first time."""

    def prepare(self) -> None: ...


class HostileServer:
    """Listens inside `async with`. Whoever connects to a private address is counted in `intruders`."""

    def __init__(self, kinds: Mapping[str, Kind] = KINDS, log: Path | None = None) -> None:
        self._kinds, self._log_path = kinds, log
        self._log: RequestLog | None = None
        self._urls: Counter[tuple[str, str]] = Counter()
        self._pages: Counter[str] = Counter()  # requests for pages, by kind
        self._first: dict[str, float] = {}  # when the first was, by kind
        self._connections, self.intruders = 0, 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._sockets: list[socket.socket] = []

    async def __aenter__(self) -> Self:
        for kind in self._kinds.values():
            for act in (kind.act, kind.robots):
                if isinstance(act, Prepares):
                    act.prepare()
        public, private = _listen()
        self._listeners = [await asyncio.start_server(self._serve, sock=public, limit=1 << 20)]
        for sock in private:
            self._listeners.append(await asyncio.start_server(self._intrude, sock=sock))
        self._sockets = [*_silent_port(), *_full_port()]
        port, refused, hole = (sock.getsockname()[1] for sock in (public, *self._sockets[:2]))
        self.listeners = Listeners(port, refused, hole)
        self._log = RequestLog(self._log_path) if self._log_path else None
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for listener in self._listeners:
            listener.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for sock in self._sockets:
            sock.close()
        if self._log:
            self._log.close()

    async def _intrude(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.intruders += 1
        writer.close()

    # ---- one connection

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        self._connections += 1
        number = self._connections
        try:
            while await self._exchange(number, reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _exchange(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; whether the connection stays."""
        first = await reader.readexactly(1)
        if first[0] == GREETING:
            host, path = _name_in(await reader.read(4096)), "TLS"
        else:
            host, path = _asked(first + await reader.readuntil(b"\r\n\r\n"))
        arrived, reply = monotonic(), None
        try:
            reply = await self._reply(self._call(host, path, reader, writer))
            if reply is not None:
                writer.write(reply)
                await writer.drain()
        finally:
            if self._log:
                self._log.add(LoggedRequest(arrived, monotonic(), number, host, path, _status(reply)))
        return reply is not None and _stays(reply)

    def _call(self, host: str, path: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Call:
        name, now = kind_of(host), monotonic()
        self._urls[host, path] += 1
        if path != "/robots.txt":
            self._pages[name] += 1
            self._first.setdefault(name, now)
        since = now - self._first.get(name, now)
        port = self.listeners.port
        return Call(host, path, port, self._urls[host, path], since, self._pages[name], reader, writer)

    async def _reply(self, call: Call) -> Reply:
        kind = self._kinds.get(kind_of(call.host))
        if kind is None:
            return NO_ROBOTS
        found = (kind.robots if call.path == "/robots.txt" else kind.act)(call)
        return await found if isawaitable(found) else found


def _asked(head: bytes) -> tuple[str, str]:
    """Host and path of a request."""
    lines = head.decode("latin-1").split("\r\n")
    path = lines[0].split(" ")[1]
    host = next((line[5:].strip() for line in lines if line.lower().startswith("host:")), "")
    return re.sub(r":\d+$", "", host).lower(), path


def _name_in(greeting: bytes) -> str:
    found = _NAME_IN_GREETING.search(greeting)
    return found[0].decode() if found else ""


def _status(reply: bytes | None) -> int:
    found = _STATUS.match(reply or b"")
    return int(found[1]) if found else 0


def _stays(reply: bytes) -> bool:
    head = reply[:4096].partition(b"\r\n\r\n")[0].lower()
    return b"content-length: " in head and b"connection: close" not in head


# ---- sockets --------------------------------------------------------------------------------------------------------


def _listen() -> tuple[socket.socket, list[socket.socket]]:
    """A socket at the public address, and one with the same port at each private address that there is."""
    for _ in range(50):
        public = _bound(PUBLIC)
        public.listen(1024)
        port, private = public.getsockname()[1], list[socket.socket]()
        try:
            for address in PRIVATE:
                with suppress(_NotHereError):
                    private.append(_bound(address, port))
        except OSError:  # somebody has this port at another address
            for sock in (public, *private):
                sock.close()
            continue
        return public, private
    raise OSError(errno.EADDRINUSE, "no port is free at all addresses")


class _NotHereError(Exception):
    """This machine has no such address."""


def _bound(address: str, port: int = 0) -> socket.socket:
    try:
        sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        sock.bind((address, port))
    except OSError as error:
        if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
            raise _NotHereError from None
        raise
    return sock


def _silent_port() -> Iterable[socket.socket]:
    """A port that nobody listens at, and that nobody else gets."""
    return [_bound(PUBLIC)]


def _full_port() -> list[socket.socket]:
    """A port whose queue is full, so that the system drops what comes; and who fills the queue."""
    hole = _bound(PUBLIC)
    hole.listen(0)
    callers = []
    for _ in range(4):
        caller = socket.socket()
        caller.setblocking(False)
        caller.connect_ex(hole.getsockname())
        callers.append(caller)
    return [hole, *callers]


__all__ = ["CANARY", "GREETING", "PRIVATE", "HostileServer", "Listeners"]
