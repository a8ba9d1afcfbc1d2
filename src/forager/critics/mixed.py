"""Several ways of saying what is wanted, as one critic: examples, keywords and a sentence side by side.

    relevance(u) = mean over the critics of their relevance of u

A mean, because each of them is a probability of the same thing, none knows the others' errors, and one that is silent
(no keyword on the page) should weigh against the page but not veto it. Classes and focus are those of the first critic,
whose topics are scaled so that the focus sums to the relevance.
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
        """Fit the first: the others were told in words."""
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
    """The same within the focus and within the rest, with the relevance as the focus' share."""
    scaled = topics.copy()
    for side, share in ((focus, relevance), (~focus, 1 - relevance)):
        whole = topics[side].sum()
        scaled[side] = topics[side] * (share / whole) if whole > 0 else share / max(1, side.sum())
    return scaled
