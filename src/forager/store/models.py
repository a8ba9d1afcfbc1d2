"""Model parts on disk: arrays and JSON values, never pickle.

A model is one file: an .npz archive whose arrays are the parts that are arrays, and whose `header` is JSON: what kind
of model it is, the version of its features, its other parts, and a checksum of everything. It is written beside the old
one and renamed over it, so that a save that is killed leaves the old model whole.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from forager.errors import ForagerError
from forager.types import Parts

FORMAT = "forager-model-1"
HEADER = "header"


def save(path: Path, parts: Parts, *, kind: str, version: int) -> None:
    """Write the parts to this file, in place of what it held. `kind` and `version` must be named again to load them."""
    arrays = {name: part for name, part in parts.items() if isinstance(part, np.ndarray)}
    values = {name: part for name, part in parts.items() if name not in arrays}
    for name, array in arrays.items():
        if name == HEADER or array.dtype.hasobject:
            raise TypeError(f"part {name!r} cannot be saved: arrays of numbers only, and none named {HEADER!r}")
    known = {"format": FORMAT, "kind": kind, "version": version, "values": values}
    header = json.dumps(known | {"checksum": _checksum(known, arrays)}, allow_nan=False)
    written = np.frombuffer(header.encode(), np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            np.savez(file, allow_pickle=False, **{HEADER: written, **arrays})
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def load(path: Path, *, kind: str, version: int) -> Parts:
    """The parts as they were saved; tuples come back as lists."""
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
