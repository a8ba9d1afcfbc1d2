"""Tables and figures as pages in Markdown show them, and what somebody wrote by hand about the figures of a page."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

from forager.errors import ForagerError, unknown
from forager_lab.metrics import Figure


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int = 1) -> str:
    """A table whose first columns, those with texts, are to the left, the others to the right."""
    rule = ["---" if at < texts else "---:" for at in range(len(heads))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows))


def share(value: Figure) -> str:
    """Three digits, without the leading zero."""
    return "–" if value is None else f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 0.9995 else f"{value:.2f}"


def signed(value: float) -> str:
    """A difference of shares."""
    return ("+" if value >= 0 else "") + share(value)


def with_interval(value: Figure, half_width: Figure) -> str:
    """A share, and the half width of its interval if there is one."""
    return share(value) if value is None or half_width is None else f"{share(value)} ± {share(half_width)}"


def readings(file: Path, names: Sequence[str]) -> dict[str, str]:
    """The texts in a file, by the names of the sections that they belong to; none if there is no file."""
    try:
        given = tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ForagerError(f"{file} cannot be read: {error}") from None
    for name, text in given.items():
        if name not in ("introduction", *names):
            raise unknown(f"section in {file}", name, names)
        if not isinstance(text, str):
            raise ForagerError(f"{file}: {name} must be a text, in quotes")
    return given
