"""A project in numbers, for people and programs. It is read in a few passes: a million URLs take a second or two."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from forager.files import replace_whole
from forager.store.lock import LockHolder, holder
from forager.store.reading import NAN, read_sessions
from forager.store.records import CrawlSession, moment
from forager.types import RELEVANT, Reason
from forager.web.traps import TrapReport
from forager.web.urls import site

MOST_SITES = 10  # that are listed
TRAPS, FORECAST = "traps.json", "forecast.json"
_NOT_ASKED = (Reason.ROBOTS, Reason.FORBIDDEN)
_PARTS = (
    "SELECT session, outcome, reason, count(*), count(relevance), total(relevance), total(relevance >= ?),"
    " max(asked_at) FROM visit GROUP BY session, outcome, reason"
)
_IS_OLDER = "EXISTS (SELECT 1 FROM visit w WHERE w.answered = v.answered AND w.outcome = 'page' AND w.seq > v.seq)"
_OLDER = (
    "SELECT count(*), count(relevance), total(relevance), total(relevance >= ?) FROM visit v WHERE outcome = 'page'"
    f" AND {_IS_OLDER}"
)
_LEVELS = (
    "SELECT CAST(round(100 * relevance) AS INTEGER), count(*) FROM visit v WHERE outcome = 'page'"
    " AND relevance IS NOT NULL {} GROUP BY 1"
)


@dataclass(frozen=True)
class SessionFigures:
    """What one session has brought."""

    answers: int = 0
    pages: int = 0
    last: datetime | None = None  # when its last answer was asked for; None: it had none


@dataclass(frozen=True)
class Forecast:
    """What a crawl may expect. Relevant is what the critic takes for relevant; intervals hold with a chance of 80 %."""

    made: int  # fetches until then
    fetches: int  # that are forecast
    expected: float  # relevant pages that they will bring
    low: float
    high: float
    found: int  # relevant pages so far
    share: float  # of the relevant pages that can be reached
    share_low: float
    share_high: float


@dataclass(frozen=True)
class ForecastNote:
    """The last forecast of a crawl, or why there is none."""

    forecast: Forecast | None = None
    why_not: str = ""  # "": nobody has tried


@dataclass(frozen=True)
class ProjectStatus:
    """What a project contains, in numbers, and who is working on it."""

    outcomes: Mapping[str, int]
    reasons: Mapping[str, int]  # of answers without a page
    urls: int  # known
    waiting: int  # of them, not asked for yet
    hosts: int
    pages: int
    relevant: int  # pages that are at least RELEVANT
    relevance: float  # mean over the pages; nan: none was judged
    levels: Mapping[int, int]  # pages by their relevance in hundredths
    sites: Mapping[str, int]  # pages by site, the largest first
    bytes: Mapping[str, int]  # by file that is committed
    disk: Mapping[str, int]  # bytes by file or folder of the project
    sessions: tuple[CrawlSession, ...]
    figures: Mapping[int, SessionFigures]  # by session
    traps: tuple[TrapReport, ...]  # as the last session has noted them
    forecast: ForecastNote  # as the last session has noted it
    running: LockHolder | None

    @property
    def requests(self) -> int:
        """How many were made for links. What robots.txt or the guard refuses is not asked for."""
        return sum(self.outcomes.values()) - sum(self.reasons.get(reason, 0) for reason in _NOT_ASKED)


class _Older(NamedTuple):
    """The pages that were fetched again later and had changed: they count as they were last seen."""

    answers: int = 0
    judged: int = 0
    relevance: float = 0.0  # summed
    relevant: float = 0.0


class _Part(NamedTuple):
    """The answers of one session with one outcome for one reason."""

    session: int
    outcome: str
    reason: str
    answers: int
    judged: int
    relevance: float  # summed
    relevant: float
    last: str  # when the last one was asked for


def read_status(db: sqlite3.Connection, folder: Path) -> ProjectStatus:
    """The figures of a project, from its database and its folder."""
    one = db.execute
    parts, sessions = [_Part(*row) for row in one(_PARTS, (RELEVANT,))], tuple(read_sessions(db))
    pages = [part for part in parts if part.outcome == "page"]
    older = _Older(*one(_OLDER, (RELEVANT,)).fetchone()) if len(sessions) > 1 else _Older()
    judged = sum(part.judged for part in pages) - older.judged
    urls = one("SELECT coalesce(max(id), -1) + 1 FROM url").fetchone()[0]
    return ProjectStatus(
        outcomes=_counts((part.outcome, part.answers) for part in parts),
        reasons=_counts((part.reason, part.answers) for part in parts if part.reason),
        urls=urls,
        waiting=max(0, urls - _settled(db)),
        hosts=one("SELECT count(*) FROM host").fetchone()[0],
        pages=sum(part.answers for part in pages) - older.answers,
        relevant=int(sum(part.relevant for part in pages) - older.relevant),
        relevance=(sum(part.relevance for part in pages) - older.relevance) / judged if judged else NAN,
        levels=_levels(db, again=older.answers > 0),
        sites=dict(_sites(db, again=older.answers > 0)),
        bytes=dict(one("SELECT name, length FROM file ORDER BY name")),
        disk=_disk(folder),
        sessions=sessions,
        figures=_figures(parts),
        traps=read_traps(folder),
        forecast=read_forecast(folder),
        running=holder(folder),
    )


def _counts(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The sum for each name, the largest first."""
    sums: Counter[str] = Counter()
    for name, count in pairs:
        sums[name] += count
    return dict(sums.most_common())


def _figures(parts: list[_Part]) -> dict[int, SessionFigures]:
    return {
        session: SessionFigures(
            sum(part.answers for part in parts if part.session == session),
            sum(part.answers for part in parts if part.session == session and part.outcome == "page"),
            moment(max(part.last for part in parts if part.session == session)),
        )
        for session in {part.session for part in parts}
    }


def _levels(db: sqlite3.Connection, *, again: bool) -> dict[int, int]:
    levels = Counter(dict(db.execute(_LEVELS.format(""))))
    if again:
        levels.subtract(dict(db.execute(_LEVELS.format(f"AND {_IS_OLDER}"))))
    return dict(sorted(levels.items()))


def _settled(db: sqlite3.Connection) -> int:
    """How many URLs need not be asked for any more: they have an answer, or led to another URL."""
    return sum(
        sign * db.execute(sql).fetchone()[0]
        for sign, sql in (
            (1, "SELECT count(DISTINCT answered) FROM visit"),
            (1, "SELECT count(DISTINCT source) FROM redirect WHERE source NOT IN (SELECT answered FROM visit)"),
            (-1, "SELECT count(DISTINCT answered) FROM visit v WHERE outcome = 'retry' AND NOT EXISTS"
                 " (SELECT 1 FROM visit w WHERE w.answered = v.answered AND w.outcome <> 'retry')"),
        )
    )  # fmt: skip


def _sites(db: sqlite3.Connection, *, again: bool) -> list[tuple[str, int]]:
    """The sites with most pages. To find the site of a name takes long, so names are grouped by their last two parts
    first: a site is never in two groups. `again`: some pages were fetched several times."""
    count = "count(DISTINCT v.answered)" if again else "count(*)"
    rows = db.execute(
        f"SELECT h.name, n FROM (SELECT u.host AS host, {count} AS n FROM visit v JOIN url u ON u.id = v.answered"
        " WHERE v.outcome = 'page' GROUP BY u.host) JOIN host h ON h.id = host"
    )
    groups: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for name, pages in rows:
        groups[".".join(name.split(".")[-2:])].append((name, pages))
    best: list[tuple[str, int]] = []
    for group in sorted(groups.values(), key=lambda group: -sum(pages for _, pages in group)):
        if len(best) == MOST_SITES and sum(pages for _, pages in group) < best[-1][1]:
            break
        counts: Counter[str] = Counter()
        for name, pages in group:
            counts[site(name)] += pages
        best = sorted([*best, *counts.items()], key=lambda pair: (-pair[1], pair[0]))[:MOST_SITES]
    return best


def write_traps(folder: Path, traps: list[TrapReport]) -> None:
    """Note which traps a crawl has found. They follow from its records, so this is only for people."""
    if traps or (folder / TRAPS).exists():
        replace_whole(folder / TRAPS, msgspec.json.format(msgspec.json.encode(traps)), sync=False)


def read_traps(folder: Path) -> tuple[TrapReport, ...]:
    """The traps that were noted. None if nobody has, or if the note is damaged."""
    try:
        return msgspec.json.decode((folder / TRAPS).read_bytes(), type=tuple[TrapReport, ...])
    except (OSError, msgspec.MsgspecError):
        return ()


def write_forecast(folder: Path, note: ForecastNote) -> None:
    """Note what a crawl may expect, for people."""
    replace_whole(folder / FORECAST, msgspec.json.format(msgspec.json.encode(note)), sync=False)


def read_forecast(folder: Path) -> ForecastNote:
    """The forecast that was noted; an empty one if nobody has, or if the note is damaged."""
    try:
        return msgspec.json.decode((folder / FORECAST).read_bytes(), type=ForecastNote)
    except (OSError, msgspec.MsgspecError):
        return ForecastNote()


def _disk(folder: Path) -> dict[str, int]:
    """Bytes of each file of a project, and of each folder in it."""
    sizes: Counter[str] = Counter()
    for file in folder.rglob("*"):
        try:
            if file.is_file() and not file.is_symlink():
                sizes[file.relative_to(folder).parts[0]] += file.stat().st_size
        except OSError:  # it went away meanwhile
            continue
    return dict(sizes.most_common())
