"""Breadth-first: links in the order in which they were found.

priority(v) = 0 for all v. The frontier breaks ties by the smaller id, and ids are given in order of discovery, so equal
scores are a queue.
"""

import numpy as np

from forager.types import FIRST, ScoredLinks, Visit


class BreadthFirst:
    combine = FIRST

    def score(self, visit: Visit) -> ScoredLinks:
        return ScoredLinks(np.zeros(len(visit.links), np.float32))
