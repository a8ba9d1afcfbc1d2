"""`forager crawl`, `pages`, `search`, `export` and `seeds`: a project and its collection."""

from __future__ import annotations

import asyncio
import math
import signal
from collections import Counter
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from forager.cli.progress import Progress, StatusLine, counting
from forager.cli.status import in_words
from forager.cli.terminal import JsonLines, LeastRelevance, Limit, ProjectFolder, err, put, put_json, say
from forager.cli.topics import critic_with_progress
from forager.collection.courses.export import COURSES, export_courses
from forager.collection.export import FORMATS
from forager.collection.export import export as export_collection
from forager.collection.harvest import harvest_correction
from forager.config import read_config
from forager.crawl.folder import read_seeds
from forager.crawl.loop import Crawl
from forager.crawl.stats import CrawlStats
from forager.errors import ForagerError
from forager.project import Project
from forager.store import Catalogue, Entry, SearchIndex
from forager.types import FIRST_OF_ALL, Reason

NOTHING, STOPPED = 1, 130  # exit codes: no page at all; after a second Ctrl-C, as in shells
CURES: Mapping[str, str] = {
    Reason.NOT_FOUND: "check the URLs of the seeds",
    Reason.CLIENT_ERROR: "these sites refuse us: choose other seeds",
    Reason.SERVER_ERROR: "try again later",
    Reason.BUSY: "try again later",
    Reason.NOT_HTML: "give pages as seeds, not files",
    Reason.ROBOTS: "these sites do not want to be crawled: choose other seeds",
    Reason.FORBIDDEN: "if you do want to crawl this network, name it in [fetch] allow",
    Reason.DNS: "check your network and the names of the hosts",
    Reason.TIMEOUT: "check your network, or try again later",
    Reason.UNREACHABLE: "check your network, or try again later",
    Reason.TLS: "check the clock of this machine and the URLs of the seeds",
    Reason.LOCAL: "forager doctor checks this machine",
}


def crawl(
    project: Annotated[
        Path, typer.Argument(help="folder of the project; or a TOML file, for a crawl that saves nothing")
    ],
    verbose: Annotated[
        int, typer.Option("--verbose", "-v", count=True, help="print the lines of the log; -vv: with all details")
    ] = 0,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="first ask again for pages that may have changed by now")
    ] = False,
    as_json: JsonLines = False,
) -> None:
    """Crawl, or go on with a crawl.

    Ctrl-C waits for the requests that are running and ends the crawl; a second Ctrl-C stops at once.

    Exit codes: 0 the crawl has ended, 1 nothing was fetched, 2 wrong input, 130 stopped at once.
    """
    if project.suffix == ".toml" and refresh:
        raise ForagerError("--refresh needs a project: a crawl from a file has no pages yet")
    if project.suffix == ".toml":
        tally = _crawl_file(project, as_json)
    else:
        tally = asyncio.run(_crawl_project(Project(project), verbose, refresh))
        if as_json:
            put_json(_summary(tally))
    if not tally.stopped:
        raise typer.Exit(STOPPED)
    if not tally.pages:
        say(f"nothing was fetched: {_main_reason(tally)}")
        raise typer.Exit(NOTHING)


async def _crawl_project(project: Project, verbose: int, refresh: bool) -> CrawlStats:
    trained = await critic_with_progress(project)
    with Progress(err, correction=harvest_correction(project.folder)) as progress:
        running = asyncio.current_task()
        tallies: list[CrawlStats] = []
        before: Counter[str] = Counter()

        def began(crawl: Crawl, notes: list[str]) -> None:
            tallies.append(crawl.stats)
            before.update(crawl.stats.revisits)
            if verbose:
                crawl.log.listen(say, "info" if verbose == 1 else "debug")
            progress.began(crawl)
            for note in notes:
                say(note)
            if running:
                _listen(crawl, running)

        def scored(pages: int) -> None:
            status.update(lambda: f"the strategy is another one: {pages:,} pages scored again")

        try:
            with StatusLine(err) as status:
                tally = await project.crawl(
                    began, progress.each, critic=trained.critic, query=trained.query, scored=scored, refresh=refresh
                )
        except asyncio.CancelledError:
            tally = tallies[0] if tallies else CrawlStats()
            tally.stopped = ""
    if refresh:
        say(_revisited(tally.revisits - before))
    say(tally.stopped or "stopped at once; pages that were not saved will be fetched again")
    return tally


def _revisited(counts: Mapping[str, int]) -> str:
    same, changed, gone = (counts.get(kind, 0) for kind in ("same", "changed", "gone"))
    return f"asked again for {same + changed + gone:,} pages: {changed:,} have changed, {gone:,} have gone"


def _main_reason(tally: CrawlStats) -> str:
    """Why there is no page, and what to do about it."""
    if not tally.misses:
        return tally.stopped
    [(reason, count)] = tally.misses.most_common(1)
    told = f"{count:,} of {tally.misses.total():,} links failed for this reason: {in_words(reason)}"
    return f"{told}; {CURES.get(reason, 'forager status and the log of the project say more')}"


def _listen(crawl: Crawl, running: asyncio.Task[Any]) -> None:
    """The first signal lets the crawl finish, the second stops it at once."""
    loop = asyncio.get_running_loop()

    def hear() -> None:
        if crawl.stopping:
            running.cancel()
        else:
            say("waiting for the running requests; press Ctrl-C again to stop at once")
            crawl.stop("interrupted")

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, hear)


def _summary(tally: CrawlStats) -> dict[str, Any]:
    return {
        "pages": tally.pages,
        "requests": tally.requests,
        "harvest": round(tally.harvest, 6),
        "longest_step_ms": round(1000 * tally.longest_step, 1),
        "misses": {str(reason): count for reason, count in tally.misses.items()},
        "revisits": dict(tally.revisits),
        "stopped": tally.stopped,
    }


def _crawl_file(file: Path, as_json: bool) -> CrawlStats:
    crawl = Crawl(read_config(file))
    for visit in crawl:
        page, trace = visit.page, visit.trace
        if as_json:
            score = None if trace.score == FIRST_OF_ALL else trace.score
            row: dict[str, Any] = {"url": page.url, "title": page.title, "relevance": visit.judgement.relevance}
            put_json(row | {"depth": trace.depth, "score": score, "order": trace.order})
        else:
            put(f"{visit.judgement.relevance:.3f}  {page.url}  {page.title}")
    tally = crawl.stats
    misses = ", ".join(f"{count} {reason}" for reason, count in tally.misses.most_common()) or "none"
    say(
        f"{tally.pages} pages in {tally.requests} requests, harvest {tally.harvest:.3f} by the critic; "
        f"misses: {misses}; {tally.stopped}"
    )
    return tally


def retry(
    project: ProjectFolder,
    reason: Annotated[
        list[str] | None, typer.Option(help="only links that failed for this reason; repeat for more")
    ] = None,
    host: Annotated[list[str] | None, typer.Option(help="only links to this host; repeat for more")] = None,
) -> None:
    """Let the next crawl ask again for links that failed. `forager status` lists the reasons."""
    count = Project(project).retry(reason or [], host or [])
    put(f"{count:,} links will be asked for again")


def pages(
    project: ProjectFolder,
    limit: Limit = 50,
    order: Annotated[str, typer.Option(help="what comes first: oldest, newest, relevance, score or url")] = "relevance",
    min_relevance: LeastRelevance = None,
    copies: Annotated[
        bool, typer.Option("--copies", help="list instead the URLs with a text that the collection has already")
    ] = False,
    as_json: JsonLines = False,
) -> None:
    """List the pages of the collection."""
    with Catalogue(project) as catalogue:
        if copies:
            for entry, original in islice(catalogue.copies(), limit):
                if as_json:
                    put_json({"url": entry.url, "copy_of": original, "found_at": entry.asked_at.isoformat()})
                else:
                    put(f"{entry.url}  is a copy of  {original}")
            return
        for entry in catalogue.pages(limit=limit, order=order, min_relevance=min_relevance):
            label = f"  [{entry.label}]" if entry.label else ""
            if as_json:
                put_json(_page(entry))
            else:
                put(f"{entry.relevance:.3f}  {entry.url}{label}  {entry.title}")


def _page(entry: Entry) -> dict[str, Any]:
    return {
        "url": entry.url,
        "title": entry.title,
        "relevance": _finite(entry.relevance),
        "label": entry.label,
        "depth": entry.depth,
        "score": _finite(entry.score),
        "parent": entry.parent,
        "fetched_at": entry.asked_at.isoformat(),
    }


def search(
    project: ProjectFolder,
    query: Annotated[str, typer.Argument(help='words, "a phrase", AND, OR, NOT, beginning*')],
    limit: Limit = 10,
    min_relevance: LeastRelevance = None,
    as_json: JsonLines = False,
) -> None:
    """Search the text of the collection."""
    with SearchIndex(project) as index:
        with counting(err, "reading pages for the search", index.behind) as tell:
            index.update(tell)
        hits = index.search(query, limit, min_relevance=min_relevance)
    for hit in hits:
        if as_json:
            put_json({"url": hit.url, "title": hit.title, "relevance": hit.relevance, "snippet": hit.snippet})
        else:
            put(hit.title or "(no title)")
            put(f"  {hit.url}")
            put(f"  {' '.join(hit.snippet.split())}")
    if not hits:
        say("nothing found")


def export(
    project: ProjectFolder,
    target: Annotated[Path, typer.Argument(help="file to write")],
    format: Annotated[str, typer.Option(help=", ".join([*FORMATS, COURSES]))] = "jsonl",
    min_relevance: LeastRelevance = None,
    label: Annotated[
        str | None,
        typer.Option(help="for courses: the label of their pages", show_default="goal, if the critic agrees"),
    ] = None,
) -> None:
    """Write the collection to one file."""
    if format == COURSES:
        count = export_courses(Project(project), target, label=label, min_relevance=min_relevance)
    else:
        with Catalogue(project) as catalogue:
            pages = catalogue.count(min_relevance=min_relevance)
        with counting(err, "writing pages", pages) as tell:
            count = export_collection(project, target, format, min_relevance=min_relevance, tell=tell)
    put(f"{count} {COURSES if format == COURSES else 'pages'} in {target}")


seeds_app = typer.Typer(no_args_is_help=True, help="The URLs that a project starts from.")


@seeds_app.command("list")
def list_seeds(project: ProjectFolder) -> None:
    """List all seeds; those of the configuration come first."""
    for url in Project(project).config.seeds:
        put(url)


@seeds_app.command("add")
def add_seeds(
    project: ProjectFolder,
    urls: Annotated[list[str] | None, typer.Argument(help="URLs to add")] = None,
    file: Annotated[Path | None, typer.Option(help="file with a URL on each line")] = None,
) -> None:
    """Add seeds for the next `forager crawl`."""
    given = [*(urls or []), *(read_seeds(file) if file else [])]
    if not given:
        raise ForagerError("no seeds: give URLs, or --file FILE with a URL on each line")
    put(f"{Project(project).add_seeds(given)} seeds added")


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
