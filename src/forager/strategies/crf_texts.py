"""Texts of a page and its links as hashed features of several kinds, cut and hashed all at once.

*Shapes* of a text: its words that hold a digit, with all digits 0, after joining numbers to the word before them:
"cs412" is "cs000", and so is "CS 412". A word with a digit is also a *number* of the text, which tells whether a link
has the numbers of its page, as an exercise of a course has, or others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.text import mix, term, terms, words
from forager.types import Terms

Places: TypeAlias = NDArray[np.integer[Any]]

NUMBERS = ("number", "own_number")  # flags: a number of a link that the page does not have, or has, too
_FLAGS = np.array([term(flag) for flag in NUMBERS], np.uint32)
DIGIT = re.compile("[0-9]")
_ZEROS = bytes(ord("0") if ord("0") <= octet <= ord("9") else octet for octet in range(256))
_BEFORE_NUMBER = re.compile("(?<=[A-Za-z])[ .-](?=[0-9])")
_ATTRIBUTES = re.compile(r"[#.]\S*")


@dataclass(slots=True)
class Texts:
    """Texts of `count` rows; a kind is a small number. One call of `terms` costs as much as a hundred texts in it."""

    count: int
    flags: int  # the kind of NUMBERS
    kinds: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)  # of the first kind one for each row, then of the next
    numbered: list[str] = field(default_factory=list)  # those with a digit, for their shapes
    shapes_of: list[tuple[int, int]] = field(default_factory=list)  # kind and row of each

    def add(self, kind: int, texts: Iterable[str]) -> None:
        """The words of each row."""
        self.kinds.append(kind)
        self.texts.extend(texts)

    def add_shapes(self, kind: int, texts: Iterable[str]) -> None:
        """The shapes of each row. What follows the last row is of the page: only its numbers matter."""
        for row, text in enumerate(texts):
            if DIGIT.search(text):
                self.numbered.append(_BEFORE_NUMBER.sub("", text))
                self.shapes_of.append((kind, row))

    def hashed(self) -> tuple[Terms, Places]:
        """All features, and the row of each: words, then shapes, then flags of numbers."""
        said, shaped = len(self.texts), len(self.numbered)
        cut = terms([*self.texts, *self.numbered, *map(_zeroed, self.numbered)])
        whole, exact = cut.offsets[[said, said + shaped]]
        kinds = np.repeat(np.repeat(self.kinds, self.count), cut.lengths[:said])
        rows = np.repeat(np.tile(np.arange(self.count), len(self.kinds)), cut.lengths[:said])
        of = np.repeat(np.array(self.shapes_of, np.int64).reshape(-1, 2), cut.lengths[said : said + shaped], axis=0)
        numbers, zeroed = cut.values[whole:exact], cut.values[exact:]
        held, own = numbers != zeroed, of[:, 1] == self.count
        at = np.flatnonzero(held & ~own)
        flags = _FLAGS[np.isin(numbers[at], numbers[held & own]).astype(np.intp)]
        values = np.concatenate([cut.values[:whole], zeroed[at], flags])
        salts = np.concatenate([kinds, of[at, 0], np.full(len(at), self.flags)])
        return mix(values, salts), np.concatenate([rows, of[at, 1], of[at, 1]])

    def told(self) -> list[tuple[int, str]]:
        """Kind and word of each feature, in the order of `hashed`."""
        kinds = [kind for kind in self.kinds for _ in range(self.count)]
        plain = [(kind, word) for kind, text in zip(kinds, self.texts, strict=True) for word in words(text)]
        held = [
            (kind, row, word, shape)
            for text, (kind, row) in zip(self.numbered, self.shapes_of, strict=True)
            for word, shape in zip(words(text), words(_zeroed(text)), strict=True)
            if word != shape
        ]
        own = {word for _, row, word, _ in held if row == self.count}
        shaped = [(kind, word, shape) for kind, row, word, shape in held if row < self.count]
        flags = [(self.flags, NUMBERS[word in own]) for _, word, _ in shaped]
        return plain + [(kind, shape) for kind, _, shape in shaped] + flags


def _zeroed(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").translate(_ZEROS).decode("utf-8", "surrogatepass")


# ---- URLs and tag paths ---------------------------------------------------------------------------------------------


def tokens(address: str) -> str:
    """A part of a URL as words: "~svc" becomes "_", which stands for "~", and "_svc"; everything else separates."""
    return address.replace("_", " ").replace("~", " _ _")


def path_of(url: str) -> str:
    return url[url.find("/", 8) :]


def ending(url: str) -> str:
    """The extension of the last part of the path, or what there is instead."""
    last = url[url.rfind("/") + 1 :].partition("?")[0]
    return last[last.rfind(".") + 1 :] if "." in last else "file" if last else "folder"


def places(here: str, targets: Sequence[str]) -> list[str]:
    """How each URL lies to this one."""
    folder, host = here[: here.rfind("/") + 1], here[: here.find("/", 8) + 1]
    return [_place(here, folder, host, url) for url in targets]


def _place(here: str, folder: str, host: str, url: str) -> str:
    if url.startswith(folder):
        return "below" if "/" in url[len(folder) :] else "beside"
    if not url.startswith(host):
        return "elsewhere"
    return "above" if here.startswith(url[: url.rfind("/") + 1]) else "across"


def tails(tag_paths: Sequence[str]) -> list[str]:
    """The last three elements of each path as one word, without ids and classes."""
    known = {path: _ATTRIBUTES.sub("", "_".join(path.split()[-3:])) for path in set(tag_paths)}
    return [known[path] for path in tag_paths]
