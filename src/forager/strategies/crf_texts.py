"""Texts of a page and its links as hashed features of several kinds, cut and hashed all at once.

*Shapes* of a text: its words that hold a digit, with all digits 0, after joining numbers to the word before them:
"cs412" is "cs000", and so is "CS 412". A word with a digit is a *number*, too: it tells whether a link has a number of
the page that it is on, as an exercise has that of its course, or another one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.text import term, terms, words
from forager.types import Terms, Url

Places: TypeAlias = NDArray[np.integer[Any]]

NUMBERS = ("number", "own_number")  # flags of links: one that the page does not have, or has, too
_FLAGS = np.array([term(flag) for flag in NUMBERS], np.uint32)
_MOST = 100  # numbers of a page that count
_ZEROS = bytes(ord("0") if ord("0") <= octet <= ord("9") else octet for octet in range(256))
_BEFORE_NUMBER = re.compile("[ .-](?<=[A-Za-z].)(?=[0-9])")  # a look back is slow before the first character
_ATTRIBUTES = re.compile(r"[#.]\S*")
_BETWEEN = "\x1e"  # texts that are changed together
_KIND = 24  # bits below the kind, for the row


@dataclass(slots=True)
class Texts:
    """Texts of n links, rows 0 to n - 1, and of the page they are on, row n.

    A kind is a small number; the same word is another feature for each. One call of `terms` costs as much as a hundred
    short texts in it, hence a single one for all.
    """

    links: int  # n
    flags: int  # the kind of NUMBERS
    texts: list[str] = field(default_factory=list)
    of: list[Places] = field(default_factory=list)  # kind and row of each
    numbered: list[str] = field(default_factory=list)  # texts with a digit, for their shapes
    shapes_of: list[int] = field(default_factory=list)

    def add(self, kind: int, texts: Sequence[str], first: int = 0) -> None:
        """The words of each row, from `first` on."""
        self.texts += texts
        self.of.append(np.arange((kind << _KIND) + first, (kind << _KIND) + first + len(texts)))

    def add_shapes(self, kind: int, texts: Sequence[str], first: int = 0) -> None:
        """The shapes of each row, from `first` on."""
        held = numbered(texts)
        self.numbered += _at_once(partial(_BEFORE_NUMBER.sub, ""), [texts[at] for at in held])
        self.shapes_of += [(kind << _KIND) + first + at for at in held]

    def cut(self) -> tuple[Terms, Places, Places]:
        """All words with their kinds and rows: those of texts, then shapes, then flags of numbers."""
        hashed = terms([*self.texts, *self.numbered, *_at_once(_zeroed, self.numbered)])
        plain, spread = len(self.texts), len(self.texts) + len(self.numbered)
        whole, exact = hashed.offsets[plain], hashed.offsets[spread]
        of = np.repeat(np.concatenate((*self.of, np.array(self.shapes_of, np.int64))), hashed.lengths[:spread])
        numbers, shapes, shapes_of = hashed.values[whole:exact], hashed.values[exact:], of[whole:]
        held = np.flatnonzero(numbers != shapes)
        numbers, shapes, shapes_of = numbers[held], shapes[held], shapes_of[held]
        of_link = _row(shapes_of) < self.links
        shared = (numbers[of_link, None] == numbers[~of_link][:_MOST]).any(axis=1)
        values = np.concatenate((hashed.values[:whole], shapes, _FLAGS[shared.astype(np.intp)]))
        whose = np.concatenate((of[:whole], shapes_of, _row(shapes_of[of_link]) | self.flags << _KIND))
        return values, whose >> _KIND, _row(whose)

    def told(self) -> list[tuple[int, str]]:
        """Kind and word of each feature of the links, in the order of `cut`."""
        whose = np.concatenate(self.of).tolist()
        plain = [(of, word) for of, text in zip(whose, self.texts, strict=True) for word in words(text)]
        held = [
            (of, word, shape)
            for of, text in zip(self.shapes_of, self.numbered, strict=True)
            for word, shape in zip(words(text), words(_zeroed(text)), strict=True)
            if word != shape
        ]
        own = [word for of, word, _ in held if _row(of) == self.links][:_MOST]
        flags = [(self.flags << _KIND, NUMBERS[word in own]) for of, word, _ in held if _row(of) < self.links]
        told = plain + [(of, shape) for of, _, shape in held] + flags
        return [(of >> _KIND, word) for of, word in told if _row(of) < self.links]


def _row(of: Any) -> Any:
    return of & ((1 << _KIND) - 1)


def numbered(texts: Sequence[str]) -> list[int]:
    """Which of the texts hold a digit."""
    return [at for at, text in enumerate(_at_once(_zeroed, texts)) if "0" in text]


def _at_once(change: Callable[[str], str], texts: Sequence[str]) -> list[str]:
    """Each text changed, by one call for all: many times as fast, where they are short."""
    joined = _BETWEEN.join(texts)
    if joined.count(_BETWEEN) != len(texts) - 1:  # none at all, or one that holds it
        return [change(text) for text in texts]
    return change(joined).split(_BETWEEN)


def _zeroed(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").translate(_ZEROS).decode("utf-8", "surrogatepass")


# ---- URLs and tag paths ---------------------------------------------------------------------------------------------


def tokens(address: str) -> str:
    """A part of a URL as words: "~svc" becomes "_", which stands for "~", and "_svc"; everything else separates."""
    return address.replace("_", " ").replace("~", " _ _")


def path_of(url: str) -> str:
    return url[url.find("/", 8) :]


class Addresses(NamedTuple):
    """The URLs of links, seen from the page they are on."""

    paths: list[str]  # as tokens
    rests: list[str]  # what follows the folder of the page, as tokens; "" where it does not lie there
    places: list[str]  # below, beside, above, across, elsewhere

    @classmethod
    def of(cls, page: Url, targets: Sequence[Url]) -> Self:
        here, *there = tokens("\n".join((page, *targets))).split("\n")  # no URL has a line end
        folder, host = here[: here.rfind("/") + 1], here[: here.find("/", 8) + 1]
        rests = [url[len(folder) :] if url.startswith(folder) else "" for url in there]
        places = [_place(here, host, url, rest) for url, rest in zip(there, rests, strict=True)]
        return cls([path_of(url) for url in there], rests, places)


def _place(here: str, host: str, url: str, rest: str) -> str:
    if rest:
        return "below" if "/" in rest else "beside"
    if not url.startswith(host):
        return "elsewhere"
    return "above" if here.startswith(url[: url.rfind("/") + 1]) else "across"


def tails(tag_paths: Sequence[str]) -> list[str]:
    """The last three elements of each path as one word, without ids and classes."""
    return [_tail(path) for path in tag_paths]


@lru_cache(maxsize=4096)
def _tail(path: str) -> str:
    return "_".join(_ATTRIBUTES.sub("", part) for part in path.split()[-3:])
