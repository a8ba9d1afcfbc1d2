"""Training of a MEMM crawler: sequences of pages, what is seen of them, and a model of both.

It is taught with `count` walks down the layers around the targets, or with the shown paths that arrived (`drawn =
"walks"`, the paper's). Or (`drawn = "links"`, ours) with as many links (u,v), each with a page that links to u before
it and nothing seen of v but the link: drawn from all pages that have a way to a target, so that links which lead
nowhere are seen too; or those of all shown paths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.errors import ForagerError
from forager.learn.chains import memm
from forager.learn.chains.fitting import Settings
from forager.learn.chains.paths import Paths
from forager.learn.chains.vocabulary import Vocabulary
from forager.learn.tfidf import Idf
from forager.paths import Ground, Heard, ShownPath, hop_layers, hop_states, walks
from forager.strategies.link_features import Codes, Places
from forager.strategies.memm.model import Known
from forager.strategies.memm.observations import VERSION, Observer, Sets, ahead, here
from forager.strategies.taught import Ways
from forager.types import Ids, Page, Ragged, Terms
from forager.web.urls import host, site

Way: TypeAlias = NDArray[np.int32]
Drawn: TypeAlias = Literal["links", "walks"]
SPREAD, MANY = 2, 5  # sites that a feature must be on, where there are more than so many: it should carry over
NOBODY = -1  # a page that nothing is seen of but the link to it


@dataclass(frozen=True, slots=True)
class Teacher:
    topic: tuple[str, ...]  # words of it
    sets: Sets
    drawn: Drawn
    states: int
    count: int
    keywords: int
    least: int
    settings: Settings
    seed: int

    def taught(self, ground: Ground, shown: Sequence[ShownPath], heard: Heard | None) -> Known:
        ways = Ways.of(ground, shown)
        layer = hop_layers(ways.graph, ways.targets, self.states - 1)
        sequences = list(self._sequences(ways, layer))
        if not sequences:
            raise ForagerError("memm: no page of the web to learn on leads to a target: give targets that are linked")
        needed = np.unique(np.concatenate(sequences))
        pages = dict(zip(needed.tolist(), ground.pages(needed.tolist()), strict=True))
        read = {number: page for number, page in pages.items() if page is not None}
        targets = [read[number] for number in read if ways.targets[number]]
        idf = Idf.of(page.terms.values for page in read.values())
        observer = Observer.of(self.sets, self.topic, targets, idf, self.keywords, self.seed)
        describing = _Describing(ground, observer, read)
        seen, numbers, offsets = describing.all(sequences, ahead=self.drawn == "links")
        sites, least = _sites(ground), min(self.least, max(1, len(sequences) // 200))
        spread = SPREAD if sites.max() >= MANY else 1
        vocabulary = Vocabulary.of(seen, least=least, groups=sites[numbers], spread=spread)
        paths = Paths(vocabulary.rows(seen), offsets)
        hops = hop_states(layer, self.states - 1)[numbers]
        model = memm.train(paths, hops, count=self.states, version=VERSION, settings=self.settings, heard=heard)
        return Known(observer, vocabulary, model, describing.codes(vocabulary))

    def _sequences(self, ways: Ways, layer: Ids) -> Iterator[Way]:
        """Pages by their numbers."""
        if ways.shown and self.drawn == "walks":
            yield from (way for way in ways.shown if ways.targets[way[-1]])
        elif ways.shown:
            yield from (way[max(0, at - 1) : at + 2] for way in ways.shown for at in range(len(way) - 1))
        elif self.drawn == "walks":
            drawn = walks(ways.graph, layer, count=self.count, seed=self.seed)
            yield from (pages for pages, _ in drawn)
        else:
            yield from self._links(ways, layer)

    def _links(self, ways: Ways, layer: Ids) -> Iterator[Way]:
        """(page before u, u, v); (u, v) where nothing links to u."""
        graph, draw = ways.graph, np.random.default_rng(self.seed)
        near = np.flatnonzero(layer[graph.sources] >= 0)
        chosen = np.sort(draw.permutation(near)[: self.count])
        order = np.argsort(graph.targets[near], kind="stable")
        sources, ends = graph.sources[near][order], graph.targets[near][order]
        for link in chosen.tolist():
            u, v = int(graph.sources[link]), int(graph.targets[link])
            first, last = np.searchsorted(ends, [u, u + 1])
            before = [int(sources[draw.integers(first, last)])] if last > first else []
            yield np.array([*(page for page in before if page not in (u, v)), u, v], np.int32)


def _sites(ground: Ground) -> Ids:
    """A number for the site of each page."""
    names = [site(host(url)) for url in ground.urls]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class _Described:
    """A page: which row is that of the first link to each other page, and the features of all rows on either side."""

    rows: dict[int, int]
    here: Ragged
    ahead: Ragged  # the last row of both is that of the page


class _Describing:
    """The features of all positions of sequences; pages and links are looked at once."""

    def __init__(self, ground: Ground, observer: Observer, read: dict[int, Page]) -> None:
        self._ground, self._observer, self._read = ground, observer, read
        self._described: dict[int, _Described] = {}
        self._codes: list[Codes] = []  # of all pages

    def all(self, sequences: Sequence[Way], *, ahead: bool) -> tuple[Ragged, Ids, NDArray[np.int64]]:
        """Features, page numbers and offsets. `ahead`: of the last page of each nothing is seen but the link to it."""
        rows: list[Terms] = []
        numbers: list[int] = []
        offsets = [0]
        for way in sequences:
            pages = [number for number in way.tolist() if number in self._read]
            for at, number in enumerate(pages):
                before = pages[at - 1] if at else NOBODY
                after = pages[at + 1] if at + 1 < len(pages) else NOBODY
                alone = ahead and at > 0 and after == NOBODY
                rows.append(self._position(before, NOBODY if alone else number, number, after))
                numbers.append(number)
            if pages:
                offsets.append(len(rows))
        return Ragged.of(rows), np.array(numbers, np.int32), np.array(offsets, np.int64)

    def codes(self, known: Vocabulary) -> Codes:
        """The words that were met and are a known feature here or ahead."""
        codes = np.unique(np.concatenate(self._codes))
        held = np.zeros(len(codes), bool)
        for side in (here, ahead):
            features, are = side(codes)
            held |= known.find(features)[1] & are
        return codes[held]

    def _position(self, before: int, seen: int, number: int, after: int) -> Terms:
        parts = [np.empty(0, np.uint32)]
        if seen != NOBODY:
            page = self._of(seen)
            parts.append(page.here[len(page.here) - 1])
            if (row := page.rows.get(after)) is not None:
                parts.append(page.here[row])
        if before != NOBODY:
            page = self._of(before)
            if (row := page.rows.get(number)) is not None:
                parts += [page.ahead[row], page.ahead[len(page.ahead) - 1]]
        return np.concatenate(parts)

    def _of(self, number: int) -> _Described:
        if number not in self._described:
            page = self._read[number]
            ends = self._ground.ends(page).tolist()
            first = {end: row for row, end in reversed(list(enumerate(ends))) if end != NOBODY}
            codes, rows = self._observer(page, page.links).once()
            self._codes.append(np.unique(codes))
            self._described[number] = _Described(first, *by_rows(codes, rows, len(ends) + 1))
        return self._described[number]


def by_rows(codes: Codes, rows: Places, count: int) -> tuple[Ragged, Ragged]:
    """The features of each row, here and ahead."""
    sides = ((features[are], rows[are]) for features, are in (here(codes), ahead(codes)))
    now, later = (Ragged(features, np.searchsorted(own, np.arange(count + 1))) for features, own in sides)
    return now, later
