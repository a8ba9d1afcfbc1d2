"""What a page says of its links: the words of each anchor and those either side of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from forager.learn.lexical.profiles import spans
from forager.types import Links, Page, Ragged


@dataclass(frozen=True, slots=True, eq=False)
class LinkTexts:
    """Hashed words, a row a link."""

    anchors: Ragged
    lefts: Ragged
    rights: Ragged

    @classmethod
    def of(cls, page: Page, links: Links, context: int) -> Self:
        """`context`: so many words either side, whatever elements they stand in; fewer where the page ends."""
        words = page.terms
        starts, ends = words.offsets[links.first_leaf], words.offsets[links.last_leaf + 1]
        before = np.minimum(starts, context)
        behind = np.minimum(len(words.values) - ends, context)
        lefts, rights = spans(words, starts - before, before), spans(words, ends, behind)
        return cls(spans(words, starts, ends - starts), lefts, rights)
