"""`forager status`: what a project has done so far, as a table that a person reads, or as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from forager.cli.terminal import JsonObject, ProjectFolder, duration, put, put_json
from forager.collection.harvest import HarvestCorrection, harvest_correction
from forager.project import Project
from forager.store import Catalogue, CrawlSession, ProjectStatus
from forager.store.status import ForecastNote
from forager.topics.topic_critic import found_by_topic
from forager.types import RELEVANT, Reason
from forager.web.traps import TrapReport

Row: TypeAlias = tuple[str, str]  # what it is, and how much
IN_WORDS: Mapping[str, str] = {
    Reason.NOT_FOUND: "not found (404 or 410)",
    Reason.CLIENT_ERROR: "refused by the server (another 4xx)",
    Reason.SERVER_ERROR: "the server failed (5xx)",
    Reason.BUSY: "the server was too busy (429, 503)",
    Reason.NOT_HTML: "no HTML",
    Reason.ROBOTS: "robots.txt does not let us",
    Reason.FORBIDDEN: "a private address, which the guard refuses",
    Reason.DNS: "the name has no address",
    Reason.TIMEOUT: "no answer in time",
    Reason.UNREACHABLE: "no connection",
    Reason.TLS: "no valid certificate",
    Reason.PROTOCOL: "what came was no HTTP",
    Reason.TOO_LARGE: "too large",
    Reason.UNREADABLE: "cannot be read",
    Reason.TOO_MANY_REDIRECTS: "too many redirects",
    Reason.BAD_REDIRECT: "a redirect that leads nowhere",
    Reason.DUPLICATE: "the same as a page we have",
    Reason.LISTING: "a sitemap or a feed",
    Reason.NOINDEX: "the page asks not to be kept",
    Reason.TRAP: "a trap: one of too many URLs that bring the same",
    Reason.LOCAL: "the fault is on this machine",
}
MOST_TRAPS = 20  # that are shown
FILES = {"warc": "archive", "crawl.sqlite": "database", "links.bin": "links", "search.sqlite": "search", "log": "log"}


def in_words(reason: str) -> str:
    """Why a request brought no page, for people."""
    return IN_WORDS.get(reason, reason)


def status(project: ProjectFolder, as_json: JsonObject = False) -> None:
    """Show what a project has done so far, also while it is being crawled."""
    with Catalogue(project) as catalogue:
        found = catalogue.status()
    topics, correction = found_by_topic(Project(project)), harvest_correction(project)
    if as_json:
        put_json(_row(found, topics, correction))
        return
    _show_head(project, found, correction)
    for title, rows in _sections(found, topics):
        if rows:
            put()
            put(title)
            widest = max(len(name) for name, _ in rows)
            for name, value in rows:
                put(f"  {name:<{widest}}  {value}")


def _show_head(project: Path, found: ProjectStatus, correction: HarvestCorrection) -> None:
    running = f"a crawl runs: {found.running}" if found.running else f"no crawl runs; forager crawl {project} goes on"
    put(f"{project}: {running}")
    put()
    put(f"pages     {found.pages:>12,}  {found.relevant:,} of them relevant ({RELEVANT} or more)")
    harvest = _harvest(found, correction)
    if math.isfinite(harvest):
        put(f"harvest   {harvest:>12.3f}  {correction.words}")
    put(f"requests  {found.requests:>12,}  without those for robots.txt")
    put(f"waiting   {found.waiting:>12,}  of {found.urls:,} URLs on {found.hosts:,} hosts")
    for line in _forecast(found.forecast):
        put(line)


def _harvest(found: ProjectStatus, correction: HarvestCorrection) -> float:
    return correction.mean(found.levels) if correction.labels else found.relevance


def _forecast(note: ForecastNote) -> Iterator[str]:
    """What the crawl may expect, in two lines; or why nobody knows, in one."""
    said = note.forecast
    if said is None:
        if note.why_not:
            yield f"forecast  {'none':>12}  {note.why_not}"
        return
    brings = f"{said.low:.0f} to {said.high:.0f}"
    yield f"forecast  {said.expected:>12,.0f}  relevant pages in the next {said.fetches} fetches ({brings}, 80 %)"
    shares = f"{said.share_low:.0%} to {said.share_high:.0%}"
    as_of = f"as of {said.made:,} fetches, by the critic"
    yield f"found     {said.share:>12.0%}  of the relevant pages within reach ({shares}, 80 %), {as_of}"


# ---- sections -------------------------------------------------------------------------------------------------------


def _sections(found: ProjectStatus, topics: Mapping[str, int]) -> Iterator[tuple[str, list[Row]]]:
    """Titles and rows. One without rows is left out."""
    yield "relevant pages by topic", _numbers(topics)
    yield "requests that brought no page", _numbers(found.reasons, in_words)
    yield "traps: URLs of these patterns are not followed any more", [_trap(trap) for trap in found.traps[:MOST_TRAPS]]
    yield "sites with most pages", _numbers(found.sites)
    yield "on disk", _disk(found.disk)
    yield "sessions", [_session(number, each, found) for number, each in enumerate(found.sessions, 1)]


def _numbers(counts: Mapping[str, int], name: Callable[[str], str] = str) -> list[Row]:
    return [(name(key), f"{count:>10,}") for key, count in counts.items()]


def _trap(trap: TrapReport) -> Row:
    cost = f"{trap.fetched:>10,} pages, {trap.copies:,} of them copies, {trap.relevant:,} relevant"
    return trap.pattern, f"{cost}; {trap.held_back:,} links held back ({trap.why})"


def _disk(sizes: Mapping[str, int]) -> list[Row]:
    named = [(FILES[name], size) for name, size in sizes.items() if name in FILES]
    rest = sum(sizes.values()) - sum(size for _, size in named)
    return [(name, f"{size / 1e6:>10,.2f} MB") for name, size in [*named, ("the rest", rest)] if size]


def _session(number: int, session: CrawlSession, found: ProjectStatus) -> Row:
    figures = found.figures.get(session.id)
    pages = figures.pages if figures else 0
    runs = session.ended is None and found.running is not None and session is found.sessions[-1]
    end = session.ended or (datetime.now(UTC) if runs else figures.last if figures else None)
    took = duration((end - session.began).total_seconds()) if end else "?"
    why = "runs" if runs else session.reason or ("was killed" if session.ended is None else "ended")
    return f"{number:>3}  {session.began:%Y-%m-%d %H:%M:%S} UTC", f"{took:>10}  {pages:>9,} pages  {why}"


# ---- for programs ---------------------------------------------------------------------------------------------------


def _row(found: ProjectStatus, topics: Mapping[str, int], correction: HarvestCorrection) -> dict[str, Any]:
    corrected = _harvest(found, correction)
    return {
        "pages": found.pages,
        "relevant": found.relevant,
        "requests": found.requests,
        "outcomes": dict(found.outcomes),
        "reasons": dict(found.reasons),
        "urls": found.urls,
        "waiting": found.waiting,
        "hosts": found.hosts,
        "harvest": found.relevance if math.isfinite(found.relevance) else None,
        "corrected_harvest": corrected if correction.labels and math.isfinite(corrected) else None,
        "labels": correction.labels,
        "forecast": asdict(found.forecast.forecast) if found.forecast.forecast else None,
        "topics": dict(topics),
        "sites": dict(found.sites),
        "bytes": dict(found.bytes),
        "disk": dict(found.disk),
        "traps": [trap._asdict() for trap in found.traps],
        "running": str(found.running) if found.running else None,
        "sessions": [_session_row(each, found) for each in found.sessions],
    }


def _session_row(session: CrawlSession, found: ProjectStatus) -> dict[str, Any]:
    figures = found.figures.get(session.id)
    return {
        "began": session.began.isoformat(),
        "ended": session.ended.isoformat() if session.ended else None,
        "version": session.version,
        "reason": session.reason,
        "pages": figures.pages if figures else 0,
        "answers": figures.answers if figures else 0,
    }
