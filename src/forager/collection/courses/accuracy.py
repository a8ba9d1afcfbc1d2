"""How often the parts of pages have the type that a person gave them.

The labels of a person are a table with the columns url, kind (heading or anchor), text and type. A label is compared
with the part of the same page, of the same kind, with the same words; case, punctuation and spaces do not matter. If
there is no such part, its type is none, so a heading that was overlooked is right only if the person says none too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from forager.collection.courses.part_types import PartType
from forager.collection.courses.parts import CoursePart, FoundBy
from forager.errors import ForagerError
from forager.types import Url
from forager.web.text import words
from forager.web.urls import RULES, UrlRules

COLUMNS = ("url", "kind", "text", "type")
_Key: TypeAlias = tuple[str, FoundBy, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class PartLabel:
    """The type that a person gave a heading or an anchor."""

    url: Url
    found: FoundBy
    text: str
    type: PartType


@dataclass(frozen=True, slots=True)
class LabelCheck:
    """A label, and the type that the program found for it."""

    label: PartLabel
    given: PartType  # the type of the part; none if there is no part

    @property
    def right(self) -> bool:
        return self.given is self.label.type


@dataclass(frozen=True, slots=True)
class TypeCounts:
    """Counts of one type: how often it was given, how often people gave it, and how often both did (`hits`)."""

    hits: int
    given: int
    labelled: int

    @property
    def precision(self) -> float | None:
        return self.hits / self.given if self.given else None

    @property
    def recall(self) -> float | None:
        return self.hits / self.labelled if self.labelled else None


@dataclass(frozen=True, slots=True)
class PartAccuracy:
    """All labels, each with the type that was found."""

    outcomes: tuple[LabelCheck, ...]

    def share(self, found: FoundBy | None = None, *, typed: bool = False) -> float | None:
        """The share of labels that are right: of all, or of headings or anchors. `typed` leaves out the labels none."""
        asked = [outcome for outcome in self.outcomes if found is None or outcome.label.found is found]
        asked = [outcome for outcome in asked if not typed or outcome.label.type is not PartType.NONE]
        return sum(outcome.right for outcome in asked) / len(asked) if asked else None

    @property
    def by_type(self) -> dict[PartType, TypeCounts]:
        """The counts of each type that was given or labelled."""
        hits = Counter(outcome.given for outcome in self.outcomes if outcome.right)
        given = Counter(outcome.given for outcome in self.outcomes)
        labelled = Counter(outcome.label.type for outcome in self.outcomes)
        return {
            kind: TypeCounts(hits[kind], given[kind], labelled[kind])
            for kind in PartType
            if given[kind] or labelled[kind]
        }

    @property
    def wrong(self) -> tuple[LabelCheck, ...]:
        """The labels whose type was not found."""
        return tuple(outcome for outcome in self.outcomes if not outcome.right)


def accuracy(parts: Iterable[CoursePart], labelled: Iterable[PartLabel]) -> PartAccuracy:
    """Compare labels with parts. If a page has the same words twice, each part answers one label at most."""
    known: dict[_Key, Counter[PartType]] = defaultdict(Counter)
    for part in parts:
        known[part.source, part.found, tuple(words(part.name))][part.type] += 1
    return PartAccuracy(tuple(LabelCheck(label, _answer(label, known)) for label in labelled))


def _answer(label: PartLabel, known: dict[_Key, Counter[PartType]]) -> PartType:
    types = known.get((label.url, label.found, tuple(words(label.text))), Counter())
    if not types.total():
        return PartType.NONE
    given = label.type if types[label.type] else types.most_common(1)[0][0]
    types[given] -= 1
    return given


def read_labels(lines: Iterable[str], rules: UrlRules = RULES, where: str = "the labels") -> Iterator[PartLabel]:
    """The labels in a table with tabs, whose first line names the columns; it may have more columns."""
    numbered = enumerate(lines, 1)
    head = next(numbered, (1, ""))[1].rstrip("\r\n").split("\t")
    if missing := [column for column in COLUMNS if column not in head]:
        raise ForagerError(f"{where} line 1: no column {', '.join(missing)}: the head must be {' '.join(COLUMNS)}")
    for number, line in numbered:
        if line.strip():
            yield _label(
                dict(zip(head, line.rstrip("\r\n").split("\t"), strict=False)), rules, f"{where} line {number}"
            )


def _label(row: dict[str, str], rules: UrlRules, where: str) -> PartLabel:
    try:
        url, found, text, kind = (row[column].strip() for column in COLUMNS)
    except KeyError as missing:
        raise ForagerError(
            f"{where}: no {missing.args[0]}: a row has {', '.join(COLUMNS)}, separated by tabs"
        ) from None
    canonical = rules.canonical(url)
    if canonical is None:
        raise ForagerError(f"{where}: {url!r} is not an http or https URL")
    if found not in set(FoundBy):
        raise ForagerError(f"{where}: kind is {found!r}: write heading or anchor")
    if kind not in set(PartType):
        raise ForagerError(f"{where}: type is {kind!r}: write one of {', '.join(PartType)}")
    return PartLabel(canonical, FoundBy(found), text, PartType(kind))
