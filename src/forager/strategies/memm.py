"""How far is this link from a target, seen from the path? Liu, Milios & Korba (2008): a MEMM over hop distance.

State T_j: a page is j links from a target, the last one "so many or more". With the observations o of
`memm_observations` and the model of `forager.chains.memm`, along the path to u and on to each of its links (u,v):

    alpha_u(s') = sum over s of alpha_t(s) p(s'|s,o_u)       t the page before u; o_u with the link followed next
    alpha^(s')  = sum over s of alpha_u(s) p(s'|s,o_v)       o_v only what is known before v is fetched

    marginal    score = - sum over j of j alpha^(T_j)
    viterbi     delta, with max for the sums:  score = - argmax delta^, ties by its share
    discounted  score = sum over j < k - 1 of gamma^j alpha^(T_j)                                          (ours)

What travels with v is alpha_u, and what the link itself adds to o_v, as potentials. A first page has no page before it.

It is taught with `count` walks down the layers around the targets, or with the shown paths that arrived (`drawn =
"walks"`, the paper's). Or (`drawn = "links"`, ours) with as many links (u,v), each with a page that links to u before
it and nothing seen of v but the link: drawn from all pages that have a way to a target, so that links which lead
nowhere are seen too; or those of all shown paths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from forager.chains import memm
from forager.chains.fitting import Settings
from forager.chains.paths import Paths
from forager.chains.rows import Reals, carried, shares
from forager.chains.vocabulary import Vocabulary
from forager.errors import ForagerError
from forager.paths import Ground, ShownPath, hop_layers, hop_states, walks
from forager.paths.ground import Heard
from forager.similarity import Idf, Query
from forager.strategies.memm_observations import VERSION, Observer, Said, Sets
from forager.strategies.taught import Ways, check_made
from forager.types import BEST, Floats, Ids, Page, Parts, Ragged, ScoredLinks, Terms, Visit
from forager.urls import host, site

Way = NDArray[np.int32]
SPREAD, MANY = 2, 5  # sites that a feature must be on, where there are more than so many: it should carry over
TOLD = 1e-6  # difference of a score that is worth a word
NOBODY = -1  # a page that nothing is seen of but the link to it


@dataclass(frozen=True, eq=False)
class Known:
    """What was learnt."""

    observer: Observer
    vocabulary: Vocabulary
    model: memm.Memm

    def potentials(self, said: Said, *, first: bool) -> tuple[Floats, Floats]:
        """What each row of it adds to u: of the page, which is a first one or not, and of those ahead."""
        features, are = said.features()
        at, known = self.vocabulary.find(features)
        columns = np.where(known & are, at, len(self.vocabulary)).reshape(2, -1)
        at_first, after = self._weights
        if first:
            return said.held.sums(at_first.take(columns[0], axis=0)), said.held.sums(after.take(columns[1], axis=0))
        both = said.held.sums(after.take(np.ascontiguousarray(columns.T), axis=0).reshape(columns.shape[1], -1))
        return both[:, : after.shape[1]], both[:, after.shape[1] :]

    @cached_property
    def _weights(self) -> tuple[Floats, Floats]:
        """For first pages, and for others, in 32 bits, because most of the time goes into fetching them from memory;
        none in place of those of the constant, for words that are not known."""
        both = self.model.first.astype(np.float32), self.model.after.astype(np.float32)
        for weights in both:
            weights[-1] = 0
        return both


class MemmCrawler:
    combine = BEST

    def __init__(
        self,
        *,
        query: Query,
        seed: int = 0,
        inference: Literal["discounted", "marginal", "viterbi"] = "discounted",
        features: Literal["ours", "all", "words", "text"] = "ours",
        drawn: Literal["links", "walks"] = "links",
        states: int = 4,
        gamma: float = 0.3,
        count: int = 12_000,
        keywords: int = 1_000,
        variance: float = 0.3,
        iterations: int = 40,
        least: int = 5,
    ) -> None:
        """`keywords`: of the targets, besides those of the topic; `least`: rows that a feature must be in."""
        if states < 2 or not 0 < gamma < 1 or count < 1 or keywords < 0 or least < 1:
            raise ForagerError(
                "memm: states must be at least 2, gamma between 0 and 1, count and least at least 1, keywords 0 or more"
            )
        self.query, self.seed, self.inference, self.features = query, seed, inference, Sets(features)
        self.drawn, self.states, self.gamma, self.count = drawn, states, gamma, count
        self.keywords, self.least = keywords, least
        self.settings = Settings(variance=variance, iterations=iterations, tolerance=1e-5)
        self._worth = np.append(gamma ** np.arange(states - 1), 0.0)
        self._made = f"features {features} of version {VERSION}, {states} states"
        self._known: Known | None = None

    # ---- learning

    def taught(self, ground: Ground, shown: Sequence[ShownPath] = (), heard: Heard | None = None) -> Self:
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
        observer = Observer.of(self.features, self.query.words, targets, idf, self.keywords, self.seed)
        sites = _sites(ground)
        seen, numbers, offsets = _Describing(ground, observer, read).all(sequences, ahead=self.drawn == "links")
        least, spread = min(self.least, max(1, len(sequences) // 200)), SPREAD if sites.max() >= MANY else 1
        vocabulary = Vocabulary.of(seen, least=least, groups=sites[numbers], spread=spread)
        paths = Paths(vocabulary.rows(seen), offsets)
        hops = hop_states(layer, self.states - 1)[numbers]
        model = memm.train(paths, hops, count=self.states, version=VERSION, settings=self.settings, heard=heard)
        new = copy(self)
        new._known = Known(observer, vocabulary, model)
        return new

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

    # ---- scoring

    def score(self, visit: Visit) -> ScoredLinks:
        known, links = self._known, len(visit.links)
        if known is None or not links:
            return ScoredLinks(np.zeros(links, np.float32), state=np.zeros((links, self._width), np.float32))
        _, ahead, state = self._forward(known, visit)
        return ScoredLinks(self._priority(ahead).astype(np.float32), state=state)

    @property
    def _width(self) -> int:
        return self.states * (1 + self.states)

    def _forward(self, known: Known, visit: Visit) -> tuple[Reals, Reals, Floats]:
        """alpha_u for each link, alpha^ of its target, and what travels."""
        before, arrived = self._led(visit)
        said = known.observer.said(visit.page, visit.links)
        here, onward = (_with_last(rows) for rows in known.potentials(said, first=before is None))
        here, ahead = self._steps(known.model, before, here + arrived, onward)
        return here, ahead, np.column_stack((here, onward)).astype(np.float32)

    def _steps(self, model: memm.Memm, before: Reals | None, here: Reals, onward: Reals) -> tuple[Reals, Reals]:
        """alpha_u and alpha^, by the potentials of both."""
        best, weights = self.inference == "viterbi", model.first if before is None else model.after
        alpha = model.step(before, here + weights[-1], best=best)
        return alpha, model.step(alpha, onward + model.after[-1], best=best)

    def _led(self, visit: Visit) -> tuple[Reals | None, Floats | float]:
        """What travelled with the link to the page: alpha of the page before, potentials of the link."""
        came = visit.trace.inlinks.state[:1]
        return (carried(came[:, : self.states], self.states), came[:, self.states :]) if len(came) else (None, 0.0)

    def _priority(self, ahead: Reals) -> Reals:
        if self.inference == "marginal":
            return memm.marginal_priority(ahead)
        if self.inference == "viterbi":
            return memm.viterbi_priority(ahead)
        value: Reals = np.exp(ahead) @ self._worth  # the alphas of a row sum to 1
        return value

    def explain(self, visit: Visit, link: int) -> list[tuple[str, float]]:
        """How likely the page is how many links from a target; how much lower the score were without each word that is
        seen of page and link."""
        if (known := self._known) is None:
            return []
        before, arrived = self._led(visit)
        links = visit.links.take([link])
        said = known.observer.said(visit.page, links).apart
        here, onward = known.potentials(said, first=before is None)
        alpha, ahead = self._steps(known.model, before, _without_each(here) + arrived, _without_each(onward))
        hops = [f"{hops} links to go from the page" for hops in range(self.states)]
        hops[-1] += ", or more"
        scores = self._priority(ahead)
        words = zip(known.observer.told(visit.page, links, said), (scores[0] - scores[1:]).tolist(), strict=True)
        moved = sorted((word for word in words if abs(word[1]) > TOLD), key=lambda word: -abs(word[1]))
        return [*zip(hops, shares(alpha)[0].tolist(), strict=True), *moved]

    # ---- keeping

    def parts(self) -> Parts:
        if self._known is None:
            return {"made": self._made, "taught": False}
        known = self._known
        return {
            "made": self._made,
            "taught": True,
            "vocabulary": known.vocabulary.terms,
            **{f"model.{name}": part for name, part in known.model.parts().items()},
            **{f"see.{name}": part for name, part in known.observer.parts().items()},
        }

    def from_parts(self, parts: Parts) -> Self:
        check_made("memm", parts, self._made)
        new = copy(self)
        new._known = None
        if parts["taught"]:
            model, see = (
                {name.removeprefix(kind): part for name, part in parts.items() if name.startswith(kind)}
                for kind in ("model.", "see.")
            )
            vocabulary = Vocabulary(np.asarray(parts["vocabulary"], np.uint32))
            new._known = Known(Observer.from_parts(see), vocabulary, memm.Memm.from_parts(model, version=VERSION))
        return new

    def merge(self, parts: Sequence[Parts]) -> Parts:
        """All shards carry the same model."""
        return parts[0]


def _sites(ground: Ground) -> Ids:
    """A number for the site of each page."""
    names = [site(host(url)) for url in ground.urls]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], np.int32)


def _with_last(rows: Floats) -> Reals:
    """Each of the rows but the last, and the last one added: that of the page, which all its links have."""
    summed: Reals = np.add(rows[:-1], rows[-1], dtype=np.float64)
    return summed


def _without_each(rows: Floats) -> Reals:
    """The sum of all rows, then that of all but each."""
    whole = rows.sum(axis=0, dtype=np.float64)
    return np.vstack((whole, whole - rows))


class _Describing:
    """The features of all positions of sequences; pages and links are looked at once."""

    def __init__(self, ground: Ground, observer: Observer, read: dict[int, Page]) -> None:
        self._ground, self._observer, self._read = ground, observer, read
        self._seen: dict[int, tuple[dict[int, int], Ragged]] = {}

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

    def _position(self, before: int, seen: int, number: int, after: int) -> Terms:
        parts = [np.empty(0, np.uint32)]
        if seen != NOBODY:
            rows, features = self._of(seen)
            page = len(features) // 2 - 1
            parts.append(features[page])
            if after != NOBODY and (row := rows.get(after)) is not None:
                parts.append(features[row])
        if before != NOBODY:
            rows, features = self._of(before)
            page = len(features) // 2
            if (row := rows.get(number)) is not None:
                parts += [features[page + row], features[len(features) - 1]]
        return np.concatenate(parts)

    def _of(self, number: int) -> tuple[dict[int, int], Ragged]:
        """Of a page: the row of the first link to each target, and the features."""
        if number not in self._seen:
            page = self._read[number]
            ends = self._ground.ends(page).tolist()
            rows = {end: row for row, end in reversed(list(enumerate(ends)))}
            self._seen[number] = rows, self._observer.said(page, page.links).by_rows()
        return self._seen[number]
