"""The courses of a project, as records: finds the pages that are courses, and writes one JSON object for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from forager.collection.courses import Course, courses
from forager.collection.export import in_place
from forager.crawl.folder import CrawlFolder
from forager.errors import ForagerError, unknown
from forager.store import Catalogue, aliases
from forager.types import RELEVANT, Page, Url
from forager.web.page import parse
from forager.web.urls import UrlRules

COURSES = "courses"  # the name of the format
GOAL = "goal"  # the label that path models give to the pages they were trained to find


def export_courses(
    project: CrawlFolder, target: Path, *, label: str | None = None, min_relevance: float | None = None
) -> int:
    """Write one JSON object for each course, one on each line, and return how many (see `project_courses`)."""
    count = 0
    with in_place(target) as file:
        for course in project_courses(project, label=label, min_relevance=min_relevance):
            file.write(msgspec.json.encode(course) + b"\n")
            count += 1
    return count


def project_courses(
    project: CrawlFolder, *, label: str | None = None, min_relevance: float | None = None
) -> Iterator[Course]:
    """The courses of a project. Their pages have the given label and are at least `min_relevance` relevant, whichever
    is given. Without both: those with the label `goal` that the critic finds relevant too, because a strategy that was
    shown a few paths calls too many pages a goal; or all relevant ones if no page has that label."""
    with Catalogue(project.folder) as catalogue:
        chosen, seqs = _chosen(catalogue, label, min_relevance)
        rules = UrlRules(project.config.urls.strip, project.config.urls.longest)
        yield from courses(chosen, _Archive(catalogue, seqs, rules))


class _Archive:
    """Gives the page of a crawl at a URL, also through redirects."""

    def __init__(self, catalogue: Catalogue, seqs: dict[str, int], rules: UrlRules) -> None:
        self._catalogue, self._seqs, self._rules = catalogue, seqs, rules
        self._aliases = aliases(catalogue.folder, seqs)

    def __call__(self, url: Url) -> Page | None:
        seq = self._seqs.get(self._aliases.get(url, url))
        answer = None if seq is None else self._catalogue.answer(seq)
        page = None if answer is None else parse(answer, self._rules)
        return page if isinstance(page, Page) else None


def _chosen(catalogue: Catalogue, label: str | None, least: float | None) -> tuple[list[Url], dict[str, int]]:
    """The URLs of the course pages, and the sequence number of each page of the crawl."""
    seqs: dict[str, int] = {}
    labels: dict[str, list[Url]] = {}
    relevant: dict[Url, None] = {}
    for entry in catalogue.pages():
        seqs[entry.url] = entry.seq
        labels.setdefault(entry.label, []).append(Url(entry.url))
        if entry.relevance >= (RELEVANT if least is None else least):
            relevant[Url(entry.url)] = None
    given = labels.keys() - {""}
    if label is not None and label not in given:
        if given:
            raise unknown("label", label, given)
        raise ForagerError(f"no page of {catalogue.folder} has a label: leave out --label, to use the relevant pages")
    called = labels.get(label or GOAL, []) if label or least is None else []
    chosen = [url for url in called if url in relevant or (label and least is None)] if called else list(relevant)
    if called and not chosen:
        told = f"{len(called)} pages in {catalogue.folder} are labelled {label or GOAL}, but none of them is relevant"
        raise ForagerError(f"{told} by the critic: take them all the same with --label {label or GOAL}")
    if not chosen:
        raise ForagerError(_without(catalogue, len(seqs), given, least))
    return chosen, seqs


def _without(catalogue: Catalogue, pages: int, labels: set[str], least: float | None) -> str:
    """The error message for a project without courses."""
    folder = catalogue.folder
    if not pages:
        return f"{folder} has no pages yet: crawl first, with forager crawl {folder}"
    labelled = "" if least is not None else f"is labelled {GOAL} or "
    cure = f"choose a label with --label: {', '.join(sorted(labels)[:8])}" if labels else "lower --min-relevance"
    wanted = f"{labelled}has a relevance of {least or RELEVANT} or more"
    return f"none of the {pages} pages in {folder} {wanted}: crawl more, or {cure}"


def read_courses(source: Path, *, label: str | None = None) -> Iterator[Course]:
    """The courses of a project, or of a file that `export_courses` wrote."""
    if source.is_dir():
        yield from project_courses(CrawlFolder(source), label=label)
        return
    try:
        with source.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _course(line, f"{source} line {number}")
    except OSError as error:
        reason = error.strerror or error
        raise ForagerError(f"{source} cannot be read ({reason}): give a project or a file of course records") from None


def _course(line: bytes, where: str) -> Course:
    try:
        return msgspec.json.decode(line, type=Course)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        cure = f"make a file of them with forager export PROJECT FILE --format {COURSES}"
        raise ForagerError(f"{where} is not a course record ({error}): {cure}") from None
