"""Links by the levels of a topic path: the crawler of a thesis on lexical profiles of web directories.

The topic is a directory path, level 1 its target; a critic has the terms of each level. A link's context, content and
page have a level each (`lexical_links`), and it scores

    - context * content * page        or        - (a context + b content + c page)

ties in order of discovery. The thesis does not say what becomes of a link found again; here it takes its best score.

Ours: links near others that have paid have their link score times 1 - `proximity` x, also if that turns out later
(`lexical_learning`). Ours and off unless asked for: links in menus and footers, times `navigation`; pages of one level
told apart (`finer`); terms that led to good pages weigh more, by `reward`. The thesis' own is `proximity = 0`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Literal, Self

import numpy as np

from forager.errors import ForagerError
from forager.learn.chains.rows import Reals
from forager.learn.lexical.levels import LevelSettings, LinkTexts
from forager.strategies.lexical.learning import Lifts, Outcomes, Places, clues, keys_of, words_of
from forager.strategies.lexical.links import FEATURES, LEARNT, Form, LinkLevels, LinkScore
from forager.types import (
    Combine,
    Critic,
    Evidence,
    Floats,
    Graph,
    Miss,
    Page,
    Parts,
    Policy,
    Region,
    ScoredLinks,
    Visit,
    Waiting,
    WaitingBatch,
)


class Lexical:
    """state = the three levels of a link"""

    def __init__(self, links: LinkLevels, form: LinkScore, combine: Combine, navigation: float) -> None:
        self.links, self.form, self.combine, self.navigation = links, form, combine, navigation

    def score(self, visit: Visit) -> ScoredLinks:
        levels = self.links(visit)
        return ScoredLinks(-self.link_scores(visit, levels), state=levels)

    def link_scores(self, visit: Visit, levels: Floats) -> Floats:
        """The lower the sooner."""
        aside = np.isin(visit.page.regions[visit.links.first_leaf], (Region.NAVIGATION, Region.FOOTER))
        return np.where(aside, np.float32(self.navigation), np.float32(1)) * self.form(levels)

    def page_level(self, page: Page) -> int:
        """As the third feature has it."""
        return self.links.page(page)

    def explain(self, visit: Visit, link: int) -> list[tuple[str, float]]:
        return self.links.explain(visit, link)


class LearningLexical(Lexical):
    """state = the three levels of a link and its score before proximity; clue = its page, its number, anchor words"""

    alone = True  # a link's new score needs nothing but its own row

    def __init__(self, thesis: Lexical, *, proximity: float, near: int, reward: float, every: int) -> None:
        super().__init__(thesis.links, thesis.form, thesis.combine, thesis.navigation)
        self.proximity, self.near, self.reward, self.every = proximity, near, reward, every
        self._places, self._lifts = Places(), Lifts(thesis.links.words, reward)
        self._pages = 0  # since terms were weighed

    def observe(self, outcome: Visit | Miss, evidence: Evidence) -> None:
        self._places.learn(keys_of(evidence.clues), evidence.relevance)
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
        paid = Outcomes.of(known, visit.known.relevance[known]).near(keys, self.near)
        anchors = LinkTexts.of(visit.page, visit.links, 0).anchors
        return ScoredLinks(
            self._nearer(before, paid),
            state=np.column_stack((levels, before)),
            clues=clues(visit.trace.id, anchors, words=bool(self.reward)),
        )

    def rescore(self, waiting: Waiting, graph: Graph) -> Iterator[Floats]:
        outcomes = self._places.outcomes()  # now, not when the first batch is asked for
        return (self._again(outcomes, batch) for batch in waiting)

    def _again(self, outcomes: Outcomes, batch: WaitingBatch) -> Floats:
        keys, scores = keys_of(batch.clues), batch.scores.copy()
        found = np.flatnonzero(keys >= 0)
        if len(found):
            scores[found] = self._nearer(batch.state[found, -1], outcomes.near(keys[found], self.near))
        return scores

    def _nearer(self, before: Floats, paid: Reals) -> Floats:
        return (-before * (1 - self.proximity * paid)).astype(np.float32)

    def parts(self) -> Parts:
        return {**self._places.parts(), **self._lifts.parts(), "pages": self._pages}

    def from_parts(self, parts: Parts) -> Self:
        new = copy(self)
        new._places, new._lifts = Places.from_parts(parts), self._lifts.from_parts(parts)
        new._pages = int(np.asarray(parts["pages"]))
        new.links = new._weighed()
        return new

    def merge(self, parts: Sequence[Parts]) -> Parts:
        """Terms have led for all; places are numbers of one crawl, and begin anew."""
        lifts = self._lifts.merged(parts)
        return {**Places().parts(), **lifts.parts(), "pages": 0}

    def _weighed(self) -> LinkLevels:
        return replace(self.links, words=self._lifts.levels()) if self.reward else self.links


def lexical(
    *,
    critic: Critic,
    features: str = ",".join(FEATURES),
    form: Form = "product",
    a: float = LEARNT[0],
    b: float = LEARNT[1],
    c: float = LEARNT[2],
    weighted: bool | None = None,
    context: int = LevelSettings().context,
    parent_terms: int | None = None,
    finer: bool = False,
    combine: Literal["best", "first", "latest", "mean"] = "best",
    navigation: float = 1.0,
    proximity: float = 1.0,
    near: int = 3,
    reward: float = 0.0,
    every: int = 25,
) -> Lexical:
    """The strategy by its options; one that learns only if it has to."""
    if navigation <= 0 or not 0 <= proximity <= 1 or reward < 0 or near < 1 or every < 1:
        told = "navigation must be above 0, proximity from 0 to 1, reward 0 or more, near and every 1 or more"
        raise ForagerError(f"lexical: {told}")
    score = LinkScore.of(features, form, (a, b, c))
    links = LinkLevels.of(critic, score.features, weighted, context, parent_terms, finer)
    thesis = Lexical(links, score, Combine(Policy(combine)), navigation)
    if not (proximity or reward):
        return thesis
    return LearningLexical(thesis, proximity=proximity, near=near, reward=reward, every=every)
