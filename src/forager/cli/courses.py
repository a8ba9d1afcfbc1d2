"""`forager topic from-courses`: what the courses found are about, as the topic of another crawl."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from forager.collection.courses import Keyword, keywords
from forager.collection.courses.export import read_courses
from forager.errors import ForagerError


def from_courses(
    source: Annotated[Path, typer.Argument(help="a project that found courses, or a file of course records")],
    label: Annotated[str | None, typer.Option(help="the label of its course pages, if not goal")] = None,
    most: Annotated[int, typer.Option(help="at most so many keywords", min=1)] = 30,
    out: Annotated[Path | None, typer.Option(help="a TOML file to write, with the keywords as [topic]")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="for programs: one JSON object a line")] = False,
) -> None:
    """Keywords from the names, syllabuses and headings of courses, best first."""
    found = keywords(read_courses(source, label=label), most)
    if not found:
        raise ForagerError(f"the courses of {source} share no term: more courses are needed")
    for keyword in found:
        row = f"{keyword.score:8.1f}  {keyword.courses:>6}  {keyword.term}"
        print(json.dumps(asdict(keyword), ensure_ascii=False) if as_json else row)
    if out is not None:
        _write(out, found)


def _write(out: Path, found: Sequence[Keyword]) -> None:
    """A configuration of nothing but a topic. JSON strings are TOML strings."""
    lines = [f"  {json.dumps(keyword.term, ensure_ascii=False)}," for keyword in found]
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write("\n".join(["[topic]", "keywords = [", *lines, "]", ""]))
    except FileExistsError:
        raise ForagerError(f"{out} exists: name another file, or remove it") from None
    except OSError as error:
        raise ForagerError(f"{out} cannot be written: {error.strerror}") from None
