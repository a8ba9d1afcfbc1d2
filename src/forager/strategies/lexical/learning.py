"""What the lexical strategy may learn while it crawls: where links paid, and which terms led to good pages. Both ours.

*Proximity.* The links of a page are numbered in its order. With r the relevance of the targets that were judged, a link
l has

    x(l) = sum over the judged m within `near` of l, m != l, of r(m) / (1 + their number)

and its link score is multiplied by 1 - `proximity` x(l), so that links near others that paid go sooner. The score
changes again when more targets are judged.

*Lifts.* A link with anchor a that led to a page of relevance r counts for each term t as much as a is similar to t:

    led(t) = sum of LS(a,t)        paid(t) = sum of LS(a,t) r        p = sum of paid / sum of led
    lift(t) = ((paid(t) + s p) / (led(t) + s) / p) ^ strength        kept between 1/3 and 3

A term that has led nowhere yet has lift 1. `strength` is the option `reward`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.errors import ForagerError
from forager.learn.chains.rows import Reals
from forager.learn.lexical.incidence import Incidence
from forager.learn.lexical.levels import LinkTexts, TopicLevels
from forager.learn.lexical.profiles import Profiles, first_words, spans
from forager.strategies.lexical.links import LinkLevels
from forager.strategies.lexical.strategy import LexicalStrategy
from forager.types import Evidence, Floats, Graph, Miss, Parts, Ragged, ScoredLinks, Visit, Waiting, WaitingBatch

Keys: TypeAlias = NDArray[np.int64]  # page << 32 | number of the link

REMEMBERED = 1 << 16  # links whose outcome is known
PRIOR = 5.0  # s
LARGEST = 3.0  # lift
WORDS = 16  # of an anchor that are kept


class LearningLexicalStrategy(LexicalStrategy):
    """The strategy of the thesis, and what it learns while it crawls.

    state = the three levels of a link and its score before proximity; clue = its page, its number, its anchor words
    """

    alone = True  # the new score of a link needs only its own row

    def __init__(self, thesis: LexicalStrategy, *, proximity: float, near: int, reward: float, every: int) -> None:
        super().__init__(thesis.links, thesis.form, thesis.combine, thesis.navigation)
        self.proximity, self.near, self.reward, self.every = proximity, near, reward, every
        self._memory, self._lifts = OutcomeMemory(), TermLifts(thesis.links.words, reward)
        self._pages = 0  # since terms were last weighted

    def observe(self, outcome: Visit | Miss, evidence: Evidence) -> None:
        self._memory.learn(keys_of(evidence.clues), evidence.relevance)
        self._lifts.learn(words_of(evidence.clues), evidence.relevance)
        self._pages += isinstance(outcome, Visit)
        if self.reward and self._pages >= self.every:
            self._pages = 0
            self._lifts.weigh()
            self.links = self._weighed()

    def score(self, visit: Visit) -> ScoredLinks:
        levels = self.links(visit)
        before = self.link_scores(visit, levels)
        known, keys = np.flatnonzero(~np.isnan(visit.known.relevance)), np.arange(len(levels))
        paid = LinkOutcomes.of(known, visit.known.relevance[known]).near(keys, self.near)
        anchors = LinkTexts.of(visit.page, visit.links, 0).anchors
        return ScoredLinks(
            self._nearer(before, paid),
            state=np.column_stack((levels, before)),
            clues=link_clues(visit.trace.id, anchors, words=bool(self.reward)),
        )

    def rescore(self, waiting: Waiting, graph: Graph) -> Iterator[Floats]:
        outcomes = self._memory.outcomes()  # taken now, not when the first batch is asked for
        return (self._again(outcomes, batch) for batch in waiting)

    def _again(self, outcomes: LinkOutcomes, batch: WaitingBatch) -> Floats:
        keys, scores = keys_of(batch.clues), batch.scores.copy()
        found = np.flatnonzero(keys >= 0)
        if len(found):
            scores[found] = self._nearer(batch.state[found, -1], outcomes.near(keys[found], self.near))
        return scores

    def _nearer(self, before: Floats, paid: Reals) -> Floats:
        return (-before * (1 - self.proximity * paid)).astype(np.float32)

    def parts(self) -> Parts:
        return {**self._memory.parts(), **self._lifts.parts(), "pages": self._pages}

    def from_parts(self, parts: Parts) -> Self:
        new = copy(self)
        new._memory, new._lifts = OutcomeMemory.from_parts(parts), self._lifts.from_parts(parts)
        new._pages = int(np.asarray(parts["pages"]))
        new.links = new._weighed()
        return new

    def merge(self, parts: Sequence[Parts]) -> Parts:
        """What terms have led to is added up. Page numbers differ between shards, so known outcomes are dropped."""
        lifts = self._lifts.merged(parts)
        return {**OutcomeMemory().parts(), **lifts.parts(), "pages": 0}

    def _weighed(self) -> LinkLevels:
        return replace(self.links, words=self._lifts.levels()) if self.reward else self.links


# ---- proximity ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class LinkOutcomes:
    """Links whose targets were judged, at one moment."""

    keys: Keys  # (m,) ascending
    sums: Reals  # (m + 1,) sum of the relevance of all links before

    @classmethod
    def of(cls, keys: Keys, relevance: Floats) -> LinkOutcomes:
        order = np.argsort(keys, kind="stable")
        sums = np.concatenate(([0.0], np.cumsum(relevance[order], dtype=np.float64)))
        return cls(keys[order], sums)

    def near(self, keys: Keys, near: int) -> Reals:
        """x(l) of each link l."""
        page, number = keys >> 32 << 32, keys & 0xFFFFFFFF
        starts = np.searchsorted(self.keys, page + np.maximum(number - near, 0))
        ends = np.searchsorted(self.keys, keys + near, side="right")
        here, after = np.searchsorted(self.keys, keys), np.searchsorted(self.keys, keys, side="right")
        others = (ends - starts) - (after - here)
        paid = (self.sums[ends] - self.sums[starts]) - (self.sums[after] - self.sums[here])
        return np.asarray(paid / (1 + others))


class OutcomeMemory:
    """The newest links whose outcome is known."""

    def __init__(self) -> None:
        self._keys: list[Keys] = [np.zeros(0, np.int64)]  # the oldest first
        self._relevance: list[Floats] = [np.zeros(0, np.float32)]
        self._count = 0

    def learn(self, keys: Keys, relevance: Floats) -> None:
        self._keys.append(keys)
        self._relevance.append(relevance)
        self._count += len(keys)
        if self._count >= 2 * REMEMBERED:
            self._forget()

    def outcomes(self) -> LinkOutcomes:
        self._forget()
        return LinkOutcomes.of(self._keys[0], self._relevance[0])

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


class TermLifts:
    """How much better than the average each term of a topic path has led."""

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
        """Compute the lifts from what was learnt so far."""
        p = self.paid.sum() / max(float(self.led.sum()), 1e-9)
        if p > 0:
            lifts = ((self.paid + PRIOR * p) / (self.led + PRIOR) / p) ** self._strength
            self.lifts = np.clip(lifts, 1 / LARGEST, LARGEST)

    def levels(self) -> TopicLevels:
        """The topic path with each term weighted by its lift, and by its C-value if the path is weighted anyway."""
        path, ends = self._path, np.cumsum([len(level) for level in self._path.terms])
        own = np.concatenate(path.weights) if path.settings.weighted else 1.0
        weights = np.split((own * self.lifts).astype(np.float32), ends[:-1])
        return TopicLevels(path.terms, weights, replace(path.settings, weighted=True))

    def parts(self) -> Parts:
        return {"led": self.led, "paid": self.paid, "lifts": self.lifts}

    def from_parts(self, parts: Parts) -> TermLifts:
        new = TermLifts(self._path, self._strength)
        new.led, new.paid, new.lifts = (self._checked(parts, name) for name in ("led", "paid", "lifts"))
        return new

    def merged(self, parts: Sequence[Parts]) -> TermLifts:
        new = TermLifts(self._path, self._strength)
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
                f"lexical: this was learnt with {told}: start again, or load the critic it was learnt with"
            )
        return values


def link_clues(page: int, anchors: Ragged, *, words: bool) -> Ragged:
    """A row for each link: its page, its number there, and, if wanted, the first words of its anchor."""
    kept = first_words(anchors, WORDS if words else 0)
    count = len(kept)
    heads = np.column_stack((np.full(count, page), np.arange(count))).astype(np.uint32).ravel()
    values = np.insert(kept.values, np.repeat(kept.offsets[:-1], 2), heads)
    return Ragged(values, kept.offsets + 2 * np.arange(count + 1))


def keys_of(rows: Ragged) -> Keys:
    """The page and number of each link as one key; -1 for a link without a clue, such as a seed."""
    full = np.flatnonzero(rows.lengths)
    starts, keys = rows.offsets[full], np.full(len(rows), -1, np.int64)
    keys[full] = rows.values[starts].astype(np.int64) << 32 | rows.values[starts + 1]
    return keys


def words_of(rows: Ragged) -> Ragged:
    """The anchor words in each clue."""
    kept = np.maximum(rows.lengths - 2, 0)
    return spans(rows, rows.offsets[1:] - kept, kept)
