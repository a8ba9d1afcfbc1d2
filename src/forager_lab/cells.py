"""Finished cells on disk, so that a matrix that was stopped can go on where it stopped.

A cell is one file. Its name is a hash of everything that determines the crawl: the content of the web, goal, critic,
strategy, weights that were left out for it, run, seed, pages. The file holds these values, the record of the crawl, and
a fingerprint of the code that made it. A cell that other code made can still be read; the reader decides whether to use
it. A file gets its name only when it is complete.
"""

from __future__ import annotations

import ast
import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, get_origin, get_type_hints

import msgspec
import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_128

import forager
import forager_lab
from forager.errors import ForagerError
from forager.registry import Spec
from forager.store import models
from forager.teaching.labelled_web import LabelledWeb
from forager.types import Parts
from forager_lab.experiment import Cell, Plan, crawl_cell
from forager_lab.protocol import CrawlRecord
from forager_lab.webs import Web

KIND, VERSION = "cell", 1
TABLES = ("labels.tsv", "aliases.tsv", "seeds.tsv")
HOMES = {package.__name__: Path(str(package.__file__)).parent for package in (forager, forager_lab)}
Key: TypeAlias = Mapping[str, Any]  # plain values only


@cache
def code_fingerprint() -> str:
    """A hash of all source code behind a crawl, as it was at the first call.

    That is the module that crawls a cell, and all modules of forager and forager_lab that it imports, directly or not.
    The command line, and code that only reads or shows records, are not part of it.
    """
    digest = xxh3_128()
    for name, source in sorted(_behind(crawl_cell.__module__).items()):
        digest.update(f"{name}\0".encode() + source + b"\0")
    return digest.hexdigest()[:12]


def _behind(module: str) -> dict[str, bytes]:
    """The source of a module and of everything that it imports, by module name."""
    found: dict[str, bytes] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        file = _file(name)
        if name not in found and file is not None:
            found[name] = file.read_bytes()
            waiting += [name.rpartition(".")[0], *_imports(found[name])]
    return found


def _file(module: str) -> Path | None:
    """The source file of a module of forager or forager_lab; None for any other name."""
    package, *names = module.split(".")
    if package not in HOMES:
        return None
    place = HOMES[package].joinpath(*names)
    return next((file for file in (place / "__init__.py", place.with_suffix(".py")) if file.is_file()), None)


def _imports(source: bytes) -> list[str]:
    named: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            named += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            named += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return named


def web_content(web: Web) -> str:
    """A hash of the content of a web. It does not depend on the folder or on the dates of the files."""
    if not isinstance(web, LabelledWeb):
        return web.fingerprint
    digest = xxh3_128()
    for file in [*sorted(web.folder.glob("*.warc*")), *(web.folder / name for name in TABLES)]:
        if file.exists():
            digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
            with file.open("rb") as content:
                while block := content.read(1 << 20):
                    digest.update(block)
    return digest.hexdigest()


def cell_key(content: str, plan: Plan, cell: Cell) -> Key:
    """Everything that determines the crawl of a cell on a web with this content."""
    weights = plan.left_out.fingerprint(Spec.parse(cell.strategy)) if plan.left_out else None
    return {
        "web": content,
        "goal": {name: value for name, value in asdict(plan.goal).items() if value is not False and value is not None},
        "critic": _written(plan.critic),
        "strategy": _written(cell.strategy),
        "group": cell.group,
        "run": cell.run,
        "seed": plan.seed,
        "pages": plan.pages,
        **({} if weights is None else {"weights": weights}),
    }


def _written(text: str) -> dict[str, Any]:
    """A spec as values: spaces and the order of parameters do not matter."""
    spec = Spec.parse(text)
    return {"name": spec.name, **spec.options}


@dataclass(frozen=True, slots=True)
class KeptCell:
    """What the file of a cell holds."""

    record: CrawlRecord
    code: str  # fingerprint of the code that made it


class CellFolder:
    """A folder of cells."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, key: Key) -> Path:
        """The file of the cell with this key."""
        return self.folder / f"{xxh3_128(_canonical(key)).hexdigest()}.npz"

    def write(self, key: Key, kept: KeptCell) -> None:
        """Write the file of a cell."""
        parts = {"key": dict(key), "code": kept.code, **_parts(kept.record)}
        try:
            models.save(self.path(key), parts, kind=KIND, version=VERSION)
        except OSError as error:
            raise ForagerError(f"{self.path(key)} cannot be written: {error.strerror or error}") from None

    def read(self, key: Key) -> KeptCell | None:
        """The cell; None if there is no file. A file that cannot be used raises an error that says why."""
        path = self.path(key)
        if not path.exists():
            return None
        try:
            parts = dict(models.load(path, kind=KIND, version=VERSION))
            if _canonical(parts.pop("key", {})) != _canonical(key):
                raise ForagerError("it is another one")
            return KeptCell(code=str(parts.pop("code", "")), record=_record(parts))
        except (ForagerError, msgspec.ValidationError, ValueError, zlib.error) as error:
            raise ForagerError(f"cell {path.name} cannot be used: {error}") from None


def _canonical(key: object) -> bytes:
    return json.dumps(key, sort_keys=True).encode()


def _parts(record: CrawlRecord) -> dict[str, Any]:
    """The fields of a record as arrays and JSON values. Long lists of texts (URLs) are compressed."""
    values = {field.name: getattr(record, field.name) for field in fields(CrawlRecord)}
    return {name: _packed(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _record(parts: Parts) -> CrawlRecord:
    hints = get_type_hints(CrawlRecord)
    missing = [name for name in hints if name not in parts]
    if missing:
        raise ForagerError(f"it lacks {', '.join(missing)}")
    return CrawlRecord(**{name: _field(parts[name], hint) for name, hint in hints.items()})


def _field(part: Any, hint: Any) -> Any:
    if get_origin(hint) is tuple:
        return msgspec.json.decode(zlib.decompress(np.asarray(part, np.uint8).tobytes()), type=hint)
    return part if isinstance(part, np.ndarray) else msgspec.convert(part, hint)


def _packed(texts: tuple[str, ...]) -> NDArray[np.uint8]:
    return np.frombuffer(zlib.compress(msgspec.json.encode(texts)), np.uint8)
