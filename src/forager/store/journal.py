"""Between what a crawl takes in and what a store keeps: `Taken` values become records, and records come back as values.

It only translates. It reads no files, knows no crawl and changes nothing.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from forager.store.records import NewUrl, Record, RecordOutcome, Rejudged, Stored
from forager.types import Failure, Ids, Judgement, Miss, Parts, Ragged, Redirect, ScoredLinks, Taken, Url, Visit

_LEARNT = "strategy."  # before the names of the strategy's own parts in a checkpoint
_NO_TOPICS = np.empty(0, np.float32)


class UrlNames(Protocol):
    """The URLs of a crawl by id."""

    def __getitem__(self, id: int) -> Url: ...
    def __len__(self) -> int: ...
    def host(self, id: int) -> str: ...


# ---- records


def record_of(taken: Taken, names: UrlNames, *, seq: int, at: datetime) -> Record:
    """What is stored of an answer: all that a resumed crawl must know of it."""
    trace, answer, outcome = taken.trace, taken.answer, taken.outcome
    visit = outcome if isinstance(outcome, Visit) else None
    judgement = visit.judgement if visit else None
    parent = int(trace.inlinks.sources[0]) if len(trace.inlinks.sources) else -1
    moved = isinstance(answer, Redirect) and len(taken.ids)
    return Record(
        seq=seq,
        asked=trace.asked,
        answered=trace.id,
        outcome=_kind(taken),
        reason=str(outcome.reason) if isinstance(outcome, Miss) else str(taken.passing or _reason(answer)),
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
        asked_at=at,
        seconds=answer.seconds,
        title=visit.page.title if visit else "",
        answer=answer,
        why=_why(taken, judgement, parent, names),
        new_urls=_new_urls(taken, names),
        links=pack_links(taken.ids, taken.scored) if taken.scored else b"",
        redirects=[(trace.id, int(taken.ids[0]))] if moved else [],
        rest=taken.rest,
        attempt=taken.attempt,
    )


def judgement_of(record: Stored) -> Judgement:
    """The judgement that is stored of a page."""
    return Judgement(
        record.relevance, record.raw, _NO_TOPICS if record.topics is None else record.topics, record.critic
    )


def rejudged_of(seq: int, judgement: Judgement, ids: Ids, scored: ScoredLinks) -> Rejudged:
    """What is new of a stored page that was judged and scored again."""
    said = (judgement.relevance, judgement.raw, judgement.topics, judgement.version)
    return Rejudged(seq, *said, scored.label or "", pack_links(ids, scored))


def _kind(taken: Taken) -> RecordOutcome:
    if isinstance(taken.outcome, Visit):
        return "passage" if taken.passing else "page"
    if isinstance(taken.outcome, Miss):
        return "miss"
    return "moved" if isinstance(taken.answer, Redirect) else "retry"


def _reason(answer: object) -> str:
    return str(answer.reason) if isinstance(answer, Failure) else ""


def _why(taken: Taken, judgement: Judgement | None, parent: int, names: UrlNames) -> dict[str, Any]:
    """For the archive: how we came to this URL, and what we think of it."""
    trace, seed = taken.trace, parent < 0
    why: dict[str, Any] = {"seed": seed, "depth": trace.depth}
    if isinstance(taken.outcome, Miss):
        why |= {"reason": str(taken.outcome.reason), "detail": taken.outcome.detail}
    if not seed:
        why |= {"parent": names[parent], "score": round(trace.score, 6)}
    if judgement:
        why |= {"relevance": judgement.relevance, "raw": judgement.raw, "critic": judgement.version}
    return why


def _new_urls(taken: Taken, names: UrlNames) -> list[NewUrl]:
    next_id = taken.found
    if len(names) == next_id:
        return []
    if not isinstance(taken.outcome, Visit) or taken.scored is None:
        score = taken.trace.score  # the target of a redirect has the score of the link
        return [NewUrl(id, names[id], names.host(id), score) for id in range(next_id, len(names))]
    new: list[NewUrl] = []
    rows = np.flatnonzero(taken.ids >= next_id)
    scores, targets = taken.scored.scores[rows].tolist(), taken.outcome.links.targets
    for row, id, score in zip(rows.tolist(), taken.ids[rows].tolist(), scores, strict=True):
        if id == next_id:  # ids were given in this order, so the others are the same links again
            new.append(NewUrl(id, targets[row], names.host(id), score))
            next_id += 1
    return new


# ---- checkpoints


def checkpoint_of(learnt: Parts, waiting: Ids, scores: NDArray[np.float32]) -> Parts:
    """What a strategy has learnt, with the order of what waits."""
    return {"waiting": waiting, "scores": scores, **{_LEARNT + name: part for name, part in learnt.items()}}


def learnt_of(checkpoint: Parts) -> Parts:
    """What the strategy has learnt, out of a checkpoint."""
    return {name.removeprefix(_LEARNT): part for name, part in checkpoint.items() if name.startswith(_LEARNT)}


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
