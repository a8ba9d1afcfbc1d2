"""Links whose address has the most keywords first: the keyword scorer of crawl4ai, with its best-first crawl.

For a link to v, with the keywords k_1 … k_m and the address of v as a string with its escapes decoded:

    score(v) = weight * #{i: k_i occurs in the address of v} / m

A keyword occurs if it is a part of the string, in any case; "art" occurs in "/smart". Pages and anchors do not count,
and nothing is learnt. The keywords are the words of the query: the name of the topic and the strongest words of its
examples. crawl4ai leaves them to its user; the option `words` does the same here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forager.learn.tfidf import Query
from forager.types import FIRST, ScoredLinks, Visit
from forager.web.text import fold, unescaped


class UrlKeywords:
    """Links by the share of the keywords that their address has."""

    combine = FIRST  # the score is the same wherever the link is found

    def __init__(self, *, query: Query | None = None, words: Sequence[str] = (), weight: float = 1.0) -> None:
        """`words`: the keywords, instead of the words of the query."""
        given = words or (query.words if query is not None else ())
        self.keywords = tuple(dict.fromkeys(fold(word) for word in given if word))
        self.weight = weight

    def score(self, visit: Visit) -> ScoredLinks:
        addresses = np.array([fold(unescaped(url)) for url in visit.links.targets], np.str_)
        found = np.zeros(len(addresses), np.float32)
        for keyword in self.keywords:
            found += np.char.find(addresses, keyword) >= 0
        return ScoredLinks((self.weight * found / max(1, len(self.keywords))).astype(np.float32))
