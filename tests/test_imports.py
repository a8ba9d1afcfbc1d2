"""Imports point one way. A room may import only rooms on a lower floor, never one of its own."""

from __future__ import annotations

import ast
from pathlib import Path

import forager

ROOT = Path(forager.__file__).parent
FLOORS = (
    {"types", "errors", "apart"},
    {"clock", "files", "registry", "tables", "web"},
    {"config", "learn", "paths", "frontier", "fetch", "store"},
    {"critics", "strategies", "watch"},
    {"crawl"},
    {"topics", "teaching", "collection"},
    {"project"},
    {"cli"},
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
DOORS = {"__init__", "__main__"}
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
    assert {name for name, _ in files()} - DOORS <= set(FLOOR)


def test_imports_point_down() -> None:
    wrong = [
        f"{file.relative_to(ROOT)} imports {module}"
        for name, file in files()
        if name not in DOORS
        for module in sorted(imports(file))
        if module.startswith("forager.") and room(module) != name
        if FLOOR[room(module)] >= FLOOR[name]
    ]
    assert not wrong, "\n".join(wrong)


def test_critics_and_strategies_see_no_network_disk_or_clock() -> None:
    wrong = [
        f"{file.relative_to(ROOT)} imports {module}"
        for name, file in files()
        if name in ("critics", "strategies", "types") or file.name == "step.py" or "chains" in file.parts
        for module in sorted(imports(file))
        if module.split(".")[0] in BLIND
    ]
    assert not wrong, "\n".join(wrong)


def test_packages_for_developers_are_not_needed() -> None:
    """scikit-learn checks ours in tests; from wordllama the file of word vectors was made."""
    wrong = {
        f"{file.relative_to(ROOT)} imports {module}"
        for _, file in files()
        for module in imports(file)
        if module.split(".")[0] in ("huggingface_hub", "joblib", "safetensors", "sklearn", "tokenizers", "wordllama")
    }
    assert not wrong
