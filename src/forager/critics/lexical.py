"""On which level of a topic path is this page? Terms of a few example pages a level stand for it.

The topic is a directory path: level 1 is the target, 2 its parent, …; n is the highest level that has terms. With the
page level of `forager.learn.lexical.levels`, n + 1 where the page fits nowhere,

    relevance(u) = (n - level(u) + s(u) / (1 + s(u))) / n        0 where it fits nowhere

s(u) being the page score at level 1, so that pages of one level are told apart (ours); or, where `counts` is "levels",
(n + 1 - level(u)) / n; or, where it is "target", 1 at level 1 and 0 elsewhere, as the thesis counts.

topics is 1 for that level's topic and 0 for all others.

A page labelled with the target, or below it, is an example of level 1; one labelled with a topic above it, or with its
Other (`forager.topics.directory`), an example of that topic's level. A level's list is the union of the terms of its
examples, of which the strongest are kept; a term's C-value is the largest that it has in one of them
(`forager.learn.lexical.cvalue`).
Weighed by rarity (`idf`), C-values are multiplied with it, in pages to be judged as in examples; the sample is the
pages shown, whatever their labels.
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
from forager.learn.lexical.levels import Place, Settings, TopicLevels
from forager.learn.lexical.phrases import Candidates
from forager.types import Judgement, Page, Parts, Region

OTHER = "other"
OWN = ".Other"  # under a topic of a directory: pages of that very topic, not of one below it
TOP = "Top"  # the level above a path, where there is one: all that is in no other
MOST, PAGES = 160, 100  # terms a level, and examples of a level that are read
SHARED = 2  # pages of the sample that must have a term for its rarity to be known
SHOWN = 20  # matches that explain a level


class PageTerms:
    """Finds the terms of a page. The last page is remembered, because critic and strategy see it in turn."""

    def __init__(self, mode: Mode, rarity: Rarity | None = None, *, navigation: bool = True) -> None:
        """`navigation`: menus and footers are read too."""
        self.mode, self.rarity, self.navigation = mode, rarity, navigation
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
        return rank(candidates, self.mode, self.rarity)


class _Few:
    """The candidates of at most so many pages, those whose URLs have the smallest hashes: whatever order they come in,
    the same sample, and a fair one."""

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


class Lexical(Combines):
    """Of several topics in focus, one above the other, the deepest is the target."""

    def __init__(
        self,
        *,
        focus: Sequence[str],
        mode: Literal["all", "thesis"] = "all",
        weighted: bool = False,
        terms: int = MOST,
        parent_terms: int = 0,
        pages: int = PAGES,
        idf: bool = False,
        strict: bool = True,
        above: Literal["exact", "below", "all"] = "exact",
        counts: Literal["finer", "levels", "target"] = "finer",
        navigation: bool = True,
    ) -> None:
        self.target = _target((focus,) if isinstance(focus, str) else tuple(focus))
        self.focus = (self.target,)
        if terms < 1 or pages < 1:
            raise ForagerError(f"lexical: {terms} terms of {pages} pages a level: give 1 or more of both")
        self.settings = Settings(weighted=weighted, strict=strict, parent_terms=parent_terms)
        self.mode, self.most, self.pages, self.idf = Mode(mode), terms, pages, idf
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
        """How many pages each level was taught with."""
        return self._known("ask for its examples").examples

    @property
    def ignored(self) -> int:
        """How many pages it was shown that are of no level."""
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
        """From 1 to n, or n + 1 where it fits nowhere."""
        return self._place(page).level

    def _place(self, page: Page) -> Place:
        found = self.terms_of(page)
        return self.levels.page_place(found.terms, found.weights)

    # ---- learning

    def fit(self, pages: Iterable[Page], labels: Iterable[str]) -> None:
        """Learn from these pages and nothing else. Each is looked at once and not kept."""
        reader = PageTerms(self.mode, navigation=self.navigation)
        *taught, rest = [_Few(self.pages) for _ in self.path] + [_Few(self.pages if self.idf else 0)]
        for page, label in zip(pages, labels, strict=True):
            level = self._level_taught(label)
            (rest if level is None else taught[level]).offer(page, reader)
        if not taught[0].seen:
            none = f"none of {rest.seen + sum(few.seen for few in taught)} pages is labelled with it or below it"
            raise ForagerError(f"no example of {self.target}: {none}; give at least one")
        reader = PageTerms(self.mode, _rarity([*taught, rest]) if self.idf else None, navigation=self.navigation)
        lists = [TermList.union(map(reader.ranked, few)).top(self.most) for few in taught]
        self._keep(lists, reader, [few.seen for few in taught], rest.seen)

    def _level_taught(self, label: str) -> int | None:
        """Of which level a page so labelled is an example, from 0."""
        label = label.removesuffix(OWN)
        if below(label, self.target):
            return 0
        if self.above == "exact":
            return self.path.index(label) if label in self.path else None
        return next((level for level, topic in enumerate(self.path) if topic == TOP or below(label, topic)), None)

    def _keep(self, lists: Sequence[TermList], terms: PageTerms, examples: Sequence[int], ignored: int) -> None:
        levels = TopicLevels([each.terms for each in lists], [each.weights for each in lists], self.settings)
        classes = (*self.path[: levels.count], OTHER)
        said = (levels.terms, [each.tolist() for each in levels.weights], self.settings, classes, self.counts)
        rarity = sorted(terms.rarity.df.items()) if terms.rarity else None
        content = xxhash.xxh3_64_intdigest(repr((*said, terms.mode, terms.navigation, rarity)).encode())
        version = f"lexical-{content & 0xFFFFFFFF:08x}"
        self._fitted = _Fitted(levels, terms, tuple(examples), ignored, classes, version)

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

    def _relevance(self, place: Place) -> float:
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
            "examples": list(fitted.examples),
            "ignored": fitted.ignored,
            "sample": rarity.documents if rarity else -1,  # no rarity
            "common": list(rarity.df) if rarity else [],
            "df": np.array(list(rarity.df.values()) if rarity else [], np.int32),
        }

    def from_parts(self, parts: Parts) -> Self:
        """Terms are found as they were when it was taught, whatever `mode` and `idf` say now."""
        self._check(parts)
        other, levels = copy(self), TopicLevels.from_parts(parts, self.settings)
        lists = [TermList(terms, weights) for terms, weights in zip(levels.terms, levels.weights, strict=True)]
        common = dict(zip(parts["common"], np.asarray(parts["df"]).tolist(), strict=True))
        rarity = Rarity(int(parts["sample"]), common) if parts["sample"] >= 0 else None
        terms = PageTerms(Mode(parts["mode"]), rarity, navigation=self.navigation)
        other._keep(lists, terms, parts["examples"], int(parts["ignored"]))
        return other

    def merge(self, parts: Sequence[Parts]) -> Parts:
        """What is learnt from the examples of all of them. With `idf` nearly so: each has weighed by its own sample."""
        each = [self.from_parts(part)._known("merge") for part in parts]
        whole, first = copy(self), each[0].terms
        rarity = _together([one.terms.rarity for one in each if one.terms.rarity])
        terms = PageTerms(first.mode, rarity, navigation=self.navigation)
        whole._keep(
            [TermList.union(lists).top(self.most) for lists in zip(*map(_lists, each), strict=True)],
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


def _without_navigation(page: Page) -> Page:
    aside = np.isin(page.regions, (Region.NAVIGATION, Region.FOOTER)).tolist()
    return replace(page, leaves=tuple("" if away else leaf for leaf, away in zip(page.leaves, aside, strict=True)))


def _rarity(sample: Iterable[Iterable[Candidates]]) -> Rarity:
    """What only one page has is taken for as rare as what none has: there is too much of it to keep."""
    rarity = Rarity.of(chain.from_iterable(sample))
    return Rarity(rarity.documents, {term: pages for term, pages in rarity.df.items() if pages >= SHARED})


def _lists(fitted: _Fitted) -> list[TermList]:
    return [TermList(*level) for level in zip(fitted.levels.terms, fitted.levels.weights, strict=True)]


def _together(rarities: Sequence[Rarity]) -> Rarity | None:
    df = Counter[str]()
    for each in rarities:
        df.update(each.df)
    return Rarity(sum(each.documents for each in rarities), df) if rarities else None
