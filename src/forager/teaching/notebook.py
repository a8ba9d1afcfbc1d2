"""The paths of a session, on disk, in a folder of their own:

paths.jsonl       paths that have ended, one on each line, added when they end
unfinished.json   the path that is being walked, replaced at each step; a killed session goes on from there
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
from forager.files import append_whole, replace_whole
from forager.paths import PathStep, ShownPath, read_paths
from forager.store.lock import Lock
from forager.types import Url
from forager.web.urls import UrlRules

PATHS, UNFINISHED = "paths.jsonl", "unfinished.json"
_NUMBERED = re.compile(r"path-([1-9][0-9]{0,8})")


@dataclass(frozen=True, slots=True)
class UnfinishedPath:
    """A path that has not ended. Its last step is the page that is shown now, which may have a label."""

    id: str
    steps: tuple[PathStep, ...]


class Notebook:
    """The files of one session. Invariant: a path is in `paths.jsonl` before `unfinished.json` has the next one."""

    def __init__(self, folder: Path, rules: UrlRules, now: datetime) -> None:
        """The folder is made if it does not exist. A folder with other files is refused."""
        self.folder, self.file = folder, folder / PATHS
        try:
            _make(folder)
            self._lock = Lock(folder, now)
        except OSError as error:
            raise ForagerError(f"{folder} cannot be used: {error.strerror}; name another folder") from None
        try:
            unfinished = _read_unfinished(folder / UNFINISHED)
            _end_last_line(self.file, unfinished)
            self.saved = list(read_paths(self.file, rules))
        except BaseException:
            self._lock.close()
            raise
        names = {path.id for path in self.saved}
        # A kill between the two files leaves the same path in both.
        self.unfinished = None if unfinished is not None and unfinished.id in names else unfinished

    def close(self) -> None:
        self._lock.close()

    @property
    def labels(self) -> dict[Url, str]:
        """The last label of each page that has one."""
        return {step.url: step.label for steps in self._all_steps() for step in steps if step.label is not None}

    @property
    def starts(self) -> list[Url]:
        """The first pages of all paths; that of the path being walked comes first."""
        return list(dict.fromkeys(steps[0].url for steps in reversed(self._all_steps())))

    def _all_steps(self) -> list[tuple[PathStep, ...]]:
        return [*(path.steps for path in self.saved), *([self.unfinished.steps] if self.unfinished else [])]

    def next_name(self) -> str:
        """A name for the next path: path-1, path-2 and so on."""
        taken = (_NUMBERED.fullmatch(path.id) for path in self.saved)
        return f"path-{max((int(found[1]) for found in taken if found), default=0) + 1}"

    def note(self, unfinished: UnfinishedPath) -> UnfinishedPath:
        """Save the path that is being walked."""
        replace_whole(self.folder / UNFINISHED, msgspec.json.encode(unfinished))
        self.unfinished = unfinished
        return unfinished

    def end(self, path: ShownPath, steps: tuple[PathStep, ...]) -> UnfinishedPath:
        """Save a path that has ended, and begin the next one with these steps: both or neither."""
        at = append_whole(self.file, _line(path))
        self.saved.append(path)
        try:
            return self.note(UnfinishedPath(self.next_name(), steps))
        except ForagerError:
            self.saved.pop()
            os.truncate(self.file, at)
            raise


def _make(folder: Path) -> None:
    """Make the folder, with `paths.jsonl` first, because that file marks it as the folder of a session."""
    if (folder / CONFIG).exists():
        raise ForagerError(f"{folder} is a project: name another folder for the paths")
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / PATHS).exists():
        if any(folder.iterdir()):
            raise ForagerError(f"{folder} has other files, and no {PATHS}: name a new folder")
        (folder / PATHS).touch()


def _read_unfinished(file: Path) -> UnfinishedPath | None:
    try:
        unfinished = msgspec.json.decode(file.read_bytes(), type=UnfinishedPath)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise ForagerError(f"{file} cannot be read ({error}): remove it; its unfinished path will be lost") from None
    return unfinished if unfinished.steps else None


def _end_last_line(file: Path, unfinished: UnfinishedPath | None) -> None:
    """Mend a last line that has no end. If it is the beginning of the unfinished path, a kill has cut it off, and it is
    removed. Any other one was written with an editor, and gets its end."""
    raw = file.read_bytes()
    last = raw[raw.rfind(b"\n") + 1 :]
    if not last:
        return
    head = _line_head(unfinished.id) if unfinished is not None else b""
    if head and (head.startswith(last) or last.startswith(head)) and not _is_json(last):
        with file.open("r+b") as stream:
            stream.truncate(len(raw) - len(last))
    else:
        append_whole(file, b"\n")


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return False
    return True


def _line_head(name: str) -> bytes:
    return b'{"path":' + msgspec.json.encode(name)


def _line(path: ShownPath) -> bytes:
    """A path as `write_paths` writes it."""
    steps = [
        {
            name: value
            for name, value in (("url", step.url), ("anchor", step.anchor), ("label", step.label))
            if value is not None
        }
        for step in path.steps
    ]
    return msgspec.json.encode({"path": path.id, "outcome": path.outcome.value, "steps": steps}) + b"\n"
