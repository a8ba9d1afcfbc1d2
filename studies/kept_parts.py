"""Finished parts of a study on disk. A study that was stopped goes on where it was; a finished one only draws again.

Each part is one file. The name of the file is a hash of all that determines the part: its key. A file is written under
another name and then renamed, so a part is either whole or not there. Each file says which code made it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Protocol, TypeAlias

from xxhash import xxh3_128

from forager.errors import ForagerError
from forager.store import models
from forager.types import Parts
from forager_lab.cells import code_fingerprint, web_content
from forager_lab.experiment import laboratory
from forager_lab.laboratory import Laboratory
from forager_lab.workers import Failed, work

KIND, VERSION = "study", 1
Key: TypeAlias = Mapping[str, Any]  # plain values only


class PartsFolder:
    """A folder of finished parts. Other files may lie in it too."""

    def __init__(self, folder: Path, code: str, *, fresh: bool = False) -> None:
        """`code` is the fingerprint of the code that makes parts now. `fresh`: parts of other code are not used."""
        self.folder, self.code, self.fresh = folder, code, fresh

    def path(self, key: Key) -> Path:
        """The file of a part."""
        return self.folder / f"study-{xxh3_128(_canonical(key)).hexdigest()}.npz"

    def write(self, key: Key, parts: Parts) -> None:
        """Keep the values of a part."""
        path = self.path(key)
        try:
            models.save(path, {**parts, "key": dict(key), "code": self.code}, kind=KIND, version=VERSION)
        except OSError as error:
            raise ForagerError(f"{path} cannot be written: {error.strerror or error}") from None

    def read(self, key: Key) -> Parts | None:
        """The values of a part. None if there is no file, or none that can be used: then the part is made again."""
        try:
            parts = models.load(self.path(key), kind=KIND, version=VERSION)
        except ForagerError:
            return None
        if self.fresh and parts["code"] != self.code:
            return None
        return parts if _canonical(parts["key"]) == _canonical(key) else None


def _canonical(key: object) -> bytes:
    return json.dumps(key, sort_keys=True).encode()


@cache
def code_behind(*modules: ModuleType) -> str:
    """A fingerprint of the code that makes parts: the code of the laboratory's crawls, and these modules."""
    digest = xxh3_128(code_fingerprint().encode())
    for module in modules:
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()[:12]


# ---- parts that are not crawls --------------------------------------------------------------------------------------


class StudyPart(Protocol):
    """A frozen dataclass of plain values that determine the part. `str` of it is shown when it is done."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def make(self, lab: Laboratory) -> dict[str, Any]:
        """The values to keep: plain values and arrays."""
        ...


def make_parts(
    web: str,
    folder: PartsFolder,
    parts: Sequence[StudyPart],
    jobs: int,
    note: Callable[[str], None] = lambda line: None,
) -> list[Parts]:
    """The kept values of each part. Parts that are missing are made first, by so many processes."""
    content = web_content(laboratory(web).web)
    todo = [part for part in parts if folder.read(_key(content, part)) is None]
    for part, failed in work(todo, partial(_make, web, folder, content), jobs, lambda part: (type(part).__name__,)):
        if isinstance(failed, Failed):
            raise ForagerError(f"{part} failed: {failed.why}")
        note(f"{part}: done")
    found = [folder.read(_key(content, part)) for part in parts]
    return [each for each in found if each is not None]


def _make(web: str, folder: PartsFolder, content: str, part: StudyPart) -> None:
    lab = laboratory(web)
    folder.write(_key(content, part), part.make(lab))
    lab.cache.write()


def _key(content: str, part: StudyPart) -> dict[str, Any]:
    return {"web": content, "part": type(part).__name__, **asdict(part)}
