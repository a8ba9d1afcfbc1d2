"""Writing to files. After a kill at any moment, a file has its old content or all of the new content."""

from __future__ import annotations

import os
from pathlib import Path

from forager.errors import ForagerError


def append(file: Path, piece: bytes) -> int:
    """Add a piece at the end of a file, and return where it begins; it is on the disk when this returns.

    If the disk takes only a part, nothing of it stays. A kill may leave a part, which the next opening must cut off.
    """
    try:
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise _not_written(file, error) from error
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
                raise _not_written(file, error) from error
            raise
    finally:
        os.close(opened)
    return at


def replace(file: Path, content: bytes) -> None:
    """Write a file in one step: it has its old content or the new one, never a part."""
    new = file.with_name(file.name + ".new")
    try:
        with new.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(file)
    except OSError as error:
        raise _not_written(file, error) from error


def _not_written(file: Path, error: OSError) -> ForagerError:
    return ForagerError(f"{file} cannot be written ({error.strerror}): nothing is lost; repair this, then go on")
