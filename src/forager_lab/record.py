"""A finished crawl as a web for the laboratory: its pages, and as their labels what the critic said of them.

pages.warc.gz  the archived records of the pages, each as last seen
aliases.tsv    every URL that led to one of them by redirects, with that page
seeds.tsv      the seeds that gave pages, with their hosts
labels.tsv     url, label, relevance, title, host; written last, because without it a folder is no web

A label is the critic's best class, if the critic that judged the page is the one of the configuration; otherwise
"relevant" from a relevance of 0.5 on, and "other". So figures on such a web are about what the critic can see.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path

from forager.collection.export import export
from forager.crawl.build import critic_of, seeds_of
from forager.errors import ForagerError
from forager.project import Project, empty_folder
from forager.store import Catalogue, Entry, aliases
from forager.types import Url
from forager.web.urls import UrlRules, host

RELEVANT, OTHER, UNJUDGED = "relevant", "other", "_none"
HALF = 0.5  # relevance from which a page is taken for relevant


@dataclass(frozen=True, slots=True)
class Recorded:
    labels: Counter[str]
    aliases: int
    seeds: int
    note: str  # why the critic's classes are not known; "" if they are

    @property
    def pages(self) -> int:
        return self.labels.total()


def record(project: Path, folder: Path) -> Recorded:
    """Make a web in a new folder out of a project that is not being crawled."""
    crawled = Project(project)
    entries = _pages(project)
    pages = {entry.url for entry in entries}
    redirected = aliases(project, pages)
    seeds = _seeds(crawled, redirected, pages)
    classes, note = _classes(crawled)
    labels = [_label(entry, classes) for entry in entries]
    empty_folder(folder)
    export(project, folder / "pages.warc.gz", "warc")
    _write(folder / "aliases.tsv", ("linked", "url"), redirected.items())
    _write(folder / "seeds.tsv", ("url", "host"), ((url, host(url)) for url in seeds))
    _write(folder / "labels.tsv", ("url", "label", "relevance", "title", "host"), map(_row, entries, labels))
    return Recorded(Counter(labels), len(redirected), len(seeds), note)


def _pages(project: Path) -> list[Entry]:
    with Catalogue(project) as catalogue:
        if catalogue.status().running:
            raise ForagerError(f"{project} is being crawled: wait until the crawl has ended, or stop it")
        entries = list(catalogue.pages())
    if not entries:
        raise ForagerError(f"{project} holds no pages: there is nothing to record; see forager status {project}")
    return entries


def _seeds(project: Project, aliases: Mapping[str, str], pages: Collection[str]) -> list[Url]:
    """The pages that the seeds led to."""
    urls = project.config.urls
    seeds = seeds_of(project.config, UrlRules(urls.strip, urls.longest))
    starts = dict.fromkeys(aliases.get(seed, seed) for seed in seeds)
    return [Url(url) for url in starts if url in pages]


def _classes(project: Project) -> tuple[dict[str, tuple[str, ...]], str]:
    """The classes of the configuration's critic under its version, or why they are not known: the model may be gone,
    and there is still the relevance that was stored."""
    try:
        critic = critic_of(project.config)
    except ForagerError as error:
        return {}, str(error)
    return {critic.version: critic.classes}, ""


def _label(entry: Entry, classes: Mapping[str, tuple[str, ...]]) -> str:
    names = classes.get(entry.critic, ())
    if names and entry.topics is not None and len(entry.topics) == len(names):
        # A comma would make two labels of it.
        return " ".join(names[int(entry.topics.argmax())].replace(",", " ").split())
    if isnan(entry.relevance):
        return UNJUDGED
    return RELEVANT if entry.relevance >= HALF else OTHER


def _row(entry: Entry, label: str) -> Sequence[str]:
    relevance = "" if isnan(entry.relevance) else f"{entry.relevance:.6f}"
    return entry.url, label, relevance, " ".join(entry.title.split()), host(Url(entry.url))


def _write(file: Path, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    try:
        with file.open("w", encoding="utf-8", newline="") as lines:
            lines.writelines("\t".join(row) + "\n" for row in (columns, *rows))
    except OSError as error:
        raise ForagerError(f"{file} cannot be written: {error.strerror}") from None
