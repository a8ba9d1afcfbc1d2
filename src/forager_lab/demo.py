"""The demo: three strategies crawl the same made-up web over HTTP on this machine, and are compared."""

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
from itertools import accumulate
from pathlib import Path
from time import monotonic

import numpy as np
from markupsafe import Markup, escape
from rich.console import Console

from forager.cli.progress import Progress
from forager.crawl.build import CRITIC_VERSION
from forager.crawl.folder import empty_folder
from forager.critics.naive_bayes import NaiveBayes
from forager.errors import ForagerError
from forager.learn.focus import below
from forager.project import Project
from forager.store import Catalogue, Entry, Hit, SearchIndex, models
from forager.types import Fetch, Page, Url
from forager.web.page import parse
from forager_lab.report import render
from forager_lab.webs.procedural import ProceduralWeb, WebPlan
from forager_lab.webs.procedural.topics import NONE

TOPIC = "Sports"
STRATEGIES = ("breadth-first", "best-first", "default")
QUERY = "training OR season"
EXAMPLES, OTHERS, SEEDS = 40, 400, 3  # pages that the critic learns from; examples that are seeds
OTHER = "other"  # the class of pages about nothing
LEAST = "0.5"  # least relevance of the pages that are searched
LAST = 50  # pages over which the second curve is taken
SLOWNESS = 0.1  # share of the seconds that the web gives for an answer, so that nobody waits long
PATIENCE = 5.0  # seconds for the server to end by itself

WEB = """\
This web is made up: {hosts} hosts with about {pages:,} pages, which are computed from the number {seed} when somebody
asks for them. It has navigation bars, adverts, dead links, redirects, slow hosts and traps that never end. Nothing of
it exists outside of this machine. Its use is that the truth about every page is known. Trust figures from recorded webs
more."""

# With as many requests at once as there are hosts, every host would always be busy with some link, good or bad, and the
# order that a strategy gives would hardly matter.
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
class DemoCrawl:
    """What a crawl brought home, page by page, with the truth about each page."""

    strategy: str
    folder: Path
    entries: Sequence[Entry]
    wanted: Sequence[bool]  # by truth
    shown: Sequence[bool]  # to the critic as examples
    requests: int
    seconds: float


def run_demo(folder: Path | None, pages: int, seed: int, err: Console) -> None:
    """Crawl with each strategy, write the report, and print what came of it. `err` shows the progress."""
    place = _empty(folder)
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
    """Serve the web from another process inside `with`: gives its port and process id."""
    command = [sys.executable, "-P", "-m", "forager_lab.webs.server", "--seed", str(seed), "--slowness", str(SLOWNESS)]
    # In a session of its own it does not get Ctrl-C, so that the crawl ends before the web does. It ends when its input
    # closes, so it is not left behind if this process ends for any reason.
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
        raise ForagerError("the web of the demo did not start: see the message of its server above")
    return int(json.loads(line)["port"])


# ---- learning and crawling ------------------------------------------------------------------------------------------


def learn(web: ProceduralWeb, seed: int) -> tuple[NaiveBayes, list[Url], frozenset[Url]]:
    """A critic trained on example pages; the seeds, which are some of the examples; all pages that it was shown."""
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
) -> DemoCrawl:
    """Crawl into a new project, as `forager crawl` would."""
    project = Project.create(folder, toml, [])
    if err.is_terminal:  # elsewhere every line has the name
        err.print(strategy, style="bold")
    start = monotonic()
    with Progress(err, f"{strategy}: ") as progress:
        stats = asyncio.run(project.crawl(lambda crawl, notes: progress.began(crawl), progress.each))
    seconds = monotonic() - start
    with Catalogue(folder) as catalogue:
        entries = list(catalogue.pages())
    if not entries:
        raise ForagerError(f"the {strategy} crawl found no pages: {stats.stopped}")
    wanted = [below(web.label(entry.url), TOPIC) for entry in entries]
    return DemoCrawl(strategy, folder, entries, wanted, [e.url in shown for e in entries], stats.requests, seconds)


def find(folder: Path) -> list[Hit]:
    """The first three hits of a search in the collection."""
    with SearchIndex(folder) as index:
        index.update()
        return index.search(QUERY, 3, min_relevance=float(LEAST))


# ---- telling --------------------------------------------------------------------------------------------------------


def figures(crawl: DemoCrawl) -> dict[str, str]:
    """The figures of a crawl, as texts by their names."""
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


def tell(crawls: Sequence[DemoCrawl], hits: Sequence[Hit], report: Path, told: str) -> None:
    """Print figures, a search and the next commands to stdout."""
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


def _next(crawl: DemoCrawl) -> list[str]:
    """Commands that work on the collection, although the web is gone."""
    return [
        _search(crawl),
        _typed("why", crawl.folder, farthest(crawl).url),
        _typed("pages", crawl.folder, "--limit", "10"),
        _typed("lab", "record", crawl.folder, crawl.folder.parent / "web"),
    ]


def _search(crawl: DemoCrawl) -> str:
    return _typed("search", crawl.folder, QUERY, "--min-relevance", LEAST)


def _typed(*words: object) -> str:
    """A command line that works here, even if `forager` is in a folder that the shell does not search."""
    program = sys.argv[0] if Path(sys.argv[0]).name == "forager" else f"{sys.executable} -m forager"
    return f"{'forager' if shutil.which('forager') else program} {shlex.join(map(str, words))}"


def most_relevant(crawl: DemoCrawl) -> list[Entry]:
    """The ten most relevant pages, by the critic."""
    return sorted(crawl.entries, key=lambda entry: (-entry.relevance, entry.seq))[:10]


def farthest(crawl: DemoCrawl) -> Entry:
    """The one of the most relevant pages that is the most links away from the seeds."""
    return max(most_relevant(crawl), key=lambda entry: entry.depth)


# ---- the report -----------------------------------------------------------------------------------------------------


def write_report(crawls: Sequence[DemoCrawl], about_web: str) -> str:
    """The report as one HTML file."""
    best, columns = crawls[-1], [figures(crawl) for crawl in crawls]
    return render(
        "demo.html.j2",
        title=f"Two crawls for pages on {TOPIC}",
        about_web=about_web,
        topic=TOPIC,
        seeds=SEEDS,
        examples=EXAMPLES,
        others=OTHERS,
        strategies=[crawl.strategy for crawl in crawls],
        charts=_charts(crawls),
        figures=[(name.strip(), *(column[name] for column in columns)) for name in columns[0]],
        most_relevant=_found(best),
        way=_way(best),
        commands=_next(best),
    )


def _charts(crawls: Sequence[DemoCrawl]) -> list[Markup]:
    overall = [Curve(crawl.strategy, so_far(crawl.wanted)) for crawl in crawls]
    recent = [Curve(crawl.strategy, over_last(crawl.wanted, LAST)) for crawl in crawls]
    return [
        chart(overall, f"Share of pages on {TOPIC} among all pages fetched so far, by truth"),
        chart(recent, f"Share of pages on {TOPIC} among the last {LAST} fetched, by truth"),
    ]


def _found(crawl: DemoCrawl) -> list[tuple[object, ...]]:
    truth = {entry.seq: wanted for entry, wanted in zip(crawl.entries, crawl.wanted, strict=True)}
    return [
        (f"{e.relevance:.3f}", "yes" if truth[e.seq] else "no", e.title, e.url, e.depth, e.parent or "a seed")
        for e in most_relevant(crawl)
    ]


def _way(crawl: DemoCrawl) -> list[tuple[object, ...]]:
    with Catalogue(crawl.folder) as catalogue:
        way = catalogue.why(farthest(crawl).url)
    return [
        (step.depth, "seed" if step.depth == 0 else f"{step.score:.3f}", f"{step.relevance:.3f}", step.title, step.url)
        for step in way
    ]


# ---- curves as SVG --------------------------------------------------------------------------------------------------

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 12, 36  # around the plot
POINTS = 400  # of a curve; more cannot be seen
COLOURS = 4  # of curves, in templates/demo.html.j2


@dataclass(frozen=True, slots=True)
class Curve:
    """A named curve over the pages of a crawl."""

    name: str
    values: Sequence[float]  # in 0..1, one after each page


def so_far(marks: Sequence[float]) -> list[float]:
    """For each page, the mean over all pages up to it."""
    return [total / count for count, total in enumerate(accumulate(marks), 1)]


def over_last(marks: Sequence[float], width: int) -> list[float]:
    """For each page, the mean over the last `width` pages up to it; over fewer at the beginning."""
    sums = [0.0, *accumulate(marks)]
    firsts = [max(0, end - width) for end in range(1, len(sums))]
    return [(sums[end] - sums[first]) / (end - first) for end, first in enumerate(firsts, 1)]


def chart(curves: Sequence[Curve], said: str) -> Markup:
    """The curves over the number of pages. `said` tells what they show, also to those who cannot see them."""
    pages = max([1, *(len(curve.values) for curve in curves)])
    keys = "".join(f'<span class="key k{n % COLOURS}">{escape(curve.name)}</span>' for n, curve in enumerate(curves))
    drawn = "".join(_line(curve, n, pages) for n, curve in enumerate(curves))
    svg = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(said)}">{_axes(pages)}{drawn}</svg>'
    return Markup(f"<figure><div>{keys}</div>{svg}<figcaption>{escape(said)}</figcaption></figure>")


def _line(curve: Curve, number: int, pages: int) -> str:
    if not curve.values:
        return ""
    step = max(1, len(curve.values) // POINTS)
    places = sorted({*range(0, len(curve.values), step), len(curve.values) - 1})
    points = " ".join(f"{_x(place + 1, pages):.1f},{_y(curve.values[place]):.1f}" for place in places)
    title = f"<title>{escape(curve.name)}: {curve.values[-1]:.3f} at the end</title>"
    return f'<polyline class="curve c{number % COLOURS}" points="{points}">{title}</polyline>'


def _axes(pages: int) -> str:
    levels = "".join(
        f'<line class="rule" x1="{LEFT}" y1="{_y(share):.1f}" x2="{WIDTH - RIGHT}" y2="{_y(share):.1f}"/>'
        f'<text x="{LEFT - 6}" y="{_y(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>'
        for share in (0, 0.25, 0.5, 0.75, 1)
    )
    counts = "".join(
        f'<text x="{_x(count, pages):.1f}" y="{HEIGHT - 18}" text-anchor="middle">{count}</text>'
        for count in range(0, pages + 1, _between(pages))
    )
    middle = (LEFT + WIDTH - RIGHT) / 2
    return f'{levels}{counts}<text x="{middle:.1f}" y="{HEIGHT - 2}" text-anchor="middle">pages</text>'


def _between(pages: int) -> int:
    """A round number of pages between two marks, so that there are at most six steps."""
    size = 1
    while True:
        for factor in (1, 2, 5):
            if pages <= 6 * factor * size:
                return factor * size
        size *= 10


def _x(count: float, pages: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * count / pages


def _y(share: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - min(1.0, max(0.0, share)))
