"""Links of the most relevant pages first: the default, sound if relevant pages link to relevant pages.

The baseline of Chakrabarti, Punera & Subramanyam (2002): a link is as good as the page it was found on.

    priority(v) = Pr(c*|u)

Soft focus: the links of u are followed only if Pr(c*|u) >= tau. Hard focus: also only if the best class of u is a focus
class or lies below one. A target found on several pages takes the best priority, or what `combine` says.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from forager.errors import ForagerError
from forager.learn.focus import in_focus
from forager.types import NEVER, Combine, Policy, ScoredLinks, Visit


class BestFirst:
    """Links by the relevance of the page they are on."""

    def __init__(
        self,
        *,
        classes: Sequence[str] = (),
        focus: Sequence[str] = (),
        tau: float = 0.0,
        hard: bool = False,
        combine: Literal["first", "best", "latest", "mean", "noisy-or"] = "best",
    ) -> None:
        self.tau, self.hard, self.combine = tau, hard, Combine(Policy(combine))
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
