"""Grounds to be taught on, out of what a user has: shown paths with their pages, a file of links, a finished crawl."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from forager.errors import ForagerError
from forager.fetch.replay import Replay, open_recording
from forager.paths import Ground, PageReader, PathOutcome, ShownPath, gaps, ground_of_paths, read_edges
from forager.store import Catalogue, aliases
from forager.teaching.labelled_web import LabelledWeb
from forager.types import Fetch, Page, Url
from forager.web.page import parse
from forager.web.urls import RULES, UrlRules

UNTOLD = ("", "_none", "other")  # labels that say nothing
MOST_MILESTONES = 30  # kinds of labels on the way; with more, no kind is seen often enough


def recording(folder: Path, rules: UrlRules = RULES) -> Replay:
    """The pages of a folder of WARC files, or of one that has them in a folder `warc`."""
    place = folder / "warc" if (folder / "warc").is_dir() else folder
    return open_recording(place, rules).fetcher


def reading_of(replay: Replay, rules: UrlRules = RULES) -> PageReader:
    def read(urls: Sequence[Url]) -> Iterator[Page | None]:
        loop = asyncio.new_event_loop()
        try:
            for url in urls:
                answer = loop.run_until_complete(replay.fetch(_final(replay, url)))
                page = parse(answer, rules) if isinstance(answer, Fetch) else None
                yield page if isinstance(page, Page) else None
        finally:
            loop.close()

    return read


def _final(replay: Replay, url: Url) -> Url:
    return replay.aliases.get(url, url)


def shown_ground(shown: Sequence[ShownPath], folder: Path) -> Ground:
    """The pages of shown paths, out of the WARC files of a folder."""
    replay = recording(folder)
    ground = ground_of_paths(shown, reading_of(replay), final=lambda url: _final(replay, url))
    _check_connected(shown, ground)
    ends = [path.steps[-1].url for path in shown if path.outcome is PathOutcome.GOAL]
    if not any(_final(replay, url) in replay.places for url in ends):
        raise ForagerError(f"{folder} holds none of the {len(ends)} pages that the paths lead to: name where they are")
    return ground


def _check_connected(shown: Sequence[ShownPath], ground: Ground) -> None:
    """A step that is no link of the page before cannot be learnt from. Where a page is missing nobody can tell."""
    read = dict(zip(ground.urls, ground.reading(ground.urls), strict=True))

    def links_of(url: Url) -> Collection[Url]:
        page = read[ground.final(url)]
        return ground.urls if page is None else {ground.final(target) for target in page.links.targets}

    moved = [
        ShownPath(path.id, tuple(replace(step, url=ground.final(step.url)) for step in path.steps), path.outcome)
        for path in shown
    ]
    broken = list(gaps(moved, links_of))
    if broken:
        more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
        raise ForagerError(f"a path is not connected{more}: {broken[0]}; take the step out, or show the way between")


def edges_ground(file: Path, targets: Collection[Url], folder: Path) -> Ground:
    """A file of links, with the pages in the WARC files of a folder."""
    edges, replay = read_edges(file), recording(folder)
    mask = edges.mask(targets)
    if not mask.any():
        raise ForagerError(f"none of the {len(targets)} targets is in {file}: compare the spelling of the URLs")
    numbers = {url: number for number, url in enumerate(edges.urls)}
    nothing = (None,) * len(edges.urls)
    return Ground(edges.urls, edges.graph, mask, nothing, numbers, reading_of(replay), lambda url: _final(replay, url))


def project_ground(folder: Path, relevant: float = 0.5) -> Ground:
    """What a crawl has found: its pages and their links; targets are those judged at least so relevant. A page that a
    path model gave a label has it as its milestone."""
    with Catalogue(folder) as catalogue:
        entries = {Url(entry.url): entry for entry in catalogue.pages()}
    led = aliases(folder, entries)

    def final(url: Url) -> Url:
        return Url(led.get(url, url))

    def read(urls: Sequence[Url]) -> Iterator[Page | None]:
        with Catalogue(folder) as catalogue:
            for url in urls:
                entry = entries.get(final(url))
                answer = catalogue.answer(entry.seq) if entry else None
                page = parse(answer) if answer is not None else None
                yield page if isinstance(page, Page) else None

    targets = [url for url, entry in entries.items() if entry.relevance >= relevant]
    if not targets:
        raise ForagerError(f"{folder} has no page of relevance {relevant} or more: crawl on, or ask for less")
    links = ((url, page.links.targets if page else ()) for url, page in zip(entries, read(list(entries)), strict=True))
    return Ground.of(links, targets, read, final=final)


def labelled_ground(folder: Path, target: str) -> Ground:
    """A recorded web whose pages have labels; the pages of one label are the targets. The other labels are milestones
    on the way, unless there are too many kinds of them."""
    web = LabelledWeb(folder)
    labels, wanted = web.truth.labels, frozenset(web.truth.relevant(target))
    said = {url: names[0] for url, names in labels.items() if url not in wanted and names and names[0] not in UNTOLD}
    if len(set(said.values())) > MOST_MILESTONES:
        said = {}
    read = reading_of(web.fetcher)
    links = ((url, page.links.targets if page else ()) for url, page in zip(labels, read(list(labels)), strict=True))
    return Ground.of(links, wanted, read, labels=said, final=web.final)
