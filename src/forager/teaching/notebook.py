"""What a session writes down, in a folder of its own:

paths.jsonl       paths that have ended, one a line, appended as they end
unfinished.json   the path being walked, replaced at each step: a session that was killed is taken up there
lock              held while a session runs
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from forager.crawl.folder import CONFIG
from forager.errors import ForagerError
from forager.paths import PathStep, ShownPath, read_paths
from forager.store.lock import Lock
from forager.teaching.appending import append, replace
from forager.types import Url
from forager.web.urls import UrlRules

PATHS, UNFINISHED = "paths.jsonl", "unfinished.json"
_NUMBERED = re.compile(r"path-([1-9][0-9]{0,8})")


@dataclass(frozen=True, slots=True)
class Walk:
    """A path that has not ended. Its last step is the page before us, which may have a label as yet."""

    id: str
    steps: tuple[PathStep, ...]


class Notebook:
    """One session at a time. Invariant: a path is in `paths.jsonl` before `unfinished.json` goes on to the next."""

    def __init__(self, folder: Path, rules: UrlRules, now: datetime) -> None:
        """The folder is made if it is not there; one that holds something else is refused."""
        self.folder, self.file = folder, folder / PATHS
        try:
            _make(folder)
            self._lock = Lock(folder, now)
        except OSError as error:
            raise ForagerError(f"{folder} cannot be used: {error.strerror}; name a new folder") from None
        try:
            walk = _unfinished(folder / UNFINISHED)
            _end_last_line(self.file, walk)
            self.saved = list(read_paths(self.file, rules))
        except BaseException:
            self._lock.close()
            raise
        names = {path.id for path in self.saved}
        self.walk = walk if walk is not None and walk.id not in names else None  # killed between the two files

    def close(self) -> None:
        self._lock.close()

    @property
    def labels(self) -> dict[Url, str]:
        """The milestone that each page is, as it was last said."""
        return {step.url: step.label for steps in self._ways() for step in steps if step.label is not None}

    @property
    def starts(self) -> list[Url]:
        """Where paths began, the one being walked first."""
        return list(dict.fromkeys(steps[0].url for steps in reversed(self._ways())))

    def _ways(self) -> list[tuple[PathStep, ...]]:
        return [*(path.steps for path in self.saved), *([self.walk.steps] if self.walk else [])]

    def next_name(self) -> str:
        taken = (_NUMBERED.fullmatch(path.id) for path in self.saved)
        return f"path-{max((int(found[1]) for found in taken if found), default=0) + 1}"

    def note(self, walk: Walk) -> Walk:
        """Write down how far the path being walked has come."""
        replace(self.folder / UNFINISHED, msgspec.json.encode(walk))
        self.walk = walk
        return walk

    def end(self, path: ShownPath, steps: tuple[PathStep, ...]) -> Walk:
        """Save a path, and begin the next with these steps: both or neither."""
        at = append(self.file, _line(path))
        self.saved.append(path)
        try:
            return self.note(Walk(self.next_name(), steps))
        except ForagerError:
            self.saved.pop()
            os.truncate(self.file, at)
            raise


def _make(folder: Path) -> None:
    """`paths.jsonl` comes first: it is what says that a folder is one of ours."""
    if (folder / CONFIG).exists():
        raise ForagerError(f"{folder} is a project: name a folder of its own for the paths that you show")
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / PATHS).exists():
        if any(folder.iterdir()):
            raise ForagerError(f"{folder} holds something else, and no {PATHS}: name a new folder")
        (folder / PATHS).touch()


def _unfinished(file: Path) -> Walk | None:
    try:
        walk = msgspec.json.decode(file.read_bytes(), type=Walk)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise ForagerError(f"{file} cannot be read ({error}): remove it, and the path it held is lost") from None
    return walk if walk.steps else None


def _end_last_line(file: Path, walk: Walk | None) -> None:
    """A last line without its end that is a beginning of the unfinished path was cut off by a kill: it goes. Any other
    was written with an editor: it gets its end."""
    raw = file.read_bytes()
    last = raw[raw.rfind(b"\n") + 1 :]
    if not last:
        return
    head = _line_head(walk.id) if walk is not None else b""
    if head and (head.startswith(last) or last.startswith(head)) and not _is_json(last):
        with file.open("r+b") as stream:
            stream.truncate(len(raw) - len(last))
    else:
        append(file, b"\n")


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return False
    return True


def _line_head(name: str) -> bytes:
    return b'{"path":' + msgspec.json.encode(name)


def _line(path: ShownPath) -> bytes:
    """As `write_paths` writes it."""
    steps = [
        {
            name: value
            for name, value in (("url", step.url), ("anchor", step.anchor), ("label", step.label))
            if value is not None
        }
        for step in path.steps
    ]
    return msgspec.json.encode({"path": path.id, "outcome": path.outcome.value, "steps": steps}) + b"\n"
