"""`forager doctor`, `strategies`, `critics` and `--version`: what is installed, and whether it works."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from forager import registry
from forager.cli.terminal import JsonLines, JsonObject, put, put_json
from forager.crawl.doctor import health_checks
from forager.critics import CRITICS, critic_names
from forager.critics import GROUP as CRITIC_GROUP
from forager.errors import ForagerError
from forager.strategies import GROUP as STRATEGY_GROUP
from forager.strategies import STRATEGIES, strategy_names


def show_version(asked: bool) -> None:
    """Print the version and end, if `--version` was given."""
    if asked:
        put(f"forager {version('forager')}")
        raise typer.Exit


# ---- doctor ---------------------------------------------------------------------------------------------------------


def doctor(
    folder: Annotated[Path, typer.Argument(help="folder in which you want to crawl")] = Path(),
    as_json: JsonObject = False,
) -> None:
    """Check whether a crawl would work here: exit code 0 if it would, 1 if not."""
    checks = list(health_checks(folder))
    works = all(check.ok for check in checks if check.needed)
    if as_json:
        put_json({"ok": works, "checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            mark = "ok" if check.ok else "wrong" if check.needed else "missing"
            put(f"{mark:<8} {check.name:<16} {check.found}{f': {check.cure}' if check.cure else ''}")
        put("a crawl would work here" if works else "a crawl would not work here: see the lines marked wrong")
    if not works:
        raise typer.Exit(1)


# ---- names ----------------------------------------------------------------------------------------------------------


BareNames = Annotated[bool, typer.Option("--names", help="print the names alone")]


def strategies(names: BareNames = False, as_json: JsonLines = False) -> None:
    """List the strategies, which choose the next link, and what each is for."""
    found = strategy_names()
    _print_names(found, lambda name: _describe("strategy", name, STRATEGIES, STRATEGY_GROUP), names, as_json)


def critics(names: BareNames = False, as_json: JsonLines = False) -> None:
    """List the critics, which judge pages, and what each is for."""
    found = critic_names()
    _print_names(found, lambda name: _describe("critic", name, CRITICS, CRITIC_GROUP), names, as_json)


def _print_names(found: list[str], describe: Callable[[str], str], names: bool, as_json: bool) -> None:
    widest = max(map(len, found))
    for name in found:
        if as_json:
            put_json({"name": name, "description": describe(name)})
        else:
            put(name if names else f"{name:<{widest}}  {describe(name)}")


def _describe(kind: str, name: str, builtin: Mapping[str, registry.Maker], group: str) -> str:
    """The first line of documentation. Each built-in method has a module or package of its own, which describes it."""
    try:
        maker = registry.find(kind, name, builtin=builtin, group=group)
    except ForagerError as error:
        return str(error)
    own, module = maker.__doc__, sys.modules[maker.__module__]
    package = sys.modules.get(module.__package__ or "")
    around = package if package is not None and package.__name__ != group else None
    documents = (around and around.__doc__, module.__doc__, own) if name in builtin else (own, module.__doc__)
    return next((text.strip().splitlines()[0] for text in documents if text and text.strip()), "")
