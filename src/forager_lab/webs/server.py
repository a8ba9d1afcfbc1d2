"""The procedural web over HTTP, on one port of this machine for any Host name.

    python -m forager_lab.webs.server --plan reference --port 0

prints {"port": N} when it is ready, and ends at SIGTERM, SIGINT, or when its standard input closes, so that it never
outlives who started it. In process: `async with Server(web) as server: server.port`.

`http://<host><path>` is what the web itself would be asked, whatever the port. A name that is no host of the web is
answered with 421 (misdirected request). Status, headers and body are those of `ProceduralWeb.respond`; what it says an
answer takes becomes a delay, multiplied by the slowness.

This is an `asyncio.Protocol` by hand, because it shares a small machine with the client that is measured:
bench/server.py compares it with aiohttp.web. It is meant for clients on the same machine, not for strangers: a
connection may stay silent as long as it likes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from errno import EADDRINUSE
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Self

from forager_lab.webs.procedural import ProceduralWeb, WebPlan
from forager_lab.webs.server_http import (
    Answer,
    Answers,
    Request,
    as_sent,
    hopeless,
    read_request,
    refusal,
)
from forager_lab.webs.server_log import RequestLog, Seen

ADDRESS = "127.0.0.1"
PLANS: dict[str, Callable[[int], WebPlan]] = {
    "default": lambda seed: WebPlan(seed=seed),
    "reference": lambda seed: WebPlan.reference(seed=seed),
    "open": lambda seed: WebPlan.reference(open=True, seed=seed),
}
_MOST_WAITING = 64  # pipelined requests of a connection; beyond it the client is not read from
_LINGER = 1.0  # seconds for which a refused client may go on talking
_END = b"\r\n\r\n"


class Connection(asyncio.Protocol):
    """One client. Requests are read as they come and answered one after the other, each when the one before is gone."""

    def __init__(self, server: Server, number: int) -> None:
        self._server, self._number = server, number
        self._part = b""  # of a head that has not arrived whole
        self._waiting: deque[Request] = deque()
        self._current: Request | None = None
        self._status = 0  # of what is sent for the current request; 0 while its delay lasts
        self._timer: asyncio.TimerHandle | None = None
        self._sent = True  # all that was written is with the kernel
        self._refusing = False  # nothing is read any more

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        # with no room at all, being told to pause means "not yet all sent", and to resume "now it is"
        transport.set_write_buffer_limits(high=0)
        self._server.connections.add(self)
        if not self._server.listening:  # it was accepted while the server closed
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
            self._answer_next()

    def _take(self, request: Request) -> None:
        if not self._refusing:
            self._waiting.append(request)
            self._refusing = request.closes

    def _answer_next(self) -> None:
        """The next request, and those after it as long as nothing has to be waited for."""
        while self._current is None and self._waiting and not self.transport.is_closing():
            self._current = self._waiting.popleft()
            if len(self._waiting) == _MOST_WAITING:
                self.transport.resume_reading()
            answer = self._server.answers.to(self._current)
            seconds = answer.seconds * self._server.slowness
            if seconds > 0:
                self._timer = asyncio.get_running_loop().call_later(seconds, self._after_delay, answer)
            else:
                self._send(self._current, answer)

    def _after_delay(self, answer: Answer) -> None:
        if self._current is not None and not self.transport.is_closing():
            self._send(self._current, answer)
            self._answer_next()

    def _send(self, request: Request, answer: Answer) -> None:
        self._status = answer.status
        self.transport.write(as_sent(request, answer))
        if self._sent:
            self._end_current()

    def _end_current(self) -> None:
        """The current request is over: noted, and the connection closed if it was the last."""
        request, self._current = self._current, None
        if request is None:
            return
        if self._server.log is not None:
            seen = Seen(request.arrived, monotonic(), self._number, request.host, request.target, self._status)
            self._server.log.add(seen)
        self._status = 0
        if request.refused:
            self._linger()
        elif request.closes:
            self.transport.close()

    def _linger(self) -> None:
        """Closed with something unread, the kernel would reset the connection and the client lose the refusal."""
        if not self.transport.is_closing():
            self.transport.write_eof()
            self._timer = asyncio.get_running_loop().call_later(_LINGER, self.transport.close)

    def pause_writing(self) -> None:
        self._sent = False

    def resume_writing(self) -> None:
        self._sent = True
        self._end_current()
        self._answer_next()

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.connections.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        self._end_current()
        while self._waiting:
            self._current = self._waiting.popleft()
            self._end_current()


class Server:
    """A procedural web that listens while it is entered."""

    def __init__(
        self, web: ProceduralWeb, port: int = 0, *, slowness: float = 1.0, log: Path | None = None, cache: bool = False
    ) -> None:
        self.answers = Answers(web, cache)
        self.slowness = slowness
        self.port = port  # 0 until entered: any free one
        self.connections: set[Connection] = set()
        self.log: RequestLog | None = None
        self._log_path = log
        self._accepted = 0

    @property
    def listening(self) -> bool:
        return self._listener.is_serving()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(self._connection, ADDRESS, self.port, backlog=1024)
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
        while self.connections:  # each has one more turn of the loop to note what was not answered
            await asyncio.sleep(0)
        await self._listener.wait_closed()
        if self.log:
            self.log.close()

    def _connection(self) -> Connection:
        self._accepted += 1
        return Connection(self, self._accepted)


# ---- as a process ---------------------------------------------------------------------------------------------------


async def serve(options: argparse.Namespace) -> None:
    """Until somebody says stop."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
    web = ProceduralWeb(PLANS[options.plan](options.seed))
    async with Server(web, options.port, slowness=options.slowness, log=options.log, cache=options.cache) as server:
        print(json.dumps({"port": server.port}), flush=True)
        if not os.isatty(0):  # at a terminal Ctrl-C ends it, and reading would stop it in the background
            threading.Thread(target=_at_end_of_input, args=(loop, stop), daemon=True).start()
        await stop.wait()


def _at_end_of_input(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    with suppress(OSError):  # it was closed from the beginning
        while os.read(0, 4096):
            pass
    with suppress(RuntimeError):  # the loop has ended already
        loop.call_soon_threadsafe(stop.set)


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port < 1 << 16:
        raise ValueError(text)
    return port


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("forager_lab.webs.server", description="The procedural web over HTTP on loopback.")
    parser.add_argument("--plan", choices=PLANS, default="default")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--port", type=_port, default=0, help="0: any free one")
    parser.add_argument("--log", type=Path, help="file for a line a request")
    parser.add_argument("--slowness", type=float, default=1.0, help="times what the web says; 0: answer at once")
    parser.add_argument("--cache", action="store_true", help="make all pages first and keep them in memory")
    return parser.parse_args(words)


def main() -> int:
    options = arguments()
    try:
        asyncio.run(serve(options))
    except OSError as error:
        used = error.errno == EADDRINUSE
        cure = f"port {options.port} is in use: choose another, or 0 for any free one" if used else str(error)
        print(cure, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
