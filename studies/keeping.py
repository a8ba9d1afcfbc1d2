"""Finished parts of a study on disk, so that one that was stopped goes on where it was and a rerun only draws.

A part is one file named by a hash of what determines it; files are written beside and renamed: a part is whole or not
there. Each says which code made it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
from xxhash import xxh3_128

from forager.errors import ForagerError
from forager.store import models
from forager.types import Parts, Url
from forager_lab.cells import code_fingerprint
from studies.apprentice.crawls import Crawled

KIND, VERSION = "study", 1
MAKERS = ("instances.py", "crawls.py", "offline.py")
Key: TypeAlias = Mapping[str, Any]  # plain values only


class Kept:
    """A folder of parts; other files may be in it too."""

    def __init__(self, folder: Path, code: str, *, fresh: bool = False) -> None:
        """`fresh`: what other code made is as good as not there."""
        self.folder, self.code, self.fresh = folder, code, fresh

    def path(self, key: Key) -> Path:
        return self.folder / f"study-{xxh3_128(_canonical(key)).hexdigest()}.npz"

    def write(self, key: Key, parts: Parts) -> None:
        path = self.path(key)
        try:
            models.save(path, {**parts, "key": dict(key), "code": self.code}, kind=KIND, version=VERSION)
        except OSError as error:
            raise ForagerError(f"{path} cannot be written: {error.strerror or error}") from None

    def read(self, key: Key) -> Parts | None:
        """What was kept; None if nothing was, or nothing that can be used: then it is made again."""
        try:
            parts = models.load(self.path(key), kind=KIND, version=VERSION)
        except ForagerError:
            return None
        if self.fresh and parts["code"] != self.code:
            return None
        return parts if _canonical(parts["key"]) == _canonical(key) else None


@cache
def code_behind() -> str:
    """A fingerprint of the code that makes parts: that of the laboratory's crawls, and the files of this folder that
    take part in it."""
    digest = xxh3_128(code_fingerprint().encode())
    for name in MAKERS:
        digest.update(Path(__file__).with_name(name).read_bytes())
    return digest.hexdigest()[:12]


def _canonical(key: object) -> bytes:
    return json.dumps(key, sort_keys=True).encode()


def parts_of(crawled: Crawled) -> Parts:
    return {
        "order": np.frombuffer(msgspec.json.encode(crawled.order), np.uint8),
        "relevant": crawled.relevant,
        "expected": crawled.expected,
        "raw": crawled.raw,
        "before": crawled.before,
        "after": crawled.after,
    }


def crawled_of(parts: Parts) -> Crawled:
    order = msgspec.json.decode(np.asarray(parts["order"]).tobytes(), type=tuple[str, ...])
    return Crawled(
        tuple(Url(url) for url in order),
        parts["relevant"],
        parts["expected"],
        parts["raw"],
        parts["before"],
        parts["after"],
    )
