"""`forager lab …`: strategies side by side on webs whose truth is known.

The command line loads this module at every start, so each command imports what it needs when it runs.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from forager.errors import ForagerError
from forager_lab.cli.matrix import evidence, matrix

if TYPE_CHECKING:
    from forager_lab.experiment import Experiment, PathGoal, Plan, TopicGoal

lab = typer.Typer(
    no_args_is_help=True, help="The laboratory: compare strategies on webs in which the label of every page is known."
)
out, err = Console(), Console(stderr=True)

WebOption = Annotated[
    str,
    typer.Option(
        "--web",
        help="the folder of a recorded web (*.warc.gz and labels.tsv), or procedural[:hosts=100:seed=7:…] for a web "
        "that is made up",
    ),
]

# All of it is TOML. A URL with an address instead of a name would not come here, but go to the network.
SERVED = """\
# {web} is served on {place} until Ctrl-C; a project crawls it with these lines

[fetch]
resolve = {{ "*" = "http://{place}" }}

[scope]
exclude = ['^https?://(\\[|[0-9.]+(:|/|$))']
"""


@lab.command()
def run(
    web: WebOption,
    strategies: Annotated[
        str, typer.Option(help="strategies to compare, separated by commas; parameters as name:key=value")
    ],
    topic: Annotated[
        str | None, typer.Option(help="find the pages of this topic: a label, or the first parts of dotted labels")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="with --leave-out: find the pages with this label in each group")
    ] = None,
    leave_out: Annotated[
        str | None,
        typer.Option(help="the column of labels.tsv that names the groups; each group is left out of training once"),
    ] = None,
    halved: Annotated[
        bool, typer.Option("--halved", help="with --topic: half of its pages may teach, the other half must be found")
    ] = False,
    far: Annotated[
        bool, typer.Option("--far", help="with --halved: start at the pages that are farthest from the topic")
    ] = False,
    examples: Annotated[
        int | None, typer.Option(min=3, help="with --topic: pages of it that the critic learns from, if not 40")
    ] = None,
    flipped: Annotated[
        float, typer.Option(min=0, max=1, help="with --topic: share of the critic's sample that has the wrong label")
    ] = 0.0,
    runs: Annotated[int, typer.Option(help="number of runs, each with another training sample")] = 5,
    critic: Annotated[
        str, typer.Option(help="the critic that judges the pages; parameters as name:key=value")
    ] = "naive-bayes",
    pages: Annotated[
        int | None,
        typer.Option(help="pages to fetch in a run (default: with --topic twice its pages, with --target all)"),
    ] = None,
    seed: Annotated[int, typer.Option(help="the seed of all random choices")] = 0,
    jobs: Annotated[int, typer.Option(help="number of processes")] = 1,
    json_file: Annotated[Path | None, typer.Option("--json", help="write the figures to this file")] = None,
    folder: Annotated[Path | None, typer.Option("--out", help="write a report with pictures into this folder")] = None,
) -> None:
    """Crawl a web with each strategy, several times, and show how much of what each fetched is relevant."""
    from forager_lab.experiment import Plan
    from forager_lab.plots import need_matplotlib
    from forager_lab.report import text_table
    from forager_lab.results import BASELINE, BOUND, figures
    from forager_lab.webs import open_web

    names = tuple(name.strip() for name in strategies.split(",") if name.strip())
    plan = Plan(web, _goal(topic, target, leave_out, halved, far, examples, flipped), names, critic, runs, pages, seed)
    if folder is not None:
        need_matplotlib()
    for loss in open_web(web).losses:
        err.print(f"note: {loss}", highlight=False, markup=False)
    experiment = _conduct(plan, jobs)
    report = figures(experiment)
    print(text_table(report))
    missing = [name for name in (BASELINE, BOUND) if name not in names]
    if missing and topic:
        err.print(f"note: loss cut and gap closed need {' and '.join(missing)} among the strategies", highlight=False)
    if json_file is not None:
        _write(json_file, json.dumps(report, indent=1))
    if folder is not None:
        _write_report(folder, experiment, report, jobs)


@lab.command()
def webs(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(help="folders to look in (default: those of FORAGER_WEBS, else the current one)"),
    ] = None,
) -> None:
    """List the recorded webs in some folders."""
    from rich.table import Table

    from forager_lab.webs import FOLDERS, find_webs, open_web, web_folders

    places = web_folders(folders or ()) or [Path(".")]
    found = find_webs(places)
    if not found:
        looked = ", ".join(map(str, places))
        raise ForagerError(
            f"no recorded web (a folder with *.warc.gz and labels.tsv) in {looked}: name others, or set {FOLDERS}"
        )
    shown = Table("web", "pages", "topics", "folder")
    for folder in found:
        web = open_web(str(folder))
        shown.add_row(web.name, f"{len(web.truth.labels):,}", f"{len(web.truth.topics()):,}", str(folder))
    out.print(shown)


@lab.command()
def topics(
    web: WebOption,
    under: Annotated[str, typer.Option(help="show only this topic and those below it")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="print a JSON object: pages by topic")] = False,
) -> None:
    """List the topics of a web with their number of pages."""
    from forager_lab.webs import open_web

    known = open_web(web).truth.topics()
    chosen = {
        name: pages for name, pages in known.items() if not under or name == under or name.startswith(f"{under}.")
    }
    if as_json:
        print(json.dumps(chosen))
        return
    for name, pages in chosen.items():
        print(f"{pages:6,}  {name}")


@lab.command()
def record(
    project: Annotated[Path, typer.Argument(help="the folder of a project that has been crawled")],
    folder: Annotated[Path, typer.Argument(help="a new folder for the web")],
) -> None:
    """Make a recorded web from a finished crawl. Its labels are what the critic of the crawl said about the pages."""
    from forager_lab.webs import record as record_crawl

    made = record_crawl(project, folder)
    if made.note:
        err.print(f"note: no classes, only relevant and other: {made.note}", highlight=False, markup=False)
    labels = ", ".join(f"{count} {label}" for label, count in made.labels.most_common(10))
    print(f"{made.pages} pages ({labels}), {made.aliases} aliases, {made.seeds} seeds in {folder}")


@lab.command()
def serve(
    web: Annotated[
        str,
        typer.Argument(
            help="a folder of *.warc.gz, the folder of a project, or procedural[:hosts=100:seed=7:…] for a web that is "
            "made up"
        ),
    ],
    port: Annotated[int, typer.Option(min=0, max=65_535, help="the port to listen on; 0: any free one")] = 0,
    host: Annotated[str, typer.Option(help="the address to listen on, which must be this machine's own")] = "127.0.0.1",
    delay: Annotated[float, typer.Option(min=0, help="seconds before each answer")] = 0.0,
    slowness: Annotated[
        float, typer.Option(min=0, help="also wait so many times as long as a made-up host would take")
    ] = 0.0,
    log: Annotated[Path | None, typer.Option(help="write a line for each request to this file")] = None,
) -> None:
    """Serve a web over HTTP on this machine, under the names of its own hosts, until Ctrl-C.

    It prints the lines of TOML that a project needs to crawl it.
    Pages come as they were recorded, aliases as redirects; all else is not found.
    """
    import asyncio

    from forager_lab.webs import open_answers
    from forager_lab.webs.server import Server, serve_until_stopped

    answers, losses = open_answers(web)
    for loss in losses:
        err.print(f"note: {loss}", highlight=False, markup=False)
    server = Server(answers, port, address=host, slowness=slowness, delay=delay, log=log)
    try:
        asyncio.run(serve_until_stopped(server, lambda: print(SERVED.format(web=web, place=server.place), flush=True)))
    except OSError as error:
        if error.filename:
            raise ForagerError(f"{error.filename} cannot be written: {error.strerror}") from None
        raise ForagerError(f"cannot listen on {host}:{port}: {error.strerror or error}; choose another port") from None
    err.print(f"stopped after {server.requests} requests", highlight=False)


lab.command()(matrix)
lab.command()(evidence)


# ---- parts of `run` -------------------------------------------------------------------------------------------------


def _goal(
    topic: str | None,
    target: str | None,
    leave_out: str | None,
    halved: bool,
    far: bool,
    examples: int | None,
    flipped: float,
) -> TopicGoal | PathGoal:
    from forager_lab.experiment import PathGoal, TopicGoal

    if topic is not None and target is None and leave_out is None:
        return TopicGoal(topic, halved, far, examples, flipped or None)
    if topic is None and target is not None and leave_out is not None and not (halved or far or examples or flipped):
        return PathGoal(target, leave_out)
    raise ForagerError("give either --topic PREFIX [--halved [--far]], or --target LABEL with --leave-out COLUMN")


def _conduct(plan: Plan, jobs: int) -> Experiment:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from forager_lab.experiment import conduct

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=err) as progress:
        crawls = progress.add_task("getting ready", total=None)
        return conduct(
            plan, jobs, lambda done, of: progress.update(crawls, description="crawls", completed=done, total=of)
        )


def _write_report(folder: Path, experiment: Experiment, figures: dict[str, object], jobs: int) -> None:
    from forager_lab.quality import critic_quality
    from forager_lab.report import write_report

    whole = {**figures, "critic_quality": critic_quality(experiment, jobs)}
    print(f"report: {write_report(folder, whole, _command(experiment.plan, folder))}")


def _command(plan: Plan, folder: Path) -> str:
    """The command that gives the same figures again. The number of jobs changes only the time."""
    from forager_lab.experiment import PathGoal, TopicGoal

    goal, aim = plan.goal, list[str]()
    if isinstance(goal, TopicGoal):
        aim = ["--topic", goal.topic, *(["--halved"] if goal.halved else []), *(["--far"] if goal.far else [])]
        aim += [f"--examples={goal.examples}"] if goal.examples else []
        aim += [f"--flipped={goal.flipped:g}"] if goal.flipped else []
    elif isinstance(goal, PathGoal):
        aim = ["--target", goal.target, "--leave-out", goal.leave_out]
    pages = [] if plan.pages is None else ["--pages", str(plan.pages)]
    said = ["--strategies", ",".join(plan.strategies), "--critic", plan.critic, "--runs", str(plan.runs)]
    rest = [*pages, "--seed", str(plan.seed), "--out", str(folder)]
    return shlex.join(["forager", "lab", "run", "--web", plan.web, *aim, *said, *rest])


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise ForagerError(f"{file} cannot be written: {error.strerror}") from None
