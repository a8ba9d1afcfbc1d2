"""The collection as one file: JSON lines, WARC or Parquet. The file gets its name only when it is complete."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeAlias
from uuid import UUID, uuid5

from forager.errors import ForagerError, unknown
from forager.store import warc
from forager.store.catalogue import Catalogue, Entry
from forager.store.reading import read_range

BATCH = 1_000  # pages in memory at once, for Parquet


def export(
    folder: Path,
    target: Path,
    format: str,
    *,
    min_relevance: float | None = None,
    classes: Sequence[str] = (),
    tell: Callable[[int], None] = lambda pages: None,
) -> int:
    """Write the pages of a project to a file, and return how many. `classes` are the names of the topics, if known;
    `tell` hears how many pages are done. Pages that are damaged are left out, with a `DamageWarning`."""
    if format not in FORMATS:
        raise unknown("format", format, FORMATS)
    with Catalogue(folder) as catalogue, in_place(target) as file:
        pages = catalogue.whole(catalogue.pages(min_relevance=min_relevance))
        return FORMATS[format](catalogue, _counted(pages, tell), file, classes)


def _counted(entries: Iterable[Entry], tell: Callable[[int], None]) -> Iterator[Entry]:
    for done, entry in enumerate(entries, 1):
        yield entry
        tell(done)


def page_row(catalogue: Catalogue, entry: Entry, classes: Sequence[str] = ()) -> dict[str, Any]:
    """A page as one JSON object."""
    topics = None if entry.topics is None else [round(float(topic), 6) for topic in entry.topics]
    named = dict(zip(classes, topics, strict=True)) if topics and len(classes) == len(topics) else topics
    return {
        **{"url": entry.url, "title": entry.title, "text": catalogue.text(entry)},
        **{"relevance": _finite(entry.relevance), "topics": named, "label": entry.label, "critic": entry.critic},
        **{"depth": entry.depth, "parent": entry.parent, "score": _finite(entry.score)},
        **{"status": entry.status, "fetched_at": entry.asked_at.isoformat(), "digest": entry.digest, "seq": entry.seq},
        "warc": None if entry.warc is None else Path(warc.name(entry.warc)).name,
        "warc_offset": entry.members.at if entry.members else None,
    }


def jsonl(catalogue: Catalogue, entries: Iterable[Entry], file: IO[bytes], classes: Sequence[str] = ()) -> int:
    """One JSON object for each page, one on each line."""
    count = 0
    for entry in entries:
        file.write(json.dumps(page_row(catalogue, entry, classes), ensure_ascii=False).encode() + b"\n")
        count += 1
    return count


def warc_copy(catalogue: Catalogue, entries: Iterable[Entry], file: IO[bytes], classes: Sequence[str] = ()) -> int:
    """The archived records of the pages, unchanged, after a new warcinfo record."""
    count = 0
    for entry in entries:
        if entry.warc is not None and entry.members is not None:
            if count == 0:
                part_of = uuid5(UUID(catalogue.project), "export")
                file.write(warc.warcinfo("export.warc.gz", part_of, "forager", entry.asked_at))
            file.write(read_range(catalogue.folder / warc.name(entry.warc), entry.members))
            count += 1
    return count


def parquet(catalogue: Catalogue, entries: Iterable[Entry], file: IO[bytes], classes: Sequence[str] = ()) -> int:
    """A table with the same columns as the JSON lines; topics are a list, in the order of the critic's classes."""
    try:
        import pyarrow as arrow
        from pyarrow.parquet import ParquetWriter
    except ImportError:
        raise ForagerError("Parquet needs pyarrow: install it with pip install 'forager[parquet]'") from None
    schema, count = _schema(arrow), 0
    with ParquetWriter(file, schema, compression="zstd") as writer:
        for rows in _batches((_flat(page_row(catalogue, entry), entry) for entry in entries), BATCH):
            writer.write_table(arrow.Table.from_pylist(rows, schema=schema))
            count += len(rows)
    return count


Write: TypeAlias = Callable[[Catalogue, Iterable[Entry], IO[bytes], Sequence[str]], int]
FORMATS: dict[str, Write] = {"jsonl": jsonl, "warc": warc_copy, "parquet": parquet}


def _schema(arrow: Any) -> Any:
    text, real, whole = arrow.string(), arrow.float64(), arrow.int64()
    return arrow.schema(
        [
            *((name, text) for name in ("url", "title", "text")),
            *(("relevance", real), ("topics", arrow.list_(arrow.float32())), ("label", text), ("critic", text)),
            *(("depth", whole), ("parent", text), ("score", real), ("status", whole)),
            *(("fetched_at", arrow.timestamp("us", tz="UTC")), ("digest", text), ("seq", whole)),
            *(("warc", text), ("warc_offset", whole)),
        ]
    )


def _flat(row: dict[str, Any], entry: Entry) -> dict[str, Any]:
    return row | {"fetched_at": entry.asked_at}


def _batches(rows: Iterator[dict[str, Any]], size: int) -> Iterator[list[dict[str, Any]]]:
    while batch := list(islice(rows, size)):
        yield batch


def _finite(value: float) -> float | None:
    """The number, or None for nan and infinity, which JSON does not have: a page without a judgement, a seed."""
    return value if math.isfinite(value) else None


@contextmanager
def in_place(target: Path) -> Iterator[IO[bytes]]:
    """A file to write, which gets its name only when it is complete."""
    beside = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            yield file
        beside.replace(target)
    except OSError as error:
        raise ForagerError(f"{target} cannot be written: {error.strerror or error}") from error
    finally:
        beside.unlink(missing_ok=True)
