"""Says yes or no by words, patterns, the URL or the language: for when you have only keywords.

Nothing is learnt, so nothing needs to be fitted. A word of a keyword is worth log-odds of `KEYWORD`, any other nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import xxhash

from forager.critics.combine import RELEVANT, RELEVANT_OR_NOT, Combines, yes_or_no
from forager.errors import ForagerError
from forager.types import Floats, Judgement, Page, Terms
from forager.web.text import terms

KEYWORD = 3.0  # 20 to 1


class Predicate(Combines):
    """A page is relevant if it passes every test that is given.

    keywords: at least `at_least` of these words or phrases occur in its title or text, as whole words, in upper or
        lower case; a phrase must lie within one leaf of the page
    regex: the pattern is found in the title or text (each leaf is a line)
    url: the pattern is found in the URL
    language: the page declares this language; "en" stands for "en-GB" too
    graded: the relevance is the share of the keywords that occur, not just 1; `at_least` must still occur
    """

    focus = RELEVANT

    def __init__(
        self,
        *,
        keywords: Sequence[str] = (),
        regex: str | None = None,
        url: str | None = None,
        language: str | None = None,
        at_least: int = 1,
        graded: bool = False,
    ) -> None:
        keywords = (keywords,) if isinstance(keywords, str) else tuple(keywords)
        self._phrases = [_phrase(keyword) for keyword in keywords]
        self._regex, self._url = _pattern("regex", regex), _pattern("url", url)
        self._language = language.lower().replace("_", "-") if language else ""
        self._at_least, self._graded = at_least, graded
        if not (keywords or regex or url or language):
            raise ForagerError("a predicate without a test: give keywords, regex, url or language")
        if keywords and not 1 <= at_least <= len(keywords):
            raise ForagerError(f"at_least = {at_least} of {len(keywords)} keywords: give 1 to {len(keywords)}")
        told = repr((keywords, regex, url, self._language, at_least, graded))
        self._version = f"predicate-{xxhash.xxh3_64_intdigest(told.encode()) & 0xFFFFFFFF:08x}"

    @property
    def classes(self) -> tuple[str, ...]:
        return RELEVANT_OR_NOT

    @property
    def version(self) -> str:
        return self._version

    def fit(self, pages: Iterable[Page], labels: Iterable[str]) -> None:
        """Does nothing: a predicate does not learn."""

    def judge(self, pages: Sequence[Page]) -> list[Judgement]:
        relevances = [self._relevance(page) for page in pages]
        return [yes_or_no(relevance, relevance, self._version) for relevance in relevances]

    def word_log_odds(self, terms: Terms) -> Floats:
        named = np.concatenate([*self._phrases, np.empty(0, np.uint32)])
        return np.where(np.isin(terms, named), np.float32(KEYWORD), np.float32(0))

    def _relevance(self, page: Page) -> float:
        """The cheap tests come first."""
        if self._language and not _speaks(page.language, self._language):
            return 0.0
        if self._url and not self._url.search(page.url):
            return 0.0
        if self._regex and not self._regex.search("\n".join((page.title, *page.leaves))):
            return 0.0
        if not self._phrases:
            return 1.0
        found = self._found(page)
        if found < self._at_least:
            return 0.0
        return found / len(self._phrases) if self._graded else 1.0

    def _found(self, page: Page) -> int:
        """How many of the keywords occur."""
        title = terms([page.title])
        return sum(
            _holds(page.terms.values, phrase, page.terms.offsets) or _holds(title.values, phrase, title.offsets)
            for phrase in self._phrases
        )


class Function(Combines):
    """A function of yours gives the relevance of a page: a number from 0 to 1, or True or False."""

    focus = RELEVANT

    def __init__(self, fn: Callable[[Page], float], name: str = "") -> None:
        self._fn = fn
        self._name = name or getattr(fn, "__name__", type(fn).__name__)

    @property
    def classes(self) -> tuple[str, ...]:
        return RELEVANT_OR_NOT

    @property
    def version(self) -> str:
        return f"function-{self._name}"

    def fit(self, pages: Iterable[Page], labels: Iterable[str]) -> None:
        """Does nothing: a function does not learn."""

    def judge(self, pages: Sequence[Page]) -> list[Judgement]:
        relevances = [self._relevance(page) for page in pages]
        return [yes_or_no(relevance, relevance, self.version) for relevance in relevances]

    def _relevance(self, page: Page) -> float:
        where = f"critic function {self._name!r} on {page.url}"
        try:
            relevance = float(self._fn(page))
        except Exception as error:  # the function may raise anything
            raise ForagerError(f"{where}: {type(error).__name__}: {error}; correct the function") from error
        if not 0 <= relevance <= 1:
            raise ForagerError(f"{where} gave {relevance}: it must give a number from 0 to 1")
        return relevance


def _phrase(keyword: str) -> Terms:
    phrase = terms([keyword]).values
    if not len(phrase):
        raise ForagerError(f"keyword {keyword!r} has no letter or digit: leave it out, or use regex")
    return phrase


def _holds(text: Terms, phrase: Terms, offsets: np.ndarray[tuple[int], np.dtype[np.int64]]) -> bool:
    """Do the words of the phrase follow each other within one row of the text?"""
    starts = np.flatnonzero(text == phrase[0])
    starts = starts[starts + len(phrase) <= len(text)]
    for i in range(1, len(phrase)):
        starts = starts[text[starts + i] == phrase[i]]
    if len(phrase) == 1:
        return len(starts) > 0
    row = np.searchsorted(offsets, starts, side="right")
    return bool((starts + len(phrase) <= offsets[row]).any())


def _speaks(declared: str, wanted: str) -> bool:
    declared = declared.lower().replace("_", "-")
    return declared == wanted or declared.startswith(wanted + "-")


def _pattern(parameter: str, pattern: str | None) -> re.Pattern[str] | None:
    if not pattern:
        return None
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ForagerError(f"{parameter} = {pattern!r} is not a regular expression: {error}") from error
