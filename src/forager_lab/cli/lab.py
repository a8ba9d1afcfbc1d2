"""`forager lab …`: strategies side by side on webs whose truth is known."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from forager.errors import ForagerError
from forager_lab.cli.matrix import matrix
from forager_lab.experiment import Experiment, PathGoal, Plan, TopicGoal, conduct
from forager_lab.laboratory import find_webs, open_web
from forager_lab.page import write_report
from forager_lab.plots import need_matplotlib
from forager_lab.quality import critic_quality
from forager_lab.record import record as record_crawl
from forager_lab.report import table
from forager_lab.results import BASELINE, BOUND, figures

lab = typer.Typer(no_args_is_help=True, help="Compare strategies on a recorded web whose labels are known.")
lab.command()(matrix)
out, err = Console(), Console(stderr=True)

WebOption = Annotated[
    str,
    typer.Option(
        "--web", help="folder of a recorded web: *.warc.gz with labels.tsv; or procedural[:hosts=100:seed=7:…]"
    ),
]


@lab.command()
def run(
    web: WebOption,
    strategies: Annotated[str, typer.Option(help="names separated by commas; parameters as name:key=value")],
    topic: Annotated[str | None, typer.Option(help="find the pages under this label (whole dotted parts)")] = None,
    target: Annotated[str | None, typer.Option(help="find the pages of this label in each group left out")] = None,
    leave_out: Annotated[str | None, typer.Option(help="column of labels.tsv that names the groups")] = None,
    halved: Annotated[
        bool, typer.Option("--halved", help="with --topic: half of its pages teach, the other half is to be found")
    ] = False,
    far: Annotated[
        bool, typer.Option("--far", help="with --halved: start as far from the topic as there are pages")
    ] = False,
    runs: Annotated[int, typer.Option(help="runs with different samples")] = 5,
    critic: Annotated[str, typer.Option(help="what judges the pages; parameters as name:key=value")] = "naive-bayes",
    pages: Annotated[int | None, typer.Option(help="pages to fetch in a run [default: 2R, or all]")] = None,
    seed: Annotated[int, typer.Option(help="of all chance")] = 0,
    jobs: Annotated[int, typer.Option(help="processes")] = 1,
    json_file: Annotated[Path | None, typer.Option("--json", help="write the figures to this file")] = None,
    folder: Annotated[Path | None, typer.Option("--out", help="write a report with pictures into this folder")] = None,
) -> None:
    """Crawl with each strategy and report how few useless pages it fetched."""
    names = tuple(name.strip() for name in strategies.split(",") if name.strip())
    plan = Plan(web, _goal(topic, target, leave_out, halved, far), names, critic, runs, pages, seed)
    if folder is not None:
        need_matplotlib()
    for loss in open_web(web).losses:
        err.print(f"note: {loss}", highlight=False, markup=False)
    experiment = _conduct(plan, jobs)
    report = figures(experiment)
    print(table(report))
    missing = [name for name in (BASELINE, BOUND) if name not in names]
    if missing and topic:
        err.print(f"note: loss cut and gap closed need {' and '.join(missing)} among the strategies", highlight=False)
    if json_file is not None:
        _write(json_file, json.dumps(report, indent=1))
    if folder is not None:
        page = write_report(
            folder, {**report, "critic_quality": critic_quality(experiment, jobs)}, _command(plan, folder)
        )
        print(f"report: {page}")


@lab.command()
def webs(
    folders: Annotated[
        list[Path] | None, typer.Argument(help="where to look [default: $FORAGER_WEBS, else here]")
    ] = None,
) -> None:
    """The recorded webs in some folders."""
    places = folders or [Path(name) for name in os.environ.get("FORAGER_WEBS", ".").split(os.pathsep)]
    found = find_webs(places)
    if not found:
        raise ForagerError(f"no recorded web (a folder with *.warc.gz and labels.tsv) in {', '.join(map(str, places))}")
    shown = Table("web", "pages", "topics", "folder")
    for folder in found:
        web = open_web(str(folder))
        shown.add_row(web.name, f"{len(web.truth.labels):,}", f"{len(web.truth.topics()):,}", str(folder))
    out.print(shown)


@lab.command()
def topics(
    web: WebOption,
    under: Annotated[str, typer.Option(help="only those below this one")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="a JSON object: topic, pages")] = False,
) -> None:
    """The topics of a web with their number of pages."""
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
    """Make a web of a finished crawl, labelled as its critic judged the pages."""
    made = record_crawl(project, folder)
    if made.note:
        err.print(f"note: no classes, only relevant and other: {made.note}", highlight=False, markup=False)
    labels = ", ".join(f"{count} {label}" for label, count in made.labels.most_common(10))
    print(f"{made.pages} pages ({labels}), {made.aliases} aliases, {made.seeds} seeds in {folder}")


def _goal(
    topic: str | None, target: str | None, leave_out: str | None, halved: bool, far: bool
) -> TopicGoal | PathGoal:
    if topic is not None and target is None and leave_out is None:
        return TopicGoal(topic, halved, far)
    if topic is None and target is not None and leave_out is not None and not (halved or far):
        return PathGoal(target, leave_out)
    raise ForagerError("give either --topic PREFIX [--halved [--far]], or --target LABEL with --leave-out COLUMN")


def _command(plan: Plan, folder: Path) -> str:
    """What gives the same figures again; the number of jobs changes only the time."""
    goal, aim = plan.goal, list[str]()
    if isinstance(goal, TopicGoal):
        aim = ["--topic", goal.topic, *(["--halved"] if goal.halved else []), *(["--far"] if goal.far else [])]
    elif isinstance(goal, PathGoal):
        aim = ["--target", goal.target, "--leave-out", goal.leave_out]
    pages = [] if plan.pages is None else ["--pages", str(plan.pages)]
    said = ["--strategies", ",".join(plan.strategies), "--critic", plan.critic, "--runs", str(plan.runs)]
    rest = [*pages, "--seed", str(plan.seed), "--out", str(folder)]
    return shlex.join(["forager", "lab", "run", "--web", plan.web, *aim, *said, *rest])


def _conduct(plan: Plan, jobs: int) -> Experiment:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=err) as progress:
        crawls = progress.add_task("getting ready", total=None)
        return conduct(
            plan, jobs, lambda done, of: progress.update(crawls, description="crawls", completed=done, total=of)
        )


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise ForagerError(f"{file} cannot be written: {error.strerror}") from None
