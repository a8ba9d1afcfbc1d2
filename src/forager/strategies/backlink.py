"""Links to what most pages link to: for pages that are linked from everywhere, whatever their topic.

Cho, Garcia-Molina & Page (1998): a link is as good as the number of pages that link to its target.

    priority(v) = |{u fetched : u -> v}|

The pages are counted when v is found, and the page that v is found on counts too. A target found again takes the latest
count.

*Hot links* (option `hot`, here and in pagerank.py) are the paper's similarity-first rule, for strategies that order
links by importance. Links that may lead to the topic go before all others:

    u is hot          if a query word stands in its title, or if one query word stands TIMES times in its body
    near(u)           NEAR + 1 if u is hot; else near of the link that led to u, less 1, and never below 0.
                      So near(u) > 0 as long as a hot page lies at most NEAR links back
    (u,v) is hot      if near(u) > 0, or if a query word stands in its anchor or its URL
    score(u,v)        [(u,v) is hot] + log2(1 + x) / 32      where x is the importance, 0 <= x < 2^32

The second term is below 1 and grows with x. The logarithm keeps large x apart in 32-bit floats. Two columns of state
travel with a link: near(u), and whether its own words are hot. If a link is found again, the larger values are kept, so
a hot link stays hot.
"""

from __future__ import annotations

import numpy as np

from forager.errors import ForagerError
from forager.learn.tfidf import Query, find
from forager.types import LATEST, Combine, Floats, Links, Mask, Page, Policy, ScoredLinks, Trace, Visit
from forager.web.text import terms, url_terms

TIMES = 10  # occurrences of one query word that make a page hot
NEAR = 3  # links from a hot page
HOT_COMBINE = Combine(Policy.BEST, largest=(0, 1))  # a link that was hot on one page stays hot


class Backlink:
    """Links by the number of pages that link to their targets; hot links first if `hot`."""

    def __init__(self, *, query: Query | None = None, hot: bool = False) -> None:
        self._hot = HotLinks(query, "backlink") if hot else None
        self.combine: Combine = HOT_COMBINE if hot else LATEST

    def score(self, visit: Visit) -> ScoredLinks:
        backlinks = visit.known.inlinks.astype(np.float32) + 1
        return self._hot.score(visit, backlinks) if self._hot else ScoredLinks(backlinks)


class HotLinks:
    """Puts hot links before all others, and keeps the order by importance among both. state = (near(u), hot words)"""

    def __init__(self, query: Query | None, strategy: str) -> None:
        if query is None or not len(query.terms):
            raise ForagerError(
                f"{strategy}: `hot` needs query words, and there are none; give the critic keywords, or leave `hot` out"
            )
        self._query = query

    def score(self, visit: Visit, importance: Floats) -> ScoredLinks:
        """[hot] + log2(1 + importance) / 32 for each link of the visit."""
        which, matches = find(visit.page.terms.values, self._query.terms)
        times = np.bincount(which[matches], minlength=1).max()  # of the most frequent query word
        near = NEAR + 1 if times >= TIMES or self._in_title(visit.page) else carried_near(visit.trace)
        words = self._in_anchor(visit, matches) | self._in_url(visit.links)
        state = np.column_stack((np.full(len(words), near), words)).astype(np.float32)
        return ScoredLinks(hot_first(state, importance), state=state)

    def _in_title(self, page: Page) -> bool:
        return bool(self._query.counts(terms([page.title])).any())

    def _in_anchor(self, visit: Visit, matches: Mask) -> Mask:
        before = np.concatenate(([0], np.cumsum(matches)))  # matches before each word of the page
        leaves = before[visit.page.terms.offsets]
        return np.asarray(leaves[visit.links.last_leaf + 1] > leaves[visit.links.first_leaf])

    def _in_url(self, links: Links) -> Mask:
        return np.asarray(self._query.counts(url_terms(links.targets)) > 0)


def carried_near(trace: Trace) -> float:
    """near(u) of a page u that is not hot itself; 0 for a seed."""
    return max(0.0, float(trace.inlinks.state[:, 0].max()) - 1) if trace.inlinks.state.size else 0.0


def hot_first(state: Floats, importance: Floats) -> Floats:
    """[hot] + log2(1 + importance) / 32. If there are no columns of state, nothing is hot."""
    return (state.any(axis=1) + np.log2(1 + importance.astype(np.float64)) / 32).astype(np.float32)
