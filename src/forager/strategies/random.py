"""Links in a random order: only to compare with, because every other strategy should be better.

    priority(v) = h(seed, v), uniform in [0, 1)

h is a hash of the URL. So a link found again keeps its priority, and the same seed gives the same crawl whatever else
changes.
"""

import numpy as np
from xxhash import xxh3_64_intdigest

from forager.types import FIRST, ScoredLinks, Visit


class Random:
    """Links by a hash of their URLs."""

    combine = FIRST

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    def score(self, visit: Visit) -> ScoredLinks:
        drawn = (xxh3_64_intdigest(url.encode(), self.seed) >> 40 for url in visit.links.targets)  # 24 bits: a float32
        return ScoredLinks(np.fromiter(drawn, np.float32, len(visit.links)) / np.float32(1 << 24))
