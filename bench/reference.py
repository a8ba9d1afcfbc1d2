"""The work that speed is measured on, and how: the server a process on one core, the client a fresh one on the other.

    with served("reference") as port:
        runs = [once(client, port) for _ in range(5)]

A client is a function that can be pickled (of a module, or `functools.partial` of one), takes the port and gives a
coroutine of the number of pages it fetched; `Loopback(port)` resolves every host name to it. `measure` does just this.
"""

from __future__ import annotations

import asyncio
import gc
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from socket import AF_INET, AddressFamily
from statistics import median
from typing import Any, NamedTuple, TypeAlias

from aiohttp.abc import AbstractResolver, ResolveResult

from forager_lab.webs.procedural import ProceduralWeb
from forager_lab.webs.server import ADDRESS, PLANS

SEED = 1
PAGES = 3_000
CLIENT_CORE, SERVER_CORE = 0, 1
LONGEST = 300.0  # seconds a client may take
REPEATS = 5

Client: TypeAlias = Callable[[int], Coroutine[Any, Any, int]]


class Run(NamedTuple):
    """One client from its first request to its last."""

    pages: int
    cpu: float  # seconds of its process, all threads
    wall: float
    rss_mb: float  # at most resident, imports included

    @property
    def cpu_ms_per_page(self) -> float:
        return self.cpu / self.pages * 1e3


@dataclass(frozen=True, slots=True)
class Measured:
    """Some runs of one client; cpu_ms_per_page, wall and pages are those of the run that took the least CPU."""

    cpu_ms_per_page: float
    cpu_ms_median: float
    wall: float
    pages: int
    rss_mb: float  # the most of all runs


def summary(runs: Sequence[Run]) -> Measured:
    best = min(runs, key=lambda run: run.cpu_ms_per_page)
    middle = median(run.cpu_ms_per_page for run in runs)
    return Measured(best.cpu_ms_per_page, middle, best.wall, best.pages, max(run.rss_mb for run in runs))


def measure(client: Client, plan: str = "reference", repeats: int = REPEATS) -> Measured:
    """To compare clients, take `once` of each in turn instead: a machine is not equally fast all day."""
    with served(plan) as port:
        return summary([once(client, port) for _ in range(repeats)])


# ---- the server -----------------------------------------------------------------------------------------------------


@contextmanager
def served(plan: str = "reference", core: int = SERVER_CORE, options: Sequence[str] = ()) -> Iterator[int]:
    """The port of a server process with all pages of the plan in memory, which answers at once."""
    with server_process(plan, core, options) as (_, port):
        yield port


@contextmanager
def server_process(
    plan: str, core: int = SERVER_CORE, options: Sequence[str] = ()
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    module = [sys.executable, "-m", "forager_lab.webs.server"]
    words = [*module, "--plan", plan, "--seed", str(SEED), "--slowness", "0", "--cache", *options]
    with started(words, core) as server:
        assert server.stdout is not None
        yield server, json.loads(server.stdout.readline())["port"]


@contextmanager
def started(words: Sequence[str], core: int) -> Iterator[subprocess.Popen[bytes]]:
    """A process on a core of its own, which ends when its standard input closes."""
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        pin(core, server.pid)
        try:
            yield server
        finally:
            assert server.stdin is not None
            server.stdin.close()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()


@cache
def homes(plan: str = "reference") -> tuple[str, ...]:
    """The home page of every host: where a client may start."""
    return tuple(ProceduralWeb(PLANS[plan](SEED)).homes())


class Loopback(AbstractResolver):
    """Every host name is this machine, at the port of the server, whatever the port of the URL."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def resolve(self, host: str, port: int = 0, family: AddressFamily = AF_INET) -> list[ResolveResult]:
        found = ResolveResult(hostname=host, host=ADDRESS, port=self._port, family=AF_INET, proto=0, flags=0)
        return [found]

    async def close(self) -> None:
        pass


# ---- the client -----------------------------------------------------------------------------------------------------


def once(client: Client, port: int, core: int = CLIENT_CORE) -> Run:
    """One run in a new process, so that no cache is warm and no memory is left from another."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_run, args=(client, port, core, theirs))
    child.start()
    theirs.close()
    try:
        if not ours.poll(LONGEST):
            raise TimeoutError(f"the client took more than {LONGEST:.0f} s")
        run: Run = ours.recv()
        child.join(10)
        return run
    except EOFError:
        raise RuntimeError("the client failed: its error is above") from None
    finally:
        child.kill()
        child.join()
        ours.close()


def _run(client: Client, port: int, core: int, told: Connection) -> None:
    pin(core)
    told.send(timed(lambda: asyncio.run(client(port))))


def timed(work: Callable[[], int]) -> Run:
    """What a callable that tells how many pages it did has cost this process."""
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    pages = work()
    return Run(pages, time.process_time() - cpu, time.perf_counter() - wall, rss_mb())


def pin(core: int, process: int = 0) -> None:
    """Keep a process (0: this one) to a core, where the system can and has so many."""
    if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > core:
        os.sched_setaffinity(process, {core})


def rss_mb() -> float:
    """The most memory this process has had resident. Not from getrusage on Linux: there the parent's counts too."""
    status = Path("/proc/self/status")
    if status.exists():
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(fields["VmHWM"].split()[0]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
