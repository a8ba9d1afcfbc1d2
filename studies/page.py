"""A study as a page of docs: NAME.md beside the folder NAME of its pictures.

The page depends on nothing but the kept parts and the file of readings beside it, `NAME-reading.toml`: a key a section,
its value the paragraphs that say what the figures mean. Those are written by hand and quote no figures.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

from forager.errors import ForagerError, unknown
from forager_lab.report import write_text
from studies.layout import Section


def write_study(folder: Path, title: str, introduction: str, sections: Sequence[Section], made: str) -> Path:
    """Write the pictures into the folder, and the page beside it; returns the page."""
    readings = _readings(folder.with_name(f"{folder.name}-reading.toml"), [section.name for section in sections])
    parts = [f"# {title}", introduction, _written(readings.get("introduction"))]
    for section in sections:
        parts += _section(section, folder.name, readings.get(section.name))
        for name, picture in section.pictures.items():
            write_text(folder / f"{name}.svg", picture)
    parts += ["## How it was made", made]
    page = folder.with_suffix(".md")
    write_text(page, "\n\n".join(part for part in parts if part) + "\n")
    return page


def _section(section: Section, folder: str, reading: str | None) -> list[str]:
    pictures = [f"![{section.title}]({folder}/{name}.svg)" for name in section.pictures]
    return [
        f"## {section.title}",
        section.text,
        *pictures,
        section.table,
        f"*The paper*: {section.paper}" if section.paper else "",
        _written(reading),
    ]


def _written(reading: str | None) -> str:
    return f"*Here*: {reading.strip()}" if reading else ""


def _readings(file: Path, names: list[str]) -> dict[str, str]:
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
