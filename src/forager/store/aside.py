"""The flat files end where the database says. What does not fit is moved to `aside/`; nothing that was ever
acknowledged is deleted.

Bytes behind the committed lengths are cut off only if `warc/committed` vouches that they belong to a group that was
never acknowledged. Else they are moved to aside/TIME, under their own names, and a line says so. `forager recover`
takes them in again.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from uuid import UUID

from forager.errors import ForagerError
from forager.store.committed import BOOT, Committed, CommittedFile, read_committed
from forager.store.flat import FlatFile
from forager.store.warc import FOLDER, WarcFiles, is_there, name, number_of, sync_folder

LINKS = "links.bin"
ASIDE = "aside"  # the folder
TAIL = ".from-"  # stands in the name of a tail, before the byte where it began
_COPIED = 1 << 20  # bytes copied at a time


class Aside:
    """Moves files of a project to a folder of their own, which is made when it is needed."""

    def __init__(self, folder: Path, now: datetime) -> None:
        self._folder, self._now = folder, now
        self._place: Path | None = None
        self.moved: dict[str, int] = {}  # bytes by name

    @property
    def place(self) -> Path:
        if self._place is None:
            self._place = _free(self._folder / ASIDE / f"{self._now:%Y-%m-%dT%H-%M-%SZ}")
            self._place.mkdir(parents=True)
        return self._place

    def whole(self, path: Path) -> None:
        """Move a file or a folder."""
        target = self._target(path, "")
        self.moved[path.name] = path.stat().st_size
        path.replace(target)
        self._synced(target, path)

    def tail(self, path: Path, at: int) -> None:
        """Move what a file has from byte `at` on. It is on the disk there before it is cut off here."""
        target = self._target(path, f"{TAIL}{at}")
        try:
            with path.open("rb") as source, target.open("wb") as copy:
                source.seek(at)
                shutil.copyfileobj(source, copy, _COPIED)
                copy.flush()
                os.fsync(copy.fileno())
                self.moved[path.name] = copy.tell()
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        self._synced(target, path)
        os.truncate(path, at)

    def _target(self, path: Path, ending: str) -> Path:
        target = self.place / path.relative_to(self._folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        return target.with_name(target.name + ending)

    def _synced(self, target: Path, source: Path) -> None:
        """Bring the names to the disk, the new one first."""
        above = target.parent
        while above != self._folder:
            sync_folder(above)
            above = above.parent
        sync_folder(self._folder)
        sync_folder(source.parent)

    def told(self) -> list[str]:
        """A line for people, if anything was moved."""
        if not self.moved:
            return []
        names = list(self.moved)
        files = f"{', '.join(names[:3])}{', …' if len(names) > 3 else ''}"
        what = f"crawl.sqlite does not know {sum(self.moved.values()):,} bytes of {files}"
        where = self.place.relative_to(self._folder)
        return [f"{what}: moved to {where}, nothing is lost; forager recover {self._folder} takes it in again"]


def _free(place: Path) -> Path:
    """The name, with a number if there is such a folder already."""
    others = (place.with_name(f"{place.name}-{number}") for number in count(2))
    return next(name for name in chain((place,), others) if not name.exists())


def has_bytes(folder: Path) -> bool:
    """Whether a project has anything in its flat files."""
    links = folder / LINKS
    return is_there(folder) or (links.exists() and links.stat().st_size > 0)


# ---- the flat files of a project ------------------------------------------------------------------------------------


class FlatFiles:
    """`links.bin` and the archive, opened for writing: written together, and then accepted or cut off again.

    `lengths` are those of the database. When this is made, the files end there.
    """

    def __init__(
        self, folder: Path, lengths: Mapping[str, int], project: UUID, last_seq: int, *, warc_size: int, now: datetime
    ) -> None:
        self._project, self._close_each = project, list[Callable[[], None]]()
        self.warnings: list[str] = []
        (folder / FOLDER).mkdir(exist_ok=True)
        try:
            self._fit(folder, lengths, last_seq, now)
            self.links = FlatFile(folder / LINKS, lengths.get(LINKS, 0))
            self._close_each.append(self.links.close)
            self.warc = WarcFiles(folder, lengths, project=project, rotate=warc_size)
            self._close_each.append(self.warc.close)
            self._note = CommittedFile(folder)
            self._close_each.append(self._note.close)
            self._note.write(self._acknowledged(last_seq))
        except BaseException:
            self.close()
            raise

    def _fit(self, folder: Path, lengths: Mapping[str, int], last_seq: int, now: datetime) -> None:
        note, last = read_committed(folder), max(filter(None, map(number_of, lengths)), default=0)
        if note is not None and note.project != self._project:
            told = f"crawl.sqlite belongs to another project than the archive of {folder}"
            raise ForagerError(f"{told}: put back its own, or run forager recover {folder}")
        ends = (lengths.get(LINKS, 0), last, lengths.get(name(last), 0))
        aside = Aside(folder, now)
        _fit(folder, lengths, last, aside, _vouches(note, Committed(self._project, BOOT, last_seq, *ends)))
        self.warnings += aside.told()

    def lengths(self) -> list[tuple[str, int]]:
        """The name of each file that is written to, with its length when all that is queued is written."""
        return [(LINKS, self.links.end), *self.warc.lengths()]

    def write(self, *, sync: bool) -> None:
        """Give everything that is queued to the operating system, with `sync` to the disk."""
        self.links.write(sync=sync)
        self.warc.write(sync=sync)

    def cut(self) -> None:
        """Take back what `write` wrote. It stays queued."""
        self.links.cut()
        self.warc.cut()

    def accept(self, last_seq: int) -> None:
        """What was written is valid from now on, with the records up to this one; it is noted beside the archive."""
        self.links.accept()
        self.warc.accept()
        self._note.write(self._acknowledged(last_seq))

    def _acknowledged(self, last_seq: int) -> Committed:
        return Committed(self._project, BOOT, last_seq, self.links.committed, *self.warc.end)

    def close(self) -> None:
        while self._close_each:
            self._close_each.pop()()


def _fit(folder: Path, lengths: Mapping[str, int], last: int, aside: Aside, vouched: bool) -> None:
    """Let the files end where the database says. With `vouched`, what is behind was never acknowledged."""
    for file in (LINKS, name(last)):
        path, length = folder / file, lengths.get(file, 0)
        if path.exists() and path.stat().st_size > length:
            if vouched:
                os.truncate(path, length)
            else:
                aside.tail(path, length)
    for path in sorted((folder / FOLDER).glob("*.warc.gz")):
        if (number_of(f"{FOLDER}/{path.name}") or 0) > last:
            if path.stat().st_size:
                aside.whole(path)  # also if vouched: the whole folder may be an older copy, put over a newer one
            else:
                path.unlink()


def _vouches(note: Committed | None, database: Committed) -> bool:
    """Whether what lies behind the lengths of the database was never acknowledged. Nobody knows after a power cut, in
    which the note may have lost as much as the database."""
    return note is not None and note.boot == database.boot and database.covers(note)
