"""The pages that a critic is trained with, each with the name of its class.

An example is a URL, whose page is looked up in an archive of fetched pages; an HTML file; a folder of such files; or a
WARC file, of which all pages count. A directory adds its listings: the pages that could be fetched, and for the others
their titles and descriptions. Pages that a person has labelled come from the archive of the crawl itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, runtime_checkable
from urllib.parse import unquote, urlsplit

from fastwarc.warc import ArchiveIterator, WarcRecordType

from forager.config import TopicConfig
from forager.errors import ForagerError
from forager.learn.focus import below
from forager.store import Catalogue, aliases
from forager.topics.directory import Directory, PrunedClasses, balanced, prune
from forager.topics.directory.listing import ROOT
from forager.types import Failure, Fetch, Page, Url
from forager.web.page import parse
from forager.web.urls import UrlRules

Origin: TypeAlias = Literal["fetched", "file", "warc", "title and description", "labelled"]
OTHER = "other"  # the class of what is not wanted, where it has no better name
FEWEST = 3  # examples that a class can be learnt from


@dataclass(frozen=True, slots=True, eq=False)
class TrainingPage:
    """A page with the name of its class, and where it comes from."""

    page: Page
    label: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class Example:
    """A URL to fetch, with its class and what is known of the page beforehand."""

    url: Url
    label: str
    title: str = ""
    description: str = ""


@runtime_checkable
class TaughtByLevels(Protocol):
    """A critic that learns the levels of one path of a directory, and nothing from other categories."""

    @property
    def path(self) -> tuple[str, ...]: ...  # the topics of the levels, from the target up
    def level_taught(self, label: str) -> int | None: ...  # from 0; None: a page with this label teaches nothing


@runtime_checkable
class LearnsFromFeedback(Protocol):
    """A critic that can be told more after its training."""

    def feedback(self, pages: Sequence[Page], wanted: Sequence[bool]) -> None: ...


# ---- URLs to fetch --------------------------------------------------------------------------------------------------


def url_examples(named: Mapping[str, Sequence[str]], rules: UrlRules) -> list[Example]:
    """The examples that are URLs; `named` has the examples of each class."""
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


def directory_examples(topic: TopicConfig, base: Path, seed: int = 0) -> Iterator[Example]:
    """About k listings of every class of the topic's directory; nothing if the topic has none.

    The classes at or below the wanted paths are the focus. All other classes are what the critic learns to reject.
    """
    if topic.directory is None:
        return
    with Directory(base / topic.directory) as directory:
        _check_wanted(directory, topic)
        counts = dict(directory.counts())
        pruned = _keep_wanted(prune(counts, topic.k), counts, topic.paths)
        for name, listing in balanced(directory.listings(), pruned, topic.k, seed):
            yield Example(Url(listing.url), name, listing.title, listing.description)


def level_examples(topic: TopicConfig, base: Path, critic: TaughtByLevels, seed: int = 0) -> Iterator[Example]:
    """At most k listings of each level of the critic's path; nothing if the topic has no directory.

    Nothing is pruned: a level has the listings that the directory has there, however few. No other listing is given,
    because the critic would learn nothing from it.
    """
    if topic.directory is None:
        return
    with Directory(base / topic.directory) as directory:
        _check_wanted(directory, topic)
        target, top = critic.path[0], critic.path[-1]
        under = top if below(target, top) else ROOT  # a level above the path has all other categories
        levels = _levels_of(dict(directory.counts(under)), critic)
        if set(levels.sizes) == {target}:
            raise ForagerError(
                f"no category above {target} has listings of its own in {topic.directory}: set options.above = "
                '"below" in [critic], so that the other categories below them count for them'
            )
        listings = (each for each in directory.listings(under) if each.category in levels.leaf_of)
        for name, listing in balanced(listings, levels, topic.k, seed):
            yield Example(Url(listing.url), name, listing.title, listing.description)


def _levels_of(counts: Mapping[str, int], critic: TaughtByLevels) -> PrunedClasses:
    """The topics of the levels as classes. Categories that teach nothing are not there."""
    taught = {name: critic.level_taught(name) for name in counts}
    topic_of = {name: critic.path[level] for name, level in taught.items() if level is not None}
    sizes: Counter[str] = Counter()
    for name, level_topic in topic_of.items():
        sizes[level_topic] += counts[name]
    return PrunedClasses(topic_of, {name: size for name, size in sizes.items() if size})


def _check_wanted(directory: Directory, topic: TopicConfig) -> None:
    if not topic.paths:
        raise ForagerError('no category of the directory is wanted: name some, e.g. paths = ["Science.Biology"]')
    for path in topic.paths:
        if not directory.counted(path).total:
            raise ForagerError(f"{path} has no pages in {topic.directory}: choose a category that has some")


def _keep_wanted(pruned: PrunedClasses, counts: Mapping[str, int], wanted: Sequence[str]) -> PrunedClasses:
    """The same classes, but each wanted category stays a class, even if it has few pages."""
    leaf_of = dict(pruned.leaf_of)
    for name, leaf in pruned.leaf_of.items():
        path = next((path for path in wanted if below(name, path)), None)
        if path is not None and not below(leaf, path):
            leaf_of[name] = path
    sizes: Counter[str] = Counter()
    for name, count in counts.items():
        sizes[leaf_of[name]] += count
    return PrunedClasses(leaf_of, {name: size for name, size in sorted(sizes.items()) if size})


# ---- pages ----------------------------------------------------------------------------------------------------------


def pages_from_files(named: Mapping[str, Sequence[str]], base: Path, rules: UrlRules) -> Iterator[TrainingPage]:
    """The pages of the examples that are files, folders or WARC files. Paths are relative to `base`."""
    for label, places in named.items():
        for place in places:
            if not _is_url(place):
                yield from _pages_at(base / place, label, rules)


def pages_from_file_urls(listed: Iterable[Example], rules: UrlRules) -> Iterator[TrainingPage]:
    """The pages of examples with file: URLs, as a directory made from a folder has them."""
    for example in listed:
        yield _page_of_file(Path(unquote(urlsplit(example.url).path)), example.label, rules)


def pages_from_archive(folder: Path, wanted: Iterable[Example], rules: UrlRules) -> Iterator[TrainingPage]:
    """The pages of fetched examples. One that brought no page counts with its title and description, if it has any."""
    labels: dict[str, list[Example]] = {}
    for example in wanted:
        labels.setdefault(example.url, []).append(example)
    for url, page in _archived(folder, labels, rules):
        for example in labels.pop(url):
            yield TrainingPage(page, example.label, "fetched")
    for missing in labels.values():
        yield from (made for example in missing if (made := page_from_description(example)) is not None)


def pages_from_labels(folder: Path, labels: Mapping[Url, str], rules: UrlRules) -> Iterator[TrainingPage]:
    """The pages of a crawl that a person has labelled."""
    for url, page in _archived(folder, labels, rules):
        yield TrainingPage(page, labels[Url(url)], "labelled")


def page_from_description(example: Example) -> TrainingPage | None:
    """A page made of the title and description in a directory; None if there is neither."""
    if not (example.title or example.description):
        return None
    html = f"<title>{escape(example.title)}</title><h1>{escape(example.title)}</h1><p>{escape(example.description)}</p>"
    page = parse(Fetch(example.url, html.encode(), charset="utf-8"))
    return TrainingPage(page, example.label, "title and description") if isinstance(page, Page) else None


def _archived(folder: Path, wanted: Collection[str], rules: UrlRules) -> Iterator[tuple[str, Page]]:
    """The wanted URLs that an archive has pages for. A redirected URL comes with the page it led to."""
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


def _pages_at(place: Path, label: str, rules: UrlRules) -> Iterator[TrainingPage]:
    if place.is_dir():
        for file in sorted(place.rglob("*.htm*")):
            yield _page_of_file(file, label, rules)
    elif place.name.endswith((".warc", ".warc.gz")):
        yield from _pages_of_warc(place, label, rules)
    else:
        yield _page_of_file(place, label, rules)


def _page_of_file(file: Path, label: str, rules: UrlRules) -> TrainingPage:
    try:
        body = file.read_bytes()
    except OSError as error:
        raise ForagerError(f"example {file} cannot be read: {error.strerror}; give a file, a folder or a URL") from None
    kind = "text/plain" if file.suffix == ".txt" else "text/html"
    page = parse(Fetch(Url(file.resolve().as_uri()), body, kind), rules)
    if isinstance(page, Failure):
        problem = f"{page.reason} {page.detail}".rstrip()
        raise ForagerError(f"example {file} is no page ({problem}): give an HTML file")
    return TrainingPage(page, label, "file")


def _pages_of_warc(file: Path, label: str, rules: UrlRules) -> Iterator[TrainingPage]:
    """Every page of a WARC file. Other records, and records that are cut off, are left out."""
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
                yield TrainingPage(page, label, "warc")
    except OSError as error:
        raise ForagerError(f"example {file} cannot be read: {error}; give a WARC file that is whole") from None
    if not found:
        raise ForagerError(f"example {file} has no page: give a WARC file with HTML responses")
