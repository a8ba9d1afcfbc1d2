"""How often each term occurs in each class: n(c,t), counted from a stream of any length in bounded memory.

One uint64 holds a pair and its count: term (32 bits) | class (b bits) | count (32 - b bits). b is just wide enough for
the classes seen so far. Sorting these numbers brings equal pairs together, so sorted runs are merged by sorting and
adding. The lower half, class | count, is called an *entry*. The finished table keeps only the entries: 4 bytes a pair,
and the counts are exact. A count stops at 2^(32-b) - 1, which is 8 million for 500 classes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from forager.types import Ids, Parts, Ragged, Terms, stretches

Keys: TypeAlias = NDArray[np.uint64]  # term | class | count
Label = TypeVar("Label", str, int)  # what a class is called: a name or a number

PIECES = 64  # the keys are kept in so many pieces, by the upper bits of the term: merging one needs little memory
CHUNK = 1 << 22  # terms gathered before they are sorted
LOW = np.uint64(0xFFFFFFFF)
COLUMNS = ("pages", "tokens", "terms", "offsets", "entries")  # of TermCounts, as they are saved


def _shift(classes: int) -> int:
    """Where the class begins in an entry: the bits that are left for the count."""
    return 32 - max(1, (classes - 1).bit_length())


@dataclass(frozen=True, slots=True, eq=False)
class TermCounts(Generic[Label]):
    """The pairs with n(c,t) > 0. Row i belongs to terms[i]: the entries offsets[i]..offsets[i+1], in order of class."""

    classes: tuple[Label, ...]  # ascending
    pages: NDArray[np.int64]  # (c,) or other instances
    tokens: NDArray[np.int64]  # (c,) N(c), the sum of n(c,t) over all terms
    terms: Terms  # (T,) ascending
    offsets: NDArray[np.int64]  # (T + 1,)
    entries: NDArray[np.uint32]  # class | count

    def gather(self, rows: NDArray[np.integer[Any]]) -> tuple[Ids, Ids, NDArray[np.int64]]:
        """The classes and counts of these rows, one row after the other, and how many pairs each row has."""
        first = self.offsets[rows]
        lengths = self.offsets[rows + 1] - first
        entries, shift = self.entries[stretches(first, lengths)], _shift(len(self.classes))
        counts = entries & np.uint32((1 << shift) - 1)
        return (entries >> np.uint32(shift)).view(np.int32), counts.view(np.int32), lengths

    def totals(self) -> NDArray[np.int64]:
        """(T,) how often each term occurs in all classes together."""
        counts = self.entries & np.uint32((1 << _shift(len(self.classes))) - 1)
        return np.add.reduceat(counts, self.offsets[:-1], dtype=np.int64) if len(counts) else np.empty(0, np.int64)

    def columns(self, prefix: str = "") -> dict[str, NDArray[Any]]:
        """All but the classes, as parts of a saved model."""
        return {prefix + name: getattr(self, name) for name in COLUMNS}

    @classmethod
    def of_columns(cls, classes: Iterable[Label], parts: Parts, prefix: str = "") -> TermCounts[Label]:
        return cls(tuple(classes), *(parts[prefix + name] for name in COLUMNS))


class TermCounter(Generic[Label]):
    """Takes pages one by one and forgets them; `counts` gives the table.

    A class is known from its first page on. `classes` names classes that the table must have even without a page.
    """

    def __init__(self, classes: Iterable[Label] = (), chunk: int = CHUNK) -> None:
        self._chunk = chunk
        self._codes: dict[Label, int] = {}  # class -> its number, in order of appearance
        self._pages: list[int] = []
        self._shift = _shift(1)
        self._waiting: list[tuple[Terms, int]] = []
        self._tokens = 0  # in _waiting
        self._runs: list[list[Keys]] = [[np.empty(0, np.uint64)] for _ in range(PIECES)]
        for label in classes:
            self._code(label, pages=0)

    def add(self, terms: Terms, label: Label, pages: int = 1) -> None:
        """Count the terms of a page, each as often as it occurs, or those of several pages of one class."""
        code = self._code(label, pages)
        self._waiting.append((terms, code))
        self._tokens += len(terms)
        if self._tokens >= self._chunk:
            self._flush()

    def add_rows(self, rows: Ragged, labels: Sequence[Label]) -> None:
        """Count each row as a page, with a label of its own."""
        of_label: dict[Label, list[int]] = {}
        for row, label in enumerate(labels):
            of_label.setdefault(label, []).append(row)
        for label, at in of_label.items():
            self.add(rows.take(np.array(at)).values, label, pages=len(at))

    def absorb(self, counts: TermCounts[Label]) -> None:
        """Add what was counted elsewhere."""
        codes = [self._code(name, int(pages)) for name, pages in zip(counts.classes, counts.pages, strict=True)]
        self._flush()
        terms = np.repeat(counts.terms, np.diff(counts.offsets)).astype(np.uint64) << np.uint64(32)
        keys = _recoded(terms | counts.entries, _shift(len(counts.classes)), self._shift, codes)
        keys.sort()
        self._append(keys)

    def counts(self, limit: int = sys.maxsize) -> TermCounts[Label]:
        """The table. If it would have more than `limit` pairs, the rarest terms are left out. Ends the counting."""
        self._flush()
        rank = np.argsort(np.argsort(list(self._codes)))
        shift = self._shift
        for i, runs in enumerate(self._runs):
            keys = _recoded(_merged(runs, shift), shift, shift, rank)
            keys.sort()
            self._runs[i] = [keys]
        rows = [_rows(runs[0], shift) for runs in self._runs]
        least = _least(rows, limit)
        kept = [_entries(runs.pop(), row, least) for runs, row in zip(self._runs, rows, strict=True)]
        terms = np.concatenate([row.terms[row.totals >= least] for row in rows])
        lengths = np.concatenate([row.lengths[row.totals >= least] for row in rows])
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        tokens = sum(_tokens(entries, shift, len(rank)) for entries in kept) + np.zeros(len(rank), np.int64)
        pages = np.zeros(len(rank), np.int64)
        pages[rank] = self._pages
        return TermCounts(tuple(sorted(self._codes)), pages, tokens, terms, offsets, np.concatenate(kept))

    def _code(self, label: Label, pages: int) -> int:
        code = self._codes.setdefault(label, len(self._codes))
        if code == len(self._pages):
            self._pages.append(0)
            self._widen(_shift(code + 1))
        self._pages[code] += pages
        return code

    def _widen(self, shift: int) -> None:
        """Make room for more classes."""
        if shift != self._shift:
            same = np.arange(len(self._codes))
            self._runs = [[_recoded(run, self._shift, shift, same) for run in runs] for runs in self._runs]
            self._shift = shift

    def _flush(self) -> None:
        if not self._waiting:
            return
        codes = np.repeat([code for _, code in self._waiting], [len(terms) for terms, _ in self._waiting])
        keys = np.concatenate([terms for terms, _ in self._waiting]).astype(np.uint64) << np.uint64(32)
        keys |= (codes.astype(np.uint64) << np.uint64(self._shift)) | np.uint64(1)
        self._waiting, self._tokens = [], 0
        keys.sort()
        self._append(_added(keys, self._shift))

    def _append(self, keys: Keys) -> None:
        """Give each piece its keys. A piece is merged when its new runs are more than half as long as its old one."""
        edges = (np.arange(1, PIECES, dtype=np.uint64) << np.uint64(32)) * np.uint64((1 << 32) // PIECES)
        for runs, part in zip(self._runs, np.split(keys, np.searchsorted(keys, edges)), strict=True):
            runs.append(part.copy())
            if 2 * sum(map(len, runs[1:])) > len(runs[0]):
                runs[:] = [_merged(runs, self._shift)]


def _added(keys: Keys, shift: int) -> Keys:
    """Sorted keys, with the counts of equal pairs added up."""
    if not len(keys):
        return keys
    bits, most = np.uint64(shift), np.uint64((1 << shift) - 1)
    pairs = keys >> bits
    starts = np.flatnonzero(np.concatenate(([True], pairs[1:] != pairs[:-1])))
    counts = np.minimum(np.add.reduceat(keys & most, starts), most)
    return (pairs[starts] << bits) | counts


def _merged(runs: list[Keys], shift: int) -> Keys:
    keys = np.concatenate(runs)
    keys.sort()
    return _added(keys, shift)


def _recoded(keys: Keys, old: int, new: int, codes: Sequence[int] | NDArray[np.intp]) -> Keys:
    """The keys with class number i replaced by codes[i] and the class beginning at bit `new`."""
    low = keys & LOW
    keys = keys & ~LOW
    keys |= np.asarray(codes, np.uint64)[low >> np.uint64(old)] << np.uint64(new)
    keys |= np.minimum(low & np.uint64((1 << old) - 1), np.uint64((1 << new) - 1))
    return keys


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The terms of a piece, with the number of classes and of occurrences of each."""

    terms: Terms
    lengths: NDArray[np.int64]
    totals: NDArray[np.int64]


def _rows(keys: Keys, shift: int) -> _Rows:
    terms = (keys >> np.uint64(32)).astype(np.uint32)
    if not len(terms):
        return _Rows(terms, np.empty(0, np.int64), np.empty(0, np.int64))
    starts = np.flatnonzero(np.concatenate(([True], terms[1:] != terms[:-1])))
    totals = np.add.reduceat((keys & np.uint64((1 << shift) - 1)).astype(np.int64), starts)
    return _Rows(terms[starts], np.diff(np.append(starts, len(terms))), totals)


def _least(rows: list[_Rows], limit: int) -> int:
    """The smallest number of occurrences such that the terms with as many or more have at most `limit` pairs."""
    totals = np.concatenate([row.totals for row in rows])
    lengths = np.concatenate([row.lengths for row in rows])
    order = np.argsort(-totals, kind="stable")
    beyond = np.flatnonzero(np.cumsum(lengths[order]) > limit)
    return int(totals[order[beyond[0]]]) + 1 if len(beyond) else 1


def _entries(keys: Keys, rows: _Rows, least: int) -> NDArray[np.uint32]:
    return keys[np.repeat(rows.totals >= least, rows.lengths)].astype(np.uint32)


def _tokens(entries: NDArray[np.uint32], shift: int, classes: int) -> NDArray[np.int64]:
    counts = entries & np.uint32((1 << shift) - 1)
    summed: NDArray[Any] = np.bincount(entries >> np.uint32(shift), counts, classes)
    return summed.astype(np.int64)
