"""What a server saw of its clients, a line a request, and whether they were polite.

Times are monotonic seconds, which on one machine mean the same in every process. Robots.txt, redirects and errors are
requests like any other. A line has, with tabs between them: when the request had arrived, when its answer had been
handed over whole or the client had gone, the number of the connection, host, path and query, status. The status is 0 if
the client went before it was answered; host and path are "-" if the request could not be read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, Self

from forager_lab.webs.server_http import NOBODY

FLUSH_EVERY = 0.5  # seconds


class Seen(NamedTuple):
    """A request as the server saw it; ordered by arrival."""

    arrived: float
    ended: float
    connection: int
    host: str
    target: str
    status: int

    @classmethod
    def read(cls, line: str) -> Self:
        arrived, ended, connection, host, target, status = line.rstrip("\n").split("\t")
        return cls(float(arrived), float(ended), int(connection), host, target, int(status))

    def __str__(self) -> str:
        times = f"{self.arrived:.6f}\t{self.ended:.6f}"
        return f"{times}\t{self.connection}\t{self.host}\t{self.target}\t{self.status}"


class RequestLog:
    """Written in memory, to the file every half second and at the end. It needs a running loop to be opened in."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8", buffering=1 << 20)
        self._flush_later()

    def add(self, seen: Seen) -> None:
        self._file.write(f"{seen}\n")

    def _flush_later(self) -> None:
        self._file.flush()
        self._timer = asyncio.get_running_loop().call_later(FLUSH_EVERY, self._flush_later)

    def close(self) -> None:
        self._timer.cancel()
        self._file.close()


def read_log(path: Path) -> list[Seen]:
    """The whole lines of a log, in order of arrival; the last may be in the middle of being written."""
    with path.open(encoding="utf-8") as lines:
        return sorted(Seen.read(line) for line in lines if line.endswith("\n"))


def impolite(log: Path, delay: float, tolerance: float = 0.005) -> list[str]:
    """A sentence for every two requests to one host of which the second came too early.

    It must arrive at least `delay` after the end of the first, less a tolerance for the client's timers, and not before
    that end, for which there is no tolerance. A server that answers at once sees no overlap, whatever the client does:
    to look for it give the server some slowness, or the client some delay.
    """
    named = sorted((seen for seen in read_log(log) if seen.host != NOBODY), key=lambda seen: (seen.host, seen))
    return [
        _sentence(first, second, delay)
        for _, requests in groupby(named, key=lambda seen: seen.host)
        for first, second in _too_close(requests, delay - tolerance)
    ]


def _too_close(requests: Iterable[Seen], least: float) -> Iterator[tuple[Seen, Seen]]:
    """Pairs of which the second began before the first was over, or less than so much later."""
    recent: list[Seen] = []
    for second in requests:
        recent = [first for first in recent if second.arrived - first.ended < max(least, 0.0)]
        yield from ((first, second) for first in recent)
        recent.append(second)


def _sentence(first: Seen, second: Seen, delay: float) -> str:
    gap = second.arrived - first.ended
    if gap >= 0:
        return f"{second.host}: {second.target} came {gap:.3f} s after {first.target}, less than {delay:g} s"
    where = f"connections {first.connection} and {second.connection}"
    if first.connection == second.connection:
        where = f"connection {first.connection}"
    return f"{second.host}: {second.target} overlapped {first.target} on {where}"
