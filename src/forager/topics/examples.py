"""What a critic is taught with: pages with the names of their classes, from wherever the topic's examples lie.

An example is a URL, whose page is looked up in an archive of fetched ones; an HTML file; a folder of such files; or a
WARC file, all of whose pages count. A directory adds its listings: pages where they were fetched, else their titles
and descriptions. What a person has labelled comes from the archive of the crawl itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from fastwarc.warc import ArchiveIterator, WarcRecordType

from forager.errors import ForagerError
from forager.store import Catalogue, aliases
from forager.types import Failure, Fetch, Page, Url
from forager.web.page import parse
from forager.web.urls import UrlRules

Origin: TypeAlias = Literal["fetched", "file", "warc", "title and description", "labelled"]
OTHER = "other"  # the class of what is not wanted, where it has no better name
FEWEST = 3  # examples that a class can be learnt from


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    page: Page
    label: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class Example:
    """A page to be fetched, with what is known of it beforehand."""

    url: Url
    label: str
    title: str = ""
    description: str = ""


def examples(named: Mapping[str, Sequence[str]], rules: UrlRules) -> list[Example]:
    """Those of the examples, by class, that are URLs."""
    found = []
    for label, places in named.items():
        for place in filter(_is_url, places):
            url = rules.canonical(place)
            if url is None:
                raise ForagerError(
                    f"example {place!r} is not an http or https URL of at most {rules.longest} characters"
                )
            found.append(Example(url, label))
    return found


def from_files(named: Mapping[str, Sequence[str]], base: Path, rules: UrlRules) -> Iterator[Lesson]:
    """Those of the examples that lie on this machine; paths are relative to `base`."""
    for label, places in named.items():
        for place in places:
            if not _is_url(place):
                yield from _lie_at(base / place, label, rules)


def from_local(listed: Iterable[Example], rules: UrlRules) -> Iterator[Lesson]:
    """Listed pages that are files of this machine, as a directory made of a folder has them."""
    for example in listed:
        yield _file(Path(unquote(urlsplit(example.url).path)), example.label, rules)


def from_archive(folder: Path, wanted: Iterable[Example], rules: UrlRules) -> Iterator[Lesson]:
    """The pages of fetched examples; for one that brought none its title and description, if it has them."""
    labels: dict[str, list[Example]] = {}
    for example in wanted:
        labels.setdefault(example.url, []).append(example)
    for url, page in _archived(folder, labels, rules):
        for example in labels.pop(url):
            yield Lesson(page, example.label, "fetched")
    for missing in labels.values():
        yield from (said for example in missing if (said := as_said(example)) is not None)


def from_labels(folder: Path, labels: Mapping[Url, str], rules: UrlRules) -> Iterator[Lesson]:
    """Pages of a crawl that a person has labelled."""
    for url, page in _archived(folder, labels, rules):
        yield Lesson(page, labels[Url(url)], "labelled")


def as_said(example: Example) -> Lesson | None:
    """What a directory says of a page, as a page; None if it says nothing."""
    if not (example.title or example.description):
        return None
    html = f"<title>{escape(example.title)}</title><h1>{escape(example.title)}</h1><p>{escape(example.description)}</p>"
    page = parse(Fetch(example.url, html.encode(), charset="utf-8"))
    return Lesson(page, example.label, "title and description") if isinstance(page, Page) else None


def _archived(folder: Path, wanted: Collection[str], rules: UrlRules) -> Iterator[tuple[str, Page]]:
    """The wanted URLs that an archive has pages for, each under the name it was asked by."""
    with Catalogue(folder) as catalogue:
        entries = {entry.url: entry.seq for entry in catalogue.pages()}
        asked: dict[str, list[str]] = {}
        for source, target in aliases(folder, entries).items():
            if source in wanted:
                asked.setdefault(target, []).append(source)
        for url, seq in entries.items():
            names = [*([url] if url in wanted else []), *asked.get(url, ())]
            answer = catalogue.answer(seq) if names else None
            page = parse(answer, rules) if answer is not None else None
            if isinstance(page, Page):
                yield from ((name, page) for name in names)


def _is_url(place: str) -> bool:
    return "://" in place


def _lie_at(place: Path, label: str, rules: UrlRules) -> Iterator[Lesson]:
    if place.is_dir():
        for file in sorted(place.rglob("*.htm*")):
            yield _file(file, label, rules)
    elif place.name.endswith((".warc", ".warc.gz")):
        yield from _warc(place, label, rules)
    else:
        yield _file(place, label, rules)


def _file(file: Path, label: str, rules: UrlRules) -> Lesson:
    try:
        body = file.read_bytes()
    except OSError as error:
        raise ForagerError(f"example {file} cannot be read: {error.strerror}; give a file, a folder or a URL") from None
    kind = "text/plain" if file.suffix == ".txt" else "text/html"
    page = parse(Fetch(Url(file.resolve().as_uri()), body, kind), rules)
    if isinstance(page, Failure):
        raise ForagerError(f"example {file} is no page: {page.reason} {page.detail}".rstrip())
    return Lesson(page, label, "file")


def _warc(file: Path, label: str, rules: UrlRules) -> Iterator[Lesson]:
    """Every page of a WARC file; what is no page, or no whole record, is passed over."""
    found = 0
    try:
        for record in ArchiveIterator(str(file), record_types=WarcRecordType.response | WarcRecordType.resource):
            url = rules.canonical(record.headers.get("WARC-Target-URI") or "")
            status = (record.http_headers.status_code if record.http_headers else None) or 200
            if url is None or status != 200:
                continue
            kind, charset = record.http_content_type or "", record.http_charset or ""
            page = parse(Fetch(url, record.reader.read(), kind, charset), rules)
            if isinstance(page, Page):
                found += 1
                yield Lesson(page, label, "warc")
    except OSError as error:
        raise ForagerError(f"example {file} cannot be read: {error}; give a WARC file that is whole") from None
    if not found:
        raise ForagerError(f"example {file} holds no page: give a WARC file with HTML responses")
