"""On which level of a topic path a page is: for a narrow topic with a few examples of each level.

Each level is known by the terms of its example pages.

The topic is a directory path: level 1 is the target, 2 its parent, …; n is the highest level that has terms. level(u)
is the page level of `forager.learn.lexical.levels`, n + 1 if the page fits no level; s(u) is its score at level 1.

    relevance(u) = (n - level(u) + s(u) / (1 + s(u))) / n        counts = "finer": pages of one level differ (ours)
                   (n + 1 - level(u)) / n                        counts = "levels"
                   1 at level 1, 0 elsewhere                     counts = "target", as in the thesis

It is 0 for a page that fits no level. `topics` is 1 for the topic of the page's level and 0 for all others.

A page that is labelled with the target, or below it, is an example of level 1. A page that is labelled with a topic
above the target, or with the Other of that topic (`forager.topics.directory`), is an example of that topic's level. The
list of a level is the union of the terms of its examples; the strongest terms are kept. The C-value of a term is the
largest that it has in an example (`forager.learn.lexical.cvalue`). With `idf`, C-values are multiplied by rarity, in
examples and in pages to be judged; the sample for it is all training pages, whatever their labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from heapq import heappush, heapreplace
from itertools import chain
from typing import Literal, Self

import numpy as np
import xxhash

from forager.critics.combine import Combines
from forager.errors import ForagerError
from forager.learn.focus import below
from forager.learn.lexical.cvalue import Mode, Rarity, TermList, candidates_of, rank
from forager.learn.lexical.levels import LevelSettings, PagePlace, TopicLevels
from forager.learn.lexical.phrases import Candidates
from forager.types import Judgement, Page, Parts, Region

OTHER = "other"
OWN = ".Other"  # below a topic of a directory: pages of that topic itself, not of one below it
TOP = "Top"  # the level above a path, if there is one: all pages of no other level
MOST, PAGES = 160, 100  # terms of a level, and examples of a level that are read
SHARED = 2  # so many pages of the sample must have a term, or its rarity is not kept
SHOWN = 20  # matches that explain a level


class PageTerms:
    """Finds the terms of a page. The last page is remembered, because critic and strategy see it in turn."""

    def __init__(
        self, mode: Mode, rarity: Rarity | None = None, *, least: float = 0.0, navigation: bool = True
    ) -> None:
        """`least`: the cut-off on C. `navigation`: read menus and footers too."""
        self.mode, self.rarity, self.least, self.navigation = mode, rarity, least, navigation
        self._last: tuple[Page | None, TermList] = (None, TermList.of({}))

    def __call__(self, page: Page) -> TermList:
        known, terms = self._last
        if known is not page:
            terms = self.ranked(self.candidates(page))
            self._last = page, terms
        return terms

    def candidates(self, page: Page) -> Candidates:
        return candidates_of(page if self.navigation else _without_navigation(page), self.mode)

    def ranked(self, candidates: Candidates) -> TermList:
        return rank(candidates, self.mode, self.rarity, least=self.least)


class _CandidateSample:
    """The candidates of at most `most` pages: those whose URLs have the smallest hashes. The sample does not depend on
    the order of the pages."""

    def __init__(self, most: int) -> None:
        self._most, self.seen = most, 0
        self._held: list[tuple[int, int, Candidates]] = []  # a heap, the largest hash on top

    def offer(self, page: Page, reader: PageTerms) -> None:
        self.seen += 1
        key = -xxhash.xxh3_64_intdigest(page.url.encode())
        if len(self._held) < self._most:
            heappush(self._held, (key, self.seen, reader.candidates(page)))
        elif self._held and key > self._held[0][0]:
            heapreplace(self._held, (key, self.seen, reader.candidates(page)))

    def __iter__(self) -> Iterator[Candidates]:
        return (candidates for _, _, candidates in self._held)


@dataclass(frozen=True, slots=True, eq=False)
class _Fitted:
    levels: TopicLevels
    terms: PageTerms
    examples: tuple[int, ...]  # of each level
    ignored: int  # pages of no level
    classes: tuple[str, ...]
    version: str


class LexicalCritic(Combines):
    """The target is the topic in focus. If several are in focus, one must be below all others: that is the target."""

    def __init__(
        self,
        *,
        focus: Sequence[str],
        mode: Literal["all", "thesis"] = "all",
        weighted: bool = False,
        terms: int = MOST,
        least_c: float = 0.0,
        parent_share: float = 0.0,
        pages: int = PAGES,
        idf: bool = False,
        strict: bool = True,
        above: Literal["exact", "below", "all"] = "exact",
        counts: Literal["finer", "levels", "target"] = "finer",
        navigation: bool = True,
    ) -> None:
        self.target = _target((focus,) if isinstance(focus, str) else tuple(focus))
        self.focus = (self.target,)
        if terms < 0 or pages < 1:
            raise ForagerError(f"lexical: {terms} terms of {pages} pages a level: give 1 or more of both, or terms = 0")
        if not 0 <= least_c < np.inf:
            raise ForagerError(f"lexical: least_c is {least_c}: give 0 for no cut-off, or more")
        self.settings = LevelSettings(weighted=weighted, strict=strict, parent_share=parent_share)
        self.mode, self.most, self.least_c, self.pages, self.idf = Mode(mode), terms, least_c, pages, idf
        self.above, self.counts, self.navigation = above, counts, navigation
        self._fitted: _Fitted | None = None

    @property
    def path(self) -> tuple[str, ...]:
        """The topics of the levels, from the target up."""
        parts = self.target.split(".")
        named = tuple(".".join(parts[:length]) for length in range(len(parts), 0, -1))
        return (*named, TOP) if self.above == "all" else named

    @property
    def levels(self) -> TopicLevels:
        return self._known("ask for its levels").levels

    @property
    def examples(self) -> tuple[int, ...]:
        """How many example pages each level had."""
        return self._known("ask for its examples").examples

    @property
    def ignored(self) -> int:
        """How many training pages are of no level."""
        return self._known("ask what it ignored").ignored

    @property
    def classes(self) -> tuple[str, ...]:
        return self._fitted.classes if self._fitted else ()

    @property
    def version(self) -> str:
        return self._fitted.version if self._fitted else "lexical-untrained"

    def terms_of(self, page: Page) -> TermList:
        return self._known("ask for terms").terms(page)

    def level_of(self, page: Page) -> int:
        """From 1 to n, or n + 1 if the page fits no level."""
        return self._place(page).level

    def _place(self, page: Page) -> PagePlace:
        found = self.terms_of(page)
        return self.levels.page_place(found.terms, found.weights)

    # ---- learning

    def fit(self, pages: Iterable[Page], labels: Iterable[str]) -> None:
        """Learn from these pages and nothing else. Each page is read once and not kept."""
        reader = self._reader(self.mode, self.least_c)
        taught, rest = (
            [_CandidateSample(self.pages) for _ in self.path],
            _CandidateSample(self.pages if self.idf else 0),
        )
        for page, label in zip(pages, labels, strict=True):
            level = self.level_taught(label)
            (rest if level is None else taught[level]).offer(page, reader)
        if not taught[0].seen:
            none = f"none of {rest.seen + sum(sample.seen for sample in taught)} pages is labelled with it or below it"
            raise ForagerError(f"no example of {self.target}: {none}; give at least one")
        reader = self._reader(self.mode, self.least_c, _rarity([*taught, rest]) if self.idf else None)
        lists = [TermList.union(map(reader.ranked, sample)).top(self.most or None) for sample in taught]
        self._keep(lists, reader, [sample.seen for sample in taught], rest.seen)

    def level_taught(self, label: str) -> int | None:
        """The level, from 0, of which a page with this label is an example; None: of no level."""
        label = label.removesuffix(OWN)
        if below(label, self.target):
            return 0
        if self.above == "exact":
            return self.path.index(label) if label in self.path else None
        return next((level for level, topic in enumerate(self.path) if topic == TOP or below(label, topic)), None)

    def _reader(self, mode: Mode, least: float, rarity: Rarity | None = None) -> PageTerms:
        return PageTerms(mode, rarity, least=least, navigation=self.navigation)

    def _keep(self, lists: Sequence[TermList], terms: PageTerms, examples: Sequence[int], ignored: int) -> None:
        levels = TopicLevels([each.terms for each in lists], [each.weights for each in lists], self.settings)
        classes = (*self.path[: levels.count], OTHER)
        self._fitted = _Fitted(levels, terms, tuple(examples), ignored, classes, self._version(levels, terms, classes))

    def _version(self, levels: TopicLevels, terms: PageTerms, classes: tuple[str, ...]) -> str:
        rarity = sorted(terms.rarity.df.items()) if terms.rarity else None
        lists = levels.terms, [each.tolist() for each in levels.weights]
        others = (classes, self.counts, terms.mode, terms.navigation, rarity, *((terms.least,) if terms.least else ()))
        content = f"({', '.join([*map(repr, lists), _told(self.settings), *map(repr, others)])})"
        return f"lexical-{xxhash.xxh3_64_intdigest(content.encode()) & 0xFFFFFFFF:08x}"

    # ---- judging

    def judge(self, pages: Sequence[Page]) -> list[Judgement]:
        version = self._known("judge").version
        return [self._judged(page, version) for page in pages]

    def _judged(self, page: Page, version: str) -> Judgement:
        place = self._place(page)
        relevance = self._relevance(place)
        topics = np.zeros(self.levels.count + 1, np.float32)
        topics[place.level - 1] = 1
        return Judgement(relevance, relevance, topics, version)

    def _relevance(self, place: PagePlace) -> float:
        n = self.levels.count
        if self.counts == "target":
            return float(place.level == 1)
        return (n + 1 - place.level) / n if self.counts == "levels" else max(0.0, n - place.finer) / n

    def explain(self, page: Page) -> list[tuple[str, float]]:
        """The terms of the page that are most like those of its level."""
        found, level = self.terms_of(page), self.level_of(page)
        note = [] if found.spoken else [("not in English, or a list of names: taken word by word", 0.0)]
        if level > self.levels.count:
            return [*note, ("at no level", 0.0)]
        matches = (each for each in self.levels.page_matches(found.terms, found.weights) if each.level == level)
        topic = self.classes[level - 1]
        told = [(f"level {level}, {topic}: {each.text!r} like {each.term!r}", each.value) for each in matches]
        return [*note, *told[:SHOWN]]

    # ---- keeping

    def parts(self) -> Parts:
        fitted = self._known("save it")
        rarity = fitted.terms.rarity
        return {
            **fitted.levels.parts(),
            "focus": [self.target],
            "path": list(self.path),
            "mode": str(fitted.terms.mode),
            "least_c": fitted.terms.least,
            "examples": list(fitted.examples),
            "ignored": fitted.ignored,
            "sample": rarity.documents if rarity else -1,  # no rarity
            "common": list(rarity.df) if rarity else [],
            "df": np.array(list(rarity.df.values()) if rarity else [], np.int32),
        }

    def from_parts(self, parts: Parts) -> Self:
        """Terms are found as when it was trained, whatever `mode`, `least_c` and `idf` say now."""
        self._check(parts)
        other, levels = copy(self), TopicLevels.from_parts(parts, self.settings)
        lists = [TermList(terms, weights) for terms, weights in zip(levels.terms, levels.weights, strict=True)]
        common = dict(zip(parts["common"], np.asarray(parts["df"]).tolist(), strict=True))
        rarity = Rarity(int(parts["sample"]), common) if parts["sample"] >= 0 else None
        terms = self._reader(Mode(parts["mode"]), float(parts.get("least_c", 0)), rarity)  # older parts have none
        other._keep(lists, terms, parts["examples"], int(parts["ignored"]))
        return other

    def merge(self, parts: Sequence[Parts]) -> Parts:
        """What is learnt from the examples of all parts. With `idf` only nearly: each part has used a sample of its
        own."""
        each = [self.from_parts(part)._known("merge") for part in parts]
        whole, first = copy(self), each[0].terms
        rarity = _joined([one.terms.rarity for one in each if one.terms.rarity])
        terms = self._reader(first.mode, first.least, rarity)
        whole._keep(
            [TermList.union(lists).top(self.most or None) for lists in zip(*map(_lists, each), strict=True)],
            terms,
            [sum(counts) for counts in zip(*(one.examples for one in each), strict=True)],
            sum(one.ignored for one in each),
        )
        return whole.parts()

    def _check(self, parts: Parts) -> None:
        if list(parts["path"]) != list(self.path):
            told = f"levels {' < '.join(parts['path'])}, wanted are {' < '.join(self.path)}"
            raise ForagerError(f"this lexical model has the {told}: fit it again, or give the focus it has")

    def _known(self, what: str) -> _Fitted:
        if self._fitted is None:
            told = f"fit it on labelled pages before you {what}, or load a model"
            raise ForagerError(f"this lexical critic knows nothing yet: {told}")
        return self._fitted


def _target(focus: Sequence[str]) -> str:
    if not focus:
        raise ForagerError("lexical without a focus: name the topic that is wanted by its path, as in Science.Biology")
    deepest = max(focus, key=lambda topic: topic.count("."))
    if aside := [topic for topic in focus if not below(deepest, topic)]:
        raise ForagerError(f"lexical follows one path, and {aside[0]} is not above {deepest}: give one of the two")
    return deepest


def _told(settings: LevelSettings) -> str:
    """The settings as earlier versions wrote them, so that hashes stay; newer ones are told if they are on."""
    known = f"weighted={settings.weighted}, context={settings.context}, strict={settings.strict}, parent_terms=0"
    return f"Settings({known}{f', parent_share={settings.parent_share}' if settings.parent_share else ''})"


def _without_navigation(page: Page) -> Page:
    around = np.isin(page.regions, (Region.NAVIGATION, Region.FOOTER)).tolist()
    return replace(page, leaves=tuple("" if away else leaf for leaf, away in zip(page.leaves, around, strict=True)))


def _rarity(sample: Iterable[Iterable[Candidates]]) -> Rarity:
    """A term of a single page is taken for as rare as a term of no page: there are too many of them to keep."""
    rarity = Rarity.of(chain.from_iterable(sample))
    return Rarity(rarity.documents, {term: pages for term, pages in rarity.df.items() if pages >= SHARED})


def _lists(fitted: _Fitted) -> list[TermList]:
    return [TermList(*level) for level in zip(fitted.levels.terms, fitted.levels.weights, strict=True)]


def _joined(rarities: Sequence[Rarity]) -> Rarity | None:
    df = Counter[str]()
    for each in rarities:
        df.update(each.df)
    return Rarity(sum(each.documents for each in rarities), df) if rarities else None
