"""Opening files, compressed or not, and writing them whole, with errors that say what is wrong.

Written whole means: a process that is killed at any moment leaves the old content or all of the new content, never a
part.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from forager.errors import ForagerError

UNFINISHED = ".part"  # the ending of a file that is not whole yet; after a kill it may be removed
_GZIP = b"\x1f\x8b"
_SAFE = "; what was there before is safe"


@contextmanager
def open_bytes(file: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, decompressed if it is gzip. Errors while it is opened or read become a ForagerError."""
    try:
        with file.open("rb") as plain:
            compressed = plain.read(2) == _GZIP
            plain.seek(0)
            if not compressed:
                yield plain
                return
            with gzip.open(plain, "rb") as stream:
                yield cast(BinaryIO, stream)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ForagerError(f"{file} is damaged ({error}): get it again, or use what `gzip -dc` gives of it") from None
    except OSError as error:
        raise ForagerError(f"{file} cannot be read: {error.strerror or error}") from None


def text_of(file: str) -> str:
    """The text of a file."""
    return Path(file).read_text(encoding="utf-8")


@contextmanager
def writing(file: Path, more: str = "") -> Iterator[None]:
    """Turns an OSError inside of it into a ForagerError: the file cannot be written, why, and what `more` says."""
    try:
        yield
    except OSError as error:
        raise ForagerError(f"{file} cannot be written: {error.strerror or error}{more}") from error


@contextmanager
def written_whole(file: Path, *, sync: bool = True) -> Iterator[BinaryIO]:
    """A stream whose bytes take the place of the file at the end, in one step. After an error the file is as before.

    With `sync` the bytes are on the disk before they take its place, so that a power cut does no harm either. An
    OSError comes out as it is; `with writing(file), written_whole(file) as stream` makes it a ForagerError.
    """
    beside = file.with_name(f"{file.name}.{os.getpid()}{UNFINISHED}")
    try:
        with beside.open("wb") as stream:
            yield stream
            if sync:
                stream.flush()
                os.fsync(stream.fileno())
        beside.replace(file)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def replace_whole(file: Path, content: bytes | str, *, sync: bool = True) -> None:
    """Put new content in the place of a file, or of none, in one step. Text is UTF-8. Folders are made as needed."""
    with writing(file, _SAFE):
        file.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(file, sync=sync) as stream:
            stream.write(content.encode() if isinstance(content, str) else content)


def append_whole(file: Path, piece: bytes) -> int:
    """Put a piece at the end of a file and on the disk; returns where it begins.

    If the disk takes only a part of it, nothing of it stays. A kill may leave a part, which the next opening must cut
    off.
    """
    with writing(file, _SAFE):
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            at = os.lseek(opened, 0, os.SEEK_END)
            _append(opened, piece, at)
        finally:
            os.close(opened)
    return at


def _append(opened: int, piece: bytes, at: int) -> None:
    try:
        rest = memoryview(piece)
        while rest:
            rest = rest[os.write(opened, rest) :]
        os.fsync(opened)
    except BaseException:
        os.ftruncate(opened, at)
        raise
