"""Training of a MEMM crawler: sequences of pages, what is observed of them, and a model of both.

`drawn = "walks"`, the paper's: the sequences are `count` random walks down the layers around the targets, or the shown
paths that arrived.

`drawn = "links"`, ours: the sequences are `count` links (u,v), each with a page that links to u before it. Of v only
the link is observed. The links are drawn from all pages that have a way to a target, so the model also sees links that
lead nowhere. If paths were shown, all their links are taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.errors import ForagerError
from forager.learn.chains import memm
from forager.learn.chains.fitting import FitSettings
from forager.learn.chains.paths import Paths
from forager.learn.chains.vocabulary import Vocabulary
from forager.learn.tfidf import Idf
from forager.paths import Ground, ShownPath, hop_layers, hop_states, walks
from forager.strategies.link_features import Codes, Indices
from forager.strategies.memm.model import MemmModel
from forager.strategies.memm.observations import VERSION, ObservationSet, Observer, ahead, here
from forager.strategies.taught import TrainingMaterial
from forager.types import Ids, Page, Ragged, ReportIteration, Terms
from forager.web.urls import host, site

PageNumbers: TypeAlias = NDArray[np.int32]  # of a sequence
Drawn: TypeAlias = Literal["links", "walks"]
SPREAD, MANY = 2, 5  # a feature must be on so many sites if there are more than MANY: it should help on other sites
NO_PAGE = -1


@dataclass(frozen=True, slots=True)
class MemmTrainer:
    """Trains a model with fixed settings."""

    topic: tuple[str, ...]  # its words
    sets: ObservationSet
    counted: bool  # whether it counts how often a keyword is on a page
    drawn: Drawn
    states: int
    count: int
    keywords: int
    least: int
    settings: FitSettings
    seed: int

    def trained(self, ground: Ground, shown: Sequence[ShownPath], heard: ReportIteration | None) -> MemmModel:
        material = TrainingMaterial.of(ground, shown)
        layer = hop_layers(material.graph, material.targets, self.states - 1)
        sequences = list(self._sequences(material, layer))
        if not sequences:
            raise ForagerError("memm: no page of the web to learn on leads to a target: give targets that are linked")
        needed = np.unique(np.concatenate(sequences))
        pages = dict(zip(needed.tolist(), ground.pages(needed.tolist()), strict=True))
        read = {number: page for number, page in pages.items() if page is not None}
        targets = [read[number] for number in read if material.targets[number]]
        idf = Idf.of(page.terms.values for page in read.values())
        observer = Observer.of(self.sets, self.topic, targets, idf, self.keywords, self.seed, counted=self.counted)
        positions = _Positions(ground, observer, read)
        observed, numbers, offsets = positions.all(sequences, ahead=self.drawn == "links")
        sites, least = _sites(ground), min(self.least, max(1, len(sequences) // 200))
        spread = SPREAD if sites.max() >= MANY else 1
        vocabulary = Vocabulary.of(observed, least=least, groups=sites[numbers], spread=spread)
        paths = Paths(vocabulary.rows(observed), offsets)
        hops = hop_states(layer, self.states - 1)[numbers]
        model = memm.train(paths, hops, count=self.states, version=VERSION, settings=self.settings, report=heard)
        return MemmModel(observer, vocabulary, model, positions.codes(vocabulary))

    def _sequences(self, material: TrainingMaterial, layer: Ids) -> Iterator[PageNumbers]:
        """The page numbers of each sequence."""
        if material.shown and self.drawn == "walks":
            yield from (way for way in material.shown if material.targets[way[-1]])
        elif material.shown:
            yield from (way[max(0, at - 1) : at + 2] for way in material.shown for at in range(len(way) - 1))
        elif self.drawn == "walks":
            drawn = walks(material.graph, layer, count=self.count, seed=self.seed)
            yield from (pages for pages, _ in drawn)
        else:
            yield from self._links(material, layer)

    def _links(self, material: TrainingMaterial, layer: Ids) -> Iterator[PageNumbers]:
        """(page before u, u, v), or (u, v) if no page links to u."""
        graph, draw = material.graph, np.random.default_rng(self.seed)
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
    """The features of a page: a row for each of its links, and the last row for the page itself."""

    rows: dict[int, int]  # the row of the first link to each other page
    here: Ragged
    ahead: Ragged


class _Positions:
    """The features of all positions of sequences. Each page is observed once."""

    def __init__(self, ground: Ground, observer: Observer, read: dict[int, Page]) -> None:
        self._ground, self._observer, self._read = ground, observer, read
        self._described: dict[int, _Described] = {}
        self._codes: list[Codes] = []  # of each page

    def all(self, sequences: Sequence[PageNumbers], *, ahead: bool) -> tuple[Ragged, Ids, NDArray[np.int64]]:
        """Features, page numbers and offsets. `ahead`: of the last page of a sequence only its link is observed."""
        rows: list[Terms] = []
        numbers: list[int] = []
        offsets = [0]
        for way in sequences:
            pages = [number for number in way.tolist() if number in self._read]
            for at, number in enumerate(pages):
                before = pages[at - 1] if at else NO_PAGE
                after = pages[at + 1] if at + 1 < len(pages) else NO_PAGE
                alone = ahead and at > 0 and after == NO_PAGE
                rows.append(self._position(before, NO_PAGE if alone else number, number, after))
                numbers.append(number)
            if pages:
                offsets.append(len(rows))
        return Ragged.of(rows), np.array(numbers, np.int32), np.array(offsets, np.int64)

    def codes(self, known: Vocabulary) -> Codes:
        """The codes that occurred and have a known feature here or ahead."""
        codes = np.unique(np.concatenate(self._codes))
        held = np.zeros(len(codes), bool)
        for side in (here, ahead):
            features, counts = side(codes)
            held |= known.find(features)[1] & counts
        return codes[held]

    def _position(self, before: int, fetched: int, number: int, after: int) -> Terms:
        """The features of page `number`. `fetched` is the same, or NO_PAGE if only the link to it is observed."""
        parts = [np.empty(0, np.uint32)]
        if fetched != NO_PAGE:
            page = self._of(fetched)
            parts.append(page.here[len(page.here) - 1])
            if (row := page.rows.get(after)) is not None:
                parts.append(page.here[row])
        if before != NO_PAGE:
            page = self._of(before)
            if (row := page.rows.get(number)) is not None:
                parts += [page.ahead[row], page.ahead[len(page.ahead) - 1]]
        return np.concatenate(parts)

    def _of(self, number: int) -> _Described:
        if number not in self._described:
            page = self._read[number]
            ends = self._ground.ends(page).tolist()
            first = {end: row for row, end in reversed(list(enumerate(ends))) if end != NO_PAGE}
            codes, rows = self._observer(page, page.links).once()
            self._codes.append(np.unique(codes))
            self._described[number] = _Described(first, *by_rows(codes, rows, len(ends) + 1))
        return self._described[number]


def by_rows(codes: Codes, rows: Indices, count: int) -> tuple[Ragged, Ragged]:
    """The features of each of `count` rows, here and ahead."""
    sides = ((features[counts], rows[counts]) for features, counts in (here(codes), ahead(codes)))
    now, later = (Ragged(features, np.searchsorted(own, np.arange(count + 1))) for features, own in sides)
    return now, later
