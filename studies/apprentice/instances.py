"""The instances (u,v) of a crawl: every link whose two ends it fetched, labelled by the critic's score of v.

Whatever is learnt before a crawl of the same closed web may only have seen targets of a random half A of its pages;
what counts then is the pages of the other half, B. A split of instances is therefore always one of their targets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.types import Floats, Inlinks, Judgement, Known, Mask, Page, Ragged, Trace, Url, Visit
from forager_lab.laboratory import Laboratory
from forager_lab.protocol import Trial

Places: TypeAlias = NDArray[np.int64]

_NO_INLINKS = Inlinks(np.empty(0, np.int32), np.empty(0, np.float32), np.empty((0, 0), np.float32), Ragged.of([]))


@dataclass(frozen=True, slots=True, eq=False)
class Instances:
    """A column each; a row for each link with both ends fetched, by source and then in the order of the page."""

    visits: Sequence[Visit]  # all pages of the crawl, as they would be scored when fetched
    sources: Places  # (m,) place of u among the visits
    links: Places  # (m,) which of its links
    targets: Places  # (m,) place of v among the visits

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def relevance(self) -> Floats:
        """(m,) what the critic calls raw, of the target."""
        return self._raw[self.targets]

    @property
    def source_relevance(self) -> Floats:
        return self._raw[self.sources]

    @property
    def _raw(self) -> Floats:
        return np.array([visit.judgement.raw for visit in self.visits], np.float32)

    def take(self, rows: NDArray[Any]) -> Instances:
        """Those rows, given by place in ascending order or as a mask."""
        return Instances(self.visits, self.sources[rows], self.links[rows], self.targets[rows])

    def sample(self, most: int, seed: int) -> Instances:
        """At most so many of them, drawn by chance, in their order."""
        if len(self) <= most:
            return self
        return self.take(np.sort(np.random.default_rng([seed, len(self)]).choice(len(self), most, replace=False)))

    def by_source(self) -> Iterator[tuple[Visit, Places]]:
        """Each page that has any, with those of its links that are instances; in the order of the rows."""
        ends = np.searchsorted(self.sources, np.arange(len(self.visits) + 1))
        for at in np.flatnonzero(np.diff(ends)).tolist():
            yield self.visits[at], self.links[ends[at] : ends[at + 1]]


def gather(lab: Laboratory, trial: Trial, order: Sequence[Url]) -> Instances:
    """The instances of a crawl that fetched these pages in this order."""
    pages = [page for page in lab.pages(order) if page is not None]
    judged = trial.critic.judge(pages)
    place = {page.url: at for at, page in enumerate(pages)}
    leads = [np.array([place.get(lab.web.final(url), -1) for url in page.links.targets], np.int64) for page in pages]
    relevance = np.array([judgement.relevance for judgement in judged], np.float32)
    visits = [
        _visit(page, judgement, at, targets, relevance)
        for at, (page, judgement, targets) in enumerate(zip(pages, judged, leads, strict=True))
    ]
    links = [np.flatnonzero(targets >= 0) for targets in leads]
    sources = np.repeat(np.arange(len(pages)), [len(rows) for rows in links])
    targets = [those[rows] for those, rows in zip(leads, links, strict=True)]
    return Instances(visits, sources, np.concatenate([_NONE, *links]), np.concatenate([_NONE, *targets]))


_NONE: Places = np.empty(0, np.int64)


def _visit(page: Page, judgement: Judgement, at: int, targets: Places, relevance: Floats) -> Visit:
    """The visit of the page as the at-th of its crawl: it knows the relevance of what was fetched before."""
    before = (targets >= 0) & (targets < at)
    known = np.where(before, relevance[targets], np.float32(np.nan))
    nothing = np.zeros(len(targets), np.int32)
    return Visit(
        page, page.links, judgement, Trace(at, at, at, 0, 0.0, _NO_INLINKS), Known(known, nothing, nothing)
    )  # fmt: skip


def half(urls: Sequence[Url], seed: int, run: int) -> frozenset[Url]:
    """Half A: as many of the pages of a web as half of them, by chance, another one in each run."""
    order = np.random.default_rng([seed, run, 0xA]).permutation(len(urls))
    return frozenset(urls[at] for at in order[: len(urls) // 2].tolist())


def split_by_target(instances: Instances, seed: int) -> Mask:
    """True for the instances to learn from: those of a random half of the targets. No target is on both sides."""
    targets, at = np.unique(instances.targets, return_inverse=True)
    chosen = np.zeros(len(targets), bool)
    chosen[np.random.default_rng([seed, len(targets)]).permutation(len(targets))[: len(targets) // 2]] = True
    return chosen[at]
