"""The group commit: flat files first, then one transaction that makes them valid; only then is a record acknowledged.

    add -> waits in memory, and is packed with some others: one after the other they take a fifth less time
    commit -> WARC and links written -> (fsync) -> BEGIN urls, visits, lengths of the files COMMIT -> accepted

A process killed before COMMIT leaves bytes behind the committed lengths, which the next opening cuts off; one killed
after it has stored the group. There is no instant between the two.

`durable = "process"`: the operating system has the bytes when `commit` returns, so that SIGKILL loses nothing. SQLite
runs with synchronous = NORMAL, which syncs only when the log is folded into the file: a power cut may lose the last
groups. `durable = "power"`: the flat files are synced before the transaction, and the transaction itself (FULL).
"""

from __future__ import annotations

import errno
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self
from uuid import UUID

import numpy as np

from forager.clock import Clock, WallClock
from forager.errors import ForagerError
from forager.store.checkpoints import Checkpoints
from forager.store.flat import FlatFile
from forager.store.lock import Lock, refuse_network
from forager.store.reading import (
    LINKS,
    VISIT_COLUMNS,
    Stretch,
    answer_at,
    read_hosts,
    read_records,
    read_sessions,
    read_urls,
)
from forager.store.records import NewUrl, Record, Rejudged, Session, Stored, StoreFull, UrlColumns, stamp
from forager.store.schema import open_database
from forager.store.warc import ROTATE, Kept, WarcFiles
from forager.types import Fetch, Floats, Parts

GROUP = 64  # records
LONGEST_WAIT = 0.2  # seconds
TOGETHER, TOGETHER_BYTES = 8, 1_000_000  # records, and bytes of them, that may wait to be packed
_SYNCHRONOUS = {"process": "NORMAL", "power": "FULL"}
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_KEEP_EARLIER = (
    "INSERT INTO earlier (seq, critic, relevance, raw, until)"
    " SELECT seq, critic, relevance, raw, ? FROM visit WHERE seq = ?"
)
_REJUDGE = (
    "UPDATE visit SET relevance = ?, raw = ?, topics = ?, critic = ?, label = ?, links_at = ?, links_length = ?"
    " WHERE seq = ?"
)
_INSERT_VISIT = f"INSERT INTO visit ({VISIT_COLUMNS}) VALUES ({', '.join('?' * (VISIT_COLUMNS.count(',') + 1))})"


@dataclass(slots=True)
class _Group:
    """The rows that the next transaction will write."""

    visits: list[tuple[Any, ...]] = field(default_factory=list)
    urls: list[tuple[int, int, str, float]] = field(default_factory=list)
    hosts: list[tuple[int, str]] = field(default_factory=list)
    redirects: list[tuple[int, int, int]] = field(default_factory=list)
    since: float | None = None  # when its first record was added


class _Waiting(NamedTuple):
    """A record to be packed."""

    record: Record
    new_from: int  # ids of the URLs first found there
    new_to: int


class Store:
    """A project opened for writing, by one process at a time.

    Invariants: `last_seq` and `known` tell what is acknowledged and queued respectively; seqs and url ids have no gaps;
    what is not acknowledged does not exist after a reopening. Calls may come from any thread, but one at a time.
    """

    def __init__(
        self,
        folder: Path,
        *,
        durable: Literal["process", "power"] = "process",
        clock: Clock | None = None,
        warc_size: int = ROTATE,
    ) -> None:
        self.folder, self._clock, self._sync = folder, clock or WallClock(), durable == "power"
        self.warnings: list[str] = []
        self._close_each: list[Callable[[], None]] = []
        try:
            self._open(_SYNCHRONOUS[durable], warc_size)
        except BaseException as error:
            self._let_go()
            if isinstance(error, OSError):
                raise ForagerError(f"{folder} cannot be used: {error.strerror or error}") from error
            raise

    def _open(self, synchronous: str, warc_size: int) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        refuse_network(self.folder)
        self._closing(Lock(self.folder, self._clock.utc()).close)
        self._db = open_database(self.folder, synchronous=synchronous)
        self._closing(self._db.close)
        (self.folder / "texts.bin").unlink(missing_ok=True)  # of projects before version 4
        self._read_ends()
        committed = dict(self._db.execute("SELECT name, length FROM file"))
        self._links = FlatFile(self.folder / LINKS, committed.get(LINKS, 0))
        self._closing(self._links.close)
        project = UUID(self._db.execute("SELECT id FROM project").fetchone()[0])
        self._warc = WarcFiles(self.folder, committed, project=project, rotate=warc_size)
        self._closing(self._warc.close)
        self._checkpoints = Checkpoints(self.folder)
        self._failed = False
        self._group = _Group()
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0

    def _read_ends(self) -> None:
        self.last_seq = int(self._db.execute("SELECT coalesce(max(seq), -1) FROM visit").fetchone()[0])
        self.known = int(self._db.execute("SELECT coalesce(max(id), -1) + 1 FROM url").fetchone()[0])
        self._hosts = {name: id for id, name in enumerate(read_hosts(self._db))}
        self._session = -1

    def _closing(self, close: Callable[[], None]) -> None:
        self._close_each.append(close)

    def _let_go(self) -> None:
        while self._close_each:
            self._close_each.pop()()

    def close(self) -> None:
        """Commit what was added, unless that has just failed, and let go of the project."""
        try:
            if self._close_each and not self._failed:
                self.commit()
        finally:
            self._let_go()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- writing

    def add(self, record: Record) -> None:
        """Queue a record for the next commit."""
        expected = self.last_seq + self.pending + 1
        if record.seq != expected:
            raise ValueError(f"record {record.seq} where {expected} comes next")
        first = self._check_ids(record.new_urls)
        if len(self._waiting) >= TOGETHER or self._waiting_bytes >= TOGETHER_BYTES:
            with self._writing():
                self._pack()
        self._queue_urls(record.new_urls)
        self._waiting.append(_Waiting(record, first, self.known))
        self._waiting_bytes += _size(record)
        if self._group.since is None:
            self._group.since = self._clock.now()

    def _pack(self) -> None:
        """Queue the bytes and rows of what waits; whatever an error leaves waits still."""
        waiting, group = self._waiting, self._group
        while waiting:
            record, *new = waiting[0]
            kept = self._warc.queue(record)
            place = (self._links.queue(record.links), len(record.links))
            group.visits.append((*_row(record, self._session), *new, *place, *_warc_row(kept)))
            group.redirects += [(record.seq, source, target) for source, target in record.redirects]
            waiting.popleft()
            self._waiting_bytes -= _size(record)

    def due(self, now: float) -> bool:
        """Whether the group is full or old enough to be committed."""
        since = self._group.since
        return self.pending >= GROUP or (since is not None and now - since >= LONGEST_WAIT)

    @property
    def pending(self) -> int:
        """Records added and not yet acknowledged."""
        return len(self._group.visits) + len(self._waiting)

    def commit(self) -> int:
        """Make everything added durable; returns the last seq, which is from now on acknowledged.

        If the disk takes no more, the records remain queued and `StoreFull` is raised. Interrupted in between, the
        store can only be closed; the next opening finds the group whole or not at all.
        """
        if not self.pending and not self._group.urls:
            return self.last_seq
        files = (self._links, self._warc)
        self._failed = True
        with self._writing():
            try:
                self._pack()
                for file in files:
                    file.write(sync=self._sync)
                self._transact()
            except (OSError, sqlite3.Error) as error:
                if _surely_undone(error):
                    for file in files:
                        file.cut()
                raise
        for file in files:
            file.accept()
        self.last_seq += self.pending
        self._group = _Group()
        self._failed = False
        return self.last_seq

    def _transact(self) -> None:
        lengths = [(LINKS, self._links.end), *self._warc.lengths()]
        db, group = self._db, self._group
        with self._transaction():
            db.executemany("INSERT INTO host (id, name) VALUES (?, ?)", group.hosts)
            db.executemany("INSERT INTO url (id, host, text, score) VALUES (?, ?, ?, ?)", group.urls)
            db.executemany(_INSERT_VISIT, group.visits)
            db.executemany("INSERT INTO redirect (seq, source, target) VALUES (?, ?, ?)", group.redirects)
            db.executemany("INSERT OR REPLACE INTO file (name, length) VALUES (?, ?)", lengths)

    def rejudge(self, judged: Sequence[Rejudged]) -> None:
        """Put new judgements and links in place of the old ones, at once; who judged before, and how, is kept."""
        self.commit()
        places = [Stretch(self._links.queue(one.links), len(one.links)) for one in judged]
        earlier = [(stamp(self._clock.utc()), one.seq) for one in judged]
        rows = [
            (one.relevance, one.raw, _bytes(one.topics), one.critic, one.label, *place, one.seq)
            for one, place in zip(judged, places, strict=True)
        ]
        with self._writing():
            self._links.write(sync=self._sync)
            with self._transaction():
                self._db.executemany(_KEEP_EARLIER, earlier)
                self._db.executemany(_REJUDGE, rows)
                self._db.execute("INSERT OR REPLACE INTO file (name, length) VALUES (?, ?)", (LINKS, self._links.end))
        self._links.accept()

    def forget_learners(self) -> None:
        """Remove all checkpoints: what they learnt from has changed."""
        self._checkpoints.clear()

    def add_urls(self, urls: Sequence[NewUrl]) -> None:
        """Store URLs that were found on no page, such as seeds, at once, with what was added before them."""
        self._check_ids(urls)
        self._queue_urls(urls)
        self.commit()

    def _check_ids(self, urls: Sequence[NewUrl]) -> int:
        """The id that comes next."""
        if any(url.id != id for id, url in enumerate(urls, self.known)):
            raise ValueError(f"url ids {[url.id for url in urls[:4]]}… where {self.known} comes next")
        return self.known

    def _queue_urls(self, urls: Sequence[NewUrl]) -> None:
        hosts = self._hosts
        for url in urls:
            host = hosts.get(url.host)
            if host is None:
                host = hosts[url.host] = len(hosts)
                self._group.hosts.append((host, url.host))
            self._group.urls.append((url.id, host, url.text, url.score))
        self.known += len(urls)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A disk that takes no more is one clear error, whoever notices it."""
        try:
            yield
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise self._full(error.strerror or str(error)) from error
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
                raise
            raise self._full(str(error)) from error

    def _full(self, told: str) -> StoreFull:
        kept = f"the {self.last_seq + 1} records before are safe"
        return StoreFull(f"{self.folder} takes no more ({told}): {kept}; make room and resume")

    # ---- sessions and learners

    def begin_session(self, config: str, version: str) -> int:
        with self._writing(), self._transaction():
            self._pack()  # what was added before is of no session
            row = (config, version, stamp(self._clock.utc()))
            new = self._db.execute("INSERT INTO session (config, version, began) VALUES (?, ?, ?)", row)
        self._session = int(new.lastrowid or 0)
        self._warc.software = f"forager/{version}"
        return self._session

    def end_session(self, id: int, reason: str) -> None:
        """Note why it stopped, after everything it added."""
        self.commit()
        with self._writing(), self._transaction():
            row = (stamp(self._clock.utc()), reason, id)
            self._db.execute("UPDATE session SET ended = ?, reason = ? WHERE id = ?", row)

    def sessions(self) -> list[Session]:
        return read_sessions(self._db)

    def checkpoint(self, seq: int, parts: Parts) -> None:
        """Keep what a learner knows that has seen the records up to `seq`, all of them acknowledged."""
        if seq > self.last_seq:
            raise ValueError(f"checkpoint of record {seq}, but only {self.last_seq} is acknowledged: commit first")
        with self._writing():
            self._checkpoints.save(seq, parts)

    def last_checkpoint(self) -> tuple[int, Parts] | None:
        """The newest that can be read; `warnings` has a line for each that cannot."""
        found, passed_over = self._checkpoints.last(self.last_seq)
        self.warnings += passed_over
        return found

    # ---- reading what is acknowledged

    def records(self, after: int = -1) -> Iterator[Stored]:
        """The acknowledged records in order, from the one after `after`."""
        return read_records(self._db, self._links.read, after)

    def urls(self, chunk: int = 65_536) -> Iterator[UrlColumns]:
        """All acknowledged URLs in order of id."""
        return read_urls(self._db, chunk)

    def hosts(self) -> list[str]:
        """Host names by number."""
        return read_hosts(self._db)

    def answer_of(self, seq: int) -> Fetch | None:
        """The answer as it came; None if it had no body."""
        return answer_at(self._db, self.folder, seq)


def _surely_undone(error: OSError | sqlite3.Error) -> bool:
    """Whether the transaction cannot have taken place. If in doubt, the files keep bytes that the next opening judges:
    an interrupt may come just after COMMIT, and a log whose sync failed may be found whole after all."""
    return isinstance(error, OSError) or getattr(error, "sqlite_errorname", "") == "SQLITE_FULL"


def _size(record: Record) -> int:
    """About as many bytes as it holds in memory until it is packed."""
    return len(record.answer.body) if isinstance(record.answer, Fetch) else 0


def _row(record: Record, session: int) -> tuple[Any, ...]:
    """The columns of `visit` that a record alone decides, in the order of VISIT_COLUMNS."""
    r = record
    return (
        *(r.seq, session, r.asked, r.answered, r.outcome, r.reason, r.detail, r.status, r.parent, r.depth, r.score),
        *(r.relevance, r.raw, _bytes(r.topics), r.critic, r.label, stamp(r.asked_at), r.seconds, r.title),
    )


def _bytes(topics: Floats | None) -> bytes | None:
    return None if topics is None else np.asarray(topics, "<f4").tobytes()


def _warc_row(kept: Kept | None) -> tuple[Any, ...]:
    return (None,) * 4 if kept is None else (kept.file, kept.at, kept.length, kept.digest)
