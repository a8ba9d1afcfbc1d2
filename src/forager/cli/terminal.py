"""What the commands share: where they print, options that many of them have, and text that is safe for a terminal.

Commands print with `put`, `put_json` and `say` alone: strangers write pages, and a terminal would obey them.
"""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from forager.config import MOST
from forager.errors import plain

__all__ = [
    "JsonLines",
    "JsonObject",
    "LeastRelevance",
    "Limit",
    "ProjectFolder",
    "Seed",
    "duration",
    "err",
    "plain",
    "put",
    "put_json",
    "say",
]

err = Console(stderr=True)
ProjectFolder = Annotated[Path, typer.Argument(help="folder of the project")]
JsonObject = Annotated[bool, typer.Option("--json", help="print one JSON object, for programs")]
JsonLines = Annotated[bool, typer.Option("--json", help="print JSON, for programs: one object on each line")]
Limit = Annotated[int, typer.Option(help="at most so many pages", min=1, max=MOST)]
LeastRelevance = Annotated[
    float | None, typer.Option(help="only pages of at least this relevance, from 0 to 1", min=0, max=1)
]
Seed = Annotated[int, typer.Option(help="seed of the random numbers", min=0, max=MOST)]


def put(line: str = "") -> None:
    """Print a line on stdout, without what a terminal would obey."""
    print(plain(line))


def put_json(row: object) -> None:
    """Print a value as JSON on stdout, in ASCII, on one line."""
    print(json.dumps(row).replace("\x7f", "\\u007f"))


def say(line: str = "", *, end: str = "\n", style: str = "") -> None:
    """Print a line on stderr, without what a terminal would obey. Nothing in it is markup."""
    err.print(plain(line), end=end, style=style or None, markup=False, emoji=False, highlight=False, soft_wrap=True)


def duration(seconds: float) -> str:
    """Hours, minutes and seconds, such as 1:02:03; with days if there are any."""
    return str(timedelta(seconds=max(0, round(seconds))))
