"""From labelled paths to the examples that a conditional random field is trained with.

A path P1 L2 P3 … has a position for each page and for each link between two pages. A link has the label of the page it
leads to. A page or link that is on many paths is described once. A page that is a target of the ground and no milestone
is labelled goal, wherever it stands in a path: drawn paths may begin on a target.

A feature counts if it occurs on pages of at least `least` sites, because what only one site says does not help on
others. If the ground has fewer than 2 `least` sites, a feature counts if it occurs on two pages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_matrix, vstack

from forager.errors import ForagerError
from forager.learn.chains.paths import LINK, PAGE, Paths
from forager.learn.chains.rows import Sparse
from forager.learn.chains.vocabulary import Vocabulary
from forager.paths import Ground, PathGap, PathOutcome, ShownPath
from forager.strategies.crf.features import CrfFeatures
from forager.strategies.link_features import Indices
from forager.types import Ids, Mask, Page, Terms, stretches
from forager.web.text import distinct, mixed
from forager.web.urls import host, site

PageLink: TypeAlias = tuple[int, int]  # the numbers of a page and of a page it links to
GOAL, FAIL = PathOutcome.GOAL.value, PathOutcome.FAIL.value


@dataclass(frozen=True, slots=True, eq=False)
class FeatureRows:
    """The features of n rows, each once in a row."""

    values: Terms  # (e,)
    rows: Indices  # (e,) the row of each
    count: int  # n

    def matrix(self, known: Vocabulary, width: int) -> Sparse:
        """(n, width): 1 where a row has a known feature."""
        at, held = known.find(self.values)
        return csr_matrix((np.ones(int(held.sum())), (self.rows[held], at[held])), shape=(self.count, width))


@dataclass(frozen=True, eq=False)
class CrfExamples:
    """p paths with t positions in all. A row describes a page or a link, and many positions may share a row."""

    features: FeatureRows  # one row for each page and each link
    of_pages: Mask  # whether a row is a page
    pages: Indices  # the page that a row is or, for a link, that the link is on
    sites: Indices  # the site of that page
    at: Indices  # (t,) the row of each position
    kinds: Ids  # (t,) PAGE or LINK
    offsets: Indices  # (p + 1,)
    labels: tuple[str, ...]  # (t,)
    shown: Indices  # (p,) the number of each path among those given

    @classmethod
    def of(cls, ground: Ground, shown: Sequence[ShownPath], features: CrfFeatures) -> CrfExamples:
        """The examples of these paths. Paths with a page that cannot be read are left out."""
        walks = [_numbers(ground, path) for path in shown]
        described = _DescribedPaths(ground, features)
        described.add(shown, walks)
        read = [at for at, walk in enumerate(walks) if all(page in described.pages for page in walk)]
        at = [row for number in read for row in described.positions(shown[number], walks[number])]
        kinds = [kind for number in read for kind in [PAGE, LINK] * (len(walks[number]) - 1) + [PAGE]]
        labels = [label for number in read for label in _labels(ground, shown[number], walks[number])]
        offsets = np.cumsum([0, *(2 * len(walks[number]) - 1 for number in read)])
        chain = (np.array(at, np.int64), np.array(kinds, np.int32), offsets, tuple(labels))
        return cls(*described.rows(), *chain, np.array(read, np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def ends(self) -> Indices:
        """The last position of each path."""
        return self.offsets[1:] - 1

    @property
    def arrived(self) -> Mask:
        """Which paths end in goal."""
        return np.array([self.labels[end] == GOAL for end in self.ends], bool)

    def take(self, paths: Indices) -> CrfExamples:
        """The examples of some of the paths."""
        lengths = np.diff(self.offsets)[paths]
        bounds = np.concatenate(([0], np.cumsum(lengths)))
        at = stretches(self.offsets[paths], lengths)
        labels = tuple(self.labels[position] for position in at.tolist())
        chain = (self.at[at], self.kinds[at], bounds, labels, self.shown[paths])
        return CrfExamples(self.features, self.of_pages, self.pages, self.sites, *chain)

    def vocabularies(self, least: int) -> tuple[Vocabulary, Vocabulary]:
        """The features of pages that count, and those of links."""
        owners, fewest = self.sites, least
        if len(np.unique(self.sites)) < 2 * least:
            owners, fewest = self.pages, min(2, int(self.of_pages.sum()))
        return self._vocabulary(self.of_pages, owners, fewest), self._vocabulary(~self.of_pages, owners, fewest)

    def _vocabulary(self, rows: Mask, owners: Indices, fewest: int) -> Vocabulary:
        """The features of these rows that at least `fewest` owners have."""
        here, shift = rows[self.features.rows], np.uint64(32)
        values = self.features.values[here].astype(np.uint64)
        whose = owners[self.features.rows[here]].astype(np.uint64)
        owned = (distinct(values << shift | whose) >> shift).astype(np.uint32)  # a feature once for each owner
        terms = distinct(owned)
        return Vocabulary(terms[np.diff(np.searchsorted(owned, terms), append=len(owned)) >= fewest])

    # ---- as chains

    def dual(self, pages: Vocabulary, links: Vocabulary) -> Paths:
        """Page, link, page, …. Features of pages and of links share the columns: no state meets both kinds."""
        width = max(len(pages), len(links))
        rows = self.features.matrix(pages, width) + self.features.matrix(links, width)  # no row has features of both
        return Paths(rows[self.at], self.offsets.astype(np.int64), self.kinds)

    def single(self, pages: Vocabulary, links: Vocabulary) -> Paths:
        """Page, page, …. Links describe the steps between the pages."""
        here = np.flatnonzero(self.kinds == PAGE)
        led = np.where(np.isin(here, self.offsets[:-1]), self.features.count, self.at[here - 1])
        steps = vstack([self.features.matrix(links, len(links)), csr_matrix((1, len(links)))]).tocsr()
        observations = self.features.matrix(pages, len(pages))[self.at[here]]
        return Paths(observations, np.searchsorted(here, self.offsets), steps=steps[led])


class _DescribedPaths:
    """The features of all pages and links of some paths."""

    def __init__(self, ground: Ground, features: CrfFeatures) -> None:
        self._ground, self._features = ground, features
        self.pages: dict[int, int] = {}  # the row of a page, by number
        self.links: dict[PageLink, int] = {}  # the row of a link
        self._rows: list[FeatureRows] = []  # of each page and its links
        self._count = 0

    def add(self, shown: Sequence[ShownPath], walks: Sequence[Sequence[int]]) -> None:
        wanted: defaultdict[int, dict[int, str | None]] = defaultdict(dict)  # anchors, by page and page linked to
        for path, walk in zip(shown, walks, strict=True):
            for source, target, step in zip(walk, walk[1:], path.steps[1:], strict=False):
                wanted[source].setdefault(target, step.anchor)
            _ = wanted[walk[-1]]
        for number, page in zip(wanted, self._ground.pages(wanted), strict=True):
            if page is not None:
                self._describe(number, page, wanted[number])

    def _describe(self, number: int, page: Page, wanted: dict[int, str | None]) -> None:
        chosen: dict[int, int] = {}  # by page linked to: the link with the wanted anchor, or else the first link
        for row, (end, anchor) in enumerate(zip(self._ground.ends(page).tolist(), page.links.anchors, strict=True)):
            if end in wanted and (end not in chosen or page.links.anchors[chosen[end]] != wanted[end] == anchor):
                chosen[end] = row
        codes, rows = self._features(page, page.links.take(list(chosen.values()))).once()
        self.links |= {(number, end): self._count + row for row, end in enumerate(chosen)}
        self.pages[number] = self._count + len(chosen)
        self._rows.append(FeatureRows(mixed(codes), rows + self._count, 1 + len(chosen)))
        self._count += 1 + len(chosen)

    def rows(self) -> tuple[FeatureRows, Mask, Indices, Indices]:
        """All features; for each row whether it is a page, its page, and its site."""
        values = np.concatenate([np.empty(0, np.uint32), *(each.values for each in self._rows)])
        rows = np.concatenate([np.empty(0, np.int64), *(each.rows for each in self._rows)])
        counts = np.array([each.count for each in self._rows], np.int64)
        names = [site(host(self._ground.urls[number])) for number in self.pages]
        numbers = {name: at for at, name in enumerate(dict.fromkeys(names))}
        of_pages = np.isin(np.arange(self._count), list(self.pages.values()))
        sites = np.repeat(np.array([numbers[name] for name in names], np.int64), counts)
        return FeatureRows(values, rows, self._count), of_pages, np.repeat(np.arange(len(counts)), counts), sites

    def positions(self, path: ShownPath, walk: Sequence[int]) -> Iterator[int]:
        """The row of each position of a path."""
        yield self.pages[walk[0]]
        for step, link in enumerate(pairwise(walk), 2):
            if link not in self.links:
                gap = PathGap(path.id, step, path.steps[step - 2].url, path.steps[step - 1].url)
                raise ForagerError(f"{gap}: show the pages between, or cut the path there")
            yield self.links[link]
            yield self.pages[link[1]]


def _numbers(ground: Ground, path: ShownPath) -> list[int]:
    """The page numbers of a path."""
    numbers = [ground.number(step.url) for step in path.steps]
    if -1 in numbers:
        missing = numbers.index(-1)
        told = f"path {path.id!r}, step {missing + 1}: {path.steps[missing].url} is not in the ground"
        raise ForagerError(f"{told}: add the page, or take the path out")
    return numbers


def _labels(ground: Ground, path: ShownPath, walk: Sequence[int]) -> list[str]:
    """The label of each position of a path."""
    between = zip(walk[:-1], path.steps, path.labels, strict=False)
    met = [GOAL if ground.targets[number] and step.label is None else label for number, step, label in between]
    return [label for label in (*met, path.labels[-1]) for _ in (LINK, PAGE)][1:]
