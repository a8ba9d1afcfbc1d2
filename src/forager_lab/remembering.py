"""Critics that say the same of a page they have seen as they did before, without looking again.

The crawls of a trial share a critic and meet the same pages over and over, and to find the terms of a page takes three
times as long as all the rest of a visit. A page is known by its URL: this is for webs that do not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from forager.learn.lexical.cvalue import TermList
from forager.learn.lexical.levels import TopicLevels
from forager.strategies.lexical.links import HasLevels
from forager.types import Critic, Judgement, Page, Url

MOST = 3_000  # pages remembered, some 30 KB each where their terms are

Said = TypeVar("Said")


class Remembering:
    """As a critic says it."""

    def __init__(self, critic: Critic) -> None:
        self._critic = critic
        self._judgements: dict[Url, Judgement] = {}

    @property
    def classes(self) -> tuple[str, ...]:
        return self._critic.classes

    @property
    def focus(self) -> tuple[str, ...]:
        return self._critic.focus

    @property
    def version(self) -> str:
        return self._critic.version

    def fit(self, pages: Iterable[Page], labels: Iterable[str]) -> None:
        raise TypeError("crawls share this critic: teach it before they begin")

    def judge(self, pages: Sequence[Page]) -> list[Judgement]:
        return [_recall(self._judgements, page, self._judged) for page in pages]

    def _judged(self, page: Page) -> Judgement:
        return self._critic.judge([page])[0]


class RememberingLevels(Remembering):
    """The same of a critic that goes by levels."""

    def __init__(self, critic: Critic, levels: HasLevels) -> None:
        super().__init__(critic)
        self._source = levels
        self._terms: dict[Url, TermList] = {}

    @property
    def levels(self) -> TopicLevels:
        return self._source.levels

    def terms_of(self, page: Page) -> TermList:
        return _recall(self._terms, page, self._source.terms_of)


def remembering(critic: Critic) -> Critic:
    return RememberingLevels(critic, critic) if isinstance(critic, HasLevels) else Remembering(critic)


def _recall(said: dict[Url, Said], page: Page, ask: Callable[[Page], Said]) -> Said:
    """What was said of the page; if it is new, ask, and forget what was said first if that is too much."""
    known = said.get(page.url)
    if known is None:
        if len(said) >= MOST:
            del said[next(iter(said))]
        known = said[page.url] = ask(page)
    return known
