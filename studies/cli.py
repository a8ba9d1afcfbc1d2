"""`forager lab study …`: the experiments of a paper repeated on a recorded web, as a page of docs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from forager_lab.cli.matrix import MatrixProgress
from forager_lab.plots import need_matplotlib
from studies.apprentice.page import write_page
from studies.apprentice.study import APPRENTICE, KEPT, TOPICS, Plan, run_study
from studies.lexical import study as of_lexical
from studies.lexical.page import write_page as write_lexical_page
from studies.paths.page import write_page as write_paths_page
from studies.paths.study import TOPICS as PATH_TOPICS
from studies.paths.study import Scheme as PathScheme
from studies.paths.study import run_path_study

STOPPED = 130
_OTHERS = ",".join(of_lexical.OTHERS)

study = typer.Typer(no_args_is_help=True, help="Repeat the experiments of a paper, and write a page about them.")
err = Console(stderr=True)


@study.callback()
def about() -> None:
    """Studies of single methods."""


@study.command()
def apprentice(
    web: Annotated[str, typer.Option(help="folder of a recorded web with topics")] = "../shared/data/wikispeedia",
    out: Annotated[
        Path, typer.Option(help="folder of the pictures; the page is beside it, with the ending .md")
    ] = Path("docs/lab/apprentice"),
    jobs: Annotated[int, typer.Option(help="processes")] = 2,
    topics: Annotated[str, typer.Option(help="separated by commas")] = ",".join(TOPICS),
    runs: Annotated[int, typer.Option(help="runs with different samples")] = 5,
    side_runs: Annotated[int, typer.Option(help="of them those that the side figures are made of")] = 2,
    spec: Annotated[str, typer.Option("--apprentice", help="parameters as name:key=value")] = APPRENTICE,
    critic: Annotated[str, typer.Option(help="what judges the pages")] = "naive-bayes",
    seed: Annotated[int, typer.Option(help="of all chance")] = 0,
    keep: Annotated[Path, typer.Option(help="folder of the finished parts")] = KEPT,
    fresh: Annotated[bool, typer.Option("--fresh", help="make again what was made by other code")] = False,
) -> None:
    """The apprentice: figures 4 to 14 of its paper, and a table of loss reduction. Finished crawls are kept."""
    need_matplotlib()
    plan = Plan(web, _names(topics), spec, critic, runs, min(side_runs, runs), seed=seed)
    try:
        found = run_study(plan, keep, jobs=jobs, fresh=fresh, tell=_tell)
    except KeyboardInterrupt:
        err.print(f"stopped; what is finished is kept in {keep}, and the same command goes on from there")
        raise typer.Exit(STOPPED) from None
    print(
        f"{found.made} parts made, {sum(found.codes.values()) - found.made} kept from earlier; {write_page(found, out)}"
    )


@study.command()
def lexical(
    web: Annotated[str, typer.Option(help="folder of a recorded web with topics")] = "../shared/data/wikispeedia",
    out: Annotated[
        Path, typer.Option(help="folder of the pictures; the page is beside it, with the ending .md")
    ] = Path("docs/lab/lexical"),
    jobs: Annotated[int, typer.Option(help="processes")] = 2,
    topics: Annotated[str, typer.Option(help="those tested, separated by commas")] = ",".join(of_lexical.TOPICS),
    others: Annotated[str, typer.Option(help="those on which weights are searched, and options tried too")] = _OTHERS,
    runs: Annotated[int, typer.Option(help="crawls a topic, each from a page of its own")] = 5,
    side_runs: Annotated[int, typer.Option(help="of them those that options are tried in, and other topics")] = 2,
    pages: Annotated[int, typer.Option(help="of a crawl")] = 400,
    seed: Annotated[int, typer.Option(help="of all chance")] = 0,
    keep: Annotated[Path, typer.Option(help="folder of the finished crawls and parts")] = KEPT,
    fresh: Annotated[bool, typer.Option("--fresh", help="make again what was made by other code")] = False,
) -> None:
    """The lexical method: chapter 5 of its thesis. Finished crawls are kept."""
    need_matplotlib()
    scheme = of_lexical.Scheme(web, _names(topics), _names(others), runs, min(side_runs, runs), pages, seed=seed)
    with _progress(keep) as progress:
        found = of_lexical.run_lexical_study(
            scheme, keep, jobs=jobs, fresh=fresh, tell=progress.tell, note=progress.note
        )
    print(f"{found.done.crawled} cells crawled now; {write_lexical_page(found, out)}")


@study.command()
def paths(
    courses: Annotated[str, typer.Option(help="folder of a recorded web of universities")] = "../shared/data/webkb",
    web: Annotated[str, typer.Option(help="folder of a recorded web with topics")] = "../shared/data/wikispeedia",
    parts: Annotated[Path, typer.Option(help="labels by hand of the parts of course pages")] = Path(
        "data/course-parts.tsv"
    ),
    out: Annotated[
        Path, typer.Option(help="folder of the pictures; the page is beside it, with the ending .md")
    ] = Path("docs/lab/paths"),
    jobs: Annotated[int, typer.Option(help="processes")] = 2,
    topics: Annotated[str, typer.Option(help="separated by commas")] = ",".join(PATH_TOPICS),
    runs: Annotated[int, typer.Option(help="crawls a topic, each with another half of it")] = 1,
    draws: Annotated[int, typer.Option(help="times that what depends on chance is taught for courses")] = 3,
    seed: Annotated[int, typer.Option(help="of all chance")] = 0,
    keep: Annotated[Path, typer.Option(help="folder of the finished crawls and parts")] = KEPT,
    fresh: Annotated[bool, typer.Option("--fresh", help="make again what was made by other code")] = False,
) -> None:
    """The path models: context graph, reinforcement spider, HMM, MEMM and CRF. Finished crawls are kept."""
    need_matplotlib()
    scheme = PathScheme(courses, web, parts, _names(topics), runs, draws, seed=seed)
    with _progress(keep) as progress:
        found = run_path_study(scheme, keep, jobs=jobs, fresh=fresh, tell=progress.tell, note=progress.note)
    print(f"{found.done.crawled} cells crawled now; {write_paths_page(found, out)}")


@contextmanager
def _progress(keep: Path) -> Iterator[MatrixProgress]:
    """What is told while cells are crawled, and when somebody stops it."""
    with MatrixProgress(err) as progress:
        try:
            yield progress
        except KeyboardInterrupt:
            progress.note(f"stopped; what is finished is kept in {keep}, and the same command goes on from there")
            raise typer.Exit(STOPPED) from None


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _tell(done: int, of: int, last: str) -> None:
    err.print(f"{done}/{of} runs of topics done{f': {last}' if last else ''}", highlight=False, markup=False)
