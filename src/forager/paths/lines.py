"""Files of lines, compressed or not, with errors that name the file and the line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from forager.errors import ForagerError
from forager.files import open_bytes

LONGEST = 1 << 20  # bytes of a line: what has no lines is not read into memory
_BOM = b"\xef\xbb\xbf"


def wrong(file: Path, line: int, what: str) -> ForagerError:
    return ForagerError(f"{file}, line {line}: {what}")


def whole(file: Path) -> bytes:
    """All of a file, without a byte order mark."""
    with open_bytes(file) as stream:
        return stream.read().removeprefix(_BOM)


def numbered(file: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, counted from 1, without their ends."""
    with open_bytes(file) as stream:
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
