"""Imports point one way. A room may import only rooms on a lower floor, or those of its own floor named here."""

from __future__ import annotations

import ast
from pathlib import Path

import forager

ROOT = Path(forager.__file__).parent
FLOORS = (
    {"types", "errors", "clock"},
    {"text", "urls", "topic", "models", "registry", "chains", "opening", "term_index"},
    {"page", "scope", "config", "similarity", "embeddings", "paths", "lexical", "courses"},
    {"critics", "strategies", "frontier", "fetch", "store", "directory"},
    {"sweep", "making", "tally", "lessons", "feedback"},
    {"step"},
    {"crawl", "listings", "grounds"},
    {"journal"},
    {"project"},
    {"training", "rejudging", "explaining", "judging", "schooling", "teaching", "course_export"},
    {"lab"},
    {"cli"},
    {"__main__"},
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
NEIGHBOURS = {("config", "scope"), ("chains", "term_index")}
BLIND = {"asyncio", "socket", "ssl", "http", "urllib", "sqlite3", "time", "datetime", "random", "os", "pathlib", "io"}


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imports(file: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            assert node.level == 0, f"{file}: relative import"
    return found


def files() -> list[tuple[str, Path]]:
    return [(file.relative_to(ROOT).parts[0].removesuffix(".py"), file) for file in sorted(ROOT.rglob("*.py"))]


def test_every_room_has_a_floor() -> None:
    assert {name for name, _ in files()} - {"__init__"} <= set(FLOOR)


def test_imports_point_down() -> None:
    wrong = [
        f"{file.relative_to(ROOT)} imports {module}"
        for name, file in files()
        if name != "__init__"
        for module in sorted(imports(file))
        if module.startswith("forager.") and room(module) != name
        if FLOOR[room(module)] >= FLOOR[name] and (name, room(module)) not in NEIGHBOURS
    ]
    assert not wrong, "\n".join(wrong)


def test_critics_and_strategies_see_no_network_disk_or_clock() -> None:
    wrong = [
        f"{file.relative_to(ROOT)} imports {module}"
        for name, file in files()
        if name in ("critics", "strategies", "step", "types", "chains")
        for module in sorted(imports(file))
        if module.split(".")[0] in BLIND
    ]
    assert not wrong, "\n".join(wrong)
