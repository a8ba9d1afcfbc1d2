"""`forager demo`: breadth-first and best-first on the same made-up web, over HTTP on this machine, side by side."""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from forager.cli.progress import Progress
from forager.crawl.build import CRITIC_VERSION
from forager.critics.naive_bayes import NaiveBayes
from forager.errors import ForagerError
from forager.learn.focus import below
from forager.project import Project, empty_folder
from forager.store import Catalogue, Entry, Hit, SearchIndex, models
from forager.types import Fetch, Page, Url
from forager.web.page import parse
from forager_lab import curves
from forager_lab.webs.procedural import ProceduralWeb, WebPlan
from forager_lab.webs.procedural.topics import NONE

TOPIC = "Sports"
STRATEGIES = ("breadth-first", "best-first")
QUERY = "training OR season"
EXAMPLES, OTHERS, SEEDS = 40, 400, 3  # pages that the critic learns from, and those of the examples to start from
OTHER = "other"  # the class of pages about nothing
LEAST = "0.5"  # relevance of the pages that are searched
LAST = 50  # pages over which the second curve is taken
SLOWNESS = 0.1  # of what the web says its hosts take to answer: nobody wants to wait for a slow host that is not there
PATIENCE = 5.0  # seconds for the server to end by itself
STOPPED = 130  # exit code after Ctrl-C, as shells have it

WEB = """\
This web is made up: {hosts} hosts with about {pages:,} pages, computed from the number {seed} when they are asked for,
with navigation bars, adverts, dead links, redirects, slow hosts and endless traps. Nothing of it exists outside of
this machine. It is there because the truth about every page is known; figures to be believed are from recorded webs."""

# With as many requests at once as there are hosts, every host would always be asked for something, good or bad, and
# the order that a strategy gives would hardly matter.
CONFIG = """\
seeds = {seeds}

[critic]
name = "naive-bayes"
model = "critic.npz"

[strategy]
name = "{strategy}"

[frontier]
delay = 0.005  # seconds between two requests to a host; on a real web 1 or more
in_flight = 3

[stop]
pages = {pages}

[fetch]
contact = "demo@web.test"

[fetch.resolve]
"*.web.test" = "127.0.0.1:{port}"  # where the demo's server listened
"""


@dataclass(frozen=True, slots=True)
class Collected:
    """What a crawl brought home, page by page, with the truth about each."""

    strategy: str
    folder: Path
    entries: Sequence[Entry]
    wanted: Sequence[bool]  # by truth
    shown: Sequence[bool]  # to the critic, as an example
    requests: int
    seconds: float


def demo(
    folder: Annotated[Path | None, typer.Option(help="a new folder [default: one among the temporary files]")] = None,
    pages: Annotated[int, typer.Option(min=1, help="pages to fetch in each crawl")] = 300,
    seed: Annotated[int, typer.Option(help="of the web that is made up")] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", help="no progress")] = False,
) -> None:
    """Crawl a made-up web over HTTP on this machine, breadth-first and best-first, and compare what they bring home."""
    try:
        _demo(_empty(folder), pages, seed, Console(stderr=True, quiet=quiet))
    except KeyboardInterrupt:
        print("forager: the demo was stopped", file=sys.stderr)
        raise typer.Exit(STOPPED) from None


def _demo(place: Path, pages: int, seed: int, err: Console) -> None:
    web = ProceduralWeb(WebPlan(seed=seed))
    err.print(f"learning what a page on {TOPIC} looks like from {EXAMPLES} examples …", highlight=False)
    critic, seeds, shown = learn(web, seed)
    with served(seed) as (port, process):
        err.print(f"a made-up web listens on 127.0.0.1:{port} (process {process})", highlight=False)
        crawls = []
        for strategy in STRATEGIES:
            toml = CONFIG.format(seeds=json.dumps(seeds), strategy=strategy, pages=pages, port=port)
            models.save(place / strategy / "critic.npz", critic.parts(), kind="naive-bayes", version=CRITIC_VERSION)
            crawls.append(collect(web, strategy, place / strategy, toml, shown, err))
    best = crawls[-1]
    hits = find(best.folder)
    told = WEB.format(hosts=web.plan.hosts, pages=web.plan.hosts * web.plan.pages_per_host, seed=seed)
    report = place / "report.html"
    report.write_text(write_report(crawls, told), encoding="utf-8")
    tell(crawls, hits, report, told)


def _empty(folder: Path | None) -> Path:
    return Path(tempfile.mkdtemp(prefix="forager-demo-")) if folder is None else empty_folder(folder)


@contextmanager
def served(seed: int) -> Iterator[tuple[int, int]]:
    """The web as a process while this lasts: its port and process id."""
    command = [sys.executable, "-P", "-m", "forager_lab.webs.server", "--seed", str(seed), "--slowness", str(SLOWNESS)]
    # In a session of its own it does not hear Ctrl-C, so that the crawl ends before the web does. It ends when its
    # input closes: whatever becomes of this process, it is not left behind.
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as server:
        try:
            yield _port(server), server.pid
        finally:
            server.terminate()
            try:
                server.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                server.kill()


def _port(server: subprocess.Popen[str]) -> int:
    assert server.stdout
    line = server.stdout.readline()
    if not line:
        raise ForagerError("the demo's web did not start: what its server says is above")
    return int(json.loads(line)["port"])


# ---- learning and crawling ------------------------------------------------------------------------------------------


def learn(web: ProceduralWeb, seed: int) -> tuple[NaiveBayes, list[Url], frozenset[Url]]:
    """A critic trained on example pages, the seeds, which are some of the examples, and all pages it was shown."""
    seeds = web.seeds(TOPIC, SEEDS, seed)
    labels = dict(web.labels())
    draw = np.random.default_rng(seed)
    wanted = [url for url, label in labels.items() if below(label, TOPIC) and url not in seeds]
    others = [url for url, label in labels.items() if not below(label, TOPIC)]
    some = [wanted[i] for i in draw.permutation(len(wanted))[: EXAMPLES - SEEDS]]
    urls = [*seeds, *some, *(others[i] for i in draw.permutation(len(others))[:OTHERS])]
    critic = NaiveBayes(focus=[TOPIC], seed=seed)
    pages = [(page, labels[url]) for url in urls if (page := _page(web, url)) is not None]
    critic.fit((page for page, _ in pages), (OTHER if label == NONE else label.partition(".")[0] for _, label in pages))
    return critic, seeds, frozenset(urls)


def _page(web: ProceduralWeb, url: Url) -> Page | None:
    page = parse(Fetch(url, web.respond(url).body, "text/html", "utf-8"))
    return page if isinstance(page, Page) else None


def collect(
    web: ProceduralWeb, strategy: str, folder: Path, toml: str, shown: frozenset[Url], err: Console
) -> Collected:
    """Crawl into a new project, as `forager crawl` would."""
    project = Project.create(folder, toml, [])
    if err.is_terminal:  # elsewhere every line says it
        err.print(strategy, style="bold")
    start = monotonic()
    with Progress(err, f"{strategy}: ") as progress:
        tally = asyncio.run(project.crawl(lambda crawl, notes: progress.began(crawl), progress.each))
    seconds = monotonic() - start
    with Catalogue(folder) as catalogue:
        entries = list(catalogue.pages())
    if not entries:
        raise ForagerError(f"the {strategy} crawl found no pages: {tally.stopped}")
    wanted = [below(web.label(entry.url), TOPIC) for entry in entries]
    return Collected(strategy, folder, entries, wanted, [e.url in shown for e in entries], tally.requests, seconds)


def find(folder: Path) -> list[Hit]:
    with SearchIndex(folder) as index:
        index.update()
        return index.search(QUERY, 3, min_relevance=float(LEAST))


# ---- telling --------------------------------------------------------------------------------------------------------


def figures(crawl: Collected) -> dict[str, str]:
    new = [wanted for wanted, shown in zip(crawl.wanted, crawl.shown, strict=True) if not shown]
    judged = sum(entry.relevance for entry in crawl.entries)
    return {
        "pages": str(len(crawl.entries)),
        f"on {TOPIC}, by truth": _share(sum(crawl.wanted), len(crawl.wanted)),
        "  without the critic's examples": _share(sum(new), len(new)),
        f"on {TOPIC}, by the critic": _share(judged, len(crawl.entries)),
        "requests": str(crawl.requests),
        "seconds": f"{crawl.seconds:.1f}",
    }


def _share(some: float, of: int) -> str:
    return f"{some:.0f} = {100 * some / of:.1f} %" if of else "-"


def tell(crawls: Sequence[Collected], hits: Sequence[Hit], report: Path, told: str) -> None:
    """What came of it, on stdout."""
    columns = [figures(crawl) for crawl in crawls]
    print(f"\n{told}\n")
    print(f"{'':<34}" + "".join(f"{crawl.strategy:>16}" for crawl in crawls))
    for name in columns[0]:
        print(f"{name:<34}" + "".join(f"{column[name]:>16}" for column in columns))
    best = crawls[-1]
    print(f"\n$ {_search(best)}")
    for hit in hits:
        print(f"{hit.title or '(no title)'}\n  {hit.url}\n  {' '.join(hit.snippet.split())}")
    print(f"\nprojects  {', '.join(str(crawl.folder) for crawl in crawls)}\nreport    {report}\n\ntype next:")
    print("\n".join(f"  {line}" for line in _next(best)))


def _next(crawl: Collected) -> list[str]:
    """Commands that work on the collection now that the web is gone."""
    return [
        _search(crawl),
        _typed("why", crawl.folder, farthest(crawl).url),
        _typed("pages", crawl.folder, "--limit", "10"),
        _typed("lab", "record", crawl.folder, crawl.folder.parent / "web"),
    ]


def _search(crawl: Collected) -> str:
    return _typed("search", crawl.folder, QUERY, "--min-relevance", LEAST)


def _typed(*words: object) -> str:
    """A command line as it must be typed here: `make demo` installs into a folder that no shell looks into."""
    program = sys.argv[0] if Path(sys.argv[0]).name == "forager" else f"{sys.executable} -m forager"
    return f"{'forager' if shutil.which('forager') else program} {shlex.join(map(str, words))}"


def most_relevant(crawl: Collected) -> list[Entry]:
    return sorted(crawl.entries, key=lambda entry: (-entry.relevance, entry.seq))[:10]


def farthest(crawl: Collected) -> Entry:
    """Of the most relevant pages the one with the longest way to it."""
    return max(most_relevant(crawl), key=lambda entry: entry.depth)


# ---- the report -----------------------------------------------------------------------------------------------------


def write_report(crawls: Sequence[Collected], told: str) -> str:
    best = crawls[-1]
    columns = [figures(crawl) for crawl in crawls]
    rows = [(name.strip(), *(column[name] for column in columns)) for name in columns[0]]
    return curves.document(
        f"Two crawls for pages on {TOPIC}",
        [
            curves.paragraph(told),
            curves.paragraph(
                f"Both crawls began at the same {SEEDS} pages and had the same critic, trained on {EXAMPLES} pages on"
                f" {TOPIC} and {OTHERS} others. They differ in one thing: which link is followed next."
            ),
            curves.heading("Harvest"),
            *_charts(crawls),
            curves.table(("", *(crawl.strategy for crawl in crawls)), rows),
            curves.heading(f"The ten most relevant pages, by the critic, of {best.strategy}"),
            _found(best),
            curves.heading("How one of them was found"),
            _way(best),
            curves.heading("To go on"),
            curves.commands(_next(best)),
        ],
    )


def _charts(crawls: Sequence[Collected]) -> list[str]:
    overall = [curves.Curve(crawl.strategy, curves.so_far(crawl.wanted)) for crawl in crawls]
    recent = [curves.Curve(crawl.strategy, curves.over_last(crawl.wanted, LAST)) for crawl in crawls]
    return [
        curves.chart(overall, f"Share of pages on {TOPIC} among all pages fetched so far, by truth"),
        curves.chart(recent, f"Share of pages on {TOPIC} among the last {LAST} fetched, by truth"),
    ]


def _found(crawl: Collected) -> str:
    truth = {entry.seq: wanted for entry, wanted in zip(crawl.entries, crawl.wanted, strict=True)}
    rows = [
        (f"{e.relevance:.3f}", "yes" if truth[e.seq] else "no", e.title, e.url, e.depth, e.parent or "a seed")
        for e in most_relevant(crawl)
    ]
    return curves.table(("relevance", "true", "title", "url", "depth", "found on"), rows)


def _way(crawl: Collected) -> str:
    with Catalogue(crawl.folder) as catalogue:
        way = catalogue.why(farthest(crawl).url)
    rows = [
        (step.depth, "seed" if step.depth == 0 else f"{step.score:.3f}", f"{step.relevance:.3f}", step.title, step.url)
        for step in way
    ]
    return curves.table(("depth", "score of the link", "relevance", "title", "url"), rows)
