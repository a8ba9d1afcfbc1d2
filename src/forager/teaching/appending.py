"""Writing so that a kill at any instant leaves what was there before, or all of what is new."""

from __future__ import annotations

import os
from pathlib import Path

from forager.errors import ForagerError


def append(file: Path, piece: bytes) -> int:
    """Bring a piece to the end of a file and to the disk; returns where it begins. A disk that takes only a part of it
    keeps nothing of it; a kill may leave a part, which is for the next opening to cut off."""
    opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        at = os.lseek(opened, 0, os.SEEK_END)
        try:
            rest = memoryview(piece)
            while rest:
                rest = rest[os.write(opened, rest) :]
            os.fsync(opened)
        except BaseException as error:
            os.ftruncate(opened, at)
            if isinstance(error, OSError):
                raise _full(file, error) from error
            raise
    finally:
        os.close(opened)
    return at


def replace(file: Path, content: bytes) -> None:
    """Put content in the place of a file, or of none, in one step."""
    new = file.with_name(file.name + ".new")
    try:
        with new.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(file)
    except OSError as error:
        raise _full(file, error) from error


def _full(file: Path, error: OSError) -> ForagerError:
    return ForagerError(f"{file} cannot be written ({error.strerror}): what was there before is safe; make room, go on")
