"""Lexical profiles: the word n-grams of terms.

    P(t)    the distinct runs of consecutive words of t: its words, its pairs of neighbours, …, t itself
    h       the head of t, its last word; P(h) = {h}
    |P(t)| = w (w + 1) / 2 - r(t)       w words; r(t): how many runs repeat an earlier run, mostly 0

Words are those of `forager.web.text`, as hashes: case does not matter, hyphens separate. Only the first `MOST_WORDS`
words of a text count, because no term is longer; the last of them is the head.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.types import Ragged, Terms
from forager.web.text import terms

Places: TypeAlias = NDArray[np.int64]
Texts: TypeAlias = Sequence[str] | Ragged  # as they are written, or as rows of hashed words

MOST_WORDS = 64


@dataclass(frozen=True, slots=True, eq=False)
class Profiles:
    """The words, profile sizes and heads of n texts. Their n-grams are in `NgramTree`."""

    words: Ragged  # n rows
    sizes: Places  # (n,) |P(t)|, 0 without words
    heads: Terms  # (n,) any value for a text without words

    @classmethod
    def of(cls, texts: Texts) -> Self:
        words = first_words(hashed(texts), MOST_WORDS)
        lengths = words.lengths
        heads = words.values[words.offsets[1:] - 1] if len(words.values) else np.zeros(len(words), np.uint32)
        return cls(words, lengths * (lengths + 1) // 2 - _repeated_runs(words), heads)

    def __len__(self) -> int:
        return len(self.words)


def hashed(texts: Texts) -> Ragged:
    """A row of hashed words for each text."""
    return texts if isinstance(texts, Ragged) else terms(texts)


def first_words(words: Ragged, most: int) -> Ragged:
    """At most `most` words of each row, from the start."""
    lengths = words.lengths
    return spans(words, words.offsets[:-1], np.minimum(lengths, most)) if lengths.max(initial=0) > most else words


def last_words(words: Ragged, most: int) -> Ragged:
    """At most `most` words of each row, up to the end."""
    kept = np.minimum(words.lengths, most)
    return spans(words, words.offsets[1:] - kept, kept)


def spans(words: Ragged, starts: Places, lengths: Places) -> Ragged:
    """A row for each start: so many words from there on."""
    return Ragged.cut(words.values, starts, lengths)


def rows_of(words: Ragged) -> Places:
    """The row of each value."""
    return np.repeat(np.arange(len(words)), words.lengths)


def _repeated_runs(words: Ragged) -> Places:
    """r(t) of each row. A run can repeat another only if it does so without its last word: few runs are looked at."""
    rows = rows_of(words)
    ends = words.offsets[1:][rows]
    again, starts, groups, length = np.zeros(len(words), np.int64), np.arange(len(rows)), rows, 0
    while len(starts):
        keys = groups << 32 | words.values[starts + length]
        _, first, groups, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        again += _per_row(rows[starts], words) - _per_row(rows[starts[first]], words)
        length += 1
        kept = (counts[groups] > 1) & (starts + length < ends[starts])
        starts, groups = starts[kept], groups[kept]
    return again


def _per_row(rows: Places, words: Ragged) -> Places:
    return np.bincount(rows, minlength=len(words))
