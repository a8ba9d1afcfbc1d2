"""The type that a heading or an anchor names, by the words of kinds.py and the grammar of titles.

Precedence, when several types match:
    1. the longest phrase goes before those inside it: a "reading assignment" is no assignment
    2. in a noun phrase the last one goes first, for that is what it is about: a "lecture schedule" is a schedule
    3. of several noun phrases the first one goes first: "lectures and assignments" are lectures
    4. but what counts always and hangs on what counts in its place only goes before that: "solutions to the midterm"
    5. what hangs on something without a type has none either: "policy on late homework", "Grading: exams 40 %"
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from forager.collection.courses.kinds import PLAIN, WORDS, Kind
from forager.collection.courses.numbers import without_number

LONGEST, MOST = 200, 40  # characters and tokens of a text that are looked at

_POSSESSIVE = re.compile(r"['’`´]s\b|(?<=s)['’`´](?!\w)", re.IGNORECASE)
_HYPHEN = re.compile(r"(?<=\w)[-‐‑](?=\w)")
_TOKEN = re.compile(r"[^\W\d_]+|\d+|[^\w\s#*\"'’`´.]|\.(?=\s)")
_LINKS = "of for on to in about from at by with via using through thru since as"
_PREPOSITIONS = frozenset(_LINKS.split())
_BRACKETS = frozenset("([")
_HANGS = _PREPOSITIONS | _BRACKETS | {":"}
_JOINS = frozenset(["and", "or"])
_PLAIN = frozenset([*PLAIN.split(), "#"])


class Place(IntEnum):
    """How a phrase counts, strongest first."""

    ALWAYS = 0
    HEAD = 1
    ALONE = 2
    FIRST = 3


class Match(NamedTuple):
    first: int
    end: int
    kind: Kind
    place: Place

    @property
    def rank(self) -> tuple[bool, Place]:
        return self.kind is Kind.NONE, self.place


@lru_cache(maxsize=20_000)
def named(text: str) -> Kind | None:
    """The type that a text names: NONE if it names something that has no type, None if it names nothing."""
    best: Match | None = None
    before: Match | None = None
    for matches, hangs in _phrases(_tokens(text)):
        if hangs and before is not None and before.kind is Kind.NONE:
            break
        if matches:
            before = _last(matches)
            if best is None or (before.rank < best.rank and (hangs or best.kind is Kind.NONE)):
                best = before
    return best.kind if best else None


def _last(matches: Sequence[Match]) -> Match:
    """The one that a noun phrase is about: what has a type and comes after something that has none goes before that."""
    if matches[-1].kind is not Kind.NONE:
        matches = [match for match in matches if match.kind is not Kind.NONE]
    return min(matches, key=lambda match: (match.place, -match.first))


def _tokens(text: str) -> list[str]:
    """Words in small letters, "#" for a number, and what stands between noun phrases."""
    if "://" in text[:LONGEST]:
        return []
    plain = _HYPHEN.sub(" ", _POSSESSIVE.sub("", without_number(text[:LONGEST])))
    tokens = _TOKEN.findall(plain.lower().replace("&", " and "))
    return ["#" if token.isdecimal() else token for token in tokens[:MOST]]


def _phrases(tokens: Sequence[str]) -> Iterator[tuple[list[Match], bool]]:
    """The matches that count in each noun phrase, and whether it hangs on the one before."""
    matches = list(_matches(tokens))
    inside = {at for match in matches for at in range(match.first, match.end)}
    first = 0
    for cut in (*(at for at, token in enumerate(tokens) if at not in inside and _separates(token)), len(tokens)):
        here = [match for match in matches if first <= match.first < cut and _counts(match, tokens, first, cut)]
        yield here, first > 0 and tokens[first - 1] in _HANGS
        first = cut + 1


def _separates(token: str) -> bool:
    return token in _HANGS or token in _JOINS or not (token.isalpha() or token == "#")


def _counts(match: Match, tokens: Sequence[str], first: int, end: int) -> bool:
    if match.place is Place.ALWAYS:
        return True
    if match.place is Place.FIRST:
        return _PLAIN.issuperset(tokens[: match.first])
    if match.place is Place.ALONE:
        return _is_alone(match, tokens)
    return _PLAIN.issuperset(tokens[match.end : end])


def _is_alone(match: Match, tokens: Sequence[str]) -> bool:
    """All around it is plain, as far as prepositions lead, and it is no remark in brackets."""
    first, end = match.first, match.end
    while first and (tokens[first - 1] in _PLAIN or tokens[first - 1] in _PREPOSITIONS):
        first -= 1
    while end < len(tokens) and (tokens[end] in _PLAIN or tokens[end] in _PREPOSITIONS):
        end += 1
    ends = end == len(tokens) or _separates(tokens[end])
    begins = first == 0 or (_separates(tokens[first - 1]) and (first == 1 or tokens[first - 1] not in _BRACKETS))
    return begins and ends


def _matches(tokens: Sequence[str]) -> Iterator[Match]:
    """Phrases of the table from left to right, the longest at each place."""
    singulars, at = [singular(token) for token in tokens], 0
    while at < len(tokens):
        for end in range(min(at + _LONGEST_PHRASE, len(tokens)), at, -1):
            found = _TABLE.get(tuple(tokens[at:end])) or _TABLE.get(tuple(singulars[at:end]))
            if found:
                yield Match(at, end, *found)
                at = end - 1
                break
        at += 1


def singular(word: str) -> str:
    """Near enough for the words of the table."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith("zzes"):
        return word[:-3]
    return word[:-2] if word.endswith("sses") else word[:-1]


def _table() -> dict[tuple[str, ...], tuple[Kind, Place]]:
    return {
        tuple(phrase.split()): (kind, place)
        for kind, words in WORDS.items()
        for place, listed in zip(Place, (words.always, words.head, words.alone, words.first), strict=True)
        for phrase in listed.split(",")
        if phrase.strip()
    }


_TABLE = _table()
_LONGEST_PHRASE = max(map(len, _TABLE))
