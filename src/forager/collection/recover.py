"""Build the catalogue of a project again from its archive: what `crawl.sqlite` and `links.bin` held, as far as the
archive tells it.

Every answer that is whole in the archive is taken in again, in the order of time, through the same step as in a live
crawl: its page is parsed, judged and its links are scored. Pages set aside come back too. The archive stays as it is;
the new rows point into it. The new files are made beside the old ones, which are moved aside at the end. If it is
interrupted, simply start it again.
"""

from __future__ import annotations

import heapq
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from forager.clock import WallClock
from forager.crawl.build import rules_of, scope_of, seeds_of, strategy_of
from forager.crawl.folder import CrawlFolder
from forager.crawl.state import CrawlState
from forager.crawl.step import Arrival, Step
from forager.errors import ForagerError
from forager.fetch.failures import of_status
from forager.learn.tfidf import Query
from forager.store import NewUrl, OldCatalogue, RebuiltStore, Store, old_catalogue
from forager.store.aside import LINKS, Aside
from forager.store.committed import FILE as NOTE
from forager.store.journal import record_of
from forager.store.lock import Lock
from forager.store.members import ArchivedRecords, LostStretch, walk
from forager.store.models import CHECKPOINTS
from forager.store.rebuild import archives, take_back
from forager.store.schema import DATABASE
from forager.store.search import FILE as SEARCH
from forager.store.warc import ArchivedAnswer, answer_in, is_genuine, name
from forager.types import (
    FIRST_OF_ALL,
    Answer,
    Critic,
    Failure,
    Fetch,
    Judgement,
    Miss,
    Page,
    Reason,
    Redirect,
    Taken,
    Trace,
    Url,
)
from forager.web.page import parse

GROUP = 64  # answers stored together
BUILT = "recovering"  # the folder for the new files
_NO_IDS = np.empty(0, np.int32)


@dataclass(slots=True)
class Recovery:
    """What was found in an archive, and what was not."""

    pages: int = 0
    redirects: int = 0
    failures: int = 0
    beside: int = 0  # answers that are no part of the crawl: robots.txt, sitemaps, rendered pages
    urls: int = 0
    waiting: int = 0  # links that wait to be fetched
    returned: int = 0  # files that had been moved aside
    lost: list[tuple[str, LostStretch]] = field(default_factory=list)  # by WARC file
    again: list[Url] = field(default_factory=list)  # pages that are lost, and are asked for again
    notes: list[str] = field(default_factory=list)


def recover(
    project: CrawlFolder,
    critic: Critic | None,
    query: Query | None = None,
    tell: Callable[[int], None] = lambda size: None,
) -> Recovery:
    """Build the catalogue of a project again. Without a critic the judgements that the archive notes are used. `tell`
    hears how many bytes of the archive are done."""
    folder = project.folder
    lock = Lock(folder, WallClock().utc())
    try:
        found = Recovery(returned=take_back(folder))
        if not archives(folder):
            raise ForagerError(f"{folder} has no archive in {folder / 'warc'}: there is nothing to recover from")
        old, built = old_catalogue(folder), folder / BUILT
        shutil.rmtree(built, ignore_errors=True)
        with RebuiltStore(built, durable="power") as store:
            _Rebuilding(project, critic, query, store, old, found).run(tell)
        _put_in_place(folder, built, found)
    finally:
        lock.close()
    with Store(folder) as store:  # it can be opened, and what is behind the last whole answer is moved aside
        found.notes += store.warnings
    return found


def archive_size(folder: Path) -> int:
    """The bytes that `recover` will read."""
    files = [*(folder / "warc").glob("*.warc.gz"), *(folder / "aside").glob("*/warc/*")]
    return sum(path.stat().st_size for path in files)


def _put_in_place(folder: Path, built: Path, found: Recovery) -> None:
    """Move the old files aside and the new ones to their places. A kill in between leaves no database, and then
    nothing is opened before it is recovered."""
    aside = Aside(folder, WallClock().utc())
    for file in (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", LINKS, CHECKPOINTS, NOTE):
        if (folder / file).exists():
            aside.whole(folder / file)
    for suffix in ("", "-wal", "-shm"):
        (folder / f"{SEARCH}{suffix}").unlink(missing_ok=True)  # it can be made again
    for file in (LINKS, DATABASE):
        (built / file).replace(folder / file)
    shutil.rmtree(built)
    if aside.moved:
        found.notes.append(f"the old {', '.join(aside.moved)} lie in {aside.place.relative_to(folder)}")


class _Rebuilding:
    """Takes in an archive, answer by answer."""

    def __init__(
        self,
        project: CrawlFolder,
        critic: Critic | None,
        query: Query | None,
        store: RebuiltStore,
        old: OldCatalogue,
        found: Recovery,
    ) -> None:
        config, self._folder, self._judged = project.config, project.folder, critic is not None
        self._store, self._old, self._found = store, old, found
        self._rules = rules_of(config)
        self._seeds = seeds_of(config, self._rules) if config.seeds else []
        self._scope = scope_of(config, self._seeds)
        judge = critic or NotedCritic()
        strategy = strategy_of(config, judge, query)
        self._state = CrawlState.empty(strategy, config.frontier, folder=store.folder)
        self._step = Step(self._state, critic=judge, strategy=strategy, scope=self._scope, keep=self._keep)
        self._names = self._state.facts.addresses
        self._answered: set[int] = set()
        self._wanted: dict[Url, None] = {}  # pages that there were, and that the archive may not have any more

    def run(self, tell: Callable[[int], None]) -> None:
        self._sow(self._seeds)
        done, lengths = 0, dict[str, int]()
        for number, found in self._answers():
            lengths[name(number)] = max(lengths.get(name(number), 0), found.at + found.length)
            self._take(number, found)
            if self._store.pending >= GROUP:
                self._store.commit()
            done += found.length
            tell(done)
        self._ask_again()
        self._found.urls, self._found.waiting = len(self._names), len(self._state.frontier)
        self._store.finish(self._old, lengths)

    def _sow(self, seeds: list[Url]) -> None:
        before = len(self._names)
        self._step.sow(seeds)
        self._store.know([self._new(id, FIRST_OF_ALL) for id in range(before, len(self._names))])

    def _new(self, id: int, score: float) -> NewUrl:
        return NewUrl(id, self._names[id], self._names.host(id), score)

    def _answers(self) -> Iterator[tuple[int, ArchivedRecords]]:
        """All answers of the archive, in the order of time."""
        each = (self._answers_in(path, number) for path, number in archives(self._folder))
        return heapq.merge(*each, key=lambda one: one[1].asked_at)

    def _answers_in(self, path: Path, number: int) -> Iterator[tuple[int, ArchivedRecords]]:
        """Behind a lost stretch, which may be a part of a page that holds records, only our own count; unless the file
        is of an older version, whose records cannot be told from others."""
        strict, damaged = True, False
        for found in walk(path):
            if isinstance(found, ArchivedRecords):
                genuine = is_genuine(found, self._old.project)
                strict = strict and (genuine or damaged)
                if genuine or not strict:
                    yield number, found
            elif isinstance(found, LostStretch):
                damaged = True
                self._found.lost.append((name(number), found))
                self._wanted |= dict.fromkeys(map(Url, found.urls))
            elif b"software: forager/0.1." in found.block:
                strict = False

    # ---- one answer

    def _take(self, number: int, found: ArchivedRecords) -> None:
        if found.beside:
            self._found.beside += 1
            return
        self._here, self._place = found, ArchivedAnswer(number, found.at, found.length, found.digest)
        answer = self._answer(found)
        trace = self._trace(found.why, Url(found.url))
        if isinstance(answer, Fetch):
            self._take_body(answer, trace, found.why)
        elif isinstance(answer, Redirect):
            self._take_redirect(answer, trace)
        else:
            self._take_failure(answer, answer, trace)

    def _answer(self, found: ArchivedRecords) -> Answer:
        """The answer as the crawl had it. A body that was not kept is gone, but the head tells the rest."""
        fetch, url, facts = answer_in(found), Url(found.url), found.facts
        if fetch is not None:
            return fetch
        status, seconds = int(facts["status"]), float(facts["seconds"])
        target = self._rules.join(url, _location(found.split()[0])) if 300 <= status < 400 else None
        if target is not None and target != url:
            return Redirect(url, target, status, seconds)
        reason, again = (Reason.BAD_REDIRECT, False) if status < 400 else of_status(status, None)
        detail = str(found.why.get("detail", f"status {status}"))
        return Failure(url, _reason(found.why, reason), detail, 0.0 if again else None, seconds, status)

    def _trace(self, why: dict[str, Any], url: Url) -> Trace:
        """How the crawl came to it, as the archive tells."""
        seed, parent = bool(why.get("seed")), why.get("parent")
        score = FIRST_OF_ALL if seed else float(why.get("score") or 0.0)
        if isinstance(parent, str):
            self._wanted[Url(parent)] = None
        before = len(self._names)
        id = int(self._state.facts.intern([url])[0])
        if id == before:  # the page with the link to it is lost
            self._store.know([self._new(id, score)])
        trace = self._state.facts.trace(id, id, self._store.last_seq + self._store.pending + 1, score)
        return replace(trace, depth=int(why.get("depth") or 0))

    def _take_body(self, answer: Fetch, trace: Trace, why: dict[str, Any]) -> None:
        page = parse(answer, self._rules)
        if isinstance(page, Page) and "relevance" in why:
            self._drop(trace)
            self._found.pages += 1
            self._step.take_in(Arrival(lambda: (answer, page), trace, judgement=self._noted(why)))
            return
        failure = page if isinstance(page, Failure) else Failure(answer.url, Reason.UNREADABLE)
        self._take_failure(replace(failure, reason=_reason(why, failure.reason)), answer, trace)

    def _noted(self, why: dict[str, Any]) -> Judgement | None:
        """The judgement that the archive notes; None if a critic judges anew."""
        if self._judged:
            return None
        relevance, raw = (float(why.get(key) or 0.0) for key in ("relevance", "raw"))
        return Judgement(relevance, raw, np.empty(0, np.float32), str(why.get("critic", "")))

    def _take_redirect(self, answer: Redirect, trace: Trace) -> None:
        if not self._scope.admit([answer.target], trace.depth).rows:
            wrong = Failure(answer.url, Reason.BAD_REDIRECT, f"{answer.target} is out of scope")
            self._take_failure(wrong, answer, trace)
            return
        self._drop(trace)
        self._found.redirects += 1
        before = len(self._names)
        target = self._state.facts.intern([answer.target])
        self._state.facts.redirect(trace.id, int(target[0]))
        self._keep(Taken(answer, trace, None, before, target))

    def _take_failure(self, failure: Failure, answer: Answer, trace: Trace) -> None:
        self._found.failures += 1
        miss = None
        if failure.retry_after is None:
            self._drop(trace)
            miss = Miss(failure.url, trace, failure.reason, failure.detail)
        else:
            self._wanted[failure.url] = None
        self._keep(Taken(answer, trace, miss, len(self._names), _NO_IDS))

    def _drop(self, trace: Trace) -> None:
        """What was answered waits no more."""
        self._answered.add(trace.id)
        self._state.frontier.drop(np.array([trace.id], np.int32))

    def _keep(self, taken: Taken) -> None:
        parent = self._here.why.get("parent")
        id = int(self._names.find([Url(parent)])[0]) if isinstance(parent, str) else -1
        seq = self._store.last_seq + self._store.pending + 1
        record = record_of(taken, self._names, seq=seq, at=self._here.asked_at)
        self._store.add_archived(record._replace(parent=id), self._place)

    # ---- at the end

    def _ask_again(self) -> None:
        """Pages that the archive has lost wait before everything else, if no page that is left leads to them."""
        waiting = set(self._state.frontier.waiting.tolist())
        for url, id in zip(self._wanted, self._names.find(list(self._wanted)).tolist(), strict=True):
            if id not in self._answered and id not in waiting and self._rules.canonical(url) == url:
                self._found.again.append(url)
        self._sow(self._found.again)


class NotedCritic:
    """Stands in for a critic that cannot be had: every page brings the judgement that was noted."""

    classes: tuple[str, ...] = ()
    focus: tuple[str, ...] = ()
    version = ""

    def fit(self, pages: object, labels: object) -> None:
        raise ForagerError("there is no critic to train")

    def judge(self, pages: object) -> list[Judgement]:
        raise ForagerError("there is no critic to judge a page that was not judged before")


def _reason(why: dict[str, Any], otherwise: Reason) -> Reason:
    """The reason that the archive notes, if it does."""
    noted = why.get("reason")
    return Reason(noted) if noted in set(Reason) else otherwise


def _location(head: bytes) -> str:
    """Where a redirect leads, as its head says, with escapes for bytes that are not ASCII."""
    for line in head.split(b"\r\n"):
        field, _, value = line.partition(b":")
        if field.strip().lower() == b"location":
            return "".join(chr(byte) if byte < 0x80 else f"%{byte:02X}" for byte in value.strip())
    return ""
