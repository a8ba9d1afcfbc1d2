"""The words of a directory of topics: listings, categories, and what happened while a source was read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from forager.errors import ForagerError

ROOT = ""  # the category above all
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_REMEMBERED = 20  # faults whose place is kept; the others are counted


@dataclass(frozen=True, slots=True)
class Listing:
    """One page in one category; a page may be listed in several."""

    url: str  # canonical http(s), or file: for a page of a folder tree
    category: str  # a dotted path; within a part there is no dot
    title: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Relation:
    """A link from a category to another one, of the kinds narrow, related, symbolic and altlang."""

    kind: str
    target: str
    label: str = ""  # the name the target goes by here


@dataclass(frozen=True, slots=True)
class Category:
    """What a source says of a category; it may have no listing."""

    name: str
    description: str = ""
    relations: tuple[Relation, ...] = ()


Item: TypeAlias = Listing | Category


def dotted(parts: Iterable[str]) -> str:
    """A category of the given parts, outermost first. A dot separates levels only: one inside a part becomes _."""
    cleaned = (one_line(part).replace(" ", "_").replace(".", "_") for part in parts)
    return ".".join(part for part in cleaned if part)


def parent(name: str) -> str:
    return name.rpartition(".")[0]


def one_line(text: str | None) -> str:
    """Without line breaks, and without what a terminal would obey: directories are by strangers."""
    line = " ".join(text.split()) if text else ""
    return line if line.isprintable() else _CONTROL.sub("", line)


class Skip(StrEnum):
    """Why something in a source became no listing."""

    MALFORMED = "malformed"
    NOT_HTTP = "not an http URL"
    NO_CATEGORY = "in no category"
    NOT_A_PAGE = "not a page"


@dataclass(frozen=True, slots=True)
class Fault:
    source: str
    line: int  # from 1
    byte: int  # from 0, after decompression
    what: str

    def __str__(self) -> str:
        return f"{self.source} line {self.line}, byte {self.byte}: {self.what}"


class Reading:
    """How far the reading of sources is and what was skipped. A strict one stops at what is malformed."""

    def __init__(self, *, strict: bool = False, each: Callable[[Reading], None] = lambda reading: None) -> None:
        self.strict = strict
        self.bytes = 0  # read so far, after decompression
        self.skipped: Counter[Skip] = Counter()
        self.faults: list[Fault] = []  # the first of them
        self._each = each

    def advance(self, count: int) -> None:
        """So many bytes more; `each` hears of it."""
        self.bytes += count
        self._each(self)

    def skip(self, why: Skip) -> None:
        self.skipped[why] += 1

    def fault(self, fault: Fault) -> None:
        if self.strict:
            raise ForagerError(f"{fault}; without --strict it would be skipped")
        self.skip(Skip.MALFORMED)
        if len(self.faults) < _REMEMBERED:
            self.faults.append(fault)
