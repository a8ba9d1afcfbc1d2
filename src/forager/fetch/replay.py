"""A recorded web as a fetcher: pages come from WARC files, aliases are redirects, everything else is not found."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fastwarc.warc import ArchiveIterator, WarcRecord, WarcRecordType

from forager.errors import ForagerError
from forager.types import Answer, Failure, Fetch, Reason, Redirect, Url
from forager.web.urls import RULES, UrlRules


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """Where a WARC record begins."""

    file: Path
    offset: int


class Replay:
    """A fetcher over recorded responses. A URL that is neither in a record nor an alias does not exist."""

    def __init__(self, places: Mapping[Url, RecordPlace], aliases: Mapping[Url, Url], rules: UrlRules = RULES) -> None:
        self.places, self.aliases, self._rules = places, aliases, rules

    async def fetch(self, url: Url) -> Answer:
        place = self.places.get(url)
        if place is not None:
            try:
                with place.file.open("rb") as file:
                    file.seek(place.offset)
                    return self._recorded(url, next(iter(ArchiveIterator(file))))
            except (OSError, StopIteration) as error:
                return Failure(url, Reason.UNREADABLE, f"its record in {place.file.name} cannot be read: {error}")
        target = self.aliases.get(url)
        if target is not None:
            return Redirect(url, target, 301)
        return Failure(url, Reason.NOT_FOUND, "not in the recorded web")

    def _recorded(self, url: Url, record: WarcRecord) -> Answer:
        headers = record.http_headers
        status = (headers.status_code if headers else None) or 200
        if 300 <= status < 400 and headers:
            location = headers.get("Location")
            target = self._rules.join(url, location) if location else None
            return Redirect(url, target, status) if target else Failure(url, Reason.BAD_REDIRECT, "no location")
        if status >= 400:
            return Failure(url, Reason.NOT_FOUND if status < 500 else Reason.SERVER_ERROR, f"status {status}")
        return Fetch(url, record.reader.read(), record.http_content_type or "", record.http_charset or "", status)


@dataclass(frozen=True, slots=True)
class Recording:
    """A folder of WARC files that was opened: its fetcher, and what could not be used."""

    fetcher: Replay
    losses: tuple[str, ...]  # one line each


def open_recording(folder: Path, rules: UrlRules = RULES) -> Recording:
    """Open the responses in `*.warc.gz` and `*.warc` of a folder, with its `aliases.tsv` if there is one."""
    files = sorted([*folder.glob("*.warc.gz"), *folder.glob("*.warc")])
    if not files:
        raise ForagerError(f"{folder}: no *.warc.gz here; a recorded web is a folder of WARC files with labels.tsv")
    places: dict[Url, RecordPlace] = {}
    losses: list[str] = []
    foreign = 0
    for file in files:
        for text, offset in _responses(file, losses):
            url = rules.canonical(text)
            if url is None:
                foreign += 1
            else:
                places.setdefault(url, RecordPlace(file, offset))
    if not places:
        raise ForagerError(
            f"{folder}: no response record with an http URL could be read; {'; '.join(losses) or 'empty'}"
        )
    if foreign:
        losses.append(f"{foreign} records left out: not http or https")
    return Recording(Replay(places, _aliases(folder / "aliases.tsv", rules), rules), tuple(losses))


def _responses(file: Path, losses: list[str]) -> Iterator[tuple[str, int]]:
    """Target and offset of each whole record. A file that breaks off is used as far as it goes."""
    whole = broken = 0
    kinds = WarcRecordType.response | WarcRecordType.resource
    try:
        for record in ArchiveIterator(str(file), record_types=kinds, parse_http=False):
            if "Content-Length" in record.headers and len(record.reader.read()) == record.content_length:
                whole += 1
                yield record.headers.get("WARC-Target-URI") or "", record.stream_pos
            else:
                broken += 1
    except OSError as error:
        losses.append(f"{file.name} cannot be read beyond record {whole}: {error}")
    if broken:
        losses.append(f"{file.name} is cut off: {whole} whole records used, {broken} lost")


def _aliases(file: Path, rules: UrlRules) -> dict[Url, Url]:
    if not file.exists():
        return {}
    pairs = ((rules.canonical(row[0]), rules.canonical(row[1])) for row in read_table(file, 2)[1])
    return {alias: page for alias, page in pairs if alias and page and alias != page}


def read_table(file: Path, least: int) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a tab-separated file. A row with fewer than `least` columns is an error."""
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    except (OSError, UnicodeDecodeError) as error:
        raise ForagerError(f"{file} cannot be read: {error}") from None
    if not rows:
        raise ForagerError(f"{file} is empty: its first line should name the columns")
    for number, row in enumerate(rows, 1):
        if len(row) < least:
            raise ForagerError(f"{file}, line {number}: {len(row)} columns where {least} are needed, separated by tabs")
    return rows[0], rows[1:]
