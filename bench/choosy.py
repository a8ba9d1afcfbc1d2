"""What choosiness brings and costs, over real HTTP: `python -m bench.choosy [--webs DIR] [--simulated]`.

Webs are served by `forager lab serve` in a process of its own, each under its own host names, and each answer takes a
while. A strategy crawls them with the laboratory's critic until it has R pages, the size of the topic: with one request
at once, with 64, and with 64 and `choosy`. Harvest is the share of these pages that are on the topic, by truth.

A host is asked once in a round, which is the answer and the delay. That sets two limits. No crawl that asks the hosts
as often as this one did can be faster than the requests to the busiest of them: the column `least`. And no crawl at
all, even one that knows every page beforehand, has more of the topic in twice this time: the column `most`.

With `--simulated` there is no server, and the same crawls run under simulated time: only answers and delays take time,
the processor takes none. So the figures do not depend on the machine. `--fewer` crawls with fewer requests at once as
well.

What chose anything (the rounds that are looked ahead, the default) was chosen on the webs marked with *.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from tests.simulated import LoopClock, simulate

from forager.config import CrawlConfig, FetchConfig, FrontierConfig, ScopeConfig, StopConfig, StoreConfig
from forager.crawl.loop import Crawl
from forager.registry import Spec
from forager.types import Answer, Fetcher, Url
from forager.web.urls import host
from forager_lab.laboratory import Laboratory
from forager_lab.protocol import Trial, strategy_for, topic_trial
from forager_lab.webs import find_web, open_web

IN_FLIGHT = 64
ROUNDS = 10**8  # of a simulated loop


class Place(NamedTuple):
    """A topic of a web."""

    web: str
    topic: str
    tuned: bool = False  # it has chosen something


PLACES = (
    Place("procedural:hosts=40:seed=1", "Sports", tuned=True),
    Place("uic", "engineering_science", tuned=True),
    Place("procedural:hosts=40:seed=2", "Sports"),
    Place("uic", "news"),
    Place("uic", "admissions_student"),
)


@dataclass(frozen=True)
class ChoosyRun:
    """One crawl."""

    strategy: str
    web: str
    topic: str
    tuned: bool
    pages: int  # R
    in_flight: int
    choosy: float
    harvest: float
    seconds: float
    processor: float
    requests: int
    least: float  # seconds that the requests to the busiest host take
    most: float  # the harvest of a crawl that knows all, in twice the time


@contextmanager
def served(web: str, answer: float) -> Iterator[dict[str, str]]:
    """Serve a web inside `with`; gives what `[fetch] resolve` needs."""
    command = [sys.executable, "-m", "forager", "lab", "serve", web, "--delay", str(answer)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        lines: list[str] = []
        for line in iter(server.stdout.readline, ""):
            lines.append(line)
            if line.startswith("exclude"):
                break
        try:
            yield tomllib.loads("".join(lines))["fetch"]["resolve"]
        finally:
            server.terminate()


class SlowAnswers:
    """The answers of a web, each after a while."""

    def __init__(self, web: Fetcher, seconds: float) -> None:
        self._web, self._seconds = web, seconds

    async def fetch(self, url: Url) -> Answer:
        answer = await self._web.fetch(url)
        await asyncio.sleep(self._seconds)
        return replace(answer, seconds=self._seconds)


def settings(
    trial: Trial, resolve: dict[str, str], in_flight: int, choosy: float, options: argparse.Namespace
) -> CrawlConfig:
    return CrawlConfig(
        seeds=tuple(trial.seeds),
        frontier=FrontierConfig(delay=options.delay, delay_factor=0, in_flight=in_flight, choosy=choosy),
        scope=ScopeConfig(declared=False, feeds=False, sitemaps="none", traps=False),
        store=StoreConfig(duplicates="all"),
        stop=StopConfig(pages=len(trial.relevant)),
        fetch=FetchConfig(contact="bench@web.test", robots=False, resolve=resolve),
        seed=trial.seed,
    )


async def crawled(
    lab: Laboratory, trial: Trial, config: CrawlConfig, options: argparse.Namespace
) -> tuple[int, Counter[str], Crawl]:
    """How many pages were wanted, how often each host was asked, and the crawl."""
    strategy, given = strategy_for(lab, trial, options.strategy), dict[str, Any]()
    if options.simulated:
        answers = SlowAnswers(lab.web.fetcher, options.answer)
        given = {"fetcher": answers, "clock": LoopClock(), "read": lab.cache.read}
    crawl = Crawl(config, critic=trial.critic, strategy=strategy, scope=trial.scope, **given)
    wanted = 0
    async for visit in crawl.visits():
        wanted += visit.page.url in trial.relevant
    addresses, done = crawl.facts.addresses, crawl.frontier.done.tolist()
    return wanted, Counter(host(addresses[id]) for id in done), crawl


def measure(place: Place, web: str, run: int, options: argparse.Namespace) -> Iterator[ChoosyRun]:
    """Crawl a topic in all ways."""
    lab = Laboratory(open_web(web))
    trial = topic_trial(lab, place.topic, Spec.parse("naive-bayes"), run=run, seed=0)
    there, turn = Counter(map(host, trial.relevant)), options.delay + options.answer
    ways = [(1, 0.0), (IN_FLIGHT, 0.0), *((IN_FLIGHT, choosy) for choosy in options.choosy)]
    ways += [(fewer, 0.0) for fewer in options.fewer]
    with nullcontext(dict[str, str]()) if options.simulated else served(web, options.answer) as resolve:
        for in_flight, choosy in ways:
            start, worked = time.monotonic(), time.process_time()
            work = crawled(lab, trial, settings(trial, resolve, in_flight, choosy, options), options)
            if options.simulated:
                (wanted, asked, crawl), loop = simulate(work, ROUNDS)
                seconds = loop.seconds
            else:
                wanted, asked, crawl = asyncio.run(work)
                seconds = time.monotonic() - start
            yield ChoosyRun(
                *(str(options.strategy), place.web, place.topic, place.tuned, len(trial.relevant), in_flight, choosy),
                harvest=round(wanted / max(1, crawl.stats.pages), 3),
                seconds=round(seconds, 1),
                processor=round(time.process_time() - worked, 1),
                requests=crawl.stats.requests,
                least=round(max(asked.values(), default=0) * turn, 1),
                most=round(sum(min(pages, 2 * seconds / turn) for pages in there.values()) / len(trial.relevant), 3),
            )


def told(runs: Sequence[ChoosyRun]) -> Iterator[str]:
    """A table: figures, and what they are beside those of one request at once and of 64 without choosiness."""
    heads = ("of one", 7), ("s", 7), ("of 64", 6), ("cpu", 6), ("requests", 8), ("least", 7), ("most", 6)
    first = f"{'web':<27} {'topic':<20} {'in flight':>9} {'choosy':>6} {'harvest':>8}"
    yield " ".join([first, *(f"{name:>{wide}}" for name, wide in heads)])
    one = impatient = runs[0]
    for run in runs:
        one = run if run.in_flight == 1 else one
        impatient = run if run.in_flight == IN_FLIGHT and not run.choosy else impatient
        of_one = f"{run.harvest / one.harvest:.2f}" if one.harvest else "-"
        of_64 = f"{run.seconds / impatient.seconds:.2f}" if run.in_flight > 1 else "-"
        name = f"{run.web}{'*' if run.tuned else ''}"
        yield (
            f"{name:<27} {run.topic:<20} {run.in_flight:>9} {run.choosy:>6g} {run.harvest:>8.3f} {of_one:>7} "
            f"{run.seconds:>7.1f} {of_64:>6} {run.processor:>6.1f} {run.requests:>8} {run.least:>7.1f} {run.most:>6.3f}"
        )


def numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--webs", type=Path, help="a folder of recorded webs; without it only made-up ones are crawled")
    parser.add_argument("--delay", type=float, default=0.1, help="seconds between two requests to a host")
    parser.add_argument("--answer", type=float, default=0.05, help="seconds that the server takes for an answer")
    parser.add_argument("--choosy", type=numbers, default=[1.0, 2.0, 4.0, 10.0])
    parser.add_argument("--fewer", type=lambda text: [int(number) for number in numbers(text)], default=[])
    parser.add_argument("--simulated", action="store_true", help="no HTTP, and simulated time")
    parser.add_argument("--strategy", type=Spec.parse, default=Spec.parse("best-first"))
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--topics", default="", help="only these, separated by commas")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    runs: list[ChoosyRun] = []
    for place in PLACES:
        web = find_web(place.web, [options.webs] if options.webs else [])
        if web is None or (options.topics and place.topic not in options.topics.split(",")):
            continue
        for run in range(options.runs):
            for made in measure(place, web, run, options):
                print(json.dumps(asdict(made)), file=sys.stderr, flush=True)
                runs.append(made)
    if not runs:
        parser.error("none of these webs is here: name the folder that holds them, --webs DIR")
    print("\n".join(told(runs)))
    if options.json:
        options.json.write_text(json.dumps([asdict(run) for run in runs], indent=1) + "\n")


if __name__ == "__main__":
    main()
