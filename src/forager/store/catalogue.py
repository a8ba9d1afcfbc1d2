"""What a project contains, for people and programs. Read-only, and possible while a crawl is running."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from forager.errors import ForagerError, unknown
from forager.store import warc
from forager.store.damage import DamagedError, DamageWarning
from forager.store.reading import (
    answer_at,
    damaged_urls,
    floats,
    members_at,
    no_links,
    number,
    read_project,
    read_records,
    read_urls,
)
from forager.store.records import moment, stamp
from forager.store.rows import ByteRange, VisitRow, visit_row
from forager.store.schema import open_to_read
from forager.store.status import ProjectStatus, read_status
from forager.types import Fetch, Floats, Page, Reason, Url
from forager.web.page import parse
from forager.web.urls import host

_COMPARED = 5_000  # URLs of a host, to find one that is spelt like another; and hosts
Order: TypeAlias = Literal["oldest", "newest", "relevance", "score", "url"]
_ORDERS = {
    "oldest": "v.seq",
    "newest": "v.seq DESC",
    "relevance": "v.relevance DESC, v.seq",
    "score": "v.score DESC, v.seq",
    "url": "u.text",
}
_ENTRY = f"u.text, p.text, {', '.join(f'v.{name}' for name in (*VisitRow._fields, 'checksum'))}"
_FROM = "FROM visit v JOIN url u ON u.id = v.answered LEFT JOIN url p ON p.id = v.parent"
# A page that was fetched several times counts as it was last seen.
_LATEST_PAGES = (
    "v.outcome = 'page' AND NOT EXISTS"
    " (SELECT 1 FROM visit w WHERE w.answered = v.answered AND w.outcome = 'page' AND w.seq > v.seq)"
)

# What a page was before: its last record as a page, and what the last answer was. To try again is no answer.
_CHANGES = (
    "SELECT b.seq, b.relevance, b.title,"
    " (SELECT t.text FROM redirect r JOIN url t ON t.id = r.target WHERE r.seq = v.seq),"
    f" {_ENTRY} {_FROM} LEFT JOIN visit b ON b.seq = (SELECT max(w.seq) FROM visit w"
    " WHERE w.answered = v.answered AND w.outcome = 'page' AND w.seq < v.seq)"
    " WHERE v.seq > ? AND v.asked_at >= ? AND (v.outcome = 'page' OR v.outcome IN ('miss', 'moved', 'passage') AND"
    " (SELECT w.outcome FROM visit w WHERE w.answered = v.answered AND w.outcome <> 'retry' AND w.seq < v.seq"
    " ORDER BY w.seq DESC LIMIT 1) IN ('page', 'same'))"
)


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One answer, as the catalogue has it."""

    seq: int
    id: int
    url: str
    outcome: str
    reason: str
    detail: str
    status: int
    parent: str | None  # URL of the page whose link was followed; None: a seed
    parent_id: int | None
    depth: int
    score: float
    relevance: float  # nan: not judged
    raw: float
    topics: Floats | None
    critic: str
    label: str
    asked_at: datetime
    seconds: float
    title: str
    warc: int | None  # number of the WARC file; None: nothing was kept
    members: ByteRange | None  # its place there
    digest: str | None


@dataclass(frozen=True, slots=True)
class Waypoint:
    """One URL on the way from a seed, with the score that its link had when it was followed."""

    url: str
    outcome: str  # "waiting" if it was not asked for yet
    reason: str
    depth: int
    score: float
    relevance: float
    title: str


ChangeKind: TypeAlias = Literal["new", "changed", "gone", "moved"]


@dataclass(frozen=True, slots=True, eq=False)
class PageChange:
    """Something that became of a page of the collection."""

    kind: ChangeKind
    entry: Entry  # the answer that showed it
    before: float  # its relevance before; nan: it is new
    title: str  # of a page that is gone or moved: the one it had
    target: str  # the URL that a moved page leads to; "": it has not moved


class Catalogue:
    """Reads a project. Use it in a `with` statement, or close it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._db = open_to_read(folder)
        self._lost: set[int] = set()  # records that were asked for and cannot be read
        self._last: tuple[int, Fetch | None] = (-1, None)  # the answer that was read last

    def close(self) -> None:
        """Tells what had to be left out, as a `DamageWarning`."""
        self._db.close()
        if self._lost:
            told = f"{len(self._lost)} damaged records of {self.folder} were left out"
            self._lost = set()
            warnings.warn(f"{told}: forager verify {self.folder} tells more", DamageWarning, stacklevel=2)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def project(self) -> str:
        """The id of the project; no other project has it."""
        return str(read_project(self._db))

    @property
    def last_seq(self) -> int:
        return int(self._db.execute("SELECT coalesce(max(seq), -1) FROM visit").fetchone()[0])

    def pages(
        self,
        *,
        limit: int | None = None,
        order: str = "oldest",
        min_relevance: float | None = None,
        after: int = -1,
    ) -> Iterator[Entry]:
        """The pages of the collection, one after the other, each as it was last seen. `after`: only those with a larger
        seq."""
        if order not in _ORDERS:
            raise unknown("order", order, _ORDERS)
        least = float("-inf") if min_relevance is None else min_relevance
        judged = "" if min_relevance is None else "AND v.relevance >= :least"
        sql = f"SELECT {_ENTRY} {_FROM} WHERE {_LATEST_PAGES} {judged} AND v.seq > :after ORDER BY {_ORDERS[order]}"
        rows = self._db.execute(
            f"{sql} LIMIT :limit", {"least": least, "after": after, "limit": -1 if limit is None else limit}
        )
        return self._entries(rows)

    def whole(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Those of the entries whose answer can be read from the archive."""
        return (entry for entry in entries if self.answer(entry.seq) is not None or entry.seq not in self._lost)

    def _entries(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[Entry]:
        """The entries in rows of the database, without those that are damaged."""
        for url, parent, *values in rows:
            row = visit_row(values)
            if row is None:
                self._lost.add(values[0])
            else:
                yield _entry(row, url, parent)

    def count(self, *, min_relevance: float | None = None, after: int = -1) -> int:
        """How many pages `pages` gives."""
        least = float("-inf") if min_relevance is None else min_relevance
        judged = "" if min_relevance is None else "AND v.relevance >= ?1"
        sql = f"SELECT count(*) FROM visit v WHERE {_LATEST_PAGES} {judged} AND v.seq > ?2"
        return int(self._db.execute(sql, (least, after)).fetchone()[0])

    def find(self, url: str) -> list[Entry]:
        """All answers to a URL, oldest first, also those after a redirect from it."""
        id = self._id(url)
        rows = self._db.execute(
            f"SELECT {_ENTRY} {_FROM} WHERE v.seq IN (SELECT seq FROM visit WHERE asked = ?1"
            " UNION SELECT seq FROM visit WHERE answered = ?1) ORDER BY v.seq",
            (id,),
        )
        return list(self._entries(rows))

    def changes(self, *, after: int = -1, since: datetime | None = None, newest: bool = False) -> Iterator[PageChange]:
        """What became of pages, oldest first, or `newest` first: what records with a larger seq than `after` tell, and
        those from `since` on. A page that is gone is told once, however often it was asked for since."""
        rows = self._db.execute(
            f"{_CHANGES} ORDER BY v.seq {'DESC' if newest else ''}", (after, "" if since is None else stamp(since))
        )
        for was, before, title, target, *values in rows:
            for entry in self._entries([tuple(values)]):
                kind = _kind(entry, was=was is not None, leads=target is not None)
                page = entry.outcome == "page"
                yield PageChange(
                    *(kind, entry, number(before), entry.title if page else title, target if kind == "moved" else "")
                )

    def copies(self) -> Iterator[tuple[Entry, str]]:
        """The answers with a text that we had already, oldest first, each with the URL of the page that we have."""
        rows = self._db.execute(
            f"SELECT o.text, {_ENTRY} {_FROM} JOIN url o ON o.id = v.copy_of WHERE v.copy_of NOT NULL ORDER BY v.seq"
        )
        for original, *values in rows:
            for entry in self._entries([tuple(values)]):
                yield entry, original

    def why(self, url: str) -> list[Waypoint]:
        """The way by which the crawl came to a URL, from the seed on, with scores."""
        id: int | None = self._id(url)
        way: list[Waypoint] = []
        seen: set[int] = set()
        while id is not None and id not in seen:
            seen.add(id)
            step, id = self._step(id)
            way.append(step)
        return way[::-1]

    def _step(self, id: int) -> tuple[Waypoint, int | None]:
        """A URL of the way, and the id of the page before it: the page whose link was followed. For a URL that waits it
        is the page on which it was first found."""
        rows = self._db.execute(
            f"SELECT {_ENTRY} {_FROM} WHERE v.seq IN (SELECT seq FROM visit WHERE answered = ?1"
            " UNION SELECT seq FROM visit WHERE asked = ?1) ORDER BY v.outcome = 'page' DESC, v.seq DESC LIMIT 1",
            (id,),
        )
        known = self._db.execute("SELECT text, score FROM url WHERE id = ?", (id,)).fetchone()
        if known is None:
            raise damaged_urls(self._db, id, id)
        text, score = known
        for entry in self._entries(rows):
            told = (entry.outcome, entry.reason, entry.depth, entry.score, entry.relevance, entry.title)
            return Waypoint(text, *told), entry.parent_id
        found = self._db.execute(
            "SELECT answered, depth FROM visit WHERE new_from <= ?1 AND new_to > ?1 LIMIT 1", (id,)
        ).fetchone()
        depth = 0 if found is None else found[1] + 1
        step = Waypoint(text, "waiting", "", depth, number(score), number(None), "")
        return step, None if found is None else found[0]

    def _id(self, url: str) -> int:
        """The id of a URL. Reads through all URLs: 0.1 s for a million."""
        row = self._db.execute("SELECT id FROM url WHERE text = ?", (url,)).fetchone()
        if row is None:
            raise ForagerError(f"{url} was not found by this crawl: compare the spelling with forager pages")
        return int(row[0])

    def knows(self, url: str) -> bool:
        """Whether the crawl has found a URL."""
        return self._db.execute("SELECT 1 FROM url WHERE text = ? LIMIT 1", (url,)).fetchone() is not None

    def near(self, url: str, count: int = 3) -> list[str]:
        """The URLs that are spelt most like this one, on the host that is spelt most like its own. Of a large host only
        some are compared."""
        names = [name for (name,) in self._db.execute("SELECT name FROM host LIMIT ?", (_COMPARED,))]
        hosts = get_close_matches(host(Url(url)), names, n=1, cutoff=0.7)
        sql = "SELECT u.text FROM url u JOIN host h ON h.id = u.host WHERE h.name = ? LIMIT ?"
        texts = [text for (text,) in self._db.execute(sql, (*hosts, _COMPARED))] if hosts else []
        return get_close_matches(url, texts, n=count, cutoff=0.7)

    def leads_to(self, url: str) -> str:
        """Where redirects lead from a URL; the URL itself if there are none."""
        id, seen = self._id(url), set[int]()
        while id not in seen:
            seen.add(id)
            sql = "SELECT target FROM redirect WHERE source = ? ORDER BY seq DESC LIMIT 1"
            id = next((target for (target,) in self._db.execute(sql, (id,))), id)
        return str(self._db.execute("SELECT text FROM url WHERE id = ?", (id,)).fetchone()[0])

    def followed(self, count: int) -> list[float]:
        """The scores of the links that were followed last, the newest first."""
        sql = "SELECT score FROM visit WHERE parent >= 0 AND outcome <> 'retry' ORDER BY seq DESC LIMIT ?"
        return [score for (score,) in self._db.execute(sql, (count,)) if score is not None and isfinite(score)]

    def status(self) -> ProjectStatus:
        """The project in numbers."""
        return read_status(self._db, self.folder)

    # ---- what is in the archive

    def text(self, entry: Entry) -> str:
        """The visible text of a page, read from the archive. It is not stored a second time."""
        answer = self.answer(entry.seq)
        page = None if answer is None else parse(answer)
        return "\n".join(filter(None, page.leaves)) if isinstance(page, Page) else ""

    def answer(self, seq: int) -> Fetch | None:
        """The answer as it came. None if it had no body, or if it is damaged, which is told in the end."""
        if self._last[0] != seq:
            try:
                self._last = seq, answer_at(self._db, self.folder, seq)
            except DamagedError:
                self._lost.add(seq)
                self._last = seq, None
        return self._last[1]

    def reasons(self, seq: int) -> dict[str, Any]:
        """Why this was fetched and how it was judged, from the archive."""
        try:
            members = members_at(self._db, self.folder, seq)
            return {} if members is None else warc.reasons(members)
        except DamagedError:
            self._lost.add(seq)
            return {}


def _entry(row: VisitRow, url: str, parent: str | None) -> Entry:
    return Entry(
        *(row.seq, row.answered, url, row.outcome, row.reason, row.detail, row.status),
        *(parent, None if parent is None else row.parent),
        depth=row.depth,
        score=number(row.score),
        relevance=number(row.relevance),
        raw=number(row.raw),
        topics=floats(row.topics),
        critic=row.critic,
        label=row.label,
        asked_at=moment(row.asked_at),
        seconds=row.seconds,
        title=row.title,
        warc=row.warc,
        members=row.members,
        digest=row.digest,
    )


def _kind(entry: Entry, *, was: bool, leads: bool) -> ChangeKind:
    """What an answer says of a page that `was` there before, or was not. A redirect to a page that we have is a
    duplicate that `leads` elsewhere."""
    if entry.outcome == "page":
        return "changed" if was else "new"
    return "moved" if leads and (entry.outcome == "moved" or entry.reason == Reason.DUPLICATE) else "gone"


# ---- redirects


def aliases(project: Path, pages: Collection[str]) -> dict[str, str]:
    """The URLs from which redirects led to one of these pages, each with its page, over any number of redirects."""
    db = open_to_read(project)
    try:
        urls = [text for chunk in read_urls(db, 10_000) for text in chunk.texts]
        pairs = [pair for stored in read_records(db, no_links, -1, lambda seq: None) for pair in stored.redirects]
    finally:
        db.close()
    onward = {urls[source]: urls[target] for source, target in pairs}
    ends = {source: _end(source, onward, pages) for source in onward if source not in pages}
    return {source: end for source, end in ends.items() if end is not None}


def _end(url: str, onward: Mapping[str, str], pages: Collection[str]) -> str | None:
    """The page that redirects lead to. None if they lead to no page, or in a circle."""
    for _ in range(len(onward) + 1):
        if url in pages:
            return url
        if url not in onward:
            return None
        url = onward[url]
    return None
