"""Does a long crawl lose a page, fetch one twice, or harm a host? python -m bench.soak [--pages 200000] [--kills 10]

A procedural web is served by a process of its own. 1 % of the requests each are reset, never answered, answered with
500, answered with 429, cut off, or longer than their head says. All hosts are away for a while, and later one of them.
The crawl is a process, too. It is killed and resumed, once while it resumes. Then everything is compared
(`bench.soaked`): what the web has, what the crawl has kept, and what the server has seen. The table has a line for each
promise; if one is broken, the exit code is 1.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from bench.soaked import Kill, Line, Sample, lost, read_samples, report
from forager.crawl.loop import Crawl
from forager.project import Project
from forager.store import RecordedProject
from forager_lab.webs.procedural import ProceduralWeb, WebPlan

ROOT = Path(__file__).parents[1]
SAMPLES, LOG = "samples.tsv", "requests.log"
DELAY = 0.05  # seconds between two requests to a host
STUCK = 1_200.0  # seconds without a page after which the crawl is said to be stuck
CONFIG = """
[critic]
name = "predicate"
options.keywords = ["species", "planet"]

[strategy]
name = "breadth-first"

[scope]
traps = false

[frontier]
delay = {delay}
delay_factor = 0.0
retries = {retries}

[fetch]
contact = "soak@web.test"
longest_delay = {delay}
connect = 5.0
read = 5.0
total = 15.0
resolve = {{ "*.web.test" = "127.0.0.1:{port}" }}

[store]
duplicates = "all"
"""


@dataclass(frozen=True)
class SoakPlan:
    """How much, and what goes wrong."""

    pages: int = 200_000
    kills: int = 10
    share: float = 0.01  # of the requests, for each kind of fault
    tries: int = 2  # so often at most a URL goes wrong
    errors: float = 0.01  # share of the links that never work
    outages: tuple[tuple[float, float, bool], ...] = ((0.35, 15.0, True), (0.7, 30.0, False))  # when, seconds, all
    seed: int = 1

    @property
    def numbers(self) -> dict[str, Any]:
        """Of the web: many hosts, so that delays do not hold up the crawl; no traps, so that it ends."""
        hosts = max(20, min(500, self.pages // 50))
        size = {"hosts": hosts, "pages_per_host": max(10, self.pages // hosts), "links": 20, "length": 3_000}
        return {**size, "seed": self.seed, "host_spread": 0.0, "traps": 0.0, "slow_hosts": 0.0, "errors": self.errors}

    @property
    def web(self) -> WebPlan:
        return WebPlan(**self.numbers)

    @property
    def faults(self) -> dict[str, Any]:
        """What the server is told of the faults."""
        one = next(iter(ProceduralWeb(self.web).homes())).split("/")[2]
        outages = [(int(when * self.pages), seconds, "" if all else one) for when, seconds, all in self.outages]
        return {"seed": self.seed, "share": self.share, "tries": self.tries, "outages": outages}

    def config(self, port: int) -> str:
        """A link may fail as often as faults and outages can make it, and once more by chance."""
        return CONFIG.format(retries=self.tries + len(self.outages) + 1, delay=DELAY, port=port)


# ---- the three processes


@contextmanager
def served(plan: SoakPlan, log: Path) -> Iterator[tuple[int, dict[str, int]]]:
    """The port of the server; and what went wrong, which is known after the block."""
    options = {"numbers": json.dumps(plan.numbers), "faults": json.dumps(plan.faults), "slowness": 0, "log": log}
    command = [sys.executable, "-m", "forager_lab.webs.server", *(f"--{name}={told}" for name, told in options.items())]
    happened: dict[str, int] = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server:
        assert server.stdin
        assert server.stdout
        try:
            yield json.loads(server.stdout.readline())["port"], happened
        finally:
            server.stdin.close()
            happened |= json.loads(server.stdout.readline() or "{}")


async def crawl(folder: Path, every: int) -> None:
    """Crawl to the end, and note after so many pages each what the process has used."""
    running, seen = list[Crawl](), count(1)
    with (folder / SAMPLES).open("a", buffering=1) as samples:

        def note(*_: object) -> None:
            if next(seen) % every == 0:
                done = running[0].stats
                used = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
                samples.write(f"{os.getpid()}\t{done.pages}\t{done.requests}\t{time.process_time():.4f}\t{used}\n")

        stats = await Project(folder).crawl(lambda crawl, _: running.append(crawl), note)
    print(f"{stats.pages} pages, {stats.requests} requests: {stats.stopped}")


def start(folder: Path, every: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "bench.soak", "--crawl", str(folder), "--every", str(every)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


# ---- the run


def soak(plan: SoakPlan, folder: Path) -> list[Line]:
    """Crawl the web of a plan under its faults, kill the crawl again and again, and compare what came of it."""
    chance, every = random.Random(plan.seed), max(20, plan.pages // 400)
    project, log = folder.resolve() / "project", folder.resolve() / LOG
    folder.mkdir(parents=True, exist_ok=True)
    began, kills = time.monotonic(), list[Kill]()
    with served(plan, log) as (port, happened):
        Project.create(project, plan.config(port), list(ProceduralWeb(plan.web).homes()))
        for number in range(1, plan.kills + 1):
            with start(project, every) as running:
                try:
                    if number == plan.kills // 2 + 1:
                        time.sleep(0.5 + chance.random())  # it is resuming
                    else:
                        wait_for(project, running, plan.pages * number // (plan.kills + 1))
                    time.sleep(0.3 * chance.random())
                finally:
                    running.kill()
            kills.append(after_kill(project))
            tell(f"kill {number}: {kills[-1].pages} pages, {len(kills[-1].lost)} lost", began)
        with start(project, every) as running:
            said = running.communicate()[0]
        tell(f"ended: {said.strip()}", began)
    return report(project, log, plan.web, plan.faults, DELAY, kills, happened, running.returncode)


def wait_for(project: Path, running: subprocess.Popen[str], pages: int) -> None:
    """Until the crawl has so many pages, or has ended."""
    seen, since = -1, time.monotonic()
    while running.poll() is None:
        last = last_sample(project)
        if last.pages >= pages:
            return
        if last.pages > seen:
            seen, since = last.pages, time.monotonic()
        if time.monotonic() > since + STUCK:
            raise TimeoutError(f"the crawl has {last.pages} pages and brings no more")
        time.sleep(0.05)


def last_sample(project: Path) -> Sample:
    return (read_samples(project / SAMPLES) or [Sample(0, 0, 0, 0.0, 0)])[-1]


def after_kill(project: Path) -> Kill:
    """What is acknowledged after a kill, and whether every URL is accounted for."""
    at = time.monotonic()
    with RecordedProject(project) as recorded:
        last, pages = -1, 0
        for record in recorded.records():
            last, pages = record.seq, pages + (record.outcome == "page")
        return Kill(at, last, pages, lost(recorded))


def tell(what: str, began: float) -> None:
    print(f"{time.monotonic() - began:>7.0f} s  {what}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=SoakPlan.pages, help="of the web, about")
    parser.add_argument("--kills", type=int, default=SoakPlan.kills)
    parser.add_argument("--folder", type=Path, help="where the project and the log stay; else they are removed")
    parser.add_argument("--crawl", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--every", type=int, default=500, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.crawl:
        asyncio.run(crawl(options.crawl, options.every))
        return 0
    with tempfile.TemporaryDirectory() as spare:
        lines = soak(SoakPlan(pages=options.pages, kills=options.kills), options.folder or Path(spare))
    print("\n".join(f"{line.what:<44}{line.found:>44}  {'WRONG' if line.wrong else 'right'}" for line in lines))
    for line in lines:
        print("".join(f"{line.what}: {one}\n" for one in line.wrong[:5]), end="")
    return 1 if any(line.wrong for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
