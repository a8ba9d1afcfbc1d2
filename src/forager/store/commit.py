"""The group commit: first the flat files are written, then one transaction makes them valid. Only then is a record
acknowledged.

    add -> the record waits in memory and is packed together with some others, which takes a fifth less time
    commit -> WARC and links written -> (fsync) -> BEGIN urls, visits, lengths of the files COMMIT -> accepted -> noted

A process that is killed before COMMIT leaves bytes after the committed lengths; the next opening cuts them off. A
process that is killed after COMMIT has stored the group. There is no moment between the two. What was acknowledged is
also noted beside the archive (`forager.store.committed`): bytes that the database does not know, but the note does, are
moved aside and never cut.

`durable = "process"`: when `commit` returns, the operating system has the bytes, so that SIGKILL loses nothing. SQLite
runs with synchronous = NORMAL, which syncs only when the log is copied into the file: a power cut may lose the last
groups. `durable = "power"`: the flat files are synced before the transaction, and the transaction is synced too (FULL).
"""

from __future__ import annotations

import errno
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from forager.clock import Clock, WallClock
from forager.errors import ForagerError
from forager.store import warc
from forager.store.aside import LINKS, FlatFiles, has_bytes
from forager.store.damage import row_checksum
from forager.store.lock import Lock, refuse_network
from forager.store.models import Checkpoints
from forager.store.reading import read_hosts, read_lengths, read_project
from forager.store.recorded import StoredCrawl
from forager.store.records import NewUrl, Record, Rejudged, ReturnedUrl, StoreFull, stamp
from forager.store.rows import INSERT_VISIT, REJUDGE, VISIT_COLUMNS, VisitRow, rejudged_row, row_of, seal_of, visit_row
from forager.store.schema import open_database
from forager.store.warc import ROTATE, ArchivedAnswer, Packed, sync_folder
from forager.types import Answer, Fetch, Parts
from forager.web.urls import RULES, UrlRules

GROUP = 64  # records
MANY_URLS = 1_500  # that are new; a larger group would hold up the crawl for too long
LONGEST_WAIT = 0.2  # seconds
LARGE, LARGE_WAIT = 100_000, 2.0  # bytes of a body that is packed in a thread; seconds that its group may wait for that
TOGETHER, TOGETHER_BYTES = 8, 1_000_000  # records, and bytes in them, that may wait to be packed
MOST_BYTES = 32_000_000  # that may wait for the thread
_SYNCHRONOUS = {"process": "NORMAL", "power": "FULL"}
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_KEEP_EARLIER = (
    "INSERT INTO earlier (seq, critic, relevance, raw, until)"
    " SELECT seq, critic, relevance, raw, ? FROM visit WHERE seq = ?"
)


@dataclass(slots=True)
class _Group:
    """The rows that the next transaction will write."""

    visits: list[tuple[Any, ...]] = field(default_factory=list)
    urls: list[tuple[int, int, str, float]] = field(default_factory=list)
    hosts: list[tuple[int, str]] = field(default_factory=list)
    redirects: list[tuple[int, int, int, int]] = field(default_factory=list)
    since: float | None = None  # when its first record was added


class _Waiting(NamedTuple):
    """A record that is not packed yet."""

    record: Record
    new: tuple[int, int]  # first id of the URLs found there for the first time, and the one behind the last
    archived: ArchivedAnswer | None  # where the answer lies, if the archive has it already
    packed: Callable[[], Packed | None]  # its WARC records
    is_packed: Callable[[], bool]  # whether these can be had at once


class Store(StoredCrawl):
    """A project, opened for writing. Only one process at a time can open it.

    Invariants: `last_seq` is the last record that is acknowledged; `known` counts the URLs, also those that are only
    queued. Seqs and url ids have no gaps. What is not acknowledged is gone after the next opening. Any thread may call,
    but only one at a time.
    """

    def __init__(
        self,
        folder: Path,
        *,
        durable: Literal["process", "power"] = "process",
        clock: Clock | None = None,
        warc_size: int = ROTATE,
        rules: UrlRules = RULES,
    ) -> None:
        """`rules` are those by which the links of a page are read again, if what was stored of them is damaged."""
        super().__init__(folder, rules)
        self._clock, self._sync = clock or WallClock(), durable == "power"
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
        self._db = open_database(self.folder, synchronous=synchronous, fresh=not has_bytes(self.folder))
        self._closing(self._db.close)
        (self.folder / "texts.bin").unlink(missing_ok=True)  # from projects before version 4
        self._read_ends()
        self._open_files(warc_size)
        self._checkpoints = Checkpoints(self.folder)
        self._checkpoints.tidy()
        self._failed = False
        self._group = _Group()
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0
        self._beside: deque[tuple[Callable[[], Packed | None], datetime]] = deque()  # answers that belong to no record

    def _read_ends(self) -> None:
        self.last_seq = int(self._db.execute("SELECT coalesce(max(seq), -1) FROM visit").fetchone()[0])
        self.known = int(self._db.execute("SELECT coalesce(max(id), -1) + 1 FROM url").fetchone()[0])
        self._hosts = {name: id for id, name in enumerate(read_hosts(self._db))}
        self._session = -1

    def _open_files(self, warc_size: int) -> None:
        lengths, now = read_lengths(self._db), self._clock.utc()
        project = read_project(self._db)
        self._packer = ThreadPoolExecutor(1, "packing")  # its thread begins with the first large answer
        self._closing(self._packer.shutdown)
        self._files = FlatFiles(self.folder, lengths, project, self.last_seq, warc_size=warc_size, now=now)
        self._closing(self._files.close)
        self._links, self._warc = self._files.links, self._files.warc
        self.warnings += self._files.warnings
        if self._sync:  # else a power cut may lose the names of the files that were just made
            for folder in (self.folder / warc.FOLDER, self.folder, self.folder.resolve().parent):
                sync_folder(folder)

    def _read_links(self, at: int, length: int) -> bytes:
        return self._links.read(at, length)

    def _closing(self, close: Callable[[], None]) -> None:
        self._close_each.append(close)

    def _let_go(self) -> None:
        while self._close_each:
            self._close_each.pop()()

    def close(self) -> None:
        """Commit what was added, unless a commit has just failed, and release the project."""
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
        self._add(record, None)

    def _add(self, record: Record, archived: ArchivedAnswer | None) -> None:
        expected = self.last_seq + self.pending + 1
        if record.seq != expected:
            raise ValueError(f"record {record.seq} where {expected} comes next")
        first = self._check_ids(record.new_urls)
        if self._is_crowded():
            with self._writing():
                self._pack()
        self._queue_urls(record.new_urls)
        self._waiting.append(_Waiting(record, (first, self.known), archived, *self._begin_to_pack(record)))
        self._waiting_bytes += _size(record)
        if self._group.since is None:
            self._group.since = self._clock.now()

    def _is_crowded(self) -> bool:
        """Whether those that wait should be packed before another comes."""
        if not all(one.is_packed() for one in self._waiting):
            return self._waiting_bytes >= MOST_BYTES
        return len(self._waiting) >= TOGETHER or self._waiting_bytes >= TOGETHER_BYTES

    def archive(self, answer: Answer, why: str, at: datetime) -> None:
        """Put an answer into the archive that belongs to no record, such as robots.txt. The next commit writes it."""
        pack = self._warc.packing_beside(answer, why, at)
        large = isinstance(answer, Fetch) and len(answer.body) >= LARGE
        self._beside.append((self._packer.submit(pack).result if large else pack, at))

    def _begin_to_pack(self, record: Record) -> tuple[Callable[[], Packed | None], Callable[[], bool]]:
        """A large answer takes long to compress, so it is done in a thread until the group is committed."""
        pack = self._warc.packing(record)
        if _size(record) < LARGE:
            return pack, _at_once
        future = self._packer.submit(pack)
        return future.result, future.done

    def _pack(self) -> None:
        """Queue the bytes and rows of the records that wait. After an error the rest still waits."""
        waiting, group = self._waiting, self._group
        while self._beside:
            packed, at = self._beside.popleft()
            self._warc.queue_beside(packed(), at)
        while waiting:
            record, new, archived, packed, _ = waiting[0]
            archived = archived or self._warc.queue(record, packed())
            group.visits.append(row_of(record, self._session, new, self._links.queue(record.links), archived))
            for pair in record.redirects:
                group.redirects.append((record.seq, *pair, row_checksum((record.seq, *pair))))
            waiting.popleft()
            self._waiting_bytes -= _size(record)

    def due(self, now: float) -> bool:
        """Whether the group should be committed, because it is full or old enough. One with a large answer may wait
        longer."""
        since, urls = self._group.since, len(self._group.urls)
        if since is None or (now - since < LARGE_WAIT and not all(one.is_packed() for one in self._waiting)):
            return False
        return self.pending >= GROUP or urls >= MANY_URLS or now - since >= LONGEST_WAIT

    @property
    def pending(self) -> int:
        """How many records were added and are not acknowledged yet."""
        return len(self._group.visits) + len(self._waiting)

    def commit(self) -> int:
        """Make everything durable that was added. Returns the last seq: it is acknowledged from now on.

        If the disk is full, the records stay queued and `StoreFull` is raised. If `commit` is interrupted, the store
        can only be closed; the next opening finds the whole group or nothing of it.
        """
        if not self.pending and not self._group.urls:
            return self.last_seq
        self._failed = True
        with self._writing():
            try:
                self._pack()
                self._files.write(sync=self._sync)
                self._transact()
            except (OSError, sqlite3.Error) as error:
                if _surely_undone(error):
                    self._files.cut()
                raise
        self.last_seq += self.pending
        self._files.accept(self.last_seq)
        self._group = _Group()
        self._failed = False
        return self.last_seq

    def _transact(self) -> None:
        db, group, lengths = self._db, self._group, self._files.lengths()
        with self._transaction():
            db.executemany("INSERT INTO host (id, name) VALUES (?, ?)", group.hosts)
            db.executemany("INSERT INTO url (id, host, text, score) VALUES (?, ?, ?, ?)", group.urls)
            if group.urls:
                db.execute("INSERT INTO seal (first, last, checksum) VALUES (?, ?, ?)", seal_of(group.urls))
            db.executemany(INSERT_VISIT, group.visits)
            db.executemany("INSERT INTO redirect (seq, source, target, checksum) VALUES (?, ?, ?, ?)", group.redirects)
            db.executemany("INSERT OR REPLACE INTO file (name, length) VALUES (?, ?)", lengths)

    def rejudge(self, judged: Sequence[Rejudged]) -> None:
        """Put new judgements and links in the place of the old ones, at once. The earlier judgements stay on record."""
        self.commit()
        new = [(row, one) for one in judged if (row := self._row(one.seq)) is not None]
        rows = [rejudged_row(row, one, self._links.queue(one.links)) for row, one in new]
        now = stamp(self._clock.utc())
        earlier = [(now, row.seq) for row, one in new if (row.critic, row.raw) != (one.critic, one.raw)]
        with self._writing():
            self._links.write(sync=self._sync)
            with self._transaction():
                self._db.executemany(_KEEP_EARLIER, earlier)
                self._db.executemany(REJUDGE, rows)
                self._db.execute("INSERT OR REPLACE INTO file (name, length) VALUES (?, ?)", (LINKS, self._links.end))
        self._files.accept(self.last_seq)

    def _row(self, seq: int) -> VisitRow | None:
        """The row of a record. None if it is damaged."""
        values = self._db.execute(f"SELECT {VISIT_COLUMNS} FROM visit WHERE seq = ?", (seq,)).fetchone()
        return visit_row(values)

    def forget_learners(self) -> None:
        """Remove all checkpoints, because what they were learnt from has changed."""
        self._checkpoints.clear()

    def add_urls(self, urls: Sequence[NewUrl]) -> None:
        """Store URLs that were found on no page, such as seeds, and commit them with what was added before."""
        self._check_ids(urls)
        self._queue_urls(urls)
        self.commit()

    def ask_again(self, urls: Sequence[ReturnedUrl]) -> None:
        """Let URLs that were answered wait again, after all that was added before."""
        self.commit()
        rows = [(self.last_seq, *url) for url in urls]
        with self._writing(), self._transaction():
            self._db.executemany("INSERT INTO again (after, id, score, why) VALUES (?, ?, ?, ?)", rows)

    def _check_ids(self, urls: Sequence[NewUrl]) -> int:
        """Check that the ids follow on; returns the first of them."""
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
        """Turns all errors of a full disk into `StoreFull`."""
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
        """Note a new run with this configuration and this version of the program; returns its id."""
        with self._writing(), self._transaction():
            self._pack()  # what was added before belongs to no session
            row = (config, version, stamp(self._clock.utc()))
            new = self._db.execute("INSERT INTO session (config, version, began) VALUES (?, ?, ?)", row)
        self._session = int(new.lastrowid or 0)
        self._warc.software = f"forager/{version}"
        return self._session

    def end_session(self, id: int, reason: str) -> None:
        """Commit what was added, and note why the run stopped."""
        self.commit()
        with self._writing(), self._transaction():
            row = (stamp(self._clock.utc()), reason, id)
            self._db.execute("UPDATE session SET ended = ?, reason = ? WHERE id = ?", row)

    def checkpoint(self, seq: int, parts: Parts) -> None:
        """Keep what a learner knows after it has seen the records up to `seq`, which must all be acknowledged."""
        if seq > self.last_seq:
            raise ValueError(f"checkpoint of record {seq}, but only {self.last_seq} is acknowledged: commit first")
        with self._writing():
            self._checkpoints.save(seq, parts)

    def last_checkpoint(self) -> tuple[int, Parts] | None:
        """The newest checkpoint that can be read. `warnings` gets a line for each that cannot."""
        found, passed_over = self._checkpoints.last(self.last_seq)
        self.warnings += passed_over
        return found


def _surely_undone(error: OSError | sqlite3.Error) -> bool:
    """Whether the transaction has certainly not taken place. If this is not certain, the files keep their bytes and the
    next opening decides: an interrupt may come just after COMMIT, and a log whose sync failed may still be whole."""
    return isinstance(error, OSError) or getattr(error, "sqlite_errorname", "") == "SQLITE_FULL"


def _at_once() -> bool:
    return True


def _size(record: Record) -> int:
    """About as many bytes as the record needs in memory until it is packed."""
    return len(record.answer.body) if isinstance(record.answer, Fetch) else 0
