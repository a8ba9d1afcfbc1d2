"""How often the parts of pages have the type that a person gave them.

Labels stand in a table with the columns url, kind (heading or anchor), text and type. A label is matched with a part of
the same page, found in the same way, by the words of the heading or anchor; case, punctuation and spaces do not count.
What has no part has the type none, so that a heading overlooked is right only if the person says none as well.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from forager.collection.courses.kinds import Kind
from forager.collection.courses.parts import Found, Part
from forager.errors import ForagerError
from forager.types import Url
from forager.web.text import words
from forager.web.urls import RULES, UrlRules

COLUMNS = ("url", "kind", "text", "type")
_Key: TypeAlias = tuple[str, Found, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Label:
    """What a person says of a heading or an anchor."""

    url: Url
    found: Found
    text: str
    type: Kind


@dataclass(frozen=True, slots=True)
class Outcome:
    label: Label
    given: Kind  # the type of the part; none if there is no part

    @property
    def right(self) -> bool:
        return self.given is self.label.type


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of one type: hits were given it rightly, `given` were given it, `labelled` should have been."""

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
class Accuracy:
    outcomes: tuple[Outcome, ...]

    def share(self, found: Found | None = None, *, typed: bool = False) -> float | None:
        """Of the labels, of those of headings or of anchors, those that are right; `typed` leaves out labels none."""
        asked = [outcome for outcome in self.outcomes if found is None or outcome.label.found is found]
        asked = [outcome for outcome in asked if not typed or outcome.label.type is not Kind.NONE]
        return sum(outcome.right for outcome in asked) / len(asked) if asked else None

    @property
    def by_type(self) -> dict[Kind, Tally]:
        hits = Counter(outcome.given for outcome in self.outcomes if outcome.right)
        given = Counter(outcome.given for outcome in self.outcomes)
        labelled = Counter(outcome.label.type for outcome in self.outcomes)
        return {kind: Tally(hits[kind], given[kind], labelled[kind]) for kind in Kind if given[kind] or labelled[kind]}

    @property
    def wrong(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if not outcome.right)


def accuracy(parts: Iterable[Part], labelled: Iterable[Label]) -> Accuracy:
    """Each label against the parts. Where a page says the same twice, each part answers one label at most."""
    known: dict[_Key, Counter[Kind]] = defaultdict(Counter)
    for part in parts:
        known[part.source, part.found, tuple(words(part.name))][part.type] += 1
    return Accuracy(tuple(Outcome(label, _answer(label, known)) for label in labelled))


def _answer(label: Label, known: dict[_Key, Counter[Kind]]) -> Kind:
    types = known.get((label.url, label.found, tuple(words(label.text))), Counter())
    if not types.total():
        return Kind.NONE
    given = label.type if types[label.type] else types.most_common(1)[0][0]
    types[given] -= 1
    return given


def read_labels(lines: Iterable[str], rules: UrlRules = RULES, where: str = "the labels") -> Iterator[Label]:
    """The rows of a table separated by tabs, with a head that names the columns; further ones may stand in it."""
    numbered = enumerate(lines, 1)
    head = next(numbered, (1, ""))[1].rstrip("\r\n").split("\t")
    if missing := [column for column in COLUMNS if column not in head]:
        raise ForagerError(f"{where} line 1: no column {', '.join(missing)}: the head must be {' '.join(COLUMNS)}")
    for number, line in numbered:
        if line.strip():
            yield _label(
                dict(zip(head, line.rstrip("\r\n").split("\t"), strict=False)), rules, f"{where} line {number}"
            )


def _label(row: dict[str, str], rules: UrlRules, where: str) -> Label:
    try:
        url, found, text, kind = (row[column].strip() for column in COLUMNS)
    except KeyError as missing:
        raise ForagerError(
            f"{where}: no {missing.args[0]}: a row has {', '.join(COLUMNS)}, separated by tabs"
        ) from None
    canonical = rules.canonical(url)
    if canonical is None:
        raise ForagerError(f"{where}: {url!r} is not an http or https URL")
    if found not in set(Found):
        raise ForagerError(f"{where}: kind is {found!r}: write heading or anchor")
    if kind not in set(Kind):
        raise ForagerError(f"{where}: type is {kind!r}: write one of {', '.join(Kind)}")
    return Label(canonical, Found(found), text, Kind(kind))
