"""`forager terms`: the most important terms of pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from forager.cli.progress import StatusLine
from forager.cli.terminal import JsonObject, err, put, put_json, say
from forager.config import MOST
from forager.crawl.folder import CONFIG
from forager.errors import ForagerError
from forager.learn.lexical.cvalue import Mode, Rarity, TermList, candidates_of, rank
from forager.learn.lexical.phrases import LONGEST
from forager.store import Catalogue
from forager.topics.examples import pages_from_files
from forager.types import Page
from forager.web.page import parse
from forager.web.urls import RULES

PATIENCE = 2.0  # seconds before the progress is shown
WARCS = ("*.warc", "*.warc.gz")


def terms(
    source: Annotated[str, typer.Argument(help="HTML file, WARC file, folder of such files, or a crawled project")],
    top: Annotated[int, typer.Option(min=1, max=MOST, help="how many terms to print")] = 30,
    mode: Annotated[
        Mode, typer.Option(help="all: phrases and single words; thesis: only phrases, without participles")
    ] = Mode.ALL,
    idf: Annotated[
        str | None, typer.Option(help="other pages, given like SOURCE; terms that are common there count less")
    ] = None,
    longest: Annotated[int, typer.Option(min=1, max=MOST, help="at most so many words in a term")] = LONGEST,
    as_json: JsonObject = False,
) -> None:
    """List the terms of pages, the most important first.

    Terms are ranked by C-value. For several pages, each term has the number of pages that use it.
    """
    with StatusLine(err, PATIENCE) as status:
        rarity = None
        if idf is not None:
            sample = _counted(pages(idf), status, "read as a sample")
            rarity = Rarity.of(candidates_of(page, mode, longest=longest) for page in sample)
        counts = PagesPerTerm()
        read = _counted(pages(source), status, "read")
        lists = (rank(candidates_of(page, mode, longest=longest), mode, rarity) for page in read)
        found = TermList.union(counts.count(lists))
    shown = [
        (term, weight, counts.having[term])
        for term, weight in zip(found.terms[:top], found.weights.tolist(), strict=False)
    ]
    _print(shown, counts, mode, as_json)


class PagesPerTerm:
    """Counts pages and their terms while the lists of terms pass by."""

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
    """The pages of a file, a WARC file, a folder of such files, or a project; at least one page."""
    if "://" in source:
        raise ForagerError(f"{source} is a URL: save the page to a file, or crawl it as a project")
    place = Path(source)
    if not place.exists():
        raise ForagerError(f"there is no such file or folder: {source}; give an HTML file, a WARC file or a project")
    if place.is_dir() and (place / CONFIG).is_file():
        return _some(_crawled(place), f"{source} has no pages yet: run forager crawl {source}")
    warcs = sorted(file for pattern in WARCS for file in place.glob(pattern)) if place.is_dir() else []
    found = pages_from_files({"": [str(file) for file in warcs or [place]]}, Path(), RULES)
    return _some((each.page for each in found), f"{source} has neither HTML nor WARC files: give another folder")


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


def _counted(pages: Iterable[Page], status: StatusLine, done: str) -> Iterator[Page]:
    for count, page in enumerate(pages):
        status.update(partial("{:,} pages {}".format, count, done))
        yield page


def _print(shown: list[tuple[str, float, int]], counts: PagesPerTerm, mode: Mode, as_json: bool) -> None:
    if as_json:
        rows = [{"term": term, "weight": round(weight, 4), "pages": having} for term, weight, having in shown]
        put_json({"pages": counts.pages, "spoken": counts.spoken, "mode": mode, "terms": rows})
        return
    for term, weight, having in shown:
        put(f"{weight:>9.2f}  {term}" if counts.pages == 1 else f"{weight:>9.2f}  {having:>6,}  {term}")
    silent = counts.pages - counts.spoken
    if silent:
        which = "the page is" if counts.pages == 1 else f"{silent:,} of {counts.pages:,} pages are"
        say(f"note: {which} not in English, or only a list of names: each word counts as a term")
