"""C-value: how good a term a candidate is, and the ranked lists of terms.

    C(a) = w(|a|) f(a)                                   no longer candidate contains a
    C(a) = w(|a|) (f(a) - mean of f(b) over b in T_a)    T_a: the longer candidates that contain a

|a| is the number of words, f(a) how often a occurs in the document (see `phrases`). b contains a if the words of a
follow each other in b. Candidates with C > 0 are terms; with a cut-off, those with C of at least that. The thesis names
none, but its tables 5.2 to 5.4 have 759 terms of 45 documents, about 17 a document: it must have had one.

    thesis   w(n) = log2(n)        single words have C = 0: only phrases are terms
    all      w(n) = log2(n + 1)    ours

Each document has its own list. The list of several documents is the union, and a term has its largest weight.

    C'(a) = C(a) log((N + 1) / (df(a) + 1)) / log(N + 1)

is the C-value normalised by rarity in a sample of N documents, df(a) of which have a as a candidate. A term that is not
in the sample keeps its C; a term of all documents has 0.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Self

import numpy as np

from forager.learn.lexical.phrases import LONGEST, Candidates, Phrases
from forager.types import Floats, Page


class Mode(StrEnum):
    """Which phrases are candidates, and how much their length counts."""

    ALL = "all"
    THESIS = "thesis"

    def weight(self, length: int) -> float:
        """w(n)"""
        return math.log2(length if self is Mode.THESIS else length + 1)


@dataclass(frozen=True, slots=True, eq=False)
class TermList:
    """The terms of one or several documents, the largest weight first, ties by name."""

    terms: tuple[str, ...]
    weights: Floats  # all above 0
    spoken: bool = True  # False: the tagger knew the language of no document

    @classmethod
    def of(cls, weights: Mapping[str, float], *, spoken: bool = True) -> Self:
        """The terms with a weight above 0, ranked."""
        single = {term: np.float32(weight) for term, weight in weights.items() if weight > 0}  # ranked as they are kept
        ranked = sorted(single, key=lambda term: (-single[term], term))
        return cls(tuple(ranked), np.array([single[term] for term in ranked], np.float32), spoken)

    @classmethod
    def union(cls, lists: Iterable[TermList]) -> Self:
        """All terms of the lists, each with its largest weight."""
        most: dict[str, float] = {}
        spoken: list[bool] = []
        for each in lists:
            spoken.append(each.spoken)
            for term, weight in zip(each.terms, each.weights.tolist(), strict=True):
                most[term] = max(weight, most.get(term, 0.0))
        return cls.of(most, spoken=any(spoken) or not spoken)

    def __len__(self) -> int:
        return len(self.terms)

    def top(self, count: int | None) -> Self:
        """The strongest so many; None: all."""
        return type(self)(self.terms[:count], self.weights[:count], self.spoken)


@dataclass(frozen=True, slots=True, eq=False)
class Rarity:
    """How many documents of a sample have each candidate."""

    documents: int
    df: Mapping[str, int]

    @classmethod
    def of(cls, sample: Iterable[Candidates]) -> Self:
        documents, df = 0, Counter[str]()
        for candidates in sample:
            documents += 1
            df.update(candidates.counts.keys())
        return cls(documents, df)

    def __call__(self, term: str) -> float:
        """From 0, if every document has the term, to 1, if none has it. Always 1 without a sample."""
        most = math.log(self.documents + 1)
        return 1 - math.log(self.df.get(term, 0) + 1) / most if most else 1.0


def candidates_of(page: Page, mode: Mode = Mode.ALL, *, longest: int = LONGEST) -> Candidates:
    """What may be terms of a page, by the grammar of the mode."""
    return _phrases(longest, mode is Mode.ALL).candidates(page.leaves, page.language)


def rank(
    candidates: Candidates, mode: Mode = Mode.ALL, rarity: Rarity | None = None, *, least: float = 0.0
) -> TermList:
    """The terms of one document, those with C >= `least`; C is taken before rarity.

    Single words of a language that the tagger does not know weigh as in mode `all`.
    """
    weights = c_values(candidates.counts, mode if candidates.spoken else Mode.ALL)
    weights = {term: weight for term, weight in weights.items() if weight >= least}
    if rarity is not None:
        weights = {term: weight * rarity(term) for term, weight in weights.items()}
    return TermList.of(weights, spoken=candidates.spoken)


def c_values(counts: Mapping[str, int], mode: Mode = Mode.ALL) -> dict[str, float]:
    """C(a) of every candidate, given f(a)."""
    nested, containing = Counter[str](), Counter[str]()  # sum of f(b) over T_a, and |T_a|
    for term, frequency in counts.items():
        for part in counts.keys() & set(_parts(term)) if " " in term else ():
            nested[part] += frequency
            containing[part] += 1
    return {
        term: mode.weight(term.count(" ") + 1) * (frequency - nested[term] / (containing[term] or 1))
        for term, frequency in counts.items()
    }


def _parts(term: str) -> Iterator[str]:
    """The runs of consecutive words of a term, but not the term itself."""
    words = term.split(" ")
    for length in range(1, len(words)):
        for start in range(len(words) - length + 1):
            yield " ".join(words[start : start + length])


@cache
def _phrases(longest: int, participles: bool) -> Phrases:
    """One object for all pages, because it remembers words."""
    return Phrases(longest=longest, participles=participles)
