"""Backlink: a link is as good as the number of pages seen to link to its target. Cho, Garcia-Molina & Page (1998).

    priority(v) = |{u fetched : u -> v}|

counted when v is found, the page it is found on included; found again it takes the latest count. With `hot` the score
is [hot] + log2(1 + priority(v)) / 32, links that are hot by hot.py first.
"""

from __future__ import annotations

import numpy as np

from forager.learn.tfidf import Query
from forager.strategies.hot import COMBINE, Hot
from forager.types import LATEST, Combine, ScoredLinks, Visit


class Backlink:
    def __init__(self, *, query: Query | None = None, hot: bool = False) -> None:
        self._hot = Hot(query, "backlink") if hot else None
        self.combine: Combine = COMBINE if hot else LATEST

    def score(self, visit: Visit) -> ScoredLinks:
        backlinks = visit.known.inlinks.astype(np.float32) + 1
        return self._hot.score(visit, backlinks) if self._hot else ScoredLinks(backlinks)
