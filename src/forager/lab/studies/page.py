"""The study as a page of docs: apprentice.md beside the folder of its pictures.

The page depends on nothing but the kept parts and the file of readings beside it, `apprentice-reading.toml`: a key a
section, its value the paragraphs that say what the figures mean. Those are written by hand and quote no figures.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from forager.errors import ForagerError, unknown
from forager.lab.studies.apprentice import Study
from forager.lab.studies.layout import Section, runs
from forager.lab.studies.sections import sections
from forager.lab.writing import write_text

INTRODUCTION = """\
The experiments of section 3 of Chakrabarti, Punera & Subramanyam (2002), "Accelerated focused crawling through online
relevance feedback", on real pages: the topics of {web}, a closed web. {count} topics, {runs} each; a run has its own
sample for the critic and its own three pages to start from ([the protocol](README.md)). R is the number of pages of a
topic; ± is the half width of the 95 % interval of a mean over runs (Student's t). The baseline is `best-first`, the
critic `{critic}`, the apprentice
`{apprentice}`, told the critic's calibrated relevance
of each page; how the one printed in the paper does stands at the end.

The paper crawled the open web, where a page is hardly ever met again; in a closed web what is trained beforehand would
be tested on pages it was trained on. Here it sees only links to a random half A of the web's pages, and the other half
B counts; the undivided figure beside it is marked as optimistic."""


def write_page(study: Study, folder: Path) -> Path:
    """Write the pictures into the folder, and the page beside it; returns the page."""
    found = sections(study)
    readings = _readings(folder.with_name(f"{folder.name}-reading.toml"), [section.name for section in found])
    parts = ["# The apprentice: a study", _introduction(study), _written(readings.get("introduction"))]
    for section in found:
        parts += _section(section, folder.name, readings.get(section.name))
        for name, picture in section.pictures.items():
            write_text(folder / f"{name}.svg", picture)
    parts += ["## How it was made", _made(study)]
    page = folder.with_suffix(".md")
    write_text(page, "\n\n".join(part for part in parts if part) + "\n")
    return page


def _introduction(study: Study) -> str:
    plan = study.plan
    return INTRODUCTION.format(
        web=study.web, count=len(study.sizes), runs=runs(plan.runs), apprentice=plan.apprentice, critic=plan.critic
    )


def _section(section: Section, folder: str, reading: str | None) -> list[str]:
    pictures = [f"![{section.title}]({folder}/{name}.svg)" for name in section.pictures]
    return [
        f"## {section.title}",
        section.text,
        *pictures,
        section.table,
        f"*The paper*: {section.paper}",
        _written(reading),
    ]


def _written(reading: str | None) -> str:
    return f"*Here*: {reading.strip()}" if reading else ""


def _made(study: Study) -> str:
    plan = study.plan
    command = [
        "forager lab study apprentice",
        f"--topics {','.join(plan.topics)}",
        f"--runs {plan.runs} --side-runs {plan.side_runs} --seed {plan.seed}",
        f"--apprentice {plan.apprentice} --critic {plan.critic}",
    ]
    codes = ", ".join(f"{code} ({count})" for code, count in study.codes.items())
    said = " \\\n  ".join(command)
    made = sum(study.codes.values())
    return f"```\n{said}\n```\n\n{made} parts (crawls, offline figures); code that made them: {codes}."


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
