"""What the commands share: where they print, options that many of them have, and text that is safe for a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

out, err = Console(), Console(stderr=True)
ProjectFolder = Annotated[Path, typer.Argument(help="folder of the project")]
JsonObject = Annotated[bool, typer.Option("--json", help="print one JSON object, for programs")]
JsonLines = Annotated[bool, typer.Option("--json", help="print JSON, for programs: one object on each line")]


def say(line: str = "", *, end: str = "\n", style: str = "") -> None:
    """Print a line on stderr, exactly as it is."""
    err.print(line, end=end, style=style or None, markup=False, emoji=False, highlight=False, soft_wrap=True)


def plain(text: str) -> str:
    """One line without control characters: strangers write pages, and a terminal would obey them."""
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))
