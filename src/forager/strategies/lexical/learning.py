"""What the lexical strategy may learn while it crawls: where links paid, and which terms led to good pages. Both ours.

*Places.* The links of a page are numbered in its order. With r the relevance of the targets that have been judged, a
link l has

    x(l) = sum over the judged m within `near` of l, m != l, of r(m) / (1 + how many they are)

*Lifts.* A link with anchor a that led to a page of relevance r speaks for each term t as much as it is like it:

    led(t) = sum of LS(a,t)        paid(t) = sum of LS(a,t) r        p = sum of paid / sum of led
    lift(t) = ((paid(t) + s p) / (led(t) + s) / p) ^ strength        kept between 1/3 and 3

so that a term without history has 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from forager.errors import ForagerError
from forager.learn.chains.rows import Reals
from forager.learn.lexical.incidence import Incidence
from forager.learn.lexical.levels import TopicLevels
from forager.learn.lexical.profiles import Places as Numbers
from forager.learn.lexical.profiles import Profiles, first_words, spans
from forager.types import Floats, Parts, Ragged

REMEMBERED = 1 << 16  # links whose outcome is known
PRIOR = 5.0  # s
LARGEST = 3.0  # lift
WORDS = 16  # of an anchor that are kept


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Links and the relevance of their targets, as they were at one moment."""

    keys: Numbers  # ascending: page << 32 | number of the link
    sums: Reals  # (m + 1,) of the relevance of all before

    @classmethod
    def of(cls, keys: Numbers, relevance: Floats) -> Outcomes:
        order = np.argsort(keys, kind="stable")
        sums = np.concatenate(([0.0], np.cumsum(relevance[order], dtype=np.float64)))
        return cls(keys[order], sums)

    def near(self, keys: Numbers, near: int) -> Reals:
        """x of each link."""
        page, number = keys >> 32 << 32, keys & 0xFFFFFFFF
        starts = np.searchsorted(self.keys, page + np.maximum(number - near, 0))
        ends = np.searchsorted(self.keys, keys + near, side="right")
        here, after = np.searchsorted(self.keys, keys), np.searchsorted(self.keys, keys, side="right")
        others = (ends - starts) - (after - here)
        paid = (self.sums[ends] - self.sums[starts]) - (self.sums[after] - self.sums[here])
        return np.asarray(paid / (1 + others))


class Places:
    """The links whose outcome is known, the newest of them."""

    def __init__(self) -> None:
        self._keys: list[Numbers] = [np.zeros(0, np.int64)]  # the oldest first
        self._relevance: list[Floats] = [np.zeros(0, np.float32)]
        self._count = 0

    def learn(self, keys: Numbers, relevance: Floats) -> None:
        self._keys.append(keys)
        self._relevance.append(relevance)
        self._count += len(keys)
        if self._count >= 2 * REMEMBERED:
            self._forget()

    def outcomes(self) -> Outcomes:
        self._forget()
        return Outcomes.of(self._keys[0], self._relevance[0])

    def parts(self) -> Parts:
        self._forget()
        return {"places": self._keys[0], "relevance": self._relevance[0]}

    @classmethod
    def from_parts(cls, parts: Parts) -> Self:
        new = cls()
        new.learn(np.asarray(parts["places"], np.int64), np.asarray(parts["relevance"], np.float32))
        return new

    def _forget(self) -> None:
        self._keys = [np.concatenate(self._keys)[-REMEMBERED:]]
        self._relevance = [np.concatenate(self._relevance)[-REMEMBERED:]]
        self._count = len(self._keys[0])


class Lifts:
    """How much better than others each term of a path has led."""

    def __init__(self, path: TopicLevels, strength: float) -> None:
        self._path, self._strength = path, strength
        self._model = Incidence.of([term for level in path.terms for term in level])
        count = len(self._model.terms)
        self.led, self.paid, self.lifts = np.zeros(count), np.zeros(count), np.ones(count)

    def learn(self, anchors: Ragged, relevance: Floats) -> None:
        pairs = self._model.similar(Profiles.of(anchors))
        count = len(self.led)
        self.led += np.bincount(pairs.terms, pairs.values, count)
        self.paid += np.bincount(pairs.terms, pairs.values * relevance[pairs.texts], count)

    def weigh(self) -> None:
        """Make lifts of what was learnt."""
        p = self.paid.sum() / max(float(self.led.sum()), 1e-9)
        if p > 0:
            lifts = ((self.paid + PRIOR * p) / (self.led + PRIOR) / p) ** self._strength
            self.lifts = np.clip(lifts, 1 / LARGEST, LARGEST)

    def levels(self) -> TopicLevels:
        """The path with each term weighed by its lift, and by its C-value where it is anyway."""
        path, ends = self._path, np.cumsum([len(level) for level in self._path.terms])
        own = np.concatenate(path.weights) if path.settings.weighted else 1.0
        weights = np.split((own * self.lifts).astype(np.float32), ends[:-1])
        return TopicLevels(path.terms, weights, replace(path.settings, weighted=True))

    def parts(self) -> Parts:
        return {"led": self.led, "paid": self.paid, "lifts": self.lifts}

    def from_parts(self, parts: Parts) -> Lifts:
        new = Lifts(self._path, self._strength)
        new.led, new.paid, new.lifts = (self._checked(parts, name) for name in ("led", "paid", "lifts"))
        return new

    def merged(self, parts: Sequence[Parts]) -> Lifts:
        new = Lifts(self._path, self._strength)
        for part in parts:
            new.led += self._checked(part, "led")
            new.paid += self._checked(part, "paid")
        new.weigh()
        return new

    def _checked(self, parts: Parts, name: str) -> Reals:
        values = np.array(parts[name], np.float64)
        if len(values) != len(self.led):
            told = f"{len(values)} terms, this topic path has {len(self.led)}"
            raise ForagerError(
                f"lexical: this was learnt with {told}: begin anew, or load the critic it was learnt with"
            )
        return values


def clues(page: int, anchors: Ragged, *, words: bool) -> Ragged:
    """A row a link: its page, its number there, and the first words of its anchor if wanted."""
    kept = first_words(anchors, WORDS if words else 0)
    count = len(kept)
    heads = np.column_stack((np.full(count, page), np.arange(count))).astype(np.uint32).ravel()
    values = np.insert(kept.values, np.repeat(kept.offsets[:-1], 2), heads)
    return Ragged(values, kept.offsets + 2 * np.arange(count + 1))


def keys_of(rows: Ragged) -> Numbers:
    """Page and number of each link, as one; -1 of one that has no clue, such as a seed."""
    full = np.flatnonzero(rows.lengths)
    starts, keys = rows.offsets[full], np.full(len(rows), -1, np.int64)
    keys[full] = rows.values[starts].astype(np.int64) << 32 | rows.values[starts + 1]
    return keys


def words_of(rows: Ragged) -> Ragged:
    """The words of the anchors."""
    kept = np.maximum(rows.lengths - 2, 0)
    return spans(rows, rows.offsets[1:] - kept, kept)
