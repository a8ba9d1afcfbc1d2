"""`forager terms`: what pages are about, in ranked terms."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Annotated, Self

import typer
from rich.console import Console

from forager.errors import ForagerError
from forager.learn.lexical.cvalue import Mode, Rarity, TermList, candidates_of, rank
from forager.learn.lexical.phrases import LONGEST
from forager.project import CONFIG
from forager.store import Catalogue
from forager.topics.examples import from_files
from forager.types import Page
from forager.web.page import parse
from forager.web.urls import RULES

err = Console(stderr=True)
PATIENCE = 2.0  # seconds without a word
EVERY = 5.0  # seconds between two plain lines of progress
WARCS = ("*.warc", "*.warc.gz")


def terms(
    source: Annotated[str, typer.Argument(help="an HTML file, a WARC file, a folder of either, or a crawled project")],
    top: Annotated[int, typer.Option(min=1, help="terms to print")] = 30,
    mode: Annotated[
        Mode, typer.Option(help="all: single words too; thesis: phrases only, without participles")
    ] = Mode.ALL,
    idf: Annotated[
        str | None, typer.Option(help="other pages, given like the source: what is common there weighs less")
    ] = None,
    longest: Annotated[int, typer.Option(min=1, help="words of a term at most")] = LONGEST,
    as_json: Annotated[bool, typer.Option("--json", help="for programs: one JSON object")] = False,
) -> None:
    """The terms of pages, ranked by C-value; of several pages, with the number of those that have them."""
    with Progress() as progress:
        rarity = None
        if idf is not None:
            sample = progress.over(pages(idf), "read as a sample")
            rarity = Rarity.of(candidates_of(page, mode, longest=longest) for page in sample)
        tally = Tally()
        read = progress.over(pages(source), "read")
        lists = (rank(candidates_of(page, mode, longest=longest), mode, rarity) for page in read)
        found = TermList.union(tally.count(lists))
    shown = [
        (term, weight, tally.having[term])
        for term, weight in zip(found.terms[:top], found.weights.tolist(), strict=False)
    ]
    _print(shown, tally, mode, as_json)


class Tally:
    """What passes by."""

    def __init__(self) -> None:
        self.pages = self.spoken = 0
        self.having: Counter[str] = Counter()  # pages that have each term

    def count(self, lists: Iterable[TermList]) -> Iterator[TermList]:
        for each in lists:
            self.pages += 1
            self.spoken += each.spoken
            self.having.update(each.terms)
            yield each


def pages(source: str) -> Iterator[Page]:
    """The pages of a file, a WARC file, a folder of either, or a project, at least one."""
    if "://" in source:
        raise ForagerError(f"{source} is not on this machine: save the page to a file, or crawl it as a project")
    place = Path(source)
    if not place.exists():
        raise ForagerError(f"{source}: there is no such file or folder; give an HTML file, a WARC file or a project")
    if place.is_dir() and (place / CONFIG).is_file():
        return _some(_crawled(place), f"{source} has no pages yet: run forager crawl {source}")
    warcs = sorted(file for pattern in WARCS for file in place.glob(pattern)) if place.is_dir() else []
    lessons = from_files({"": [str(file) for file in warcs or [place]]}, Path(), RULES)
    return _some((lesson.page for lesson in lessons), f"{source} has neither HTML nor WARC files: give another folder")


def _crawled(folder: Path) -> Iterator[Page]:
    with Catalogue(folder) as catalogue:
        for entry in catalogue.pages():
            answer = catalogue.answer(entry.seq)
            page = parse(answer) if answer is not None else None
            if isinstance(page, Page):
                yield page


def _some(pages: Iterator[Page], otherwise: str) -> Iterator[Page]:
    first = next(pages, None)
    if first is None:
        raise ForagerError(otherwise)
    yield first
    yield from pages


class Progress:
    """How many pages were read, on stderr, if it takes long: in place on a terminal, a line now and then elsewhere."""

    def __init__(self) -> None:
        self._told = time.monotonic() + PATIENCE - EVERY
        self._status = err.status("") if err.is_terminal else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._status:
            self._status.stop()

    def over(self, pages: Iterable[Page], done: str) -> Iterator[Page]:
        for count, page in enumerate(pages):
            now = time.monotonic()
            if now - self._told >= EVERY:
                self._told = now if self._status is None else now - EVERY + 0.25
                self._tell(f"{count:,} pages {done}")
            yield page

    def _tell(self, line: str) -> None:
        if self._status:
            self._status.start()
            self._status.update(line)
        else:
            err.print(line, highlight=False)


def _print(shown: list[tuple[str, float, int]], tally: Tally, mode: Mode, as_json: bool) -> None:
    if as_json:
        rows = [{"term": term, "weight": round(weight, 4), "pages": having} for term, weight, having in shown]
        print(json.dumps({"pages": tally.pages, "spoken": tally.spoken, "mode": mode, "terms": rows}))
        return
    for term, weight, having in shown:
        print(f"{weight:>9.2f}  {term}" if tally.pages == 1 else f"{weight:>9.2f}  {having:>6,}  {term}")
    silent = tally.pages - tally.spoken
    if silent:
        which = "the page is" if tally.pages == 1 else f"{silent:,} of {tally.pages:,} pages are"
        err.print(
            f"note: {which} not in English, or a list of names: taken word by word", highlight=False, soft_wrap=True
        )
