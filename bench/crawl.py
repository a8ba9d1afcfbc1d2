"""What a whole crawl costs beside the bare loop: python -m bench.crawl [--full] [--runs 5]

CPU milliseconds a page, client and server on a core each, of the bare loop (bench.bare) and of a project crawled with
robots, parse, a naive Bayes critic of 20 classes, best-first, WARC and catalogue, delay 0:

    closed   3,000 pages, every link leads to one of them
    open     3,000 pages, 25 of 80 links lead to a URL never seen before, and 1 M URLs wait at the start

The same with strategies that learn, default and apprentice, on both works but with nothing waiting at the start: a
learner that goes on must be able to read again what it has learnt from. What a sweep over 1 M links costs is
bench.sweeps.

The bare loop, the least one and the crawl take turns, because a machine is not equally fast all day; `ratio` is to the
bare loop, `least_ratio` to the least. Where the time goes comes from a run of its own, in which every stage has a clock
(bench.spent). The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio.selector_events
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TypeAlias

import numpy as np

import forager.crawl.loop
from bench import bare
from bench.reference import PAGES, SEED, Run, homes, once, served
from bench.spent import Spent
from forager.crawl.asking import Asker
from forager.crawl.build import CRITIC_VERSION
from forager.crawl.keeper import StoreKeeper
from forager.crawl.loop import Crawl
from forager.crawl.step import Step
from forager.critics.naive_bayes import NaiveBayes
from forager.fetch.http import HttpFetcher
from forager.fetch.robots import Robots, RobotsRules
from forager.frontier import LaneFrontier
from forager.frontier.facts import Facts
from forager.project import Project
from forager.store import NewUrl, Record, Store, models
from forager.store.journal import pack_links
from forager.strategies import Apprentice, BestFirst, ContextGraph, Hmm, MemmCrawler, PathForager, QValue
from forager.strategies.weigher import Weigher
from forager.types import FIRST_OF_ALL, Fetch, Page, Reason, ScoredLinks
from forager.web import text
from forager.web.page import ParsedLinks, parse
from forager.web.scope import Scope
from forager_lab.webs.procedural import ProceduralWeb
from forager_lab.webs.server import PLANS

CLASSES = 20
TRAINING = 600  # pages
IN_FLIGHT = 20  # one for each host of the web; with more, links to other hosts would be asked for too
LINKS = 80  # of a page that was visited before
HOSTS = 10_000  # that the waiting URLs lie on
LOWEST = -1.0  # a score below all that best-first gives
WAITING = 1_000_000
SIZES, LARGEST_SIZE = (100_000, 1_000_000), 10_000_000  # of the frontier alone
CONFIG = """
[critic]
name = "naive-bayes"
model = "critic.npz"

[strategy]
{strategy}

[frontier]
delay = 0.0
in_flight = {in_flight}

[stop]
pages = {pages}

[fetch]
contact = "bench@web.test"
longest_delay = 0.0
resolve = {{ "*.web.test" = "127.0.0.1:{port}" }}
"""
SCORING = (Apprentice, BestFirst, ContextGraph, Hmm, MemmCrawler, PathForager, QValue, Weigher)  # may have a clock
Figures: TypeAlias = dict[str, Any]


# ---- what is prepared ------------------------------------------------------------------------------------------------


def train(path: Path) -> None:
    """A critic of the 20 topics of the reference web, from pages of it, one topic in focus."""
    web = ProceduralWeb(PLANS["reference"](SEED))
    topics = web.topics()
    labelled = [(url, label) for url, label in web.labels() if label in topics]
    chosen = [labelled[i] for i in np.random.default_rng(SEED).permutation(len(labelled))[:TRAINING]]
    read = [(parse(Fetch(url, web.respond(url).body)), label) for url, label in chosen]
    pages = [(page, label) for page, label in read if isinstance(page, Page)]
    critic = NaiveBayes(focus=[topics[0]])
    critic.fit((page for page, _ in pages), (label for _, label in pages))
    assert len(critic.classes) == CLASSES, critic.classes
    models.save(path, critic.parts(), kind="naive-bayes", version=CRITIC_VERSION)


def visited_before(folder: Path, waiting: int) -> int:
    """Store a crawl of other hosts that has left so many URLs waiting; gives the number of its pages.

    They come from pages of 80 new links each, as a crawl would have stored them, so that resuming it is what puts
    them in memory: addresses, edges and frontier. Every page is found on the one before it.
    """
    hubs = -(-waiting // (LINKS - 1))
    with Store(folder) as store:
        store.add_urls([NewUrl(0, "http://hub.others.test/", "hub.others.test", FIRST_OF_ALL)])
        asked = 0
        for seq in range(hubs):
            store.add(_hub(seq, asked, store.known))
            asked = store.known - LINKS
            if store.pending == 64:
                store.commit()
    return hubs


def _hub(seq: int, asked: int, first: int) -> Record:
    new = [_waiting_url(id) for id in range(first, first + LINKS)]
    ids = np.arange(first, first + LINKS, dtype=np.int32)
    links = pack_links(ids, ScoredLinks(np.full(LINKS, LOWEST, np.float32)))
    judged = (0.1, 0.1, None, "", "")
    return Record(
        *(seq, asked, asked, "page", "", "", 200, max(0, asked), seq, LOWEST, *judged),
        *(datetime(2024, 1, 1, tzinfo=UTC), 0.1, "", None, {}, new, links, ()),
    )


def _waiting_url(id: int) -> NewUrl:
    host = f"www.host-{id * 7919 % HOSTS}.others.test"
    return NewUrl(id, f"http://{host}/section/{id % 97}/some-page-title-{id}.html", host, LOWEST)


# ---- the crawl that is measured --------------------------------------------------------------------------------------


LEARNERS = ("default", "apprentice")


class Work(NamedTuple):
    plan: str  # of the web: "reference", or "open"
    waiting: int = 0  # URLs at the start
    strategy: str = "best-first"
    taught: Path | None = None  # what it has learnt


async def crawl(project: Path, model: Path, work: Work, before: int, watched: bool, port: int) -> int:
    """Crawl 3,000 pages in a folder that holds nothing, or `before` pages of other hosts; leaves its figures there."""
    shutil.copy(model, project / "critic.npz")
    strategy = f'name = "{work.strategy}"' + (f'\nmodel = "{work.taught}"' if work.taught else "")
    toml = CONFIG.format(strategy=strategy, in_flight=IN_FLIGHT, pages=PAGES + before, port=port)
    spent = watch_stages() if watched else None
    resumed = [0.0]

    def began(crawl: Crawl, changes: list[str]) -> None:
        resumed.append(time.process_time())
        if spent:
            spent.start()

    tally = await Project.create(project, toml, homes(work.plan)).crawl(began)
    cpu = time.process_time() - resumed[-1]
    assert set(tally.misses) <= {Reason.ROBOTS}, tally.misses  # one that waits on another host would be a DNS failure
    fetched = tally.pages - before
    if spent:
        spent.switch("")
    stages = {name: 1e3 * took / fetched for name, took in spent.seconds.items()} if spent else {}
    figures = {"pages": fetched, "ms": 1e3 * cpu / fetched, "stages": stages, "stopped": tally.stopped}
    (project / "figures.json").write_text(json.dumps(figures))
    return fetched


def watch_stages() -> Spent:
    """A clock on every stage of the crawl of this process."""
    spent = Spent()
    sockets: Any = asyncio.selector_events
    spent.watch("fetch", HttpFetcher, "fetch")
    spent.watch("fetch", sockets._SelectorSocketTransport, "_read_ready")
    spent.watch("robots", Asker, "_read_rules", "_allows")
    spent.watch("robots", Robots, "known")
    spent.watch("robots", RobotsRules, "allows")
    spent.watch("parse", forager.crawl.loop, "parse")
    spent.watch("tokens", text, "terms")
    spent.watch("critic", NaiveBayes, "judge")
    for strategy in SCORING:
        spent.watch("score", strategy, "score")
    for learner in (Apprentice, Weigher):
        spent.watch("learn", learner, "observe")
    spent.watch("facts, frontier", Facts, "intern", "known", "judge", "found", "trace")
    spent.watch("facts, frontier", Step, "offer")
    spent.watch("facts, frontier", LaneFrontier, "acquire", "release", "next_due")
    spent.watch("facts, frontier", Scope, "admit")
    spent.watch("facts, frontier", ParsedLinks, "take")
    spent.watch("store add", StoreKeeper, "keep")
    spent.watch("commit", StoreKeeper, "commit")
    return spent


# ---- runs ------------------------------------------------------------------------------------------------------------


class Bench:
    """The folders that runs need, made once."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._model, self._runs = folder, folder / "critic.npz", 0
        train(self._model)
        self._old: tuple[Path, int] | None = None

    def run(self, port: int, work: Work, *, watched: bool = False) -> tuple[Run, Figures]:
        project, before = self._project(work.waiting)
        try:
            run = once(partial(crawl, project, self._model, work, before, watched), port)
            figures: Figures = json.loads((project / "figures.json").read_text())
        finally:
            shutil.rmtree(project)
        return run, figures

    def _project(self, waiting: int) -> tuple[Path, int]:
        self._runs += 1
        project = self._folder / f"project-{self._runs}"
        if not waiting:
            project.mkdir()
            return project, 0
        if self._old is None:
            old = self._folder / "old"
            self._old = old, visited_before(old, waiting)
        shutil.copytree(self._old[0], project)
        return project, self._old[1]


@contextmanager
def prepared() -> Iterator[Bench]:
    with tempfile.TemporaryDirectory() as folder:
        yield Bench(Path(folder))


def turns(bench: Bench, port: int, count: int, work: Work) -> tuple[Figures, dict[str, float]]:
    """So many runs of both loops and of the crawl, one after the other; and where the time of another goes."""
    bares, leasts, crawls, peaks = [], [], [], []
    for turn in range(count):
        bares.append(once(bare.client("bare"), port).cpu_ms_per_page)
        leasts.append(once(bare.client("least"), port).cpu_ms_per_page)
        run, figures = bench.run(port, work)
        crawls.append(figures["ms"] if work.waiting else run.cpu_ms_per_page)
        peaks.append(run.rss_mb)
        kind, pages = "open" if work.plan == "open" else "closed", figures["pages"]
        print(
            f"{work.strategy:<12}{kind:>8}{turn + 1:>4}{bares[-1]:>10.3f}{leasts[-1]:>10.3f}{crawls[-1]:>10.3f}"
            f"{crawls[-1] / bares[-1]:>8.2f}{crawls[-1] / leasts[-1]:>10.2f}"
            f"{pages:>8}{run.wall:>8.1f}{run.rss_mb:>7.0f}",
            flush=True,
        )
    stages = bench.run(port, work, watched=True)[1]["stages"]
    return {
        "bare_ms": min(bares),
        "bare_ms_median": median(bares),
        "least_ms": min(leasts),
        "crawl_ms": min(crawls),
        "crawl_ms_median": median(crawls),
        "ratio": min(crawls) / min(bares),
        "ratio_median": median(mine / other for mine, other in zip(crawls, bares, strict=True)),
        "least_ratio": min(crawls) / min(leasts),
        "rss_mb": max(peaks),
    }, stages


def frontier(sizes: list[int]) -> dict[str, dict[str, float]]:
    """The frontier alone, every size in a process of its own."""
    found = {}
    for size in sizes:
        command = [sys.executable, "-m", "bench.frontier", "--one", str(size)]
        report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        found[str(size)] = {name: report[name] for name in ("add_per_s", "acquire_per_s", "bytes_per_url")}
        print(f"frontier, {size:>10,} URLs: {found[str(size)]}", flush=True)
    return found


def sweeps() -> Figures:
    """A million links scored again beside the loop, in a process of its own."""
    told = subprocess.run([sys.executable, "-m", "bench.sweeps"], check=True, capture_output=True, text=True).stdout
    print(told.rpartition("\n{")[0])
    figures: Figures = json.loads(told.splitlines()[-1])
    return figures


def show(closed: dict[str, float], open: dict[str, float]) -> None:
    print(f"{'CPU ms/page, clocks included':<28}{'closed':>9}{'open':>9}")
    for name in sorted({*closed, *open}, key=lambda name: -open.get(name, 0.0)):
        print(f"{name:<28}{closed.get(name, 0.0):>9.3f}{open.get(name, 0.0):>9.3f}")
    print(f"{'together':<28}{sum(closed.values()):>9.3f}{sum(open.values()):>9.3f}")


def rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 3) for name, value in figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="the frontier with 10 M URLs too")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--waiting", type=int, default=WAITING, help="URLs that wait at the start of the open work")
    options = parser.parse_args()
    heads = (
        f"{'bare ms':>10}{'least ms':>10}{'crawl ms':>10}{'ratio':>8}{'to least':>10}{'pages':>8}{'wall s':>8}{'MB':>7}"
    )
    print(f"{'strategy':<12}{'work':>8}{'run':>4}{heads}")
    with prepared() as bench:
        with served("reference") as port:
            closed, stages = turns(bench, port, options.runs, Work("reference"))
            learning = {name: turns(bench, port, options.runs, Work("reference", strategy=name)) for name in LEARNERS}
        with served("open") as port:
            open, open_stages = turns(bench, port, options.runs, Work("open", options.waiting))
            open_learning = {
                name: turns(bench, port, options.runs, Work("open", strategy=name))[0] for name in LEARNERS
            }
    show(stages, open_stages)
    found = {
        **rounded(closed),
        **{f"open_{name}": value for name, value in rounded(open).items()},
        "stages": rounded(stages),
        "open_stages": rounded(open_stages),
        **{
            learner: {
                **rounded(figures),
                **{f"open_{name}": value for name, value in rounded(open_learning[learner]).items()},
                "stages": rounded(spent),
            }
            for learner, (figures, spent) in learning.items()
        },
        "sweeps": sweeps(),
        "frontier": frontier([*SIZES, *([LARGEST_SIZE] if options.full else [])]),
        "rss_mb_1m": round(open["rss_mb"]),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
