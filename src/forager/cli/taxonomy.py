"""`forager taxonomy import`, `list`, `show`, `prune`: directories of topics."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Self

import typer
from rich.console import Console

from forager.errors import ForagerError
from forager.topics.directory import (
    Counted,
    Directory,
    Item,
    Listing,
    Pruned,
    Reading,
    Shown,
    balanced,
    import_directory,
    prune,
    read_source,
)

err = Console(stderr=True)
taxonomy = typer.Typer(no_args_is_help=True, help="Directories of topics: import, look around, prune to classes.")
DEFAULT = Path("directory.sqlite")
In = Annotated[Path, typer.Option("--in", envvar="FORAGER_DIRECTORY", help="the directory, as imported")]
Json = Annotated[bool, typer.Option("--json", help="for programs: one JSON object a line")]
EVERY = 5.0  # seconds between two plain lines of progress
TOLD = 5  # malformed places that are named; the others are counted


@taxonomy.command("import")
def import_sources(
    sources: Annotated[list[Path], typer.Argument(help="RDF dumps, tables with url and category, folders of pages")],
    out: Annotated[Path, typer.Option(help="the file to make; one that is there is replaced at the end")] = DEFAULT,
    strict: Annotated[bool, typer.Option("--strict", help="stop at what is malformed, instead of skipping it")] = False,
    separator: Annotated[str, typer.Option(help="what stands between levels in the categories of a table")] = ".",
    as_json: Json = False,
) -> None:
    """Make a directory from one or more sources; gzip is read as it is."""
    if not separator:
        raise ForagerError("--separator is empty: give what stands between levels, such as . or /")
    with Progress() as progress:
        reading = Reading(strict=strict, each=progress.read)
        root = import_directory(progress.count(_items(sources, reading, separator)), out)
    with Directory(out) as directory:
        categories = directory.categories
    for fault in reading.faults[:TOLD]:
        err.print(f"skipped: {fault}", markup=False, highlight=False, soft_wrap=True)
    skipped = {str(why): count for why, count in reading.skipped.items()}
    if as_json:
        print(json.dumps({"listings": root.total, "categories": categories, "skipped": skipped, "out": str(out)}))
        return
    left = f"; skipped: {', '.join(f'{count:,} {why}' for why, count in skipped.items())}" if skipped else ""
    print(f"{root.total:,} listings in {categories:,} categories, in {out}{left}")


def _items(sources: Sequence[Path], reading: Reading, separator: str) -> Iterator[Item]:
    for source in sources:
        yield from read_source(source, reading, separator=separator)


class Progress:
    """How far an import is, on stderr: in place on a terminal, a line now and then elsewhere."""

    def __init__(self) -> None:
        self._start = self._told = time.monotonic()
        self._listings = 0
        self._status = err.status("reading") if err.is_terminal else None

    def __enter__(self) -> Self:
        if self._status:
            self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._status:
            self._status.stop()

    def count(self, items: Iterator[Item]) -> Iterator[Item]:
        for item in items:
            self._listings += isinstance(item, Listing)
            yield item
        self._tell("counting")

    def read(self, reading: Reading) -> None:
        now = time.monotonic()
        if now - self._told < (0.25 if self._status else EVERY):
            return
        self._told = now
        read = reading.bytes / 1e6
        self._tell(f"{self._listings:,} listings, {read:,.0f} MB read, {read / (now - self._start):.0f} MB/s")

    def _tell(self, line: str) -> None:
        if self._status:
            self._status.update(line)
        elif self._told > self._start:  # a short import needs no words
            err.print(line, highlight=False)


@taxonomy.command("list")
def list_children(
    prefix: Annotated[str, typer.Argument(help="a category, such as Arts.Music; nothing for the topmost")] = "",
    file: In = DEFAULT,
    as_json: Json = False,
) -> None:
    """The categories directly below one, with the listings in and below each."""
    with Directory(file) as directory:
        rows = directory.children(prefix)
    for row in rows:
        print(json.dumps(asdict(row)) if as_json else _line(row))
    if not rows:
        err.print(f"there is nothing below {prefix or 'the root'}", markup=False, highlight=False)


def _line(row: Counted) -> str:
    more = f"  ({row.children:,} below)" if row.children else ""
    return f"{row.total:>10,}  {row.name}{more}"


@taxonomy.command()
def show(
    category: Annotated[str, typer.Argument(help="a category, such as Arts.Music")],
    file: In = DEFAULT,
    examples: Annotated[int, typer.Option(min=0, help="listings to show")] = 5,
    as_json: Json = False,
) -> None:
    """A category: counts, description, what is below and beside it, some of its listings."""
    with Directory(file) as directory:
        shown = directory.show(category, examples)
    if as_json:
        print(json.dumps(asdict(shown), ensure_ascii=False))
        return
    _print_shown(shown)


def _print_shown(shown: Shown) -> None:
    found = shown.category
    print(f"{found.name}\n{found.own:,} listings, {found.total:,} with those below")
    if shown.description:
        print(shown.description)
    for child in shown.children:
        print(_line(child))
    for relation in shown.relations:
        print(f"  {relation.kind:<9} {relation.target}{f' ({relation.label})' if relation.label else ''}")
    for listing in shown.examples:
        print(f"  {listing.title or '(no title)'}\n    {listing.url}\n    {listing.description}".rstrip())


@taxonomy.command("prune")
def prune_directory(
    k: Annotated[int, typer.Option("--k", min=1, help="examples that a class must have")] = 300,
    under: Annotated[str, typer.Option(help="only this category and what is below it")] = "",
    sample: Annotated[Path | None, typer.Option(help="write at most k listings of each class to this TSV")] = None,
    seed: Annotated[int, typer.Option(help="another seed, another sample")] = 0,
    file: In = DEFAULT,
    as_json: Json = False,
) -> None:
    """Merge small categories upwards until each class has k listings; print the classes."""
    with Directory(file) as directory:
        counts = dict(directory.counts(under))
        pruned = prune(counts, k, under)
        if not pruned.sizes:
            raise ForagerError(f"{under or file} has no listings: there is nothing to prune")
        if sample is not None:
            _write_sample(directory, pruned, k, under, seed, sample)
    for name, size in pruned.sizes.items():
        row = {"class": name, "listings": size, "used": min(size, k)}
        print(json.dumps(row, ensure_ascii=False) if as_json else f"{size:>10,}  {name}")
    used = sum(min(size, k) for size in pruned.sizes.values())
    told = f"{len(pruned.sizes):,} classes of {len(counts):,} categories; {sum(pruned.sizes.values()):,} listings"
    err.print(f"{told}, {used:,} of them with at most {k:,} a class", markup=False, highlight=False)


def _write_sample(directory: Directory, pruned: Pruned, k: int, under: str, seed: int, file: Path) -> None:
    """Columns url, category, title, description, the category being the class: a table that can be imported again."""
    try:
        with file.open("w", encoding="utf-8", newline="") as stream:
            rows: Any = csv.writer(stream, delimiter="\t", quoting=csv.QUOTE_NONE, quotechar=None, lineterminator="\n")
            rows.writerow(("url", "category", "title", "description"))
            for name, listing in balanced(directory.listings(under), pruned, k, seed):
                rows.writerow((listing.url, name, listing.title, listing.description))
    except OSError as error:
        raise ForagerError(f"{file} cannot be written: {error.strerror}") from None
