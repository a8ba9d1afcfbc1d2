"""Several ways of saying what is wanted, as one critic: examples, keywords and a sentence side by side.

    relevance(u) = mean over the critics of their relevance of u

It is a mean, because each critic gives a probability of the same thing and makes errors of its own. A critic that finds
nothing (no keyword is on the page) should count against the page, but not rule it out. Classes and focus are those of
the first critic; its topics are scaled so that the focus sums to the relevance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import xxhash

from forager.critics.combine import Combines
from forager.errors import ForagerError
from forager.learn.focus import in_focus
from forager.types import Critic, Floats, Judgement, Mask, Page


class Mixed(Combines):
    """The mean of several critics."""

    def __init__(self, *critics: Critic) -> None:
        if not critics:
            raise ForagerError("a mix of no critics: give at least one")
        self.critics = critics

    @property
    def classes(self) -> tuple[str, ...]:
        return self.critics[0].classes

    @property
    def focus(self) -> tuple[str, ...]:
        return self.critics[0].focus

    @property
    def version(self) -> str:
        of = xxhash.xxh3_64_intdigest(" ".join(critic.version for critic in self.critics).encode())
        return f"mixed-{of & 0xFFFFFFFF:08x}"

    def fit(self, pages: Iterable[Page], labels: Iterable[str]) -> None:
        """Fit the first critic. The others are not learnt: the user has given them in words."""
        self.critics[0].fit(pages, labels)

    def judge(self, pages: Sequence[Page]) -> list[Judgement]:
        version, focus = self.version, np.array([in_focus(name, self.focus) for name in self.classes], bool)
        each = [critic.judge(pages) for critic in self.critics]
        return [_mean(said, focus, version) for said in zip(*each, strict=True)]


def _mean(said: Sequence[Judgement], focus: Mask, version: str) -> Judgement:
    relevance = float(np.mean([one.relevance for one in said]))
    raw = float(np.mean([one.raw for one in said]))
    return Judgement(relevance, raw, _scaled(said[0].topics, focus, relevance), version)


def _scaled(topics: Floats, focus: Mask, relevance: float) -> Floats:
    """Topics in the same proportions, with the focus scaled to sum to the relevance, and the rest to 1 - relevance."""
    scaled = topics.copy()
    for side, share in ((focus, relevance), (~focus, 1 - relevance)):
        whole = topics[side].sum()
        scaled[side] = topics[side] * (share / whole) if whole > 0 else share / max(1, side.sum())
    return scaled
