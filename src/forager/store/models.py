"""Model parts on disk: arrays and JSON values, never pickle. And the checkpoints of a learner, which are models too.

A model is one file, an .npz archive. Parts that are arrays are its arrays. Its `header` is JSON: the kind of the model,
the version of its features, the other parts, and a checksum of everything. The file is written whole, so that a save
that is killed leaves the old model as it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from forager.errors import ForagerError
from forager.files import UNFINISHED, written_whole
from forager.types import Parts

FORMAT = "forager-model-1"
HEADER = "header"
CHECKPOINTS = "checkpoints"  # the folder
CHECKPOINT, CHECKPOINT_VERSION = "checkpoint", 1
KEPT = 2  # checkpoints


def save(path: Path, parts: Parts, *, kind: str, version: int) -> None:
    """Write the parts to this file, in place of its old content. `load` must name the same `kind` and `version`."""
    arrays = {name: part for name, part in parts.items() if isinstance(part, np.ndarray)}
    values = {name: part for name, part in parts.items() if name not in arrays}
    for name, array in arrays.items():
        if name == HEADER or array.dtype.hasobject:
            raise TypeError(f"part {name!r} cannot be saved: arrays of numbers only, and none named {HEADER!r}")
    known = {"format": FORMAT, "kind": kind, "version": version, "values": values}
    header = json.dumps(known | {"checksum": _checksum(known, arrays)}, allow_nan=False)
    written = np.frombuffer(header.encode(), np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as file:
        np.savez(file, allow_pickle=False, **{HEADER: written, **arrays})


def load(path: Path, *, kind: str, version: int) -> Parts:
    """The parts that were saved. Tuples come back as lists."""
    if not path.is_file():
        raise ForagerError(f"there is no model at {path}: train one, or correct the path")
    arrays, header = _read(path)
    if header.get("format") != FORMAT:
        raise ForagerError(f"{path} is no model of this program ({FORMAT}): train it again")
    checksum = header.pop("checksum", None)
    if checksum != _checksum(header, arrays):
        raise _damaged(path, "its checksum differs")
    if header["kind"] != kind:
        raise ForagerError(f"{path} holds a model of kind {header['kind']!r}, wanted is {kind!r}: choose another file")
    if header["version"] != version:
        told = f"version {header['version']}, this program reads {version}"
        raise ForagerError(f"the {kind} model at {path} has {told}: train it again")
    return {**header["values"], **arrays}


def _read(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(arrays.pop(HEADER).tobytes())
    except PermissionError as error:
        raise ForagerError(f"the model at {path} may not be read: {error.strerror}") from error
    except Exception as error:  # a damaged archive fails in many ways
        raise _damaged(path, str(error) or type(error).__name__) from error
    return arrays, header if isinstance(header, dict) else {}


def _damaged(path: Path, how: str) -> ForagerError:
    return ForagerError(f"the model at {path} is damaged ({how}): restore it from a copy, or train it again")


def _checksum(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    summed = xxhash.xxh3_128(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        summed.update(f"{name} {array.dtype.str} {array.shape}".encode())
        summed.update(array.data)
    return summed.hexdigest()


class Checkpoints:
    """What the learner of a crawl knew at some records. Each file is named by the last record that the learner has
    seen; a resumed crawl shows it the later ones again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / CHECKPOINTS

    def tidy(self) -> None:
        """Remove what a save that was killed has left."""
        for unfinished in self._folder.glob(f"*{UNFINISHED}"):
            unfinished.unlink()

    def save(self, seq: int, parts: Parts) -> None:
        """Keep this one and the one before it, because the newest file may be damaged."""
        save(self._folder / f"{seq:010}.npz", parts, kind=CHECKPOINT, version=CHECKPOINT_VERSION)
        for old in self._newest_first()[KEPT:]:
            old.unlink()

    def clear(self) -> None:
        """Remove all of them."""
        for path in self._newest_first():
            path.unlink()

    def last(self, upto: int) -> tuple[tuple[int, Parts] | None, list[str]]:
        """The newest that can be read and has seen no record after `upto`, and a line for each that was not taken."""
        passed_over: list[str] = []
        for path in self._newest_first():
            seq = int(path.stem)
            if seq > upto:
                passed_over.append(f"{path} has seen records that the project does not have: passed over")
                continue
            try:
                return (seq, load(path, kind=CHECKPOINT, version=CHECKPOINT_VERSION)), passed_over
            except ForagerError as error:
                passed_over.append(f"passed over: {error}")
        return None, passed_over

    def _newest_first(self) -> list[Path]:
        numbered = [path for path in self._folder.glob("*.npz") if path.stem.isdigit()]
        return sorted(numbered, key=lambda path: int(path.stem), reverse=True)
