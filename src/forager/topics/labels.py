"""What people said of pages of a project: PROJECT/labels.tsv, a line a verdict, the last one of a URL counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

from forager.errors import ForagerError, unknown
from forager.types import Url
from forager.web.urls import UrlRules

FILE = "labels.tsv"
RELEVANT, IRRELEVANT = "relevant", "irrelevant"
COLUMNS = ("url", "verdict", "time")


def add_labels(folder: Path, verdicts: Mapping[Url, str], at: datetime) -> None:
    """Append verdicts; `relevant`, `irrelevant`, or the name of a class that is wanted."""
    file = folder / FILE
    try:
        new = not file.exists()
        with file.open("a", encoding="utf-8", newline="") as lines:
            if new:
                lines.write("\t".join(COLUMNS) + "\n")
            lines.writelines(f"{url}\t{verdict}\t{at.isoformat()}\n" for url, verdict in verdicts.items())
    except OSError as error:
        raise ForagerError(f"{file} cannot be written: {error.strerror}") from None


def read_labels(folder: Path) -> dict[Url, str]:
    """The verdict on each URL."""
    file = folder / FILE
    if not file.exists():
        return {}
    rows = _rows(file)
    for number, row in enumerate(rows, 2):
        if len(row) < 2 or not row[1]:
            raise ForagerError(f"{file}, line {number}: no verdict; a line is a URL, a tab and a verdict")
    return {Url(row[0]): row[1] for row in rows}


def verdicts_of(lines: Iterable[str], rules: UrlRules, where: str) -> dict[Url, str]:
    """Verdicts in a file of a user's: a URL and a verdict a line, with a tab or spaces between."""
    found: dict[Url, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        text, _, verdict = line.strip().partition("\t") if "\t" in line else line.strip().partition(" ")
        url = rules.canonical(text)
        if url is None or not verdict.strip():
            raise ForagerError(
                f"{where}, line {number}: {line.strip()!r} is not a URL with a verdict; nothing was taken"
            )
        found[url] = verdict.split("\t")[0].strip()
    return found


def check_verdict(verdict: str, classes: Iterable[str]) -> str:
    known = (RELEVANT, IRRELEVANT, *classes)
    if verdict not in known:
        raise unknown("verdict", verdict, known)
    return verdict


def _rows(file: Path) -> list[list[str]]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ForagerError(f"{file} cannot be read: {error}") from None
    return [line.split("\t") for line in lines[1:] if line.strip()]
