"""Critics made of other critics: all of them, any of them, not this one.

    relevance(a & b) = min(a, b)        relevance(a | b) = max(a, b)        relevance(~a) = 1 - a

With minimum and maximum, yes and no stay exact, and a & a is a. A product would be right only for independent critics,
and two critics that read the same words never are. They can be nested: `biology & ~(Predicate(language="de") | shop)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import xxhash

from forager.errors import ForagerError
from forager.types import Critic, Judgement, Page

RELEVANT_OR_NOT = ("relevant", "other")  # the classes of a critic that only says yes or no
RELEVANT = ("relevant",)


def yes_or_no(relevance: float, raw: float, version: str) -> Judgement:
    """A judgement in the classes `RELEVANT_OR_NOT`."""
    return Judgement(relevance, raw, np.array([relevance, 1 - relevance], np.float32), version)


class Combines:
    """Gives a critic the operators & | and ~."""

    def __and__(self: Critic, other: Critic) -> And:
        return And(self, other)

    def __or__(self: Critic, other: Critic) -> Or:
        return Or(self, other)

    def __invert__(self: Critic) -> Not:
        return Not(self)


class _Combination(Combines):
    """Several critics, and a rule that makes one number of their relevances."""

    name = ""
    focus = RELEVANT

    def __init__(self, *critics: Critic) -> None:
        if not critics:
            raise ForagerError(f"{self.name!r} of no critics: give at least one")
        self.critics = critics

    @staticmethod
    def rule(said: Iterable[float]) -> float:
        raise NotImplementedError

    @property
    def classes(self) -> tuple[str, ...]:
        return RELEVANT_OR_NOT

    @property
    def version(self) -> str:
        of = xxhash.xxh3_64_intdigest(" ".join(critic.version for critic in self.critics).encode())
        return f"{self.name}-{of & 0xFFFFFFFF:08x}"

    def fit(self, pages: Iterable[Page], labels: Iterable[str]) -> None:
        """Fit each critic on the same pages. All pages are in memory while this runs."""
        pages, labels = list(pages), list(labels)
        for critic in self.critics:
            critic.fit(pages, labels)

    def judge(self, pages: Sequence[Page]) -> list[Judgement]:
        version = self.version
        each = [critic.judge(pages) for critic in self.critics]
        return [
            yes_or_no(self.rule(one.relevance for one in said), self.rule(one.raw for one in said), version)
            for said in zip(*each, strict=True)
        ]


class And(_Combination):
    """The smallest relevance that any of the critics gives."""

    name = "and"

    @staticmethod
    def rule(said: Iterable[float]) -> float:
        return min(said)


class Or(_Combination):
    """The largest relevance that any of the critics gives."""

    name = "or"

    @staticmethod
    def rule(said: Iterable[float]) -> float:
        return max(said)


class Not(_Combination):
    """Wants what the critic does not want."""

    name = "not"

    def __init__(self, critic: Critic) -> None:
        super().__init__(critic)

    @staticmethod
    def rule(said: Iterable[float]) -> float:
        (relevance,) = said
        return 1 - relevance
