"""A procedural or recorded web over HTTP, on one port of this machine, for any Host name.

For users: `forager lab serve WEB`
As a process: `python -m forager_lab.webs.server --plan reference --port 0`, a procedural web with faults
In a program: `async with Server(web) as server: print(server.port)`

The host and the path of a request name the page, whatever the port. A name that is no host of the web gets 421
(misdirected request). Status, headers and body come from `ProceduralWeb.respond`. The seconds that it gives become a
delay, multiplied by the slowness. What a recorded web answers is said in `recorded`.

The server is an `asyncio.Protocol` of its own, because it shares a small machine with the client that is measured:
bench/server.py compares it with aiohttp.web. It is only for clients on the same machine: a connection may stay silent
for ever.
"""

from __future__ import annotations

import asyncio
import signal
from collections import deque
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Self

from forager.errors import ForagerError
from forager.fetch.replay import Replay
from forager_lab.webs.procedural import ProceduralWeb, WebPlan
from forager_lab.webs.server.faults import Fault, FaultPlan, faulty
from forager_lab.webs.server.http import (
    HttpRequest,
    HttpResponse,
    Responder,
    as_sent,
    hopeless,
    read_request,
    refusal,
)
from forager_lab.webs.server.log import LoggedRequest, RequestLog
from forager_lab.webs.server.recorded import RecordedResponder

ADDRESS = "127.0.0.1"
PLANS: dict[str, Callable[[int], WebPlan]] = {
    "default": lambda seed: WebPlan(seed=seed),
    "reference": lambda seed: WebPlan.reference(seed=seed),
    "open": lambda seed: WebPlan.reference(open=True, seed=seed),
}
_MOST_WAITING = 64  # pipelined requests of a connection; with more, reading pauses
_LINGER = 1.0  # seconds for which a refused client may go on sending
_END = b"\r\n\r\n"


class Connection(asyncio.Protocol):
    """One client. Requests are read as they come; each gets its response after the response before it is sent."""

    def __init__(self, server: Server, number: int) -> None:
        self._server, self._number = server, number
        self._part = b""  # the first bytes of a head that is not complete
        self._waiting: deque[HttpRequest] = deque()
        self._current: HttpRequest | None = None
        self._status = 0  # sent for the current request; 0 while its delay lasts
        self._timer: asyncio.TimerHandle | None = None
        self._sent = True  # the kernel has everything that was written
        self._refusing = False  # nothing more is read

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        # without a buffer, pause_writing means "not all is sent yet" and resume_writing "now all is sent"
        transport.set_write_buffer_limits(high=0)
        self._server.connections.add(self)
        if not self._server.listening or self._is_away(""):  # or it was accepted while the server was closing
            transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._refusing:
            return
        arrived = monotonic()
        *heads, part = (self._part + data).split(_END)
        for head in heads:
            self._take(read_request(head.lstrip(b"\r\n") + _END, arrived))
        self._part = part.lstrip(b"\r\n") if part else part
        if hopeless(self._part):
            self._take(refusal(431 if self._part[:1].isalpha() else 400, arrived))
        if len(self._waiting) > _MOST_WAITING:
            self.transport.pause_reading()
        if self._current is None:
            self._respond_to_next()

    def _take(self, request: HttpRequest) -> None:
        if not self._refusing:
            self._waiting.append(request)
            self._refusing = request.closes

    def _respond_to_next(self) -> None:
        """Respond to the next request, and to those after it until one has to wait."""
        while self._current is None and self._waiting and not self.transport.is_closing():
            self._current = self._waiting.popleft()
            self._server.requests += 1
            if len(self._waiting) == _MOST_WAITING:
                self.transport.resume_reading()
            response = self._server.responder.to(self._current)
            fault = self._fault(self._current)
            if fault is not None:
                self._go_wrong(fault, response)
                return
            seconds = self._server.delay + response.seconds * self._server.slowness
            if seconds > 0:
                self._timer = asyncio.get_running_loop().call_later(seconds, self._after_delay, response)
            else:
                self._send(self._current, response)

    def _is_away(self, host: str) -> bool:
        return self._server.faults is not None and self._server.faults.is_away(host)

    def _fault(self, request: HttpRequest) -> Fault | None:
        """What goes wrong with a request, if anything does."""
        faults = self._server.faults
        if faults is None:
            return None
        fault = faults.fault(f"{request.host}{request.target}")
        return Fault.RESET if faults.is_away(request.host) else fault

    def _go_wrong(self, fault: Fault, response: HttpResponse) -> None:
        """Let a request go wrong; with most faults its connection ends."""
        assert self._current is not None
        if fault is Fault.SILENCE:
            return  # until the client has had enough
        if fault is Fault.RESET:
            self.transport.abort()
            return
        self._send(self._current, faulty(fault, response))
        if fault in (Fault.CUT, Fault.LONGER):
            self.transport.close()
        else:
            self._respond_to_next()

    def _after_delay(self, response: HttpResponse) -> None:
        if self._current is not None and not self.transport.is_closing():
            self._send(self._current, response)
            self._respond_to_next()

    def _send(self, request: HttpRequest, response: HttpResponse) -> None:
        self._status = response.status
        began = monotonic()  # with most answers the client has all of it before this process goes on
        self.transport.write(as_sent(request, response))
        if self._sent:
            self._end_current(began)

    def _end_current(self, ended: float | None = None) -> None:
        """The current request is over, now or since `ended`: log it, and close the connection if it was the last."""
        request, self._current = self._current, None
        if request is None:
            return
        if self._server.log is not None:
            ended = monotonic() if ended is None else ended
            seen = LoggedRequest(request.arrived, ended, self._number, request.host, request.target, self._status)
            self._server.log.add(seen)
        self._status = 0
        if request.refused:
            self._linger()
        elif request.closes:
            self.transport.close()

    def _linger(self) -> None:
        """Close later. With unread bytes the kernel would reset the connection, and the refusal would be lost."""
        if not self.transport.is_closing():
            self.transport.write_eof()
            self._timer = asyncio.get_running_loop().call_later(_LINGER, self.transport.close)

    def pause_writing(self) -> None:
        self._sent = False

    def resume_writing(self) -> None:
        self._sent = True
        self._end_current()
        self._respond_to_next()

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.connections.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        self._end_current()
        while self._waiting:
            self._current = self._waiting.popleft()
            self._end_current()


class Server:
    """Listens inside `async with`."""

    def __init__(
        self,
        web: ProceduralWeb | Replay,
        port: int = 0,
        *,
        address: str = ADDRESS,
        slowness: float = 1.0,
        delay: float = 0.0,
        log: Path | None = None,
        cache: bool = False,
        faults: FaultPlan | None = None,
    ) -> None:
        if not _is_own(address):
            raise ForagerError(f"{address} is not an address of this machine alone: listen on {ADDRESS}")
        self.faults, self._address = faults, address
        self.responder = RecordedResponder(web) if isinstance(web, Replay) else Responder(web, cache)
        self.slowness, self.delay = slowness, delay  # multiplies the web's own seconds; seconds before each answer
        self.port = port  # 0: any free port, which is known once the server listens
        self.connections: set[Connection] = set()
        self.log: RequestLog | None = None
        self.requests = 0
        self._log_path = log
        self._accepted = 0

    @property
    def place(self) -> str:
        """Address and port, as in a URL."""
        return f"[{self._address}]:{self.port}" if ":" in self._address else f"{self._address}:{self.port}"

    @property
    def listening(self) -> bool:
        """False before and after `async with`."""
        return self._listener.is_serving()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(self._connection, self._address, self.port, backlog=1024)
        self.port = self._listener.sockets[0].getsockname()[1]
        try:
            self.log = RequestLog(self._log_path) if self._log_path else None
        except OSError:
            self._listener.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        for connection in list(self.connections):
            connection.transport.abort()
        while self.connections:  # each gets one more turn of the loop to log what was not answered
            await asyncio.sleep(0)
        await self._listener.wait_closed()
        if self.log:
            self.log.close()

    def _connection(self) -> Connection:
        self._accepted += 1
        return Connection(self, self._accepted)


def _is_own(address: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def told_to_stop() -> asyncio.Event:
    """An event that SIGTERM and Ctrl-C set. Call it inside a running event loop, in the main thread."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
    return stop


async def serve_until_stopped(server: Server, ready: Callable[[], None]) -> None:
    """Serve until SIGTERM or Ctrl-C; `ready` is called when it listens."""
    stop = told_to_stop()
    async with server:
        ready()
        await stop.wait()
