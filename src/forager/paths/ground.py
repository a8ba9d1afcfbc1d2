"""A ground is a web to learn the way on: pages that can be read, the links between them, and which pages are targets.

A page outside the ground is unknown, neither good nor bad: a link that leaves the ground teaches nothing. Pages that a
model must not meet, such as those it will be tested on, are left out of the ground altogether.

`preference` tests whether a strategy would have gone the same way as paths that it was not shown. At each page of a
path the strategy scores all links, given the state that travelled with the link by which the path came there. Over the
pages of all paths, failed paths included:

    share = how often a link that was taken on the way to a goal scores higher than one that was not; a tie counts half
    first = how often it is the best link of its page, without a tie

share is what matters for a frontier, where the links of all pages wait together: 1 is perfect, .5 is chance.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, Self, TypeAlias, runtime_checkable

import numpy as np

from forager.paths.graph import LinkGraph
from forager.paths.shown import PathOutcome, ShownPath
from forager.types import (
    Floats,
    Ids,
    Inlinks,
    Judgement,
    Known,
    Mask,
    Page,
    Ragged,
    ReportIteration,
    Strategy,
    Trace,
    Url,
    Visit,
)

PageReader: TypeAlias = Callable[[Sequence[Url]], Iterator[Page | None]]  # the pages of URLs, in order; None: no page

NO_STATE: Floats = np.empty((0, 0), np.float32)  # of a seed: no link led to it


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """A web of n pages to learn the way on."""

    urls: tuple[Url, ...]  # of page 0, 1, …
    graph: LinkGraph
    targets: Mask  # (n,)
    labels: tuple[str | None, ...]  # (n,) the milestone label of each page, or None; targets need no label
    numbers: Mapping[Url, int]  # of the pages, by URL
    reading: PageReader
    final: Callable[[Url], Url]  # gives the URL at the end of the redirects

    @classmethod
    def of(
        cls,
        pages: Iterable[tuple[Url, Sequence[Url]]],
        targets: Collection[Url],
        reading: PageReader,
        *,
        labels: Mapping[Url, str] | None = None,
        final: Callable[[Url], Url] = lambda url: url,
    ) -> Self:
        """The ground of these pages, each given with the URLs it links to. Links may leave the ground."""
        linked = dict(pages)
        numbers = {url: number for number, url in enumerate(linked)}
        ends = [numbers.get(final(link), -1) for links in linked.values() for link in links]
        sources = np.repeat(np.arange(len(linked)), [len(links) for links in linked.values()])
        inside = np.array(ends, np.int64) if ends else np.empty(0, np.int64)
        kept = (inside >= 0) & (inside != sources)
        graph = LinkGraph.of(len(linked), sources[kept], inside[kept])
        known, wanted = labels or {}, frozenset(targets)
        mask = np.fromiter((url in wanted for url in linked), bool, len(linked))
        return cls(tuple(linked), graph, mask, tuple(map(known.get, linked)), numbers, reading, final)

    def __len__(self) -> int:
        return len(self.urls)

    def pages(self, numbers: Iterable[int]) -> Iterator[Page | None]:
        """The pages with these numbers, one at a time."""
        return self.reading([self.urls[number] for number in numbers])

    def number(self, url: Url) -> int:
        """The number of the page with this URL; -1 if it is not in the ground."""
        return self.numbers.get(self.final(url), -1)

    def without(self, left_out: Collection[Url]) -> Ground:
        """The same ground without these pages and all links on or to them."""
        kept = [number for number, url in enumerate(self.urls) if url not in left_out]
        links = {self.urls[number]: self._links(number) for number in kept}
        wanted = {self.urls[number] for number in kept if self.targets[number]}
        labels = {self.urls[number]: label for number in kept if (label := self.labels[number]) is not None}
        return Ground.of(links.items(), wanted, self.reading, labels=labels, final=self.final)

    def _links(self, number: int) -> list[Url]:
        begin, end = self.graph.offsets[number : number + 2].tolist()
        return [self.urls[target] for target in self.graph.targets[begin:end].tolist()]

    def ends(self, page: Page) -> Ids:
        """The number of each link's target; -1 for a link that leaves the ground."""
        return np.fromiter((self.number(url) for url in page.links.targets), np.int32, len(page.links))


def ground_of_paths(
    shown: Sequence[ShownPath], reading: PageReader, *, final: Callable[[Url], Url] = lambda url: url
) -> Ground:
    """The pages of shown paths. The ends of paths to a goal are targets; milestones have their labels."""
    urls = list(dict.fromkeys(final(step.url) for path in shown for step in path.steps))
    targets = {final(path.steps[-1].url) for path in shown if path.outcome is PathOutcome.GOAL}
    labels = {final(step.url): step.label for path in shown for step in path.steps if step.label}
    read = [(url, page.links.targets if page else ()) for url, page in zip(urls, reading(urls), strict=True)]
    return Ground.of(read, targets, reading, labels=labels, final=final)


@runtime_checkable
class Teachable(Protocol):
    """A strategy that is taught before the crawl."""

    def taught(self, ground: Ground, shown: Sequence[ShownPath] = (), heard: ReportIteration | None = None) -> Self:
        """A strategy with the same settings that has learnt on the ground.

        `shown`: labelled paths through the ground. Without any the strategy draws its own from the links of the ground.
        """


# ---- would a strategy have gone the same way? -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Preference:
    """How often a strategy prefers the links that paths to a goal took; nan if there was nothing to choose from."""

    share: float
    first: float
    steps: int  # number of links taken that were compared


def preference(strategy: Strategy, ground: Ground, paths: Iterable[ShownPath]) -> Preference:
    """How a strategy scores the links that paths to a goal took, compared with all other links."""
    steps = [(path.outcome, *step) for path in paths for step in _steps(strategy, ground, path)]
    taken = np.array([best for outcome, best, _ in steps if outcome is PathOutcome.GOAL], np.float32)
    first = [
        bool((others < best).all()) for outcome, best, others in steps if outcome is PathOutcome.GOAL and len(others)
    ]
    passed = [np.append(others, [best] * (outcome is PathOutcome.FAIL)) for outcome, best, others in steps]
    rest = np.sort(np.concatenate(passed)) if passed else np.empty(0, np.float32)
    if not (len(taken) and len(rest)):
        return Preference(float("nan"), float("nan"), 0)
    less, most = np.searchsorted(rest, taken), np.searchsorted(rest, taken, side="right")
    return Preference(float((less + most).mean() / 2 / len(rest)), float(np.mean(first)) if first else 0.0, len(taken))


def _steps(strategy: Strategy, ground: Ground, path: ShownPath) -> Iterator[tuple[float, Floats]]:
    """For each page of a path the score of the link that was taken, and the scores of the links to other pages."""
    state = NO_STATE
    numbers = [ground.number(step.url) for step in path.steps]
    if min(numbers) < 0:
        return
    for depth, ((_, ahead), page) in enumerate(zip(pairwise(numbers), ground.pages(numbers[:-1]), strict=True)):
        taken = np.flatnonzero(ground.ends(page) == ahead) if page is not None else ()
        if page is None or not len(taken):  # not connected: the state that would travel on is not known
            return
        scored = strategy.score(visit_with(page, state, depth))
        best = taken[int(np.argmax(scored.scores[taken]))]
        yield float(scored.scores[best]), np.delete(scored.scores, taken)
        state = NO_STATE if scored.state is None else scored.state[best : best + 1]


def visit_with(page: Page, state: Floats, depth: int = 0) -> Visit:
    """A visit of which only the page is known, and the state that travelled with the link to it: no row for a seed."""
    links, rows = len(page.links), len(state)
    known = Known(np.full(links, np.nan, np.float32), np.zeros(links, np.int32), np.zeros(links, np.int32))
    inlinks = Inlinks(np.zeros(rows, np.int32), np.zeros(rows, np.float32), state, Ragged.of([()] * rows))
    judgement = Judgement(0.0, 0.0, np.empty(0, np.float32), "")
    return Visit(page, page.links, judgement, Trace(depth, depth, depth, depth, 0.0, inlinks), known)


def folds(
    paths: Sequence[ShownPath], count: int, by: Callable[[ShownPath], str], seed: int = 0
) -> Iterator[tuple[list[ShownPath], list[ShownPath]]]:
    """Pairs of paths to learn from and paths to test with; each path is tested once.

    Paths with the same `by`, such as the same first page, are on the same side, unless that gives fewer than `count`
    parts. A part is left out if no path to learn from ends in a goal.
    """
    names = [by(path) for path in paths]
    if len(set(names)) < count:
        names = [path.id for path in paths]
    distinct = list(dict.fromkeys(names))
    drawn = np.random.default_rng(seed).permutation(len(distinct)) % count
    fold = dict(zip(distinct, drawn.tolist(), strict=True))
    for number in range(count):
        test = [path for path, name in zip(paths, names, strict=True) if fold[name] == number]
        rest = [path for path, name in zip(paths, names, strict=True) if fold[name] != number]
        if test and any(path.outcome is PathOutcome.GOAL for path in rest):
            yield rest, test
