"""`forager demo`: three strategies on a made-up web. Its work is in forager_lab.demo, imported when it runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

STOPPED = 130  # exit code after Ctrl-C, as in a shell


def demo(
    folder: Annotated[
        Path | None, typer.Option(help="a new folder for the three projects and the report (default: a temporary one)")
    ] = None,
    pages: Annotated[int, typer.Option(min=1, help="pages to fetch in each crawl")] = 300,
    seed: Annotated[int, typer.Option(help="another number makes another web")] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", help="do not show the progress")] = False,
) -> None:
    """See a focused crawl without the internet.

    A web is made up and served on this machine, and three strategies crawl it.
    Breadth-first follows links in the order in which it finds them.
    Best-first follows the links of relevant pages first.
    Default weighs all that speaks for a link, and learns while it crawls.
    A report compares what they bring home.
    """
    try:
        from forager_lab.demo import run_demo

        run_demo(folder, pages, seed, Console(stderr=True, quiet=quiet))
    except KeyboardInterrupt:
        print("forager: the demo was stopped", file=sys.stderr)
        raise typer.Exit(STOPPED) from None
