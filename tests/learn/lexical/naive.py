"""Lexical profiles by definition: sets, double loops and fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache

from hypothesis import strategies as st

from forager.learn.lexical.levels import LevelSettings

# Few words, so that texts share many and repeat some.
spoken = st.sampled_from(["dna", "gene", "food", "market", "the", "core"])
said = st.lists(spoken, max_size=5).map(" ".join)
term = st.lists(spoken, min_size=1, max_size=4).map(" ".join)


def profile(text: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(text[i:j]) for i in range(len(text)) for j in range(i + 1, len(text) + 1)}


def ls(one: Sequence[str], other: Sequence[str]) -> Fraction:
    return _ls(tuple(one), tuple(other))


@cache
def _ls(one: tuple[str, ...], other: tuple[str, ...]) -> Fraction:
    if not one or not other:
        return Fraction(0)
    heads, other_heads = profile(one[-1:]), profile(other[-1:])
    of_heads = Fraction(len(heads & other_heads), len(heads) + len(other_heads))
    whole, other_whole = profile(one), profile(other)
    return of_heads + Fraction(len(whole & other_whole), len(whole) + len(other_whole))


Level = Sequence[tuple[str, float]]  # distinct terms with C_t


class NaiveLevels:
    def __init__(self, levels: Sequence[Level], chosen: LevelSettings) -> None:
        self.n = max(i for i, level in enumerate(levels, 1) if level)
        self.levels = levels[: self.n]
        self.weighted, self.context_words, self.strict = chosen.weighted, chosen.context, chosen.strict
        self.parent_share = Fraction(chosen.parent_share)

    def content(self, anchor: str) -> list[Fraction]:
        sums = [sum(self.weight(c) * ls(anchor.split(), t.split()) for t, c in level) for level in self.levels]
        return [Fraction(total) / max(len(level), 1) for total, level in zip(sums, self.levels, strict=True)]

    def context(self, left: str, right: str) -> list[Fraction]:
        k = self.context_words
        runs = [*profile(left.split()[-k:]), *profile(right.split()[:k])]
        return [
            max((self.weight(c) * ls(p, t.split()) for t, c in level for p in runs), default=Fraction(0))
            for level in self.levels
        ]

    def page(self, page: Level) -> list[Fraction]:
        return [self.page_score(page, level) for level in self.levels]

    def page_score(self, page: Level, level: Level) -> Fraction:
        if not page or not level:
            return Fraction(0)
        return sum(
            (max(self.weight(cp, ct) * ls(p.split(), t.split()) for t, ct in level) for p, cp in page), Fraction(0)
        ) / len(page)

    def weight(self, *values: float) -> Fraction:
        return sum(map(Fraction, values), Fraction(0)) / len(values) if self.weighted else Fraction(1)

    def boundary(self, i: int) -> Fraction:
        """i from 0"""
        others = [level for j, level in enumerate(self.levels) if j != i and level]
        return sum((self.page_score(level, self.levels[i]) for level in others), Fraction(0)) / len(others)

    def best(self, scores: Sequence[Fraction]) -> int:
        """Of a link's content or context."""
        top = max(scores)
        return scores.index(top) + 1 if top > 0 else self.n + 1

    def term_classify(self, text: str, scores: Sequence[Fraction]) -> int:
        """Appendix 6 of the thesis, line by line; `scores` are those of the text at each level."""
        highest, level = Fraction(0), self.n + 1  # defaultLevel = maxLevel + 1
        if text.strip() != "":
            for a in range(self.n):
                if scores[a] > highest and scores[a] >= self.boundary(a):
                    highest = scores[a]
                    level = a
        return level + 1

    def page_level(self, page: Level) -> int:
        scores = self.page(page)
        level = self.bounded(scores)
        if level != 1 or self.has_parents(scores):
            return level
        return self.bounded([Fraction(0), *scores[1:]])

    def has_parents(self, scores: Sequence[Fraction]) -> bool:
        above = [i for i in range(1, self.n) if self.levels[i]]
        reached = all(scores[i] > 0 and scores[i] >= self.parent_share * self.boundary(i) for i in above)
        return reached or not self.parent_share

    def bounded(self, scores: Sequence[Fraction]) -> int:
        reached = [
            bool(level) and s > 0 and s >= self.boundary(i)
            for i, (level, s) in enumerate(zip(self.levels, scores, strict=True))
        ]
        wanted = max(scores) if self.strict else max((s for s, r in zip(scores, reached, strict=True) if r), default=0)
        return next((i for i, s in enumerate(scores, 1) if reached[i - 1] and s == wanted), self.n + 1)
