"""MkDocs hook: writes the help of every command into the page of the command line when the site is built.

It reads the objects that Typer makes of the commands, so the page always says what `forager COMMAND --help` says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from inspect import cleandoc
from typing import Any

from typer.main import get_command

from forager.cli import app

PAGE, MARK = "reference/cli.md", "<!-- commands -->"
PROGRAM = "forager"


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Put the commands in the place of the mark."""
    if page.file.src_uri != PAGE:
        return markdown
    if MARK not in markdown:
        raise ValueError(f"docs/{PAGE} has no line {MARK}: the commands have no place to go to")
    return markdown.replace(MARK, "\n".join(_command((PROGRAM,), get_command(app))))


def _command(path: Sequence[str], command: Any) -> Iterator[str]:
    """The section of a command, and the sections of the commands below it."""
    name, below = " ".join(path), getattr(command, "commands", {})
    if len(path) > 1:
        yield f"{'#' * len(path)} {name}\n"
        yield f"{_prose(cleandoc(command.help or ''))}\n"
    if not below:
        shown = [each for each in command.params if not each.hidden]
        yield f"```\n{_usage(name, shown)}\n```\n"
        yield from _table(shown)
    elif len(path) == 1:
        yield from _contents(below)
    for each in below.values():
        if not each.hidden:
            yield from _command((*path, each.name), each)


def _contents(commands: dict[str, Any]) -> Iterator[str]:
    """A list of the commands, each with the first line of its help."""
    yield "| command | does |\n|---|---|"
    for command in commands.values():
        first = cleandoc(command.help or "").partition("\n")[0]
        yield f"| [`{PROGRAM} {command.name}`](#{PROGRAM}-{command.name}) | {_prose(first)} |"
    yield ""


def _usage(name: str, parameters: Sequence[Any]) -> str:
    arguments = [each for each in parameters if each.param_type_name == "argument"]
    names = [each.metavar or each.name.upper() + ("…" if each.nargs == -1 else "") for each in arguments]
    words = [word if each.required else f"[{word}]" for word, each in zip(names, arguments, strict=True)]
    options = ["[OPTIONS]"] if len(parameters) > len(arguments) else []
    return " ".join([name, *words, *options])


def _table(parameters: Sequence[Any]) -> Iterator[str]:
    if not parameters:
        return
    yield "| | | if not given |\n|---|---|---|"
    for each in parameters:
        if each.param_type_name == "argument":
            written = each.metavar or each.name.upper()
        else:
            written = "`, `".join([*each.opts, *each.secondary_opts])
        yield f"| `{written}` | {_prose(each.help or '')} | {_default(each)} |"
    yield ""


def _default(parameter: Any) -> str:
    if parameter.required:
        return "**required**"
    from_environment = f"`${parameter.envvar}`, else " if parameter.envvar else ""
    default = parameter.default
    if default is None or default == "" or default is False or callable(default):
        return ""
    if default is True:
        return f"`{parameter.opts[0]}`"
    return f"{from_environment}`{getattr(default, 'value', default)}`"


def _prose(text: str) -> str:
    """Plain text as Markdown: what stands between backquotes is code, every other sign stands for itself."""
    parts = re.split(r"(`[^`]*`)", text.replace("|", "\\|"))
    return "".join(part if part.startswith("`") else re.sub(r"([*_<\[\]])", r"\\\1", part) for part in parts)
