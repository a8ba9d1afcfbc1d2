"""Parts of a study that are no crawls: each a value that says what determines it, made once, by whatever process, and
kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, ClassVar, Protocol

from forager.errors import ForagerError
from forager.types import Parts
from forager_lab.cells import web_content
from forager_lab.experiment import laboratory
from forager_lab.laboratory import Laboratory
from forager_lab.workers import Failed, work
from studies.keeping import Kept


class Part(Protocol):
    """A frozen dataclass of plain values; `str` of it is told while it is made."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def make(self, lab: Laboratory) -> dict[str, Any]:
        """Plain values and arrays."""
        ...


def make_parts(
    web: str, kept: Kept, parts: Sequence[Part], jobs: int, note: Callable[[str], None] = lambda line: None
) -> list[Parts]:
    """What was kept of each part; those that are missing are made first, by so many processes."""
    content = web_content(laboratory(web).web)
    todo = [part for part in parts if kept.read(_key(content, part)) is None]
    for part, failed in work(todo, partial(_make, web, kept, content), jobs, lambda part: (type(part).__name__,)):
        if isinstance(failed, Failed):
            raise ForagerError(f"{part} failed: {failed.why}")
        note(f"{part}: done")
    found = [kept.read(_key(content, part)) for part in parts]
    return [each for each in found if each is not None]


def _make(web: str, kept: Kept, content: str, part: Part) -> None:
    lab = laboratory(web)
    kept.write(_key(content, part), part.make(lab))
    lab.cache.write()


def _key(content: str, part: Part) -> dict[str, Any]:
    return {"web": content, "part": type(part).__name__, **asdict(part)}
