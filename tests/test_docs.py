"""What the documentation shows is there: commands with their options, imported names, linked pages."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from forager.cli import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
WRITTEN = [page for page in PAGES if page.name not in ("apprentice.md", "lexical.md", "paths.md", "comparison.md")
           or page.parent.name != "lab"]  # fmt: skip  # the others are made by studies
FENCE = re.compile(r"^```[ ]*(\{?\.?\w*\}?)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """Kind and text of each block of code."""
    for kind, text in FENCE.findall(page.read_text(encoding="utf-8")):
        yield kind.strip("{.}"), text


def commands(page: Path) -> Iterator[list[str]]:
    """The words of each `forager …` that a reader may type, in blocks and within the text."""
    text = page.read_text(encoding="utf-8")
    for kind, block in blocks(page):
        if kind in ("", "text"):
            for line in block.replace("\\\n", " ").splitlines():
                if line.removeprefix("$ ").startswith("forager "):
                    yield shlex.split(line.removeprefix("$ "), comments=True)
    for code in re.findall(r"`(forager [^`]*)`", FENCE.sub("", text)):
        yield shlex.split(code.replace("\n", " "))


def problem(words: list[str]) -> str:
    """What is wrong with a command, if anything is. Words in capitals and `…` stand for something else."""
    command: Any = get_command(app)
    words = words[1:]
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    if getattr(command, "commands", None) and words and not (words[0].startswith("--") or words[0].isupper()):
        return f"there is no command {words[0]!r}" if words[0] != "…" else ""
    known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)} | {"--help"}
    if command is get_command(app) or getattr(command, "commands", None):
        known |= {"--install-completion"}
    strange = [word for word in words if word.startswith("--") and word.partition("=")[0] not in known]
    return f"{command.name} has no {', '.join(strange)}" if strange else ""


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_that_are_shown_exist(page: Path) -> None:
    wrong = {" ".join(words): told for words in commands(page) if (told := problem(words))}
    assert not wrong


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_names_that_are_imported_exist(page: Path) -> None:
    for kind, block in blocks(page):
        if kind == "python":
            for node in ast.walk(ast.parse(block)):
                if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("forager"):
                    module = import_module(node.module)
                    missing = [name.name for name in node.names if not hasattr(module, name.name)]
                    assert not missing, f"{node.module} has no {missing}"


def test_the_first_example_is_the_same_everywhere() -> None:
    pages = (ROOT / "README.md", DOCS / "index.md")
    readme, index = (next(text for kind, text in blocks(page) if kind == "python") for page in pages)
    assert readme == index
    assert len(readme.splitlines()) <= 14


@cache
def anchors(page: Path) -> frozenset[str]:
    heads = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_of_the_repository(page: Path) -> None:
    """So that they work where the pages are read as files, too."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not target.startswith(("http://", "https://")):
            file, _, anchor = target.partition("#")
            place = (page.parent / file).resolve() if file else page
            assert place.exists(), target
            assert not anchor or anchor in anchors(place), target


def test_every_page_is_in_the_navigation() -> None:
    listed = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    missing = [str(page.relative_to(DOCS)) for page in PAGES[1:] if str(page.relative_to(DOCS)) not in listed]
    assert not missing
