"""What a crawl has found out: URLs, the links between them, and the judgements. Facts are only added.

The order of links is not kept here: see `LaneFrontier`. If a URL is a redirect, all that is known of it, and every link
to it, belongs to the page it leads to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forager.frontier.columns import AnyIds, Column
from forager.frontier.edges import Edges
from forager.frontier.url_table import UrlTable
from forager.types import (
    FIRST,
    RELEVANT,
    Combine,
    Evidence,
    Floats,
    Frontier,
    Graph,
    Ids,
    Inlinks,
    Judgement,
    Known,
    Mask,
    Policy,
    Ragged,
    ScoredLinks,
    Trace,
    Url,
    WaitingBatch,
)

INLINKS = 8  # a trace shows so many, and so does a sweep
SEVERAL = (Policy.BEST, Policy.MEAN, Policy.NOISY_OR)  # these make one score of several
BATCH = 16_384  # links of a sweep that are put together at a time, in some milliseconds


class Facts:
    """All facts of one crawl, by the ids of its URLs."""

    def __init__(self, combine: Combine = FIRST, *, evidence: bool = True, folder: Path | None = None) -> None:
        """Without `evidence` none is gathered; it is not needed if the strategy does not learn. With a folder, clues
        are in a file there instead of in memory."""
        self._policy, self._largest_state = combine.policy, combine.largest
        self._gathers = evidence
        self.addresses = UrlTable()
        self.edges = Edges(folder)
        self._relevance, self._raw = Column(np.float32, fill=np.nan), Column(np.float32, fill=np.nan)
        self._inlinks, self._relevant_inlinks = Column(np.int32), Column(np.int32)
        self._kept = Column(np.int32, fill=-1)  # the edge by which an id will be visited; -1: none
        self._first = Column(np.bool_)  # seeds, and others that come before all the rest
        self._depth = Column(np.int32)
        self._leads_to = Column(np.int32, fill=-1)  # where an id redirects to; -1: nowhere
        self._redirects = False  # whether any id does
        self._hops: dict[int, int] = {}  # of ids that redirects led to: how many, one after the other
        self._ahead: dict[int, float] = {}  # ids that come first although they are no seeds, with their scores
        self._common_row = Column(np.int32, fill=-1)  # the row of a visited page in _common; -1: none
        self._common, self._common_offsets = Column(np.uint32), Column(np.int64)
        self._common_offsets.resize(1)
        self._pending: list[AnyIds] = []  # edges that are evidence for the next outcome

    # ---- addresses

    def intern(self, urls: Sequence[Url]) -> Ids:
        """The ids of the URLs. URLs that were never seen get new ids."""
        ids = self.addresses.intern(urls)
        self._grow()
        return ids

    def _grow(self) -> None:
        known = len(self.addresses)
        if known <= len(self._common_row):
            return
        columns: tuple[Column[Any], ...] = (
            *(self._relevance, self._raw, self._inlinks, self._relevant_inlinks, self._kept),
            *(self._first, self._depth, self._leads_to, self._common_row),
        )
        for column in columns:
            column.cover(known)

    def sow(self, seeds: Sequence[Url]) -> Ids:
        """The ids of the seeds. They are marked as seeds."""
        ids = self.intern(seeds)
        self._first.view[ids] = True
        return ids

    def comes_first(self, ids: Ids) -> Mask:
        """Which of these come before all others: seeds, and the targets of redirects that we have begun to follow."""
        return self._first.view.take(ids)

    def put_ahead(self, id: int, score: float) -> None:
        """Let an id come first. `score` is what its link was worth, for the trace."""
        if not self._first.view[id]:
            self._ahead[id] = score
            self._first.view[id] = True

    def hops(self, id: int) -> int:
        """How many redirects, one after the other, have led to an id."""
        return self._hops.get(id, 0)

    def final(self, ids: Ids) -> Ids:
        """The ids that these lead to by redirects, as far as redirects are known."""
        if not self._redirects:
            return ids
        leads_to = self._leads_to.view
        moved = leads_to[ids] >= 0
        while moved.any():
            ids = np.where(moved, leads_to[ids], ids)
            moved = leads_to[ids] >= 0
        return ids

    def is_merged(self, ids: Ids) -> Mask:
        """Which of these redirect to another one."""
        return np.asarray(self._leads_to.view.take(ids) >= 0)

    def redirect(self, source: int, target: int) -> bool:
        """Note that `source` redirects to `target`. False: that would close a circle, and is not noted."""
        if int(self.final(np.array([target], np.int32))[0]) == source:
            return False
        if self._leads_to.view[source] == target:  # it was asked for again
            return True
        self._hops[target] = self.hops(source) + 1
        moved = self.edges.into(source)
        self.edges.redirect(source, target)
        self._leads_to.view[source], self._redirects = target, True
        self._inlinks.view[target] += self._inlinks.view[source]
        self._relevant_inlinks.view[target] += self._relevant_inlinks.view[source]
        if self._kept.view[target] < 0:
            self._kept.view[target] = self._kept.view[source]
        if self._gathers and self.judged(target):
            self._pending.append(moved)
        return True

    # ---- outcomes

    def judged(self, id: int) -> bool:
        return not np.isnan(self._relevance.view[id])

    def known(self, ids: Ids) -> Known:
        """What is known of these ids now."""
        at = self.final(ids)
        return Known(self._relevance.view.take(at), self._inlinks.view.take(at), self._relevant_inlinks.view.take(at))

    def trace(self, asked: int, answered: int, order: int, score: float) -> Trace:
        """How we came to ask for `asked`, which led to `answered` (the same id if there was no redirect)."""
        kept = self._kept.view.item(asked)
        depth = 0 if kept < 0 else self._depth.view.item(self.edges.sources.item(kept)) + 1
        return Trace(answered, asked, order, depth, self._ahead.get(asked, score), self._inlinks_of(answered, kept))

    def _inlinks_of(self, id: int, kept: int) -> Inlinks:
        rows = self.edges.into(id) if kept >= 0 else _NO_ROWS  # no link was followed to a seed
        if len(rows):
            ahead = np.lexsort((-self.edges.scores[rows], rows != kept))  # stable: of equal scores the older is ahead
            rows = rows[ahead[:INLINKS]]
        return _LazyInlinks(self.edges, rows)

    def judge(self, trace: Trace, judgement: Judgement) -> Evidence:
        """Note the judgement of a page. Returns every link whose two ends were judged since the last time."""
        self.note(trace, judgement)
        if self._gathers:
            self._pending.append(self.edges.into(trace.id))
        return self.evidence()

    def note(self, trace: Trace, judgement: Judgement) -> None:
        """Note the judgement of something that is no page: it is no evidence."""
        self._relevance.view[trace.id], self._raw.view[trace.id] = judgement.relevance, judgement.raw
        self._depth.view[trace.id] = trace.depth

    def evidence(self) -> Evidence:
        """The evidence since the last time."""
        if not self._pending:
            return _NO_EVIDENCE
        rows = np.concatenate(self._pending, dtype=np.intp)
        self._pending = []
        raw, targets, sources = self._raw.view, self.edges.targets[rows], self.edges.sources[rows]
        return Evidence(
            self.edges.clues(rows), raw.take(targets), raw.take(sources), self._relevance.view.take(targets)
        )

    # ---- links

    def found(self, source: int, ids: Ids, scored: ScoredLinks, kept: Mask) -> None:
        """Add the scored links of a judged page. `kept` says which of them are the links by which their targets will be
        visited."""
        targets = self.final(ids)
        rows = self.edges.append(source, targets, scored)
        self._follow(ids, rows, kept)
        at = targets.astype(np.intp)
        self._inlinks.view[at] += 1  # a page that links to a target twice counts once: both rows write the same
        if self._relevance.view[source] >= RELEVANT:
            self._relevant_inlinks.view[at] += 1
        if scored.common is not None:
            self._common_row.view[source] = len(self._common_offsets) - 1
            self._common.extend(scored.common)
            self._common_offsets.extend(np.array([len(self._common)], np.int64))
        if self._gathers:
            late = rows[~np.isnan(self._relevance.view[at])]
            if len(late):
                self._pending.append(late)

    def _follow(self, ids: Ids, rows: AnyIds, kept: Mask) -> None:
        """Note the new links that are kept as the links by which their targets will be visited."""
        replaced = self._kept.view[ids] if self._largest_state else _NO_ROWS
        self._kept.view[ids[kept]] = rows[kept]
        if self._largest_state:
            self._carry_largest(replaced, self._kept.view[ids], rows)

    def _carry_largest(self, before: AnyIds, now: AnyIds, rows: AnyIds) -> None:
        """Raise the state of the links that are kept now to that of the links they replaced, and of the new links."""
        for others in (before, rows):
            both = (others >= 0) & (now >= 0)
            self.edges.keep_largest(now[both], self._largest_state, self.edges.state(others[both]))

    def keep(self, ids: Ids, links: Ids) -> None:
        """Note by which links the ids will be visited; -1: by the same link as before."""
        given = links >= 0
        self._kept.view[ids[given]] = links[given]

    def slice(self, ids: Ids, frontier: Frontier) -> WaitingSlice:
        """What a sweep sees of these waiting ids: the links to them, each with what its parent page gave it."""
        places, links = self._links_to(ids)
        parent = links >= 0
        sources = np.full(len(links), -1, np.int32)
        sources[parent] = self.edges.sources[links[parent]]
        found = self.edges.state(links[parent])
        state = np.zeros((len(links), found.shape[1]), np.float32)
        state[parent] = found
        clues = _spread(self.edges.clues(links[parent]), parent)
        to = ids[places]
        shown = (self.addresses.hosts[to], frontier.scores(to), state, clues, self._common_of(sources))
        return WaitingSlice(WaitingBatch(to, sources, *shown), ids, links, np.searchsorted(places, np.arange(len(ids))))

    def _links_to(self, ids: Ids) -> tuple[Ids, Ids]:
        """Two columns: the place in `ids`, ascending, and the link; -1 if no page links to the id."""
        if self._policy not in SEVERAL:
            return np.arange(len(ids), dtype=np.int32), self._kept.view[ids]
        places, links = self.edges.newest_into(ids, INLINKS)
        alone = np.setdiff1d(np.arange(len(ids), dtype=np.int32), places)
        order = np.argsort(np.concatenate((places, alone)), kind="stable")
        return np.concatenate((places, alone))[order], np.concatenate((links, np.full(len(alone), -1, np.int32)))[order]

    def _common_of(self, sources: Ids) -> Ragged:
        rows = np.where(sources >= 0, self._common_row.view[sources], -1)
        given = rows >= 0
        return _spread(Ragged(self._common.view, self._common_offsets.view).take(rows[given]), given)

    def graph(self) -> Graph:
        """All edges as a graph over the ids."""
        known = len(self.addresses)
        offsets, targets, weights = self.edges.csr(known)
        return Graph(offsets, targets, weights, self._relevance.view[:known], self.addresses.hosts)


@dataclass(frozen=True, slots=True, eq=False)
class WaitingSlice:
    """Some of the waiting ids, as a sweep sees them: as links, of which several may lead to one id."""

    batch: WaitingBatch
    ids: Ids  # each once, ascending
    links: Ids  # (rows of the batch,) the edge of each row, -1 if no page links to the id
    starts: NDArray[np.intp]  # (ids,) the first row of each id

    def settle(self, scores: Floats, policy: Policy) -> tuple[Floats, Ids]:
        """One score for each id, by the policy, and the link by which it will be visited."""
        if len(scores) == len(self.ids):
            return scores, self.links
        if policy is Policy.MEAN:
            means = np.add.reduceat(scores, self.starts) / np.diff(self.starts, append=len(scores))
            return means.astype(np.float32), np.full(len(self.ids), -1, np.int32)
        if policy is Policy.NOISY_OR:
            return 1 - np.multiply.reduceat(1 - scores, self.starts), np.full(len(self.ids), -1, np.int32)
        best = np.maximum.reduceat(scores, self.starts)
        place = np.repeat(np.arange(len(self.ids)), np.diff(self.starts, append=len(scores)))
        first = np.flatnonzero(scores == best[place])[::-1]  # backwards: of equal scores the oldest is written last
        links = np.full(len(self.ids), -1, np.int32)
        links[place[first]] = self.links[first]
        return best, links


class _LazyInlinks(Inlinks):
    """Reads clues only when they are asked for, because few strategies look at the clues of inlinks."""

    __slots__ = ("_edges", "_rows")
    _edges: Edges
    _rows: AnyIds

    def __init__(self, edges: Edges, rows: AnyIds) -> None:
        given = {"sources": edges.sources[rows], "scores": edges.scores[rows], "state": edges.state(rows)}
        for name, value in {**given, "_edges": edges, "_rows": rows}.items():
            object.__setattr__(self, name, value)  # frozen

    @property
    def clues(self) -> Ragged:
        return self._edges.clues(self._rows)

    def __reduce__(self) -> tuple[type[Inlinks], tuple[Any, ...]]:
        """A copy has its clues in memory."""
        return Inlinks, (self.sources, self.scores, self.state, self.clues)


_NO_ROWS = np.empty(0, np.intp)
_NO_EVIDENCE = Evidence(Ragged.of([]), np.empty(0, np.float32), np.empty(0, np.float32))


def _spread(rows: Ragged, where: Mask) -> Ragged:
    """The rows at the places that are True; the other rows are empty."""
    lengths = np.zeros(len(where), np.int64)
    lengths[where] = rows.lengths
    return Ragged(rows.values, np.concatenate(([0], np.cumsum(lengths))))
