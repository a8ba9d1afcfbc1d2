"""Everything the command line does is a call of the library: the table in docs/guides/library.md, held to the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from inspect import getsource, unwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer

from forager.cli import app

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "library.md"
CALLS = dict(re.findall(r"^\| `forager ([^`]+)` \| `([\w.]+)` \|$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE))
BELOW = {"aiohttp", "fastwarc", "selectolax", "socket", "urllib", "http", "ssl"}  # what a command line has no need of


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    if hasattr(command, "commands"):
        for name, each in command.commands.items():
            yield from commands(each, (*path, name))
    else:
        yield " ".join(path), unwrap(command.callback)


COMMANDS = dict(commands(typer.main.get_command(app)))


def find(dotted: str) -> Any:
    """What a dotted name stands for: as much of it as is a module is imported."""
    first, *rest = dotted.split(".")
    found: Any = import_module(first)
    for name in rest:
        if isinstance(found, ModuleType) and not hasattr(found, name):
            found = import_module(f"{found.__name__}.{name}")
        else:
            found = getattr(found, name)
    return found


def test_every_command_is_in_the_table() -> None:
    assert set(CALLS) == set(COMMANDS)


@pytest.mark.parametrize("command", sorted(CALLS))
def test_a_command_calls_what_the_table_says(command: str) -> None:
    dotted = CALLS[command]
    name = dotted.rpartition(".")[2]
    assert name == "config" or callable(find(dotted))
    source = ast.parse(getsource(import_module(COMMANDS[command].__module__)))
    names = {node.attr for node in ast.walk(source) if isinstance(node, ast.Attribute)}
    names |= {node.id for node in ast.walk(source) if isinstance(node, ast.Name)}
    names |= {alias.name for node in ast.walk(source) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert name in names


def test_the_command_line_asks_no_network_and_parses_no_page_by_itself() -> None:
    folder = Path(import_module("forager.cli").__file__ or "").parent
    wrong = [
        f"{file.name} imports {name}"
        for file in sorted(folder.glob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        for name in _imported(node)
        if name.partition(".")[0] in BELOW
    ]
    assert not wrong


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
