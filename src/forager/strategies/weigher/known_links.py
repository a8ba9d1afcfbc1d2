"""What a link says by itself, by its anchor and its URL: computed once for each pair of these.

Menus stand on every page of a site, and pages link to the same pages again and again. So most links of a page were read
before, and are looked up. When `MOST` pairs are known, all are forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forager.strategies.weigher.meaning import PACKED, TopicMeaning, packed
from forager.strategies.weigher.place import place_keys
from forager.strategies.weigher.words import IN_ANCHOR, IN_URL, TopicWords, link_texts, words_to_learn
from forager.types import Floats, Links, Page, Terms
from forager.web.text import terms

MOST = 1 << 15  # pairs: 6 MB, and their texts
KEYS, LEARNT, SIGNALS = 2, IN_ANCHOR + IN_URL, 7
_ENDS = np.cumsum((PACKED, KEYS, LEARNT, SIGNALS)).tolist()


@dataclass(frozen=True, slots=True, eq=False)
class ReadLinks:
    """Links of a page, as they were read."""

    vectors: Terms  # (n, PACKED)
    keys: Terms  # (n, 2) of host and folder
    words: Terms  # (n, LEARNT)
    signals: Floats  # (n, 7): anchor, url, prior, near, far, like, unlike


class KnownLinks:
    """Reads links, and remembers them."""

    def __init__(self, words: TopicWords, meaning: TopicMeaning) -> None:
        self._words, self._meaning = words, meaning
        self._at: dict[tuple[str, str], int] = {}
        self._rows = np.zeros((MOST, _ENDS[-1]), np.uint32)

    def __call__(self, page: Page, links: Links) -> ReadLinks:
        pairs = list(zip(links.targets, links.anchors, strict=True))
        if len(pairs) > MOST:
            return _cut(self._read(page, links))
        new = {pair: row for row, pair in enumerate(pairs) if pair not in self._at}
        if len(self._at) + len(new) > MOST:
            self._at.clear()
            new = {pair: row for row, pair in enumerate(pairs)}
        if new:
            first = len(self._at)
            self._rows[first : first + len(new)] = self._read(page, links.take(list(new.values())))
            self._at.update(zip(new, range(first, first + len(new)), strict=True))
        return _cut(self._rows.take([self._at[pair] for pair in pairs], axis=0))

    def _read(self, page: Page, links: Links) -> Terms:
        texts = link_texts(links.targets)
        urls = terms(texts)
        vectors = self._meaning.vectors(page, links, urls, texts)
        signals = np.concatenate((self._words.signals(page, links, urls), self._meaning.signals(vectors)), axis=1)
        columns = (
            packed(vectors),
            place_keys(links.targets),
            words_to_learn(page, links, urls),
            signals.view(np.uint32),
        )
        return np.concatenate(columns, axis=1)


def _cut(rows: NDArray[np.uint32]) -> ReadLinks:
    vectors, keys, words, signals, _ = np.split(rows, _ENDS, axis=1)
    return ReadLinks(vectors, keys, words, np.ascontiguousarray(signals).view(np.float32))
