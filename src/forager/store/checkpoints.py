"""Learners on disk: each file names the last record its learner has seen; a resume shows it the later ones again."""

from __future__ import annotations

from pathlib import Path

from forager.errors import ForagerError
from forager.store import models
from forager.types import Parts

FOLDER = "checkpoints"
KEPT = 2
KIND, VERSION = "checkpoint", 1


class Checkpoints:
    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        for unfinished in self._folder.glob("*.part"):  # of a save that was killed
            unfinished.unlink()

    def save(self, seq: int, parts: Parts) -> None:
        """Keep this one and the one before it: the newest may be damaged with the disk it was written to."""
        models.save(self._folder / f"{seq:010}.npz", parts, kind=KIND, version=VERSION)
        for old in self._newest_first()[KEPT:]:
            old.unlink()

    def clear(self) -> None:
        for path in self._newest_first():
            path.unlink()

    def last(self, upto: int) -> tuple[tuple[int, Parts] | None, list[str]]:
        """The newest that can be read and has seen no record after `upto`; and a line for each that was passed over."""
        passed_over: list[str] = []
        for path in self._newest_first():
            seq = int(path.stem)
            if seq > upto:
                passed_over.append(f"{path} has seen records that the project does not have: passed over")
                continue
            try:
                return (seq, models.load(path, kind=KIND, version=VERSION)), passed_over
            except ForagerError as error:
                passed_over.append(f"passed over: {error}")
        return None, passed_over

    def _newest_first(self) -> list[Path]:
        numbered = [path for path in self._folder.glob("*.npz") if path.stem.isdigit()]
        return sorted(numbered, key=lambda path: int(path.stem), reverse=True)
