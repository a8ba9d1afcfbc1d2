"""A crawl of a hostile web beside good hosts: make faults, or python -m bench.faults [KIND …]

The hostile web has some 200 kinds of hosts that fail, attack, or never end (`forager_lab.webs.hostile`). A first crawl
takes the good hosts alone. A second one takes them together with all hostile ones, in a project on disk, through the
command line, with a terminal. For each kind a line says what was wanted, what is on record, and how often the server was
asked. Then come the figures of the whole. The last line is one JSON object. The exit code is 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import pty
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from forager_lab.webs.hostile import KINDS, NOT_YET, Kind, Listeners, judged, reports
from forager_lab.webs.hostile.addresses import PUBLIC
from forager_lab.webs.procedural import ProceduralWeb, WebPlan
from forager_lab.webs.server import Server
from forager_lab.webs.server.log import LoggedRequest, read_log

ROOT = Path(__file__).parents[1]
GOOD = WebPlan(
    seed=5,
    hosts=20,
    pages_per_host=45,
    host_spread=0.0,
    traps=0.0,
    slow_hosts=0.0,
    errors=0.0,
    duplicates=0.0,
    dead=0.0,
)
SPREAD = 0.1  # seconds by which two requests may seem closer than they were sent: the server reads late
LEAST_PACE, LONGEST_PAUSE, MOST_MEMORY = 0.95, 0.2, 400.0  # of the pace alone; seconds; megabytes
OWNED = b"\x1b]0;owned"  # no terminal may ever see this


class CrawlSettings(NamedTuple):
    """How a crawl is limited, so that it ends in a minute or two."""

    delay: float = 0.5
    patience: float = 15.0
    retries: int = 2
    connect: float = 3.0
    read: float = 3.0
    total: float = 6.0
    seconds: float = 180.0  # it should end before


@dataclass(frozen=True, slots=True)
class Ran:
    """A crawl that has ended."""

    code: int
    stats: Mapping[str, Any]  # what the command says
    figures: Mapping[str, float]  # what was measured
    screen: bytes  # what the terminal saw


# ---- servers --------------------------------------------------------------------------------------------------------


@contextmanager
def hostile_web(log: Path, kinds: Sequence[str] = ()) -> Iterator[tuple[Listeners, list[int]]]:
    """The ports of the hostile server; afterwards the list has how many connected to private addresses."""
    intruders: list[int] = []
    command = [sys.executable, "-m", "forager_lab.webs.hostile", "--log", str(log), *kinds]
    with _process(command) as server:
        assert server.stdout
        yield Listeners(**json.loads(server.stdout.readline())), intruders
        assert server.stdin
        server.stdin.close()
        intruders.append(json.loads(server.stdout.readline())["intruders"])


@contextmanager
def good_web(log: Path) -> Iterator[int]:
    """The port of a server of the good web."""
    with _process([sys.executable, "-m", "bench.faults", "--serve", str(log)]) as server:
        assert server.stdout
        yield int(server.stdout.readline())


@contextmanager
def _process(command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """A process that ends when its standard input closes."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            yield process
        finally:
            assert process.stdin
            process.stdin.close()
            process.wait(30)


async def _serve(log: Path) -> None:
    async with Server(ProceduralWeb(GOOD), log=log, slowness=0.0, cache=True) as server:
        print(server.port, flush=True)
        await asyncio.to_thread(sys.stdin.read)


# ---- crawls ---------------------------------------------------------------------------------------------------------


def make_project(folder: Path, seeds: Sequence[str], resolve: Mapping[str, str], limits: CrawlSettings) -> None:
    """A project that crawls these seeds, and whatever they lead to."""
    names = ", ".join(f"{json.dumps(name)} = {json.dumps(place)}" for name, place in resolve.items())
    folder.mkdir(parents=True)
    (folder / "seeds.txt").write_text("".join(f"{seed}\n" for seed in seeds), encoding="utf-8")
    (folder / "forager.toml").write_text(
        '[critic]\nname = "predicate"\noptions.keywords = ["species", "planet", "music", "market"]\n'
        f"[frontier]\ndelay = {limits.delay}\nretries = {limits.retries}\npatience = {limits.patience}\n"
        f"[stop]\nseconds = {limits.seconds}\n"
        f'[fetch]\ncontact = "you@example.org"\nallow = ["{PUBLIC}/32"]\nlongest_delay = {limits.delay}\n'
        f"connect = {limits.connect}\nread = {limits.read}\ntotal = {limits.total}\nresolve = {{ {names} }}\n"
        '[log]\nlevel = "debug"\n',
        encoding="utf-8",
    )


def crawl(folder: Path, timeout: float) -> Ran:
    """Crawl a project to its end, as somebody at a terminal does."""
    figures = folder.with_suffix(".json")
    code, out, screen = at_terminal(["-m", "bench.watched", str(figures), "crawl", str(folder), "--json"], timeout)
    stats = json.loads(out.splitlines()[-1]) if out.strip() else {}
    return Ran(code, stats, json.loads(figures.read_text()) if figures.exists() else {}, screen)


def at_terminal(words: Sequence[str], timeout: float) -> tuple[int, bytes, bytes]:
    """Run Python with a terminal as its standard error: the exit code, its output, and what the terminal saw."""
    ours, theirs = pty.openpty()
    seen: list[bytes] = []
    with subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, stderr=theirs, cwd=ROOT) as process:
        os.close(theirs)
        reader = threading.Thread(target=_read_all, args=(ours, seen))
        reader.start()
        try:
            out, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
        reader.join()
    os.close(ours)
    return process.returncode, out, b"".join(seen)


def _read_all(file: int, seen: list[bytes]) -> None:
    while True:
        try:
            piece = os.read(file, 65_536)
        except OSError:  # a terminal that nobody writes to any more
            return
        if not piece:
            return
        seen.append(piece)


# ---- what came of it ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Verdict:
    """Everything that is told in the end."""

    rows: list[tuple[str, str, str, int, list[str]]] = field(default_factory=list)  # kind, wanted, found, requests
    figures: dict[str, Any] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)  # of the whole

    def add(self, kinds: Mapping[str, Kind], folder: Path, log: Sequence[LoggedRequest], port: int) -> None:
        """What a crawl has made of these kinds."""
        found = reports(folder, log)
        for name, kind in kinds.items():
            told, wrong = judged(kind, found[name], port)
            self.rows.append((name, str(kind.wanted), told, len(found[name].requests), wrong))

    def check(self, name: str, figure: Any, right: bool) -> None:
        self.figures[name] = figure
        if not right:
            self.wrong.append(f"{name}: {figure}")

    @property
    def unmet(self) -> list[str]:
        return [name for name, *_, wrong in self.rows if wrong and name not in NOT_YET]

    def told(self) -> str:
        """The table, and the figures below it."""
        widths = [max(len(str(row[column])) for row in self.rows) for column in range(3)]
        heads = ("kind", "wanted", "found")
        line = "  ".join(f"{head:<{width}}" for head, width in zip(heads, widths, strict=True))
        lines = [f"{line}  requests"]
        for name, wanted, found, requests, wrong in self.rows:
            cells = "  ".join(f"{cell:<{width}}" for cell, width in zip((name, wanted, found), widths, strict=True))
            mark = "ok" if not wrong else "not yet" if name in NOT_YET else "WRONG"
            lines.append(f"{cells}  {requests:8}  {mark}")
            lines += [f"    {reason}" for reason in wrong]
        lines += [f"{name}: {figure}" for name, figure in self.figures.items()]
        return "\n".join([*lines, *(f"WRONG {reason}" for reason in self.wrong)])


def pace(log: Sequence[LoggedRequest]) -> float:
    """Requests a second to a good host, from its first to its last; the mean of all hosts."""
    times: defaultdict[str, list[float]] = defaultdict(list)
    for seen in log:
        times[seen.host].append(seen.arrived)
    return mean((len(each) - 1) / (each[-1] - each[0]) for each in times.values() if len(each) > 1)


def too_close(log: Sequence[LoggedRequest], delay: float) -> list[str]:
    """A sentence for every two requests to a host of which the second came too early."""
    last: dict[str, LoggedRequest] = {}
    told: list[str] = []
    for seen in log:
        before = last.get(seen.host)
        if before and seen.arrived - before.arrived < delay - SPREAD:
            gap = seen.arrived - before.arrived
            told.append(f"{seen.host}: {seen.target} came {gap:.3f} s after {before.target}")
        last[seen.host] = seen
    return told


# ---- the run --------------------------------------------------------------------------------------------------------


def run(place: Path, names: Sequence[str], limits: CrawlSettings) -> Verdict:
    """Crawl the good web alone, then with the hostile one; then those kinds that are crawled for themselves."""
    place.mkdir(parents=True, exist_ok=True)
    kinds, verdict = {name: KINDS[name] for name in names}, Verdict()
    together = {name: kind for name, kind in kinds.items() if not kind.alone}
    homes = list(ProceduralWeb(GOOD).homes())
    with good_web(place / "alone.log") as port:
        make_project(place / "alone", homes, {"*.web.test": f"127.0.0.1:{port}"}, limits)
        alone = crawl(place / "alone", limits.seconds + 60)
    with hostile_web(place / "hostile.log", names) as (listeners, intruders):
        with good_web(place / "good.log") as port:
            seeds = [seed.format(port=listeners.port) for kind in together.values() for seed in kind.seeds]
            resolve = {**listeners.resolve(), "*.web.test": f"127.0.0.1:{port}"}
            make_project(place / "all", [*seeds, *homes], resolve, limits)
            ran = crawl(place / "all", limits.seconds + 60)
        for name, kind in kinds.items():
            if kind.alone:
                make_project(place / name, kind.seeds, listeners.resolve(), limits)
                crawl(place / name, limits.seconds + 60)
    log = read_log(place / "hostile.log")
    verdict.add(together, place / "all", log, listeners.port)
    for name in kinds.keys() - together.keys():
        verdict.add({name: kinds[name]}, place / name, log, listeners.port)
    _measure(verdict, place, alone, ran, limits)
    verdict.check("connections to private addresses", intruders[0], intruders[0] == 0)
    return verdict


def _measure(verdict: Verdict, place: Path, alone: Ran, ran: Ran, limits: CrawlSettings) -> None:
    """The figures of the whole."""
    before, after = read_log(place / "alone.log"), read_log(place / "good.log")
    share = pace(after) / pace(before)
    end = (after[-1].arrived - after[0].arrived) / (before[-1].arrived - before[0].arrived)
    stats, figures = ran.stats, ran.figures
    verdict.check("exit code", ran.code, ran.code == 0)
    verdict.check("ended because", stats.get("stopped"), "seconds" not in stats.get("stopped", "seconds"))
    verdict.check("seconds", round(figures.get("wall", 0)), True)
    verdict.check("good pages", f"{_pages(before)} alone, {_pages(after)} together", _pages(before) == _pages(after))
    verdict.check("pace of good hosts", round(share, 3), share >= LEAST_PACE)
    verdict.check("time until the last good page", round(end, 3), end <= 1 / LEAST_PACE)
    verdict.check("longest pause", round(figures.get("pause", 9), 3), figures.get("pause", 9) < LONGEST_PAUSE)
    verdict.check("of which this process worked", round(figures.get("pause_cpu", 9), 3), True)
    step = stats.get("longest_step_ms", 9e3) / 1e3
    verdict.check("longest step", round(step, 3), step < LONGEST_PAUSE)
    verdict.check("peak of memory, MB", round(figures.get("rss_mb", 0)), figures.get("rss_mb", 9e9) < MOST_MEMORY)
    close = too_close(read_log(place / "hostile.log"), limits.delay)
    verdict.check("requests too soon", len(close), not close)
    code, said, _ = at_terminal(["-m", "forager", "verify", str(place / "all")], 120)
    verdict.check("forager verify", said.decode().strip().splitlines()[-1:] or [code], code == 0)
    shown = [at_terminal(["-m", "forager", command, str(place / "all")], 60) for command in ("status", "pages")]
    clean = not any(OWNED in text for text in (ran.screen, *(part for each in shown for part in each[1:])))
    verdict.check("what a terminal would obey is not shown", clean, clean and all(code == 0 for code, *_ in shown))


def _pages(log: Sequence[LoggedRequest]) -> int:
    return sum(seen.status == 200 for seen in log)


def main() -> int:
    parser = argparse.ArgumentParser("bench.faults", description=__doc__)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--keep", type=Path, help="a new folder for the projects and logs; else they are removed")
    parser.add_argument("kinds", nargs="*", help="names of kinds; none: all of them")
    options = parser.parse_args()
    if options.serve:
        asyncio.run(_serve(options.serve))
        return 0
    with TemporaryDirectory() as folder:
        verdict = run(options.keep or Path(folder), options.kinds or list(KINDS), CrawlSettings())
    print(verdict.told())
    met = sorted(name for name, *_, wrong in verdict.rows if name in NOT_YET and not wrong)
    print(*(f"{name} is met now: take it from NOT_YET" for name in met), sep="\n")
    unmet = verdict.unmet
    print(json.dumps({"kinds": len(verdict.rows), "unmet": unmet, "not_yet": len(NOT_YET), **verdict.figures}))
    return 1 if unmet or verdict.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
