"""A topic as a path of levels, each a list of terms: level 1 is the target, 2 its parent, …

n is the number of the highest level that has terms. With LS of `forager.learn.lexical.incidence`, the scores at level i
are

    content(a, i)    = sum over t in level i of LS(a, t) / |level i|
    context(l, r, i) = max over t in level i and p in P(l) or P(r) of LS(p, t)
    page(d, i)       = sum over p in d of (max over t in level i of LS(p, t)) / |d|
    boundary_i       = mean over the other levels j that have terms of page(level j, i)

where a is an anchor text, taken as one term, l and r are the k words left and right of the anchor, and d is the terms
of a page. If scores are weighted by C-values, C_t LS stands for LS in content and context, and (C_p + C_t) / 2 LS in
page and boundary.

The content or context of a link is at the level with the highest score; in a tie at the level nearest to the target.
For a page that score must also reach the boundary of the level. If all scores are 0, or the boundary is not reached,
the level is n + 1: outside. A level without terms keeps its number, scores 0 and is never chosen.

*Bounded texts* (appendix 6 of the thesis, off unless asked for). Anchors and contexts must reach a boundary, too: the
level is that with the highest score among those whose boundary the score reaches, and n + 2 if there is none. So a text
that only shares what all levels share is outside, and outside lies one further away. Pages stay as they are.

*Parents* (wished for by the thesis, off unless asked for). A page about food is no page about genetically modified
food: it must speak of the levels above, too. So a page is at level 1 only if

    page(d, j) > 0  and  page(d, j) >= parent_share * boundary_j        for every level j > 1 that has terms

and otherwise at the best of the other levels. The boundary is the measure because it is what the thesis calls enough of
a level's vocabulary to mean something: what pages of any level share with j anyway is in it, so that a few common words
do not suffice. A share of 1 asks for as much of each parent as a page of that parent needs, smaller shares for less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self, TypeAlias

import numpy as np

from forager.errors import ForagerError
from forager.learn.lexical.incidence import Incidence, SimilarPairs
from forager.learn.lexical.profiles import Places, Profiles, Texts, first_words, hashed, last_words, spans
from forager.learn.linear import Reals
from forager.types import Floats, Ids, Links, Page, Parts, Ragged
from forager.web.text import words

TermWeights: TypeAlias = Sequence[float] | Floats | Reals

FEATURE_VERSION = 1  # of what a word is and how terms are compared
NARROWEST, WIDEST = 4, 10  # bounds of k
CLOSE = 1e-9  # scores that differ by less are equal: the same numbers may have been summed in another order


@dataclass(frozen=True, slots=True)
class LevelSettings:
    weighted: bool = False  # by C-values
    context: int = 6  # k
    strict: bool = True  # the highest score must reach its boundary; False: take the highest of those that reach theirs
    bounded_texts: bool = False  # anchors and contexts must reach the boundary, or they are at level n + 2
    parent_share: float = 0.0  # of the boundary of each level above: a page of level 1 must reach so much there

    def __post_init__(self) -> None:
        if not NARROWEST <= self.context <= WIDEST:
            raise ForagerError(f"a context of {self.context} words: give from {NARROWEST} to {WIDEST}")
        if not 0 <= self.parent_share < np.inf:
            raise ForagerError(f"parent_share is {self.parent_share}: give 0 for no such rule, or more, such as 1")


@dataclass(frozen=True, slots=True)
class TermMatch:
    """A text of a page or link that is like a term of a level."""

    text: str
    term: str
    level: int
    value: float  # LS, weighted if scores are


class PagePlace(NamedTuple):
    """The level of a page, and how well it fits the target."""

    level: int
    score: float  # s, that of level 1

    @property
    def finer(self) -> float:
        """Level minus s / (1 + s): pages of one level differ, and the order of levels stays."""
        return self.level - self.score / (1 + self.score)


@dataclass(frozen=True, slots=True, eq=False)
class LinkTexts:
    """The words of the anchor of each link, and those left and right of it: hashed, a row for each link."""

    anchors: Ragged
    lefts: Ragged
    rights: Ragged

    @classmethod
    def of(cls, page: Page, links: Links, context: int) -> Self:
        """`context`: so many words on either side, in the same element or not; fewer at the ends of the page."""
        words = page.terms
        starts, ends = words.offsets[links.first_leaf], words.offsets[links.last_leaf + 1]
        before = np.minimum(starts, context)
        behind = np.minimum(len(words.values) - ends, context)
        lefts, rights = spans(words, starts - before, before), spans(words, ends, behind)
        return cls(spans(words, starts, ends - starts), lefts, rights)


class TopicLevels:
    """The terms of each level of a path; gives the levels of links and pages.

    Anchors and contexts of many links are given at once, as texts or as rows of hashed words.
    """

    def __init__(
        self,
        terms: Sequence[Sequence[str]],
        weights: Sequence[TermWeights] | None = None,
        settings: LevelSettings | None = None,
    ) -> None:
        """`terms` of each level, from the target up; `weights`: their C-values, all 1 if not given."""
        self.settings = settings or LevelSettings()
        lists = _term_lists(terms, weights)
        self.terms = tuple(tuple(level) for level in lists)
        self.weights: tuple[Floats, ...] = tuple(np.array(list(level.values()), np.float32) for level in lists)
        self._sizes = _checked_sizes([len(level) for level in lists])
        self.count = len(self._sizes)  # n
        self._all = [term for level in self.terms for term in level]
        self._weights = np.concatenate(self.weights).astype(np.float64)  # of all terms; so are the next three
        self._levels = np.repeat(np.arange(self.count), self._sizes)  # from 0
        self._model = Incidence.of(self._all)
        self.boundaries = self._boundaries()  # (n,), inf for a level without terms

    @property
    def outside(self) -> int:
        """n + 1"""
        return self.count + 1

    def content_scores(self, anchors: Texts) -> Reals:
        """content(a, i), (anchors, n)"""
        given = Profiles.of(anchors)
        pairs = self._model.similar(given)
        cells = pairs.texts * self.count + self._levels[pairs.terms]
        summed = np.bincount(cells, self._by_term(pairs), len(given) * self.count)
        scores: Reals = summed.reshape(-1, self.count) / np.maximum(self._sizes, 1)
        return scores

    def content_levels(self, anchors: Texts) -> Ids:
        return self._nearest(self.content_scores(anchors))

    def context_scores(self, lefts: Texts, rights: Texts) -> Reals:
        """context(l, r, i), (links, n). Only the nearest k words left and right of a link count."""
        windows = self._windows(lefts, rights)
        runs = self._model.promising(windows)
        pairs = self._model.similar_runs(windows, runs)
        best = self._highest(pairs, self._by_term(pairs), len(runs.starts))
        scores = np.zeros((len(lefts), self.count))
        np.maximum.at(scores, runs.windows % max(len(lefts), 1), best[runs.which])
        return scores

    def context_levels(self, lefts: Texts, rights: Texts) -> Ids:
        return self._nearest(self.context_scores(lefts, rights))

    def page_scores(self, terms: Sequence[str], weights: TermWeights | None = None) -> Reals:
        """page(d, i), (n,)"""
        return self._page(Profiles.of(terms), weights)

    def page_level(self, terms: Sequence[str], weights: TermWeights | None = None) -> int:
        return self.page_place(terms, weights).level

    def page_place(self, terms: Sequence[str], weights: TermWeights | None = None) -> PagePlace:
        scores = self._page(Profiles.of(terms), weights)
        level = self._bounded(scores)
        if level == 1 and not self._has_parents(scores):
            level = self._bounded(np.concatenate(([0.0], scores[1:])))
        return PagePlace(level, float(scores[0]))

    # ---- why: the words behind a score, strongest first -------------------------------------------------------------

    def content_matches(self, anchor: str) -> list[TermMatch]:
        pairs = self._model.similar(Profiles.of([anchor]))
        return self._matches([anchor], pairs, self._by_term(pairs))

    def context_matches(self, left: str, right: str) -> list[TermMatch]:
        windows = self._windows([left], [right])
        spoken = words(left)[-self.settings.context :] + words(right)[: self.settings.context]
        runs = self._model.promising(windows)
        pairs = self._model.similar_runs(windows, runs)
        ends = zip(runs.starts.tolist(), (runs.starts + runs.lengths).tolist(), strict=True)
        return self._matches([" ".join(spoken[start:end]) for start, end in ends], pairs, self._by_term(pairs))

    def page_matches(self, terms: Sequence[str], weights: TermWeights | None = None) -> list[TermMatch]:
        given = Profiles.of(terms)
        pairs = self._model.similar(given)
        return self._matches(terms, pairs, self._by_both(pairs, self._own(weights, given)))

    def _matches(self, texts: Sequence[str], pairs: SimilarPairs, values: Reals) -> list[TermMatch]:
        found = zip(pairs.texts.tolist(), pairs.terms.tolist(), values.tolist(), strict=True)
        made = [TermMatch(texts[s], self._all[t], int(self._levels[t]) + 1, value) for s, t, value in found]
        return sorted(dict.fromkeys(made), key=lambda match: (-match.value, match.level, match.term, match.text))

    # ---- keeping ----------------------------------------------------------------------------------------------------

    def parts(self) -> Parts:
        terms = [list(level) for level in self.terms]
        return {"terms": terms, "weights": np.concatenate(self.weights), "feature_version": FEATURE_VERSION}

    @classmethod
    def from_parts(cls, parts: Parts, settings: LevelSettings | None = None) -> Self:
        if int(parts["feature_version"]) != FEATURE_VERSION:
            told = f"version {int(parts['feature_version'])}, this program has version {FEATURE_VERSION}"
            raise ForagerError(f"the terms of this topic path are of {told}: make them again")
        terms, weights = parts["terms"], np.asarray(parts["weights"], np.float32)
        ends = np.cumsum([len(level) for level in terms])
        if not len(ends) or ends[-1] != len(weights):
            raise ForagerError("the parts of this topic path do not fit together: make its terms again")
        return cls(terms, np.split(weights, ends[:-1]), settings)

    # ---- steps ------------------------------------------------------------------------------------------------------

    def _windows(self, lefts: Texts, rights: Texts) -> Ragged:
        """The k words left of each link, then the k words right of each."""
        if len(lefts) != len(rights):
            raise ValueError(f"{len(lefts)} links have a left side and {len(rights)} a right one")
        k = self.settings.context
        return Ragged.concat([last_words(hashed(lefts), k), first_words(hashed(rights), k)])

    def _by_term(self, pairs: SimilarPairs) -> Reals:
        """LS, or C_t LS if weighted."""
        return pairs.values * self._weights[pairs.terms] if self.settings.weighted else pairs.values

    def _by_both(self, pairs: SimilarPairs, own: Reals) -> Reals:
        """LS, or (C_p + C_t) / 2 LS if weighted."""
        mean = (own[pairs.texts] + self._weights[pairs.terms]) / 2 if self.settings.weighted else 1.0
        return pairs.values * mean

    def _own(self, weights: TermWeights | None, given: Profiles) -> Reals:
        """C_p of each term of a page."""
        own = np.ones(len(given)) if weights is None else np.asarray(weights, np.float64)
        if len(own) != len(given):
            raise ForagerError(f"a page has {len(given)} terms and {len(own)} weights: give one for each term")
        return own

    def _highest(self, pairs: SimilarPairs, values: Reals, texts: int) -> Reals:
        """(texts, n): the highest value that each text has at each level."""
        highest = np.zeros(texts * self.count)
        np.maximum.at(highest, pairs.texts * self.count + self._levels[pairs.terms], values)
        return highest.reshape(texts, self.count)

    def _page(self, given: Profiles, weights: TermWeights | None) -> Reals:
        pairs = self._model.similar(given)
        values = self._by_both(pairs, self._own(weights, given))
        highest = self._highest(pairs, values, len(given))
        scores: Reals = highest.sum(axis=0) / max(int(np.count_nonzero(given.sizes)), 1)
        return scores

    def _boundaries(self) -> Reals:
        pairs = self._model.similar(self._model.terms)
        highest = self._highest(pairs, self._by_both(pairs, self._weights), len(self._all))
        scores = np.zeros((self.count, self.count))  # page(level j, i)
        np.add.at(scores, self._levels, highest)
        scores /= np.maximum(self._sizes, 1)[:, None]
        np.fill_diagonal(scores, 0.0)
        mean = scores.sum(axis=0) / (np.count_nonzero(self._sizes) - 1)
        return np.where(self._sizes > 0, mean, np.inf)

    def _nearest(self, scores: Reals) -> Ids:
        """For each text the first level with the highest score; if no score counts, it is outside."""
        bounded = self.settings.bounded_texts
        counted = np.where(scores >= self.boundaries - CLOSE, scores, 0.0) if bounded else scores
        fits = (counted > 0) & (counted >= counted.max(axis=1, keepdims=True) - CLOSE)
        return np.where(fits.any(axis=1), fits.argmax(axis=1) + 1, self.outside + bounded).astype(np.int32)

    def _bounded(self, scores: Reals) -> int:
        reached = scores >= self.boundaries - CLOSE
        top = scores.max() if self.settings.strict else scores.max(initial=0.0, where=reached)
        fits = reached & (scores > 0) & (scores >= top - CLOSE)
        return int(fits.argmax()) + 1 if fits.any() else self.outside

    def _has_parents(self, scores: Reals) -> bool:
        share, above = self.settings.parent_share, np.flatnonzero(self._sizes[1:]) + 1
        reached = (scores[above] > 0) & (scores[above] >= share * self.boundaries[above] - CLOSE)
        return not share or bool(reached.all())


def _term_lists(terms: Sequence[Sequence[str]], weights: Sequence[TermWeights] | None) -> list[dict[str, float]]:
    """For each level its distinct terms, spelt as they were given first, each with its largest weight."""
    given = [np.ones(len(level), np.float32) for level in terms] if weights is None else weights
    if len(given) != len(terms):
        raise ForagerError(f"a topic path has {len(terms)} levels, and weights for {len(given)}: give weights for each")
    return [_distinct(number, *level) for number, level in enumerate(zip(terms, given, strict=True), 1)]


def _distinct(number: int, terms: Sequence[str], weights: TermWeights) -> dict[str, float]:
    known = np.asarray(weights, np.float32)
    if len(known) != len(terms):
        raise ForagerError(f"level {number} has {len(terms)} terms and {len(known)} weights: give one for each term")
    if not (np.isfinite(known) & (known >= 0)).all():
        raise ForagerError(f"level {number} has a weight that is negative or no number: give C-values of 0 or more")
    spelt: dict[bytes, str] = {}
    largest: dict[str, float] = {}
    profiles = Profiles.of(terms)
    for row, (term, weight) in enumerate(zip(terms, known.tolist(), strict=True)):
        if profiles.sizes[row]:
            name = spelt.setdefault(profiles.words[row].tobytes(), term)
            largest[name] = max(weight, largest.get(name, 0.0))
    return largest


def _checked_sizes(sizes: Sequence[int]) -> Places:
    """The number of terms of each level, up to the highest that has any. The target and another level need some."""
    having = [number for number, size in enumerate(sizes, 1) if size]
    if not having:
        raise ForagerError("no level of this topic path has terms: give example pages with text for each level")
    if len(sizes) == 1:
        raise ForagerError("a topic path of one level has no other to compare with: name the topics above it too")
    if having[0] != 1:
        raise ForagerError("level 1 of this topic path, the target, has no terms: give example pages with text for it")
    if len(having) == 1:
        raise ForagerError("only the target of this topic path has terms: give example pages for a level above it")
    return np.array(sizes[: having[-1]], np.int64)
