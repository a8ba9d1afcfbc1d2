"""The study of the lexical method as a page of docs."""

from __future__ import annotations

from pathlib import Path

from studies.layout import Section
from studies.lexical.options import options
from studies.lexical.sections import c_values, combinations, contexts, crawlers, features
from studies.lexical.study import LexicalStudy
from studies.lexical.told import few, levels
from studies.page import write_study

INTRODUCTION = """\
The experiments of chapter 5 of a thesis on topic-focused crawling with lexical profiles of web directories, on real
pages: fine-grained topics of {web}, a closed web. A topic is a path such as `{topic}`. Level 1 is the topic
itself, level 2 its parent, and so on. The critic has {examples} random example pages of each level and nothing else; a
crawl starts from one page of the level above the topic and fetches {pages} pages. {count} topics, {runs} crawls each;
every crawl has its own examples, and all crawlers of a crawl share them ([the protocol](README.md)). The thesis had
examples of a directory's own headings; here no page lies at an inner heading, so those of a level are from all that is
below it. What is counted are pages whose label is under the topic, without the examples."""


def write_page(study: LexicalStudy, folder: Path) -> Path:
    """Write the pictures into the folder, and the page beside it; returns the page."""
    return write_study(folder, "The lexical method: a study", _introduction(study), sections(study), _made(study))


def sections(study: LexicalStudy) -> list[Section]:
    return [
        crawlers(study), contexts(study), features(study), combinations(study), c_values(study), levels(study),
        few(study), options(study),
    ]  # fmt: skip


def _introduction(study: LexicalStudy) -> str:
    scheme = study.scheme
    return INTRODUCTION.format(
        web=study.web,
        topic=scheme.topics[0],
        examples=scheme.examples,
        pages=scheme.pages,
        count=len(scheme.topics),
        runs=scheme.runs,
    )


def _made(study: LexicalStudy) -> str:
    scheme = study.scheme
    command = [
        "forager lab study lexical",
        f"--topics {','.join(scheme.topics)}",
        f"--others {','.join(scheme.others)}",
        f"--runs {scheme.runs} --side-runs {scheme.side_runs} --pages {scheme.pages} --seed {scheme.seed}",
    ]
    codes = ", ".join(f"{code} ({count})" for code, count in study.codes.items())
    said = " \\\n  ".join(command)
    return f"```\n{said}\n```\n\n{sum(study.codes.values())} crawls and other parts; code that made them: {codes}."
