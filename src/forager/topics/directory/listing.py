"""The words of a directory of topics: listings, categories, and the progress of reading a source."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from forager.errors import ForagerError

ROOT = ""  # the category above all others
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_REMEMBERED = 20  # faults that are kept with their place; the others are only counted


@dataclass(frozen=True, slots=True)
class Listing:
    """One page in one category; a page may be listed in several."""

    url: str  # canonical http(s), or file: for a page of a folder tree
    category: str  # a dotted path; within a part there is no dot
    title: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Relation:
    """A link from one category to another. The kinds are narrow, related, symbolic and altlang."""

    kind: str
    target: str
    label: str = ""  # the name that the target has here


@dataclass(frozen=True, slots=True)
class Category:
    """What a source says about a category, which may have no listing."""

    name: str
    description: str = ""
    relations: tuple[Relation, ...] = ()


DirectoryItem: TypeAlias = Listing | Category


def dotted(parts: Iterable[str]) -> str:
    """A category from its parts, outermost first. A dot inside a part becomes _, because dots separate levels."""
    cleaned = (one_line(part).replace(" ", "_").replace(".", "_") for part in parts)
    return ".".join(part for part in cleaned if part)


def parent(name: str) -> str:
    """The category above; ROOT for a topmost one."""
    return name.rpartition(".")[0]


def one_line(text: str | None) -> str:
    """Without line breaks and control characters: strangers write directories, and a terminal would obey them."""
    line = " ".join(text.split()) if text else ""
    return line if line.isprintable() else _CONTROL.sub("", line)


class SkipReason(StrEnum):
    """Why something in a source did not become a listing."""

    MALFORMED = "malformed"
    NOT_HTTP = "not an http URL"
    NO_CATEGORY = "in no category"
    NOT_A_PAGE = "not a page"


@dataclass(frozen=True, slots=True)
class SourceFault:
    """A malformed place in a source."""

    source: str
    line: int  # from 1
    byte: int  # from 0, after decompression
    what: str

    def __str__(self) -> str:
        return f"{self.source} line {self.line}, byte {self.byte}: {self.what}"


class ImportProgress:
    """How much of the sources was read, and what was skipped. A strict import stops at the first malformed place."""

    def __init__(self, *, strict: bool = False, each: Callable[[ImportProgress], None] = lambda progress: None) -> None:
        self.strict = strict
        self.bytes = 0  # read so far, after decompression
        self.skipped: Counter[SkipReason] = Counter()
        self.faults: list[SourceFault] = []  # the first of them
        self._each = each

    def advance(self, count: int) -> None:
        """Count more bytes, and call `each`."""
        self.bytes += count
        self._each(self)

    def skip(self, why: SkipReason) -> None:
        """Count something that is left out."""
        self.skipped[why] += 1

    def fault(self, fault: SourceFault) -> None:
        """Count a malformed place; a strict import raises."""
        if self.strict:
            raise ForagerError(f"{fault}; leave out --strict to skip such places")
        self.skip(SkipReason.MALFORMED)
        if len(self.faults) < _REMEMBERED:
            self.faults.append(fault)
