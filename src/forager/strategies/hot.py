"""What is hot: the similarity-first rule of Cho, Garcia-Molina & Page (1998), for strategies that order by importance.

    u is hot          a query word stands in its title, or one of them TIMES times in its body
    near(u)           NEAR + 1 if u is hot, else near of the link that led to u, less 1, and never below 0:
                      above 0 as long as a hot page lies at most NEAR links back
    (u,v) is hot      near(u) > 0, or a query word stands in its anchor or its URL

Two columns of state travel with a link: near(u), and whether its own words are hot. Of a link found again the larger
ones are kept, so hot is hot for good. Hot links queue before all others: a score is

    [hot] + log2(1 + x) / 32      with the importance x, 0 <= x < 2^32

The second term is below 1 and grows with x; the logarithm keeps large x apart in 32-bit floats.
"""

from __future__ import annotations

import numpy as np

from forager.errors import ForagerError
from forager.learn.tfidf import Query, find
from forager.types import Combine, Floats, Links, Mask, Page, Policy, ScoredLinks, Trace, Visit
from forager.web.text import terms, url_terms

TIMES = 10  # occurrences of one query word that make a page hot
NEAR = 3  # links from a hot page
COMBINE = Combine(Policy.BEST, largest=(0, 1))  # found again in the other queue, a link stays in the hot one


class Hot:
    def __init__(self, query: Query | None, strategy: str) -> None:
        if query is None or not len(query.terms):
            raise ForagerError(
                f"{strategy}: `hot` needs query words, and there are none; give the critic keywords, or leave `hot` out"
            )
        self._query = query

    def score(self, visit: Visit, importance: Floats) -> ScoredLinks:
        """The links of a visit in their queues."""
        which, matches = find(visit.page.terms.values, self._query.terms)
        times = np.bincount(which[matches], minlength=1).max()  # of the most frequent query word
        near = NEAR + 1 if times >= TIMES or self._in_title(visit.page) else carried(visit.trace)
        words = self._in_anchor(visit, matches) | self._in_url(visit.links)
        state = np.column_stack((np.full(len(words), near), words)).astype(np.float32)
        return ScoredLinks(queued(state, importance), state=state)

    def _in_title(self, page: Page) -> bool:
        return bool(self._query.counts(terms([page.title])).any())

    def _in_anchor(self, visit: Visit, matches: Mask) -> Mask:
        before = np.concatenate(([0], np.cumsum(matches)))  # matches before each word of the page
        leaves = before[visit.page.terms.offsets]
        return np.asarray(leaves[visit.links.last_leaf + 1] > leaves[visit.links.first_leaf])

    def _in_url(self, links: Links) -> Mask:
        return np.asarray(self._query.counts(url_terms(links.targets)) > 0)


def carried(trace: Trace) -> float:
    """near of a page that is not hot itself; 0 for a seed."""
    return max(0.0, float(trace.inlinks.state[:, 0].max()) - 1) if trace.inlinks.state.size else 0.0


def queued(state: Floats, importance: Floats) -> Floats:
    """[hot] + log2(1 + importance) / 32. Without columns of state nothing is hot."""
    return (state.any(axis=1) + np.log2(1 + importance.astype(np.float64)) / 32).astype(np.float32)
