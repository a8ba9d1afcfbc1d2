"""Critics made of other critics: all of them, any of them, not this one, the mean of them.

    relevance(a & b) = min(a, b)        relevance(a | b) = max(a, b)        relevance(~a) = 1 - a
    relevance(Mixed(a, b, …)) = mean of a, b, …

With minimum and maximum, yes and no stay exact, and a & a is a. A product would be right only for independent critics,
and two critics that read the same words never are. They can be nested: `biology & ~(Predicate(language="de") | shop)`.

`Mixed` is for several ways of saying what is wanted. It takes the mean, because each critic gives a probability of the
same thing and makes errors of its own. A critic that finds nothing (no keyword is on the page) should count against the
page, but not rule it out.

What a word is worth (log-odds) is the mean over those of the critics that can say it; for ~a it is that of a, negated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import xxhash

from forager.errors import ForagerError
from forager.learn.focus import in_focus
from forager.types import Critic, Floats, Judgement, Mask, Page, Terms, WeighsWords

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
        return _version(self.name, self.critics)

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

    def word_log_odds(self, terms: Terms) -> Floats:
        return _mean_log_odds(self.critics, terms)


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

    def word_log_odds(self, terms: Terms) -> Floats:
        return -super().word_log_odds(terms)


class Mixed(Combines):
    """The mean of several critics: of examples, keywords and a sentence side by side.

    Classes and focus are those of the first critic; its topics are scaled so that the focus sums to the relevance.
    """

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
        return _version("mixed", self.critics)

    def fit(self, pages: Iterable[Page], labels: Iterable[str]) -> None:
        """Fit the first critic. The others are not learnt: the user has given them in words."""
        self.critics[0].fit(pages, labels)

    def judge(self, pages: Sequence[Page]) -> list[Judgement]:
        version, focus = self.version, np.array([in_focus(name, self.focus) for name in self.classes], bool)
        each = [critic.judge(pages) for critic in self.critics]
        return [_mean(said, focus, version) for said in zip(*each, strict=True)]

    def word_log_odds(self, terms: Terms) -> Floats:
        return _mean_log_odds(self.critics, terms)


def _mean(said: Sequence[Judgement], focus: Mask, version: str) -> Judgement:
    relevance = float(np.mean([one.relevance for one in said]))
    raw = float(np.mean([one.raw for one in said]))
    return Judgement(relevance, raw, _scaled(said[0].topics, focus, relevance), version)


def _mean_log_odds(critics: Sequence[Critic], terms: Terms) -> Floats:
    said = [critic.word_log_odds(terms) for critic in critics if isinstance(critic, WeighsWords)]
    return np.mean(said, axis=0, dtype=np.float32) if said else np.zeros(len(terms), np.float32)


def _scaled(topics: Floats, focus: Mask, relevance: float) -> Floats:
    """Topics in the same proportions, with the focus scaled to sum to the relevance, and the rest to 1 - relevance."""
    scaled = topics.copy()
    for side, share in ((focus, relevance), (~focus, 1 - relevance)):
        whole = topics[side].sum()
        scaled[side] = topics[side] * (share / whole) if whole > 0 else share / max(1, side.sum())
    return scaled


def _version(name: str, critics: Sequence[Critic]) -> str:
    content = xxhash.xxh3_64_intdigest(" ".join(critic.version for critic in critics).encode())
    return f"{name}-{content & 0xFFFFFFFF:08x}"
