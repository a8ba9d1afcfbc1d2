"""The levels of links, and the number that is made of them.

A link (u,v) has three levels on a topic path (forager/learn/lexical/levels.py). Each is from 1, the target, to n + 1,
outside the path; with `bounded_texts` a context or content outside is at n + 2:

    context   by the k words either side of its anchor
    content   by its anchor text
    page      by the terms of u, the same for all its links

    product   context * content * page
    sum       a context + b content + c page

The link with the lowest number goes first. Levels may be left out of either form. *Finer* (ours): with s(u) the page
score at level 1, the level of the page is reduced by s(u) / (1 + s(u)). So pages of one level are told apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np

from forager.errors import ForagerError
from forager.learn.lexical.cvalue import TermList
from forager.learn.lexical.levels import LinkTexts, PagePlace, TermMatch, TopicLevels
from forager.types import Critic, Floats, Page, Visit

Form: TypeAlias = Literal["product", "sum"]

FEATURES = ("context", "content", "page")  # columns of a link's levels
LEARNT = (0.627, 0.062, 0.311)  # a, b, c of the thesis
SHOWN = 3  # matches that explain a level
EXACT = 6  # decimals of a sum: a smaller difference comes only from the order of adding


@runtime_checkable
class HasLevels(Protocol):
    """A critic that judges by the levels of a topic path."""

    @property
    def levels(self) -> TopicLevels: ...
    def terms_of(self, page: Page) -> TermList: ...


@dataclass(frozen=True, slots=True)
class LinkScore:
    """Makes one number of the levels of a link."""

    features: tuple[str, ...] = FEATURES
    form: Form = "product"
    weights: tuple[float, float, float] = LEARNT  # a, b, c

    @classmethod
    def of(cls, features: str, form: Form, weights: tuple[float, float, float]) -> Self:
        """`features` as the user writes them: "content,page" or "content+page"."""
        named = tuple(name.strip() for name in features.replace("+", ",").split(","))
        if wrong := [name for name in named if name not in FEATURES]:
            raise ForagerError(f"lexical: no feature {wrong[0]!r}; name one or more of {', '.join(FEATURES)}")
        used = sum(weights[FEATURES.index(name)] for name in named)
        if form == "sum" and not (all(0 <= weight < np.inf for weight in weights) and used > 0):
            raise ForagerError("lexical: a, b and c must be 0 or more, and one that is used above 0")
        return cls(named, form, weights)

    def __call__(self, levels: Floats) -> Floats:
        """From levels (n, 3) to numbers (n,)."""
        used = [FEATURES.index(name) for name in dict.fromkeys(self.features)]
        chosen = levels[:, used].astype(np.float64)
        combined = chosen.prod(axis=1) if self.form == "product" else chosen @ np.array(self.weights)[used]
        return np.asarray(np.round(combined, EXACT), np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class LinkLevels:
    """Finds the three levels of links."""

    critic: HasLevels
    features: tuple[str, ...]  # others are not computed: 0
    path: TopicLevels  # for pages
    words: TopicLevels  # for anchors and the words around them
    finer: bool = False

    @classmethod
    def of(
        cls,
        critic: Critic,
        features: tuple[str, ...],
        settings: Mapping[str, Any],
        finer: bool = False,
    ) -> Self:
        """`settings` change those of the critic, by name; those that are None do not."""
        source = with_levels(critic)
        own = source.levels.settings
        chosen = replace(own, **{name: value for name, value in settings.items() if value is not None})
        same = chosen == own
        path = source.levels if same else TopicLevels(source.levels.terms, source.levels.weights, chosen)
        return cls(source, features, path, path, finer)

    def __call__(self, visit: Visit) -> Floats:
        """The levels of n links, (n, 3)."""
        levels = np.zeros((len(visit.links), len(FEATURES)), np.float32)
        texts = LinkTexts.of(visit.page, visit.links, self.words.settings.context)
        if "context" in self.features:
            levels[:, 0] = self.words.context_levels(texts.lefts, texts.rights)
        if "content" in self.features:
            levels[:, 1] = self.words.content_levels(texts.anchors)
        if "page" in self.features and len(levels):
            place = self._place(visit.page)
            levels[:, 2] = place.finer if self.finer else place.level
        return levels

    def page(self, page: Page) -> int:
        return self._place(page).level

    def _place(self, page: Page) -> PagePlace:
        found = self.critic.terms_of(page)
        return self.path.page_place(found.terms, found.weights)

    def explain(self, visit: Visit, link: int) -> list[tuple[str, float]]:
        """Each level with the terms that speak for it, the strongest first. The values are similarities."""
        page, first, last = visit.page, int(visit.links.first_leaf[link]), int(visit.links.last_leaf[link])
        found = self.critic.terms_of(page)
        around = page.text(0, first - 1), page.text(last + 1, len(page.leaves) - 1)
        matches = {
            "context": self.words.context_matches(*around),
            "content": self.words.content_matches(page.text(first, last)),
            "page": self.path.page_matches(found.terms, found.weights),
        }
        levels = self(visit.take([link]))[0]
        levels = np.ceil(levels).astype(int).tolist()  # also right if `finer`
        names = ("words around it", "anchor", "page" if found.spoken else "page, word by word,")
        told = [
            line
            for feature, name, level in zip(FEATURES, names, levels, strict=True)
            if feature in self.features
            for line in _told(name, level, self.path.outside, matches[feature])
        ]
        return sorted(told, key=lambda line: -line[1])


def with_levels(critic: object) -> HasLevels:
    """The critic itself, or the one inside it, that judges by levels."""
    waiting = [critic]
    while waiting:
        each = waiting.pop(0)
        if isinstance(each, HasLevels):
            return each
        waiting.extend(getattr(each, "critics", ()))
    raise ForagerError(
        'strategy "lexical" goes by the levels of a topic path and this critic has none: set [critic] name = "lexical"'
    )


def _told(name: str, level: int, outside: int, matches: list[TermMatch]) -> list[tuple[str, float]]:
    if level >= outside:
        return [(f"{name} at no level", 0.0)]
    there: dict[str, TermMatch] = {}
    for match in matches:
        if match.level == level:
            there.setdefault(match.term, match)  # the first is the strongest; most others are parts of it
    strongest = list(there.values())[:SHOWN]
    return [(f"{name} at level {level}: {match.text!r} like {match.term!r}", match.value) for match in strongest]
