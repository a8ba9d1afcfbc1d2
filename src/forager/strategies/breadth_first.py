"""Links in the order in which they were found: for all of a small site, or as a yardstick.

    priority(v) = 0

The frontier takes the smaller id of equal scores, and ids are given in order of discovery. So equal scores make a
queue.
"""

import numpy as np

from forager.types import FIRST, ScoredLinks, Visit


class BreadthFirst:
    """All links alike: the one found first goes first."""

    combine = FIRST

    def score(self, visit: Visit) -> ScoredLinks:
        return ScoredLinks(np.zeros(len(visit.links), np.float32))
