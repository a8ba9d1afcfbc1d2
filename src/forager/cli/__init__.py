"""The command line: words in, library calls, tables out. It decides nothing that a library user could not."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from forager.cli.lab import lab
from forager.config import read_config
from forager.crawl import Crawl
from forager.critics import critic_names
from forager.errors import ForagerError
from forager.strategies import strategy_names
from forager.types import FIRST_OF_ALL

app = typer.Typer(no_args_is_help=True, add_completion=False, help="A focused web crawler.")
app.add_typer(lab, name="lab")
out, err = Console(), Console(stderr=True)


@app.command()
def crawl(
    config: Annotated[Path, typer.Argument(help="a TOML file: seeds, critic, strategy, scope, …")],
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object a page instead of a table")] = False,
) -> None:
    """Crawl a recorded web as a configuration says, and print each page taken in."""
    crawl = Crawl(read_config(config))
    for visit in crawl:
        page, trace = visit.page, visit.trace
        if as_json:
            score = None if trace.score == FIRST_OF_ALL else trace.score
            row: dict[str, Any] = {"url": page.url, "title": page.title, "relevance": visit.judgement.relevance}
            print(json.dumps(row | {"depth": trace.depth, "score": score, "order": trace.order}))
        else:
            out.print(f"{visit.judgement.relevance:.3f}  {page.url}  {page.title}", markup=False, highlight=False)
    tally = crawl.tally
    misses = ", ".join(f"{count} {reason}" for reason, count in tally.misses.most_common()) or "none"
    err.print(
        f"{tally.pages} pages in {tally.requests} requests, harvest {tally.harvest:.3f} by the critic; "
        f"misses: {misses}; {tally.stopped}",
        highlight=False,
    )


@app.command()
def strategies() -> None:
    """The strategies there are, built in and from plug-ins."""
    for name in strategy_names():
        print(name)


@app.command()
def critics() -> None:
    """The critics there are, built in and from plug-ins."""
    for name in critic_names():
        print(name)


def main() -> None:
    try:
        app()
    except ForagerError as error:
        print(f"forager: {error}", file=sys.stderr)
        raise SystemExit(2) from None
