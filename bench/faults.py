"""A crawl of a hostile web beside good hosts: make faults, or python -m bench.faults [KIND …]

The hostile web has more than 200 kinds of hosts that fail, attack, or never end (`forager_lab.webs.hostile`). A crawl
takes good hosts together with all hostile ones, in a project on disk, through the command line, at a terminal. Before
and after it, two crawls take the good hosts alone. For each kind a line says what it does, what was wanted, what is on
record, and how often the server was asked. Then come the figures of the whole. The last line is one JSON object. The
exit code is 1 if anything is wrong.
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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from forager_lab.webs.hostile import KINDS, Kind, Listeners, judged, reports
from forager_lab.webs.hostile.addresses import PUBLIC
from forager_lab.webs.hostile.listings import OUT
from forager_lab.webs.procedural import ProceduralWeb, WebPlan
from forager_lab.webs.server import Server
from forager_lab.webs.server.log import LoggedRequest, read_log

ROOT = Path(__file__).parents[1]
GOOD = WebPlan(
    seed=5,
    hosts=10,
    pages_per_host=28,
    host_spread=0.0,
    traps=0.0,
    slow_hosts=0.0,
    errors=0.0,
    duplicates=0.0,
    dead=0.0,
)
SPREAD = 0.5  # of the delay: by so much two requests may seem closer than they were sent, as a busy server reads late
LEAST_PACE, LONGEST_PAUSE, MOST_MEMORY = 0.95, 0.2, 400.0  # of the pace alone; seconds; megabytes
OWNED = b"\x1b]0;owned"  # no terminal may ever see this


class CrawlSettings(NamedTuple):
    """How a crawl is limited, so that it ends in a minute or two."""

    delay: float = 0.5
    patience: float = 15.0
    retries: int = 2
    connect: float = 4.0
    read: float = 4.0
    total: float = 8.0
    hosts_per_page: int = 100
    seconds: float = 240.0  # it should end before


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
        '[strategy]\nname = "best-first"\n'
        f"[frontier]\ndelay = {limits.delay}\nretries = {limits.retries}\npatience = {limits.patience}\n"
        f"hosts_per_page = {limits.hosts_per_page}\n"
        f'[scope]\nexclude = ["/{OUT}/"]\n'
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


class VerdictRow(NamedTuple):
    """What came of a kind."""

    kind: str
    does: str
    wanted: str
    found: str
    requests: int
    wrong: list[str]


@dataclass(slots=True)
class Verdict:
    """Everything that is told in the end."""

    rows: list[VerdictRow] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)  # of the whole

    def add(self, kinds: Mapping[str, Kind], folder: Path, log: Sequence[LoggedRequest], port: int) -> None:
        """What a crawl has made of these kinds."""
        found = reports(folder, log)
        for name, kind in kinds.items():
            told, wrong = judged(kind, found[name], port)
            self.rows.append(VerdictRow(name, kind.does, str(kind.wanted), told, len(found[name].requests), wrong))

    def check(self, name: str, figure: Any, right: bool) -> None:
        self.figures[name] = figure
        if not right:
            self.wrong.append(f"{name}: {figure}")

    @property
    def unmet(self) -> list[str]:
        return [row.kind for row in self.rows if row.wrong]

    def told(self) -> str:
        """The table, and the figures below it."""
        table = [["kind", "what it does", "wanted", "recorded", "requests", ""]]
        table += [[*map(str, row[:5]), "WRONG" if row.wrong else "ok"] for row in self.rows]
        widths = [max(len(line[column]) for line in table) for column in range(6)]
        lines = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in table]
        wrong = [f"WRONG {row.kind}: {reason}" for row in self.rows for reason in row.wrong]
        figures = [f"{name}: {figure}" for name, figure in self.figures.items()]
        return "\n".join([*lines, "", *wrong, *figures, *(f"WRONG {reason}" for reason in self.wrong)])


def pace(good: Sequence[LoggedRequest], others: Sequence[LoggedRequest] = ()) -> float:
    """Requests a second to good hosts, from the first request to anybody until the last to one of them."""
    return len(good) / (good[-1].arrived - min(log[0].arrived for log in (good, others) if log))


def too_close(log: Sequence[LoggedRequest], delay: float) -> list[str]:
    """A sentence for every two requests to a host of which the second came too early."""
    last: dict[str, LoggedRequest] = {}
    told: list[str] = []
    for seen in log:
        before = last.get(seen.host)
        if before and seen.arrived - before.arrived < SPREAD * delay:
            gap = seen.arrived - before.arrived
            told.append(f"{seen.host}: {seen.target} came {gap:.3f} s after {before.target}")
        last[seen.host] = seen
    return told


# ---- the run --------------------------------------------------------------------------------------------------------


def run(place: Path, names: Sequence[str], limits: CrawlSettings) -> Verdict:
    """Crawl the good web alone, with the hostile one, and alone again. Some kinds are crawled by themselves."""
    place.mkdir(parents=True, exist_ok=True)
    kinds, verdict = {name: KINDS[name] for name in names}, Verdict()
    together = {name: kind for name, kind in kinds.items() if not kind.alone}
    crawl_good(place / "before", limits)
    with hostile_web(place / "hostile.log", names) as (listeners, intruders):
        seeds = [seed.format(port=listeners.port) for kind in together.values() for seed in kind.seeds]
        ran = crawl_good(place / "all", limits, seeds, listeners.resolve())
        for name in kinds.keys() - together.keys():
            make_project(place / name, kinds[name].seeds, listeners.resolve(), limits)
            crawl(place / name, limits.seconds + 60)
    crawl_good(place / "after", limits)
    log = read_log(place / "hostile.log")
    verdict.add(together, place / "all", log, listeners.port)
    for name in kinds.keys() - together.keys():
        verdict.add({name: kinds[name]}, place / name, log, listeners.port)
    measure(verdict, place, ran, limits, log)
    verdict.check("connections to private addresses", intruders[0], intruders[0] == 0)
    return verdict


def crawl_good(
    folder: Path, limits: CrawlSettings, seeds: Sequence[str] = (), resolve: Mapping[str, str] | None = None
) -> Ran:
    """Crawl the good web, and these seeds before it."""
    with good_web(folder.with_suffix(".log")) as port:
        homes, names = ProceduralWeb(GOOD).homes(), {**(resolve or {}), "*.web.test": f"127.0.0.1:{port}"}
        make_project(folder, [*seeds, *homes], names, limits)
        return crawl(folder, limits.seconds + 60)


def measure(verdict: Verdict, place: Path, ran: Ran, limits: CrawlSettings, hostile: Sequence[LoggedRequest]) -> None:
    """The figures of the whole."""
    good = {name: read_log(place / f"{name}.log") for name in ("before", "all", "after")}
    alone = [pace(good[name]) for name in ("before", "after")]
    beside = pace(good["all"], hostile)
    share, pages = beside / mean(alone), [_pages(log) for log in good.values()]
    stats, figures = ran.stats, ran.figures
    own = figures.get("pause_cpu", 9.0)
    verdict.check("kinds", len(verdict.rows), True)
    verdict.check("right outcomes", len(verdict.rows) - len(verdict.unmet), not verdict.unmet)
    verdict.check("exit code", ran.code, ran.code == 0)
    verdict.check("ended because", stats.get("stopped"), "seconds" not in stats.get("stopped", "seconds"))
    verdict.check("seconds", round(figures.get("wall", 0)), True)
    verdict.check("good pages alone, beside, alone", pages, len(set(pages)) == 1)
    verdict.check("good requests a second alone", [round(each, 2) for each in alone], True)
    verdict.check("good requests a second beside", round(beside, 2), True)
    verdict.check("pace beside, of that alone", round(share, 3), share >= LEAST_PACE)
    verdict.check("longest pause of the loop by its own work, ms", round(1e3 * own), own < LONGEST_PAUSE)
    verdict.check("longest pause on this machine, ms", round(1e3 * figures.get("pause", 9)), True)
    verdict.check("longest step, ms", stats.get("longest_step_ms"), True)
    verdict.check("waited for a core, of its time", round(figures.get("starved", 0), 2), True)
    verdict.check("peak of memory, MB", round(figures.get("rss_mb", 0)), figures.get("rss_mb", 9e9) < MOST_MEMORY)
    close = too_close(hostile, limits.delay)
    verdict.check("requests too soon", close[:5] or 0, not close)
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
    unmet = verdict.unmet
    print(json.dumps({**verdict.figures, "unmet": unmet}))
    return 1 if unmet or verdict.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
