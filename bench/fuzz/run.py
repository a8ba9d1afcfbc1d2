"""Worker processes that read made-up input, one after the other, and what they report.

A worker says which input it reads, and how long and how much memory the worst one took. If it dies, or hangs, its
watcher knows the input, notes the defect and starts another worker behind it.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import NamedTuple, TypeAlias

from bench.fuzz.inputs import made
from bench.fuzz.targets import OPEN, Target
from forager.errors import ForagerError

MOST_DEFECTS = 20  # of a kind; then it ends
WARM_UP = 20  # inputs that are read before memory is counted
TOGETHER = 1_000  # inputs that are reported together
MEGABYTE = 1_000_000

Opener: TypeAlias = Callable[[], AbstractContextManager[Target]]


@dataclass(frozen=True, slots=True)
class FuzzLimits:
    """How much an input may take."""

    seconds: float = 2.0  # of CPU, or of waiting for the network
    memory: int = 500 * MEGABYTE  # bytes of address space, over what the worker has when it begins
    hang: float = 30.0  # seconds by the clock until the worker is killed


LIMITS = FuzzLimits()


class Defect(NamedTuple):
    """An input that was not read as it should be."""

    kind: str
    seed: int
    what: str  # one line


class Worst(NamedTuple):
    """The most that an input took, and its number."""

    amount: float = 0.0
    seed: int = 0


NOTHING = Worst()


@dataclass(slots=True)
class Tally:
    """What came of the inputs of a kind."""

    kind: str
    inputs: int = 0
    seconds: float = 0.0
    slowest: Worst = NOTHING
    largest: Worst = NOTHING  # bytes by which the peak of resident memory grew
    outcomes: Counter[str] = field(default_factory=Counter)
    defects: list[Defect] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.inputs += other.inputs
        self.slowest, self.largest = max(self.slowest, other.slowest), max(self.largest, other.largest)
        self.outcomes += other.outcomes
        self.defects += other.defects


# ---- in a worker ----------------------------------------------------------------------------------------------------


def read_one(kind: str, seed: int, target: Target, limits: FuzzLimits, tally: Tally) -> None:
    """Read one input and note what came of it."""
    given, defect = made(kind, seed), ""
    seconds, outcome = _timed(kind, target, given)
    if seconds > limits.seconds:  # once more: the machine may have been busy
        seconds, outcome = min((seconds, outcome), _timed(kind, target, given))
    if outcome.startswith("!"):
        defect, outcome = outcome[1:], "defect"
    elif seconds > limits.seconds:
        defect, outcome = f"took {seconds:.1f} s", "too slow"
    tally.inputs += 1
    tally.outcomes[outcome] += 1
    tally.slowest = max(tally.slowest, Worst(seconds, seed))
    tally.defects += [Defect(kind, seed, defect)] if defect else []


def _timed(kind: str, target: Target, given: bytes) -> tuple[float, str]:
    clock = time.perf_counter if kind in ("head", "body") else time.process_time
    began = clock()
    try:
        outcome = target(given)
    except ForagerError as error:
        outcome = "refused" if str(error).isprintable() else f"!an error of more than one line: {str(error)!r}"
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        words = " ".join(str(error).split())[:300]
        outcome = f"!{type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {words}"
    return clock() - began, outcome


def read_all(kind: str, seeds: range, opener: Opener, limits: FuzzLimits, tell: Callable[[int], None]) -> Tally:
    """Read these inputs. `tell` hears the number of each before it is read."""
    tally, peak = Tally(kind), _peak()
    with opener() as target:
        for seed in seeds:
            tell(seed)
            read_one(kind, seed, target, limits, tally)
            if (now := _peak()) > peak:
                tally.largest, peak = max(tally.largest, Worst(now - peak, seed)), now
            if len(tally.defects) >= MOST_DEFECTS:
                break
    return tally


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _work(
    kind: str, seeds: range, opener: Opener, limits: FuzzLimits, now: Synchronized[int], report: Connection
) -> None:
    read_all(kind, range(WARM_UP), opener, limits, lambda seed: None)  # what is loaded and made only once
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + limits.memory, resource.RLIM_INFINITY))
    for start in range(0, len(seeds), TOGETHER):
        part = seeds[start : start + TOGETHER]
        report.send(read_all(kind, part, opener, limits, lambda seed: setattr(now, "value", seed)))


# ---- watching -------------------------------------------------------------------------------------------------------


def fuzz(
    kind: str,
    seeds: range,
    jobs: int = 1,
    limits: FuzzLimits = LIMITS,
    opener: Opener | None = None,
    tell: Callable[[Tally], None] = lambda tally: None,
) -> Tally:
    """Read the inputs of a kind with these numbers, in so many processes. `tell` hears what has come of them so far."""
    began, tally, made_by = time.perf_counter(), Tally(kind), opener or OPEN[kind]
    watched = [_Worker(kind, seeds[job::jobs], made_by, limits) for job in range(jobs)]
    while watched:
        time.sleep(0.05)
        for worker in list(watched):
            found, ended = worker.look()
            tally.add(found)
            enough = len(tally.defects) >= MOST_DEFECTS
            if ended or enough:
                watched.remove(worker)
                worker.end()
                watched += [_Worker(kind, worker.left, made_by, limits)] if worker.left and not enough else []
        tally.seconds = time.perf_counter() - began
        tell(tally)
    return tally


class _Worker:
    """A process that reads inputs, and what is known of it. `left` are the inputs of which nothing has come yet."""

    def __init__(self, kind: str, seeds: range, opener: Opener, limits: FuzzLimits) -> None:
        fork = multiprocessing.get_context("fork")
        self._kind, self.left, self._limits = kind, seeds, limits
        self._now: Synchronized[int] = fork.Value("q", -1)
        self._report, theirs = fork.Pipe(duplex=False)
        self._process = fork.Process(target=_work, args=(kind, seeds, opener, limits, self._now, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self._seen, self._since = -1, time.monotonic()

    def look(self) -> tuple[Tally, bool]:
        """What it has reported since the last look, and whether it is no more."""
        if self._report.poll():
            try:
                found: Tally = self._report.recv()
            except EOFError:
                self._process.join()
                gone = self._lost(f"the process ended with {self._process.exitcode}") if self.left else None
                return gone or Tally(self._kind), True
            self.left = self.left[found.inputs :]
            return found, False
        now = time.monotonic()
        if self._now.value != self._seen:
            self._seen, self._since = self._now.value, now
        elif now - self._since > self._limits.hang:
            self.end()
            return self._lost(f"was not read in {self._limits.hang:g} s"), True
        return Tally(self._kind), False

    def _lost(self, what: str) -> Tally:
        """The input that it could not read. Those just before it were read well, but what came of them is not known."""
        read = self.left[: self.left.index(self._now.value) + 1] if self._now.value in self.left else self.left[:1]
        self.left = self.left[len(read) :]
        tally = Tally(self._kind, inputs=len(read), defects=[Defect(self._kind, read[-1], what)])
        tally.outcomes.update({"defect": 1, "unknown": len(read) - 1})
        return tally

    def end(self) -> None:
        self._process.kill()
        self._process.join()


def rows(tallies: list[Tally]) -> Iterator[str]:
    """The table, in Markdown."""
    yield "| kind | inputs | a second | slowest, ms | its number | memory, MB | outcomes | defects |"
    yield "|---|---:|---:|---:|---:|---:|---|---:|"
    for tally in tallies:
        outcomes = ", ".join(f"{name} {count:,}" for name, count in tally.outcomes.most_common())
        yield (
            f"| {tally.kind} | {tally.inputs:,} | {tally.inputs / max(tally.seconds, 1e-9):,.0f} "
            f"| {tally.slowest.amount * 1000:,.0f} | {tally.slowest.seed} | {tally.largest.amount / MEGABYTE:,.0f} "
            f"| {outcomes} | {len(tally.defects)} |"
        )
