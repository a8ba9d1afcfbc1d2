"""A link is as good as the worst page it was found on: QMin of Pezzuti, MacAvaney & Tonellotto (2025).

"Neural Prioritisation for Web Crawling" (arXiv 2506.16146) orders the frontier by the quality q(u) in [0,1] of the
pages u that were seen to link to v:

    QMin:   P(v) = min over the u seen so far of q(u)
    QFirst: P(v) = q(u) of the first such u

Their q is a neural estimate of semantic quality, whatever the topic. Ours is what the critic says, q(u) = Pr(c*|u), so
that QMin is best-first with the worst parent in place of the best one. The text of the paper was not at hand. That the
minimum goes over the pages that link to v, and over no other ancestors, is how we read the authors' code, in which each
new parent can lower the priority of a page that waits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xxhash import xxh3_64_intdigest

from forager.types import FIRST, LATEST, Combine, Evidence, Floats, Miss, ScoredLinks, Url, Visit


class ParentQuality:
    """Links by the least relevance of the pages they were found on."""

    def __init__(self, *, first: bool = False) -> None:
        """`first`: QFirst instead of QMin."""
        self.first = first
        self._worst: dict[int, float] = {}  # by the hash of a URL: the least q of the pages seen to link to it

    @property
    def combine(self) -> Combine:
        return FIRST if self.first else LATEST  # the latest minimum is the least

    def observe(self, outcome: Visit | Miss, evidence: Evidence) -> None:
        if isinstance(outcome, Visit) and not self.first:
            self._worst.update(zip(_keys(outcome.links.targets), self._priority(outcome).tolist(), strict=True))

    def score(self, visit: Visit) -> ScoredLinks:
        return ScoredLinks(self._priority(visit))

    def _priority(self, visit: Visit) -> Floats:
        """P of each link, with this page among those seen."""
        before = np.fromiter((self._worst.get(key, 1.0) for key in _keys(visit.links.targets)), np.float32)
        return np.minimum(before, np.float32(visit.judgement.relevance))


def _keys(urls: Sequence[Url]) -> list[int]:
    return [xxh3_64_intdigest(url.encode()) for url in urls]
