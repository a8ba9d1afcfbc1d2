"""Pages that a command writes."""

from __future__ import annotations

import os
from pathlib import Path

from forager.errors import ForagerError


def write_text(file: Path, text: str) -> None:
    """Beside and renamed: whoever reads meanwhile sees the old or the new."""
    beside = file.with_name(f"{file.name}.{os.getpid()}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(file)
    except OSError as error:
        raise ForagerError(f"{file} cannot be written: {error.strerror}") from None
