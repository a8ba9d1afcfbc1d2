"""Only links that can still be followed are worth scoring: within a site, half of them lead to pages that were met."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import numpy as np

from forager.types import NEVER, ScoredLinks, Visit

S = TypeVar("S")


def only_unmet(score: Callable[[S, Visit], ScoredLinks]) -> Callable[[S, Visit], ScoredLinks]:
    """Score the links to pages that have not been judged; the others are NEVER, and carry nothing.

    For strategies that say of each link what following it is worth, and nothing else that would be kept.
    """

    @wraps(score)
    def scored(self: S, visit: Visit) -> ScoredLinks:
        count, unmet = len(visit.links), np.isnan(visit.known.relevance).nonzero()[0]
        if len(unmet) == count:
            return score(self, visit)
        some = score(self, visit.take(unmet.tolist()))
        scores = np.full(count, NEVER, np.float32)
        scores[unmet] = some.scores
        state = None
        if some.state is not None:
            state = np.zeros((count, some.state.shape[1]), np.float32)
            state[unmet] = some.state
        return ScoredLinks(scores, state=state, label=some.label)

    return scored
