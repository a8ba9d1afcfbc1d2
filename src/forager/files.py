"""Opening a file, compressed or not, with errors that say what is wrong."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from forager.errors import ForagerError

_GZIP = b"\x1f\x8b"


@contextmanager
def open_bytes(file: Path) -> Iterator[BinaryIO]:
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
