"""The pages that a topic was learnt from, as a strategy can use them: what they are called, how they begin, which words
they have, and whether they are wanted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from forager.types import Mask, Page, Parts, Ragged
from forager.web.text import distinct

OPENING = 1_000  # characters of a page that tell what it is about
SENTENCE = 40  # characters of a leaf that is more than a name


@dataclass(frozen=True, slots=True, eq=False)
class TopicSample:
    """Pages with a verdict. Without pages, `words` say what is wanted."""

    titles: tuple[str, ...]
    openings: tuple[str, ...]  # the first text of each page
    bags: Ragged  # the distinct terms of each page
    wanted: Mask
    words: tuple[str, ...] = ()

    @classmethod
    def of(cls, pages: Iterable[Page], wanted: Iterable[bool], words: Sequence[str] = ()) -> TopicSample:
        titles, openings, bags, verdicts = [], [], [], []
        for page, verdict in zip(pages, wanted, strict=True):
            titles.append(page.title)
            openings.append(opening(page))
            bags.append(distinct(page.terms.values))
            verdicts.append(bool(verdict))
        return cls(tuple(titles), tuple(openings), Ragged.of(bags), np.array(verdicts, bool), tuple(words))

    def parts(self) -> Parts:
        told = {"titles": list(self.titles), "openings": list(self.openings), "words": list(self.words)}
        return {"told": told, "values": self.bags.values, "offsets": self.bags.offsets, "wanted": self.wanted}

    @classmethod
    def from_parts(cls, parts: Parts) -> TopicSample:
        told, bags = parts["told"], Ragged(parts["values"], parts["offsets"])
        return cls(tuple(told["titles"]), tuple(told["openings"]), bags, parts["wanted"], tuple(told["words"]))


def opening(page: Page) -> str:
    """How a page begins."""
    return " ".join([page.leaves[leaf][:OPENING] for leaf in opening_leaves(page)])[:OPENING]


def opening_leaves(page: Page) -> list[int]:
    """The leaves that a page begins with: sentences, not menus."""
    chosen, length = [], 0
    for at, leaf in enumerate(page.leaves):
        if len(leaf) > SENTENCE:
            chosen.append(at)
            length += len(leaf)
            if length > OPENING:
                break
    return chosen
