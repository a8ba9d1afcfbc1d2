"""The house stays small and clear: one word for one thing, and no module that serves a single other one."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = (ROOT / "src" / "forager", ROOT / "src" / "forager_lab", ROOT / "studies")
MOST_CRUMBS = 18  # modules that serve a single other one; some are parts of a room that would be too long in one file
LONGEST = 400  # lines of a file
LONGER = {
    "forager_lab.webs.procedural.vocabulary",  # words, not code
    "forager.types",  # the words that all rooms share, in the one file to open first
}


def modules() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for package in PACKAGES:
        for file in sorted(package.rglob("*.py")):
            name = ".".join(file.relative_to(package.parent).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = file
    return found


def imports(tree: ast.AST, known: dict[str, Path]) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names} & known.keys()
            found |= inner or {node.module}
    return found & known.keys()


def crumbs() -> dict[str, str]:
    """Modules that only one other module imports, and that one. A room's door does not count as one: it stands for all
    who come through it."""
    known = modules()
    users: defaultdict[str, set[str]] = defaultdict(set)
    for name, file in known.items():
        for used in imports(ast.parse(file.read_text(encoding="utf-8")), known) - {name}:
            users[used].add(name)
    doors = {name for name, file in known.items() if file.name in ("__init__.py", "__main__.py")}
    return {
        name: next(iter(by))
        for name, by in sorted(users.items())
        if len(by) == 1 and not by & doors and name not in doors
    }


def test_public_class_names_are_unique() -> None:
    named: defaultdict[str, list[str]] = defaultdict(list)
    for module, file in modules().items():
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                named[node.name].append(module)
    twice = {name: homes for name, homes in named.items() if len(homes) > 1}
    assert not twice


def test_few_modules_serve_a_single_other_one() -> None:
    found = crumbs()
    assert len(found) <= MOST_CRUMBS, "\n".join(f"{name} serves only {user}" for name, user in found.items())


def test_files_are_short() -> None:
    lengths = Counter({name: len(file.read_text(encoding="utf-8").splitlines()) for name, file in modules().items()})
    assert not {name: length for name, length in lengths.items() if length > LONGEST and name not in LONGER}
