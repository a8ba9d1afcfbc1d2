"""`forager lab study …`: the experiments of a paper repeated on a recorded web, as a page of docs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from forager.lab.plots import need_matplotlib
from forager.lab.studies.apprentice import APPRENTICE, KEPT, TOPICS, Plan, run_study
from forager.lab.studies.apprentice_page import write_page

STOPPED = 130

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
    names = tuple(name.strip() for name in topics.split(",") if name.strip())
    plan = Plan(web, names, spec, critic, runs, min(side_runs, runs), seed=seed)
    try:
        found = run_study(plan, keep, jobs=jobs, fresh=fresh, tell=_tell)
    except KeyboardInterrupt:
        err.print(f"stopped; what is finished is kept in {keep}, and the same command goes on from there")
        raise typer.Exit(STOPPED) from None
    print(
        f"{found.made} parts made, {sum(found.codes.values()) - found.made} kept from earlier; {write_page(found, out)}"
    )


def _tell(done: int, of: int, last: str) -> None:
    err.print(f"{done}/{of} runs of topics done{f': {last}' if last else ''}", highlight=False, markup=False)
