"""The log of a server, a line for each request, and a check whether the clients were polite.

Times are monotonic seconds, which mean the same in all processes of a machine. Robots.txt, redirects and errors are
logged too. The fields of a line, separated by tabs: arrival of the request; its end, when the whole response was sent
or the client had gone; number of the connection; host; path and query; status. The status is 0 if the client left
before it got a response. Host and path are "-" if the request could not be read. A response that is sent in one go ends
when sending begins, so that a server that is slow to look at its clock does not accuse a polite client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, Self

from forager_lab.webs.server.http import NOBODY

FLUSH_EVERY = 0.5  # seconds


class LoggedRequest(NamedTuple):
    """A line of the log. Lines sort by arrival."""

    arrived: float
    ended: float
    connection: int
    host: str
    target: str
    status: int

    @classmethod
    def read(cls, line: str) -> Self:
        """The request of a line of the log."""
        arrived, ended, connection, host, target, status = line.rstrip("\n").split("\t")
        return cls(float(arrived), float(ended), int(connection), host, target, int(status))

    def __str__(self) -> str:
        times = f"{self.arrived:.6f}\t{self.ended:.6f}"
        return f"{times}\t{self.connection}\t{self.host}\t{self.target}\t{self.status}"


class RequestLog:
    """A log that goes to its file every half second and at the end. Open it inside a running event loop."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8", buffering=1 << 20)
        self._flush_later()

    def add(self, seen: LoggedRequest) -> None:
        """Write a line."""
        self._file.write(f"{seen}\n")

    def _flush_later(self) -> None:
        self._file.flush()
        self._timer = asyncio.get_running_loop().call_later(FLUSH_EVERY, self._flush_later)

    def close(self) -> None:
        """Write the rest and close the file."""
        self._timer.cancel()
        self._file.close()


def read_log(path: Path) -> list[LoggedRequest]:
    """The complete lines of a log, in order of arrival. The last line may still be incomplete; it is left out."""
    with path.open(encoding="utf-8") as lines:
        return sorted(LoggedRequest.read(line) for line in lines if line.endswith("\n"))


def impolite(log: Path, delay: float, tolerance: float = 0.005) -> list[str]:
    """A sentence for every two requests to one host of which the second came too early.

    The second must arrive at least `delay` after the end of the first, less a tolerance for the client's timers. It
    must never arrive before that end. A server that answers at once sees no overlap, whatever the client does: to look
    for overlap, make the server slow, or give the client a delay.
    """
    named = sorted((seen for seen in read_log(log) if seen.host != NOBODY), key=lambda seen: (seen.host, seen))
    return [
        _sentence(first, second, delay)
        for _, requests in groupby(named, key=lambda seen: seen.host)
        for first, second in _too_close(requests, delay - tolerance)
    ]


def _too_close(requests: Iterable[LoggedRequest], least: float) -> Iterator[tuple[LoggedRequest, LoggedRequest]]:
    """Pairs of which the second began before the first was over, or less than `least` seconds later."""
    recent: list[LoggedRequest] = []
    for second in requests:
        recent = [first for first in recent if second.arrived - first.ended < max(least, 0.0)]
        yield from ((first, second) for first in recent)
        recent.append(second)


def _sentence(first: LoggedRequest, second: LoggedRequest, delay: float) -> str:
    gap = second.arrived - first.ended
    if gap >= 0:
        return f"{second.host}: {second.target} came {gap:.3f} s after {first.target}, less than {delay:g} s"
    where = f"connections {first.connection} and {second.connection}"
    if first.connection == second.connection:
        where = f"connection {first.connection}"
    return f"{second.host}: {second.target} overlapped {first.target} on {where}"
