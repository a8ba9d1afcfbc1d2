"""The command line, noting in a file when it sends a request and when it has the answer.

python -m tests.network.client_log LOGFILE words …

A server on a busy machine may read late what was sent in time, and may note the end of an answer after the client has
it. So politeness is judged by the client's own times, which no load can bring closer together: a request counts from
when its head is written to the socket. Every event is one write to the file, so that a kill loses none.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
from yarl import URL

from forager.cli import main
from forager.fetch.http import HttpFetcher


class Event(NamedTuple):
    pid: int
    what: str  # sent or ended
    at: float  # monotonic seconds, the same in every process
    host: str
    target: str


def read_events(log: Path) -> list[Event]:
    rows = [line.split("\t") for line in log.read_text().splitlines()]
    return [Event(int(pid), what, float(at), host, target) for pid, what, at, host, target in rows]


def requests_sent(log: Path) -> Counter[tuple[str, str]]:
    return Counter((event.host, event.target) for event in read_events(log) if event.what == "sent")


def too_early(log: Path, delay: float) -> list[str]:
    """A sentence for every request that was sent less than `delay` after the one before to its host was over.

    A request whose process was killed was over when it was sent, at the earliest.
    """
    told: list[str] = []
    last: dict[str, Event] = {}
    for event in sorted(read_events(log), key=lambda event: event.at):
        before = last.get(event.host)
        if event.what == "sent" and before is not None:
            if before.what == "sent" and before.pid == event.pid:
                told.append(f"{event.host}: {event.target} overlapped {before.target}")
            elif event.at - before.at < delay:
                told.append(f"{event.host}: {event.target} came {event.at - before.at:.3f} s after {before.target}")
        last[event.host] = event
    return told


def note_in(log: Path) -> None:
    """From now on, note what this process asks for."""
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(what: str, host: str, target: str) -> None:
        os.write(file, f"{os.getpid()}\t{what}\t{time.monotonic():.9f}\t{host}\t{target}\n".encode())

    send, ask = aiohttp.ClientRequest.send, HttpFetcher._ask

    @wraps(send)
    async def noted_send(self: Any, *given: Any) -> Any:
        note("sent", self.url.raw_host, self.url.raw_path_qs)
        return await send(self, *given)

    @wraps(ask)
    async def noted_ask(self: HttpFetcher, url: Any, *given: Any) -> Any:
        try:
            return await ask(self, url, *given)
        finally:
            where = URL(url, encoded=True)
            note("ended", where.raw_host or "", where.raw_path_qs)

    patch: Callable[[object, str, object], None] = setattr
    patch(aiohttp.ClientRequest, "send", noted_send)
    patch(HttpFetcher, "_ask", noted_ask)


if __name__ == "__main__":
    note_in(Path(sys.argv[1]))
    sys.argv[1:] = sys.argv[2:]
    main()
