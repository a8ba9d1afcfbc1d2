"""The type that a heading or an anchor names, by the words of part_types.py and the grammar of titles.

If several types match, these rules decide:
    1. the longest phrase wins over phrases inside it: a "reading assignment" is not an assignment
    2. in a noun phrase the last match wins, because the phrase is about that: a "lecture schedule" is a schedule
    3. of several noun phrases the first one wins: "lectures and assignments" are lectures
    4. but a phrase that always counts wins over one before it that counts only in its position, if it depends on it:
       "solutions to the midterm" are exams
    5. a phrase that depends on something without a type has no type: "policy on late homework", "Grading: exams 40 %"
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from forager.collection.courses.numbers import without_number
from forager.collection.courses.part_types import PLAIN, WORDS, PartType

LONGEST, MOST = 200, 40  # characters and tokens of a text that are read

_POSSESSIVE = re.compile(r"['’`´]s\b|(?<=s)['’`´](?!\w)", re.IGNORECASE)
_HYPHEN = re.compile(r"(?<=\w)[-‐‑](?=\w)")
_TOKEN = re.compile(r"[^\W\d_]+|\d+|[^\w\s#*\"'’`´.]|\.(?=\s)")
_LINKS = "of for on to in about from at by with via using through thru since as"
_PREPOSITIONS = frozenset(_LINKS.split())
_BRACKETS = frozenset("([")
_DEPENDS = _PREPOSITIONS | _BRACKETS | {":"}
_JOINS = frozenset(["and", "or"])
_PLAIN = frozenset([*PLAIN.split(), "#"])


class PhraseRule(IntEnum):
    """Where a phrase counts (see part_types.py); the strongest rule first."""

    ALWAYS = 0
    HEAD = 1
    ALONE = 2
    FIRST = 3


class PhraseMatch(NamedTuple):
    """A phrase of the table in a text: the tokens from `first` up to `end`."""

    first: int
    end: int
    kind: PartType
    rule: PhraseRule

    @property
    def rank(self) -> tuple[bool, PhraseRule]:
        return self.kind is PartType.NONE, self.rule


@lru_cache(maxsize=20_000)
def named_type(text: str) -> PartType | None:
    """The type that a text names. PartType.NONE: it names something without a type; None: it names nothing."""
    best: PhraseMatch | None = None
    before: PhraseMatch | None = None
    for matches, depends in _phrases(_tokens(text)):
        if depends and before is not None and before.kind is PartType.NONE:
            break
        if matches:
            before = _last(matches)
            if best is None or (before.rank < best.rank and (depends or best.kind is PartType.NONE)):
                best = before
    return best.kind if best else None


def _last(matches: Sequence[PhraseMatch]) -> PhraseMatch:
    """The match that a noun phrase is about. If the last match has a type, those without a type do not count."""
    if matches[-1].kind is not PartType.NONE:
        matches = [match for match in matches if match.kind is not PartType.NONE]
    return min(matches, key=lambda match: (match.rule, -match.first))


def _tokens(text: str) -> list[str]:
    """Words in small letters, "#" for a number, and the signs between noun phrases."""
    if "://" in text[:LONGEST]:
        return []
    plain = _HYPHEN.sub(" ", _POSSESSIVE.sub("", without_number(text[:LONGEST])))
    tokens = _TOKEN.findall(plain.lower().replace("&", " and "))
    return ["#" if token.isdecimal() else token for token in tokens[:MOST]]


def _phrases(tokens: Sequence[str]) -> Iterator[tuple[list[PhraseMatch], bool]]:
    """The matches that count in each noun phrase, and whether it depends on the phrase before."""
    matches = list(_matches(tokens))
    inside = {at for match in matches for at in range(match.first, match.end)}
    first = 0
    for cut in (*(at for at, token in enumerate(tokens) if at not in inside and _separates(token)), len(tokens)):
        here = [match for match in matches if first <= match.first < cut and _counts(match, tokens, first, cut)]
        yield here, first > 0 and tokens[first - 1] in _DEPENDS
        first = cut + 1


def _separates(token: str) -> bool:
    return token in _DEPENDS or token in _JOINS or not (token.isalpha() or token == "#")


def _counts(match: PhraseMatch, tokens: Sequence[str], first: int, end: int) -> bool:
    if match.rule is PhraseRule.ALWAYS:
        return True
    if match.rule is PhraseRule.FIRST:
        return _PLAIN.issuperset(tokens[: match.first])
    if match.rule is PhraseRule.ALONE:
        return _is_alone(match, tokens)
    return _PLAIN.issuperset(tokens[match.end : end])


def _is_alone(match: PhraseMatch, tokens: Sequence[str]) -> bool:
    """Whether only plain words and prepositions stand around it, and it is not a remark in brackets."""
    first, end = match.first, match.end
    while first and (tokens[first - 1] in _PLAIN or tokens[first - 1] in _PREPOSITIONS):
        first -= 1
    while end < len(tokens) and (tokens[end] in _PLAIN or tokens[end] in _PREPOSITIONS):
        end += 1
    ends = end == len(tokens) or _separates(tokens[end])
    begins = first == 0 or (_separates(tokens[first - 1]) and (first == 1 or tokens[first - 1] not in _BRACKETS))
    return begins and ends


def _matches(tokens: Sequence[str]) -> Iterator[PhraseMatch]:
    """The phrases of the table in a text, from left to right, the longest at each place."""
    singulars, at = [singular(token) for token in tokens], 0
    while at < len(tokens):
        for end in range(min(at + _LONGEST_PHRASE, len(tokens)), at, -1):
            found = _TABLE.get(tuple(tokens[at:end])) or _TABLE.get(tuple(singulars[at:end]))
            if found:
                yield PhraseMatch(at, end, *found)
                at = end - 1
                break
        at += 1


def singular(word: str) -> str:
    """The singular of a word; exact enough for the words of the table."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith("zzes"):
        return word[:-3]
    return word[:-2] if word.endswith("sses") else word[:-1]


def _table() -> dict[tuple[str, ...], tuple[PartType, PhraseRule]]:
    return {
        tuple(phrase.split()): (kind, rule)
        for kind, words in WORDS.items()
        for rule, listed in zip(PhraseRule, (words.always, words.head, words.alone, words.first), strict=True)
        for phrase in listed.split(",")
        if phrase.strip()
    }


_TABLE = _table()
_LONGEST_PHRASE = max(map(len, _TABLE))
