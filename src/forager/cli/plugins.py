"""Commands that other packages add: entry points of the group `forager.commands`, each a function or a Typer group."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points

import typer

GROUP = "forager.commands"


def add_plugins(app: typer.Typer) -> None:
    """Add every command found. One that cannot be imported is left out, with a line that says so."""
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            command = point.load()
        except Exception as error:  # a plug-in may raise anything while it is imported
            told = f"command {point.name!r} ({point.value}) cannot be imported: {type(error).__name__}: {error}"
            print(f"forager: {told}; mend or uninstall its package", file=sys.stderr)
            continue
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=point.name)
        else:
            app.command(point.name)(command)
