"""Best-first: a link is as good as the page it was found on. The baseline of Chakrabarti, Punera & Subramanyam (2002).

Soft focus: priority(v) = Pr(c*|u), and u is expanded only if Pr(c*|u) >= tau. Hard focus: u is expanded only if its
best class is a focus class or below one; the priority is the same. A target found on several pages takes the best.
"""

from collections.abc import Sequence

import numpy as np

from forager.errors import ForagerError
from forager.learn.focus import in_focus
from forager.types import BEST, NEVER, ScoredLinks, Visit


class BestFirst:
    combine = BEST

    def __init__(
        self, *, classes: Sequence[str] = (), focus: Sequence[str] = (), tau: float = 0.0, hard: bool = False
    ) -> None:
        self.tau, self.hard = tau, hard
        self.focus_classes = np.array([in_focus(name, focus) for name in classes], bool)
        if hard and not self.focus_classes.any():
            raise ForagerError(
                "best-first: hard focus needs a critic with a focus class; leave `hard` out for soft focus"
            )

    def score(self, visit: Visit) -> ScoredLinks:
        priority = visit.judgement.relevance if self._expands(visit) else NEVER
        return ScoredLinks(np.full(len(visit.links), priority, np.float32))

    def _expands(self, visit: Visit) -> bool:
        judgement = visit.judgement
        if self.hard and not self.focus_classes[int(np.argmax(judgement.topics))]:
            return False
        return judgement.relevance >= self.tau
