"""Files of lines, compressed or not, with errors that name the file and the line."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from forager.errors import ForagerError

LONGEST = 1 << 20  # bytes of a line: what has no lines is not read into memory
_GZIP, _BOM = b"\x1f\x8b", b"\xef\xbb\xbf"


def wrong(file: Path, line: int, what: str) -> ForagerError:
    return ForagerError(f"{file}, line {line}: {what}")


@contextmanager
def opened(file: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, decompressed if it is gzip's. Trouble while it is read is the user's to mend as well."""
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


def whole(file: Path) -> bytes:
    """All of a file, without a byte order mark."""
    with opened(file) as stream:
        return stream.read().removeprefix(_BOM)


def numbered(file: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, counted from 1, without their ends."""
    with opened(file) as stream:
        number = 0
        while raw := stream.readline(LONGEST + 1):
            number += 1
            text = _text(file, number, raw.removeprefix(_BOM) if number == 1 else raw)
            if text and not text.isspace():
                yield number, text


def _text(file: Path, number: int, raw: bytes) -> str:
    if len(raw) > LONGEST:
        raise wrong(file, number, f"longer than {LONGEST:,} bytes: is it a file of lines?")
    try:
        return raw.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise wrong(file, number, f"not UTF-8 ({error.reason}): save the file as UTF-8") from None
