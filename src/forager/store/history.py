"""How the pages of a collection change, and when each should be looked at again.

A page is asked for about as often as it changes. How often that is, is estimated from how many of the visits so far
found a change (Cho and Garcia-Molina, Estimating Frequency of Change, ACM TOIT 2003): if X of n visits did, and I is
the mean time between two, the page changes -log((n - X + 0.5) / (n + 0.5)) / I times a second.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import datetime, timedelta
from math import log, sqrt
from typing import NamedTuple

from forager.store.records import moment


class SeenPage(NamedTuple):
    """A page of a collection that was there when it was last asked for."""

    id: int
    url: str
    seq: int  # of the record with its text
    depth: int
    visits: int  # after the first
    changes: int  # that these visits found
    first: datetime
    last: datetime

    def due(self, soonest: float, latest: float) -> datetime:
        """When to look again. `soonest` and `latest` are seconds after the last visit.

        A page that was seen once is looked at after a time between both. One that has not changed is believed no longer
        than twice the time that it was watched."""
        if not self.visits:
            return self.last + timedelta(seconds=sqrt(soonest * latest))
        watched = (self.last - self.first).total_seconds()
        often = -log((self.visits - self.changes + 0.5) / (self.visits + 0.5))  # changes between two visits
        wait = watched / self.visits / often if often else latest
        return self.last + timedelta(seconds=max(soonest, min(wait, latest, 2 * watched)))


def seen_pages(db: sqlite3.Connection) -> Iterator[SeenPage]:
    """All pages whose last answer was the page, in the order in which they were first found."""
    rows = db.execute(
        "SELECT s.answered, u.text, s.page, v.depth, s.seen - 1, s.pages - 1, s.first, v.asked_at FROM"
        " (SELECT answered, max(seq) AS last, max(CASE outcome WHEN 'page' THEN seq END) AS page,"
        "  min(CASE WHEN outcome IN ('page', 'same') THEN asked_at END) AS first,"
        "  total(outcome IN ('page', 'same')) AS seen, total(outcome = 'page') AS pages"
        "  FROM visit WHERE outcome <> 'retry' GROUP BY answered HAVING page NOT NULL) s"
        " JOIN visit v ON v.seq = s.last JOIN url u ON u.id = s.answered"
        " WHERE v.outcome IN ('page', 'same') ORDER BY s.answered"
    )
    for id, url, seq, depth, visits, changes, first, last in rows:
        yield SeenPage(id, url, seq, depth, int(visits), int(changes), moment(first), moment(last))
