"""Make a web for the laboratory from a finished crawl. The labels are what the critic said about the pages.

pages.warc.gz  the archived records of the pages, each in its last version
aliases.tsv    every URL that led to a page by redirects, with that page
seeds.tsv      the seeds that gave pages, with their hosts
labels.tsv     url, label, relevance, title, host; written last, because a folder without it is no web

The label of a page is the best class of the critic, if the configuration still has the critic that judged the page.
Otherwise it is "relevant" if the relevance is at least 0.5, else "other". So figures on such a web show what the critic
sees, not the truth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path

from forager.collection.export import export
from forager.crawl.build import critic_of, seeds_of
from forager.crawl.folder import empty_folder
from forager.errors import ForagerError
from forager.project import Project
from forager.store import Catalogue, Entry, aliases
from forager.types import RELEVANT, Url
from forager.web.urls import UrlRules, host

RELEVANT_LABEL, OTHER, UNJUDGED = "relevant", "other", "_none"


@dataclass(frozen=True, slots=True)
class RecordingSummary:
    """What was written: pages by label, aliases, seeds."""

    labels: Counter[str]
    aliases: int
    seeds: int
    note: str  # why the classes of the critic are not known; "" if they are

    @property
    def pages(self) -> int:
        return self.labels.total()


def record(project: Path, folder: Path) -> RecordingSummary:
    """Write a web into a new folder, from a project that is not being crawled."""
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
    return RecordingSummary(Counter(labels), len(redirected), len(seeds), note)


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
    """The classes of the configured critic by its version, or the reason why they are not known.

    The model may be missing; then the stored relevance still gives labels.
    """
    try:
        critic = critic_of(project.config)
    except ForagerError as error:
        return {}, str(error)
    return {critic.version: critic.classes}, ""


def _label(entry: Entry, classes: Mapping[str, tuple[str, ...]]) -> str:
    names = classes.get(entry.critic, ())
    if names and entry.topics is not None and len(entry.topics) == len(names):
        # a comma would make two labels of one
        return " ".join(names[int(entry.topics.argmax())].replace(",", " ").split())
    if isnan(entry.relevance):
        return UNJUDGED
    return RELEVANT_LABEL if entry.relevance >= RELEVANT else OTHER


def _row(entry: Entry, label: str) -> Sequence[str]:
    relevance = "" if isnan(entry.relevance) else f"{entry.relevance:.6f}"
    return entry.url, label, relevance, " ".join(entry.title.split()), host(Url(entry.url))


def _write(file: Path, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    try:
        with file.open("w", encoding="utf-8", newline="") as lines:
            lines.writelines("\t".join(row) + "\n" for row in (columns, *rows))
    except OSError as error:
        raise ForagerError(f"{file} cannot be written: {error.strerror}") from None
