"""Visits made by hand, for tests of strategies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forager.types import Fetch, Inlinks, Judgement, Known, Page, Ragged, Trace, Url, Visit
from forager.web.page import parse


def page_of(url: str, markup: str) -> Page:
    page = parse(Fetch(Url(url), markup.encode()))
    assert isinstance(page, Page), page
    return page


def inlinks(state: Sequence[Sequence[float]] = (), scores: Sequence[float] | None = None) -> Inlinks:
    """A row for each link by which the page was found, row 0 the one followed; none: a seed."""
    rows = np.array(state, np.float32).reshape(len(state), -1) if len(state) else np.zeros((0, 0), np.float32)
    given = np.array(scores if scores is not None else [0.0] * len(rows), np.float32)
    return Inlinks(np.arange(len(rows), dtype=np.int32), given, rows, Ragged.of([[] for _ in rows]))


def visit_of(
    page: Page,
    relevance: float = 0.5,
    *,
    parents: Inlinks | None = None,
    known: Sequence[float] | None = None,
    seen_on: Sequence[int] | None = None,
    seen_on_relevant: Sequence[int] | None = None,
    order: int = 0,
    depth: int = 0,
    id: int = 0,
) -> Visit:
    """`known`: relevance of each target, nan = not judged; `seen_on`: how many other pages link to it."""
    count = len(page.links)
    targets = Known(
        np.array(known if known is not None else [np.nan] * count, np.float32),
        np.array(seen_on if seen_on is not None else [0] * count, np.int32),
        np.array(seen_on_relevant if seen_on_relevant is not None else [0] * count, np.int32),
    )
    topics = np.array([relevance, 1 - relevance], np.float32)
    judgement = Judgement(relevance, relevance, topics, "by hand")
    trace = Trace(id, id, order, depth, 0.0, parents or inlinks())
    return Visit(page, page.links, judgement, trace, targets)
