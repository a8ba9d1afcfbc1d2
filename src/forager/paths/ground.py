"""A web to learn the way on: pages that can be read, the links between them, and which of them are targets.

What is not in the ground is unknown, neither good nor bad: a link that leaves it teaches nothing. What a model must not
have met, such as the pages it will be tested on, is left out of the ground altogether.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeAlias, runtime_checkable

import numpy as np

from forager.paths.graph import LinkGraph
from forager.paths.shown import Outcome, ShownPath
from forager.types import Ids, Mask, Page, Url

Reading: TypeAlias = Callable[[Sequence[Url]], Iterator[Page | None]]  # the pages of URLs, in order; None: no page
Heard: TypeAlias = Callable[[int, float], None]  # told the iteration of a training, from 1, and the likelihood after it


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    urls: tuple[Url, ...]  # page i
    graph: LinkGraph
    targets: Mask  # (n,)
    labels: tuple[str | None, ...]  # milestone that each page is, if any; targets need none
    numbers: Mapping[Url, int]  # of the pages, by URL
    reading: Reading
    final: Callable[[Url], Url]  # where a URL leads, redirects followed

    @classmethod
    def of(
        cls,
        pages: Iterable[tuple[Url, Sequence[Url]]],
        targets: Collection[Url],
        reading: Reading,
        *,
        labels: Mapping[Url, str] | None = None,
        final: Callable[[Url], Url] = lambda url: url,
    ) -> Self:
        """From pages with the URLs they link to, which may lie outside."""
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
        """-1: not in the ground."""
        return self.numbers.get(self.final(url), -1)

    def without(self, left_out: Collection[Url]) -> Ground:
        """The same ground, as if these pages had never been met."""
        kept = [number for number, url in enumerate(self.urls) if url not in left_out]
        links = {self.urls[number]: self._links(number) for number in kept}
        wanted = {self.urls[number] for number in kept if self.targets[number]}
        labels = {self.urls[number]: label for number in kept if (label := self.labels[number]) is not None}
        return Ground.of(links.items(), wanted, self.reading, labels=labels, final=self.final)

    def _links(self, number: int) -> list[Url]:
        begin, end = self.graph.offsets[number : number + 2].tolist()
        return [self.urls[target] for target in self.graph.targets[begin:end].tolist()]

    def ends(self, page: Page) -> Ids:
        """The number of each link's target, -1 for those that leave the ground."""
        return np.fromiter((self.number(url) for url in page.links.targets), np.int32, len(page.links))


def ground_of_paths(
    shown: Sequence[ShownPath], reading: Reading, *, final: Callable[[Url], Url] = lambda url: url
) -> Ground:
    """The pages of shown paths: ends of those that arrived are targets, milestones have their labels."""
    urls = list(dict.fromkeys(final(step.url) for path in shown for step in path.steps))
    targets = {final(path.steps[-1].url) for path in shown if path.outcome is Outcome.GOAL}
    labels = {final(step.url): step.label for path in shown for step in path.steps if step.label}
    read = [(url, page.links.targets if page else ()) for url, page in zip(urls, reading(urls), strict=True)]
    return Ground.of(read, targets, reading, labels=labels, final=final)


@runtime_checkable
class Teachable(Protocol):
    """A strategy that knows the way beforehand."""

    def taught(self, ground: Ground, shown: Sequence[ShownPath] = (), heard: Heard | None = None) -> Self:
        """A strategy of the same settings that has learnt on the ground.

        `shown`: labelled ways through it; without any the strategy draws its own, from the links of the ground.
        """
