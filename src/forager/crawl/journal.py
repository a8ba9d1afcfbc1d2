"""Between the step and the store: what is taken in becomes records, and records become facts, order and learner again.

A crawl in memory is a function of its records in their order: a resumed crawl applies each as the step did, with the
judgement and scores that were stored instead of new ones. Pages are read again only for a learner, and only those after
its last checkpoint. So a crawl that was killed goes on as if it had not been.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from forager.clock import Clock
from forager.crawl.loop import Crawl
from forager.crawl.step import Reader, Taken
from forager.errors import ForagerError
from forager.store import NewUrl, Record, Store, Stored
from forager.types import (
    FIRST_OF_ALL,
    Candidate,
    Failure,
    Fetch,
    Ids,
    Inlinks,
    Judgement,
    Learns,
    Miss,
    Page,
    Parts,
    Persists,
    Ragged,
    Reason,
    Redirect,
    ScoredLinks,
    Strategy,
    Trace,
    Url,
    Visit,
)

CHECKPOINT = 1_000  # pages between two checkpoints of a learner
SLICE = 65_536  # URLs whose texts are in memory at once
_LEARNT = "strategy."  # before the names of the strategy's own parts in a checkpoint


class Journal:
    """The keeper of a crawl: see `forager.crawl.loop.Keeper`."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._crawl: Crawl | None = None
        self._checkpoint: tuple[int, Parts] | None = None
        self._checkpointed = 0  # pages at the last checkpoint
        self._checkpoint_seq = -1  # the last record it has seen

    # ---- keeping

    @property
    def pending(self) -> int:
        return self._store.pending

    def keep(self, taken: Taken) -> None:
        self._store.add(self._record(taken))

    def due(self, now: float) -> bool:
        return self._store.due(now)

    def commit(self) -> None:
        self._store.commit()
        crawl = self._crawl
        if crawl and isinstance(crawl.strategy, Persists) and crawl.tally.pages >= self._checkpointed + CHECKPOINT:
            self._save_checkpoint(crawl, crawl.strategy)

    def end(self) -> None:
        """The crawl stops: keep what its learner knows now."""
        crawl = self._crawl
        if crawl and isinstance(crawl.strategy, Persists) and self._store.last_seq > self._checkpoint_seq:
            self._save_checkpoint(crawl, crawl.strategy)

    def _save_checkpoint(self, crawl: Crawl, strategy: Persists) -> None:
        waiting = crawl.frontier.waiting
        own = {_LEARNT + name: part for name, part in strategy.parts().items()}
        self._store.checkpoint(
            self._store.last_seq, {"waiting": waiting, "scores": crawl.frontier.scores(waiting), **own}
        )
        self._checkpointed, self._checkpoint_seq = crawl.tally.pages, self._store.last_seq

    def _record(self, taken: Taken) -> Record:
        trace, answer, outcome = taken.trace, taken.answer, taken.outcome
        judgement = outcome.judgement if isinstance(outcome, Visit) else None
        page = outcome.page if isinstance(outcome, Visit) else None
        parent = int(trace.inlinks.sources[0]) if len(trace.inlinks.sources) else -1
        redirects = [(trace.id, int(taken.ids[0]))] if isinstance(answer, Redirect) and len(taken.ids) else []
        return Record(
            seq=self._store.last_seq + self._store.pending + 1,
            asked=trace.asked,
            answered=trace.id,
            outcome=_kind(taken),
            reason=str(outcome.reason) if isinstance(outcome, Miss) else _reason(answer),
            detail=outcome.detail if isinstance(outcome, Miss) else "",
            status=answer.status,
            parent=parent,
            depth=trace.depth,
            score=trace.score,
            relevance=judgement.relevance if judgement else float("nan"),
            raw=judgement.raw if judgement else float("nan"),
            topics=judgement.topics if judgement else None,
            critic=judgement.version if judgement else "",
            label=(taken.scored.label or "") if taken.scored else "",
            asked_at=self._clock.utc(),
            seconds=answer.seconds,
            title=page.title if page else "",
            answer=answer,
            why=self._why(trace, parent, judgement),
            new_urls=self._new_urls(taken),
            links=pack_links(taken.ids, taken.scored) if taken.scored else b"",
            redirects=redirects,
        )

    def _why(self, trace: Trace, parent: int, judgement: Judgement | None) -> dict[str, Any]:
        """For the archive: how we came to this URL and what we think of it."""
        assert self._crawl
        seed = parent < 0
        why: dict[str, Any] = {"seed": seed, "depth": trace.depth}
        if not seed:
            why |= {"parent": self._crawl.facts.addresses[parent], "score": round(trace.score, 6)}
        if judgement:
            why |= {"relevance": judgement.relevance, "raw": judgement.raw, "critic": judgement.version}
        return why

    def _new_urls(self, taken: Taken) -> list[NewUrl]:
        assert self._crawl
        addresses, next_id = self._crawl.facts.addresses, taken.found
        if len(addresses) == next_id:
            return []
        if not isinstance(taken.outcome, Visit) or taken.scored is None:
            score = taken.trace.score  # a redirect's target has the score of the link
            return [NewUrl(id, addresses[id], addresses.host(id), score) for id in range(next_id, len(addresses))]
        new: list[NewUrl] = []
        rows = np.flatnonzero(taken.ids >= next_id)
        scores, targets = taken.scored.scores[rows].tolist(), taken.outcome.links.targets
        for row, id, score in zip(rows.tolist(), taken.ids[rows].tolist(), scores, strict=True):
            if id == next_id:  # ids were given in this order, so the others are the same links again
                new.append(NewUrl(id, targets[row], addresses.host(id), score))
                next_id += 1
        return new

    # ---- coming back

    def learner(self, strategy: Strategy) -> Strategy:
        """The strategy as its last checkpoint left it, or as it is."""
        if isinstance(strategy, Persists):
            self._checkpoint = self._store.last_checkpoint()
            if self._checkpoint:
                self._checkpoint_seq, parts = self._checkpoint
                strategy = strategy.from_parts(learnt(parts))
        return strategy

    def restore(self, crawl: Crawl, read: Reader) -> None:
        """Bring a crawl that has just been made to where the records end."""
        self._crawl = crawl
        urls = _stored_urls(self._store)
        for record in self._store.records():
            self._know(crawl, urls, record.new_urls.start)  # seeds that were added before it
            self._apply(crawl, record, urls, read)
        self._know(crawl, urls, self._store.known)
        self._checkpointed = crawl.tally.pages
        self._sow_new(crawl)
        self._drop_out_of_scope(crawl)

    def _know(self, crawl: Crawl, urls: Iterator[tuple[Url, float]], upto: int) -> None:
        """Give out ids up to this one, as they were given; what has the score of a seed is one."""
        new = list(islice(urls, upto - len(crawl.facts.addresses)))
        crawl.facts.intern([url for url, _ in new])
        seeds = [url for url, score in new if score == FIRST_OF_ALL]
        if seeds:
            crawl.step.sow(seeds)

    def _sow_new(self, crawl: Crawl) -> None:
        """Seeds that the project does not know as such yet are stored before anything is asked."""
        known = len(crawl.facts.addresses)
        crawl.step.sow(crawl.seeds)
        new = range(known, len(crawl.facts.addresses))
        addresses = crawl.facts.addresses
        self._store.add_urls([NewUrl(id, addresses[id], addresses.host(id), FIRST_OF_ALL) for id in new])

    def _drop_out_of_scope(self, crawl: Crawl) -> None:
        """The scope may be narrower than it was: what waits outside of it is not asked for."""
        waiting = crawl.frontier.waiting
        waiting = waiting[~crawl.facts.is_seed(waiting)]
        for start in range(0, len(waiting), SLICE):
            ids = waiting[start : start + SLICE]
            admitted = np.zeros(len(ids), bool)
            admitted[crawl.scope.admit([crawl.facts.addresses[id] for id in ids.tolist()], 0).rows] = True
            crawl.frontier.drop(ids[~admitted])

    def _apply(self, crawl: Crawl, record: Stored, urls: Iterator[tuple[Url, float]], read: Reader) -> None:
        facts, step = crawl.facts, crawl.step
        lane = int(facts.addresses.hosts[record.asked])
        candidate = Candidate(record.asked, lane, record.score)
        trace = self._trace_again(crawl, record)
        crawl.tally.requests += record.reason != Reason.ROBOTS
        self._know(crawl, urls, record.new_urls.stop)
        if record.outcome == "retry":
            crawl.attempts[record.asked] += 1
            return
        crawl.frontier.drop(np.array([record.asked, record.answered], np.int32))
        fresh = self._checkpoint is None or record.seq > self._checkpoint[0]
        if record.outcome == "page":
            crawl.frontier.count_page(record.asked)
            self._apply_page(crawl, record, trace, read, fresh=fresh)
        elif record.redirects:
            target = np.array([record.redirects[0][1]], np.int32)
            where = Redirect(facts.addresses[record.answered], facts.addresses[int(target[0])])
            crawl.tally.count(_missed(step.moved(where, target, candidate, trace)))
        else:
            miss = Miss(facts.addresses[record.answered], trace, Reason(record.reason), record.detail)
            crawl.tally.count(step.tell(miss) if fresh else miss)
        if self._checkpoint and record.seq == self._checkpoint[0]:
            crawl.frontier.reorder(self._checkpoint[1]["waiting"], self._checkpoint[1]["scores"])

    def _trace_again(self, crawl: Crawl, record: Stored) -> Trace:
        """The trace as the strategy saw it; without its inlinks where nobody learns."""
        if isinstance(crawl.strategy, Learns):
            trace = crawl.facts.trace(record.asked, record.answered, record.seq, record.score)
            return replace(trace, depth=record.depth)
        return Trace(record.answered, record.asked, record.seq, record.depth, record.score, _NO_INLINKS)

    def _apply_page(self, crawl: Crawl, record: Stored, trace: Trace, read: Reader, *, fresh: bool) -> None:
        facts = crawl.facts
        ids, scored = unpack_links(record.links)
        topics = np.empty(0, np.float32) if record.topics is None else record.topics
        judgement = Judgement(record.relevance, record.raw, topics, record.critic)
        learner = crawl.strategy if fresh and isinstance(crawl.strategy, Learns) else None
        visit = self._visit_again(crawl, self._page_again(record, read), ids, judgement, trace) if learner else None
        evidence = facts.judge(trace, judgement)
        if learner and visit:
            learner.observe(visit, evidence)
        facts.found(trace.id, ids, scored, crawl.step.offer(ids, scored.scores))
        crawl.tally.count_page(judgement.relevance)
        if fresh:
            crawl.sweep_if_due()

    def _page_again(self, record: Stored, read: Reader) -> Page:
        """The page from the archive."""
        answer = self._store.answer_of(record.seq)
        page = read(answer) if isinstance(answer, Fetch) else None
        if not isinstance(page, Page):
            raise ForagerError(f"record {record.seq} cannot be read again from the archive: restore it from a copy")
        return page

    def _visit_again(self, crawl: Crawl, page: Page, ids: Ids, judgement: Judgement, trace: Trace) -> Visit:
        """The visit as the strategy saw it."""
        followed = {crawl.facts.addresses[id] for id in ids.tolist()}
        links = page.links.take([row for row, target in enumerate(page.links.targets) if target in followed])
        return Visit(page, links, judgement, trace, crawl.facts.known(ids))


_NO_INLINKS = Inlinks(np.empty(0, np.int32), np.empty(0, np.float32), np.empty((0, 0), np.float32), Ragged.of([]))


def learnt(checkpoint: Parts) -> Parts:
    """The strategy's own parts of a checkpoint."""
    return {name.removeprefix(_LEARNT): part for name, part in checkpoint.items() if name.startswith(_LEARNT)}


def _stored_urls(store: Store) -> Iterator[tuple[Url, float]]:
    for chunk in store.urls():
        yield from zip(map(Url, chunk.texts), chunk.scores.tolist(), strict=True)


def _missed(outcome: Url | Miss | None) -> Miss | None:
    return outcome if isinstance(outcome, Miss) else None


def _kind(taken: Taken) -> Any:
    if isinstance(taken.outcome, Visit):
        return "page"
    if isinstance(taken.outcome, Miss):
        return "miss"
    return "moved" if isinstance(taken.answer, Redirect) else "retry"


def _reason(answer: object) -> str:
    return str(answer.reason) if isinstance(answer, Failure) else ""


# ---- links as bytes


class _Links(msgspec.Struct, array_like=True):
    ids: bytes
    scores: bytes
    state: bytes | None = None
    width: int = 0  # of a row of state
    clues: bytes | None = None
    clue_offsets: bytes | None = None
    common: bytes | None = None
    edge_weight: bytes | None = None
    label: str | None = None


_encode, _decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(_Links).decode


def pack_links(ids: Ids, scored: ScoredLinks) -> bytes:
    """What the step found on a page, for a flat file: as `_Links` would be, but with no copy of a column made first."""
    state, clues = scored.state, scored.clues
    return _encode(
        (
            _column(ids, _I4),
            _column(scored.scores, _F4),
            None if state is None else _column(state, _F4),
            0 if state is None else state.shape[1],
            None if clues is None else _column(clues.values, _U4),
            None if clues is None else _column(clues.offsets, _I8),
            None if scored.common is None else _column(scored.common, _U4),
            None if scored.edge_weight is None else _column(scored.edge_weight, _F4),
            scored.label,
        )
    )


_I4, _I8, _U4, _F4 = (np.dtype(kind) for kind in ("<i4", "<i8", "<u4", "<f4"))


def _column(values: NDArray[Any], kind: np.dtype[Any]) -> memoryview:
    """Its bytes, row by row."""
    return np.ascontiguousarray(values, kind).data


def unpack_links(packed: bytes) -> tuple[Ids, ScoredLinks]:
    row = _decode(packed)
    ids = np.frombuffer(row.ids, np.int32)
    state = None if row.state is None else np.frombuffer(row.state, np.float32).reshape(len(ids), row.width)
    clues = None
    if row.clues is not None and row.clue_offsets is not None:
        clues = Ragged(np.frombuffer(row.clues, np.uint32), np.frombuffer(row.clue_offsets, np.int64))
    common = None if row.common is None else np.frombuffer(row.common, np.uint32)
    weight = None if row.edge_weight is None else np.frombuffer(row.edge_weight, np.float32)
    return ids, ScoredLinks(np.frombuffer(row.scores, np.float32), state, clues, common, weight, row.label)
