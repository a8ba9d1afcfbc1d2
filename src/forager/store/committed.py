"""`warc/committed`: up to where the flat files were acknowledged, noted beside the archive after each commit.

The database says the same. If the two differ, the database is an older copy or has lost its last groups, and bytes
behind its lengths are not the rest of a group that was never acknowledged, but pages. The file lies in `warc/`, so that
whoever puts back an older copy of the small files only does not put back this one too.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from struct import Struct
from typing import NamedTuple
from uuid import UUID

from xxhash import xxh3_64_intdigest

FILE = "warc/committed"
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_FORM = Struct("<8s16s16sqqqqQ")  # ends with a checksum of the rest
_MAGIC = b"forager1"


class Committed(NamedTuple):
    """What was acknowledged at one moment."""

    project: UUID
    boot: UUID  # in which the computer was; zeros if that is not known
    last_seq: int
    links: int  # bytes of links.bin
    warc: int  # number of the last WARC file, 0 if there is none
    warc_length: int

    def covers(self, other: Committed) -> bool:
        """Whether everything that the other one counts was acknowledged here."""
        return self.links >= other.links and (self.warc, self.warc_length) >= (other.warc, other.warc_length)

    def packed(self) -> bytes:
        values = (_MAGIC, self.project.bytes, self.boot.bytes, *self[2:])
        return _FORM.pack(*values, xxh3_64_intdigest(_FORM.pack(*values, 0)))


def this_boot() -> UUID:
    """The time since the computer was started, by name. After a power cut there is another one."""
    try:
        return UUID(_BOOT.read_text(encoding="ascii").strip())
    except (OSError, ValueError):
        return UUID(int=0)


BOOT = this_boot()


def read_committed(folder: Path) -> Committed | None:
    """What the file says. None if there is none, or if it is damaged."""
    try:
        written = (folder / FILE).read_bytes()
    except OSError:
        return None
    if len(written) != _FORM.size:
        return None
    magic, project, boot, *numbers, checksum = _FORM.unpack(written)
    if magic != _MAGIC or xxh3_64_intdigest(_FORM.pack(magic, project, boot, *numbers, 0)) != checksum:
        return None
    return Committed(UUID(bytes=project), UUID(bytes=boot), *numbers)


class CommittedFile:
    """The file, opened for writing."""

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def write(self, committed: Committed) -> None:
        """Note it, in one write, so that a kill leaves the old or the new. A full disk may refuse it: the file is then
        older than the database, which does no harm."""
        with suppress(OSError):
            os.pwrite(self._file, committed.packed(), 0)

    def close(self) -> None:
        os.close(self._file)
