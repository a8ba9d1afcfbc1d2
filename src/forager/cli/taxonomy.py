"""`forager taxonomy`: import a directory of topics, look at it, and prune it to classes."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from forager.cli.progress import StatusLine
from forager.cli.terminal import JsonLines, Seed, err, put, put_json, say
from forager.config import MOST
from forager.errors import ForagerError
from forager.topics.directory import (
    CategoryCount,
    CategoryDetails,
    Directory,
    DirectoryItem,
    ImportProgress,
    Listing,
    PrunedClasses,
    balanced,
    import_directory,
    prune,
    read_source,
)

taxonomy = typer.Typer(no_args_is_help=True, help="Import a directory of topics, look at it, and prune it to classes.")
DEFAULT = Path("directory.sqlite")
DirectoryFile = Annotated[
    Path,
    typer.Option("--in", envvar="FORAGER_DIRECTORY", help="the directory, made by `forager taxonomy import`"),
]
TOLD = 5  # malformed places that are named; the others are only counted


@taxonomy.command("import")
def import_sources(
    sources: Annotated[
        list[Path],
        typer.Argument(help="RDF dumps, tables with url and category, or folders of saved pages"),
    ],
    out: Annotated[Path, typer.Option(help="file to write; an existing file is replaced at the end")] = DEFAULT,
    strict: Annotated[bool, typer.Option("--strict", help="stop at the first malformed place")] = False,
    separator: Annotated[str, typer.Option(help="sign between the levels of a category in a table")] = ".",
    as_json: JsonLines = False,
) -> None:
    """Make a directory from one or more sources. They may be compressed with gzip."""
    if not separator:
        raise ForagerError("--separator is empty: give the sign between levels, such as . or /")
    with StatusLine(err) as line:
        status = ImportStatus(line)
        progress = ImportProgress(strict=strict, each=status.show)
        root = import_directory(status.count(_items(sources, progress, separator)), out)
    with Directory(out) as directory:
        categories = directory.categories
    for fault in progress.faults[:TOLD]:
        say(f"skipped: {fault}")
    skipped = {str(why): count for why, count in progress.skipped.items()}
    if as_json:
        put_json({"listings": root.total, "categories": categories, "skipped": skipped, "out": str(out)})
        return
    left = f"; skipped: {', '.join(f'{count:,} {why}' for why, count in skipped.items())}" if skipped else ""
    put(f"{root.total:,} listings in {categories:,} categories, in {out}{left}")


def _items(sources: Sequence[Path], progress: ImportProgress, separator: str) -> Iterator[DirectoryItem]:
    for source in sources:
        yield from read_source(source, progress, separator=separator)


class ImportStatus:
    """Counts the listings of an import, and shows how far it is."""

    def __init__(self, status: StatusLine) -> None:
        self._status, self._start = status, time.monotonic()
        self._listings = 0

    def count(self, items: Iterator[DirectoryItem]) -> Iterator[DirectoryItem]:
        for item in items:
            self._listings += isinstance(item, Listing)
            yield item
        self._status.last("counting")

    def show(self, progress: ImportProgress) -> None:
        self._status.update(lambda: self._line(progress.bytes / 1e6))

    def _line(self, read: float) -> str:
        rate = read / (time.monotonic() - self._start)
        return f"{self._listings:,} listings, {read:,.0f} MB read, {rate:.0f} MB/s"


@taxonomy.command("list")
def list_children(
    prefix: Annotated[str, typer.Argument(help="a category, such as Arts.Music", show_default="the root")] = "",
    file: DirectoryFile = DEFAULT,
    as_json: JsonLines = False,
) -> None:
    """List the categories directly below one, each with its number of listings."""
    with Directory(file) as directory:
        rows = directory.children(prefix)
    for row in rows:
        if as_json:
            put_json(asdict(row))
        else:
            put(_line(row))
    if not rows:
        say(f"there is nothing below {prefix or 'the root'}")


def _line(row: CategoryCount) -> str:
    more = f"  ({row.children:,} below)" if row.children else ""
    return f"{row.total:>10,}  {row.name}{more}"


@taxonomy.command()
def show(
    category: Annotated[str, typer.Argument(help="a category, such as Arts.Music")],
    file: DirectoryFile = DEFAULT,
    examples: Annotated[int, typer.Option(min=0, max=MOST, help="how many listings to show")] = 5,
    as_json: JsonLines = False,
) -> None:
    """Show a category: counts, description, categories below it and related to it, and some listings."""
    with Directory(file) as directory:
        details = directory.show(category, examples)
    if as_json:
        put_json(asdict(details))
        return
    _print_details(details)


def _print_details(details: CategoryDetails) -> None:
    found = details.category
    put(found.name)
    put(f"{found.own:,} listings, {found.total:,} with those below")
    if details.description:
        put(details.description)
    for child in details.children:
        put(_line(child))
    for relation in details.relations:
        put(f"  {relation.kind:<9} {relation.target}{f' ({relation.label})' if relation.label else ''}")
    for listing in details.examples:
        put(f"  {listing.title or '(no title)'}")
        put(f"    {listing.url}")
        if listing.description:
            put(f"    {listing.description}")


@taxonomy.command("prune")
def prune_directory(
    k: Annotated[int, typer.Option("--k", min=1, max=MOST, help="listings that a class must have")] = 300,
    under: Annotated[str, typer.Option(help="only this category and those below it")] = "",
    sample: Annotated[Path | None, typer.Option(help="TSV file to write: at most k listings of each class")] = None,
    seed: Seed = 0,
    file: DirectoryFile = DEFAULT,
    as_json: JsonLines = False,
) -> None:
    """Merge small categories into their parents until each class has k listings, and list the classes."""
    with Directory(file) as directory:
        counts = dict(directory.counts(under))
        pruned = prune(counts, k, under)
        if not pruned.sizes:
            raise ForagerError(f"{under or file} has no listings: choose another category")
        if sample is not None:
            _write_sample(directory, pruned, k, under, seed, sample)
    for name, size in pruned.sizes.items():
        row = {"class": name, "listings": size, "used": min(size, k)}
        if as_json:
            put_json(row)
        else:
            put(f"{size:>10,}  {name}")
    used = sum(min(size, k) for size in pruned.sizes.values())
    told = f"{len(pruned.sizes):,} classes of {len(counts):,} categories; {sum(pruned.sizes.values()):,} listings"
    say(f"{told}, {used:,} of them with at most {k:,} in each class")


def _write_sample(directory: Directory, pruned: PrunedClasses, k: int, under: str, seed: int, file: Path) -> None:
    """Write a table that can be imported again. Its columns are url, category (the class), title and description."""
    try:
        with file.open("w", encoding="utf-8", newline="") as stream:
            rows: Any = csv.writer(stream, delimiter="\t", quoting=csv.QUOTE_NONE, quotechar=None, lineterminator="\n")
            rows.writerow(("url", "category", "title", "description"))
            for name, listing in balanced(directory.listings(under), pruned, k, seed):
                rows.writerow((listing.url, name, listing.title, listing.description))
    except OSError as error:
        raise ForagerError(f"{file} cannot be written: {error.strerror}") from None
