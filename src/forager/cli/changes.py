"""`forager changes`: what became of the pages of a collection, for people, for programs, and as an Atom feed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from forager.cli.status import in_words
from forager.cli.terminal import JsonLines, ProjectFolder, put, put_json
from forager.collection import atom_feed
from forager.config import MOST
from forager.errors import ForagerError, unknown
from forager.files import replace_whole
from forager.project import Project
from forager.store import Catalogue, ChangeKind, PageChange

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LENGTH = re.compile(rf"(\d{{1,12}})([{''.join(UNITS)}])", re.ASCII)
KINDS = get_args(ChangeKind)
STDOUT = "-"


def changes(
    project: ProjectFolder,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="WHEN", help="only from then on: 7d, 12h, 30m (ago), or a date or time such as 2026-11-17"
        ),
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option(help=f"only changes of this kind: {', '.join(KINDS)}; repeat for more")
    ] = None,
    min_relevance: Annotated[
        float | None,
        typer.Option(
            help="only pages that are, or were, at least this relevant, from 0 to 1",
            show_default="0; with --atom: [refresh] relevance",
            min=0,
            max=1,
        ),
    ] = None,
    limit: Annotated[int, typer.Option(help="at most so many changes, the newest ones", min=1, max=MOST)] = 100,
    as_json: JsonLines = False,
    atom: Annotated[
        str | None, typer.Option(metavar="FILE", help="write the new pages as an Atom feed to this file; - for stdout")
    ] = None,
) -> None:
    """Show what became of pages, the newest first: new, changed, gone or moved.

    Times are in UTC. It works while a crawl runs, too.
    """
    for each in kind or ():
        if each not in KINDS:
            raise unknown("kind of change", each, KINDS)
    start = _moment(since)
    if atom is not None:
        if kind or as_json:
            raise ForagerError("--atom writes new pages only: leave out --kind and --json")
        least = Project(project).config.refresh.relevance if min_relevance is None else min_relevance
        _write_feed(project, atom, limit, start, least)
        return
    with Catalogue(project) as catalogue:
        for change in islice(_wanted(catalogue, start, set(kind or ()), min_relevance), limit):
            if as_json:
                put_json(_row(change))
            else:
                put(_line(change))


def _write_feed(project: Path, target: str, limit: int, since: datetime | None, least: float) -> None:
    with Catalogue(project) as catalogue:
        pages = [change.entry for change in islice(_wanted(catalogue, since, {"new"}, least), limit)]
        feed = atom_feed(catalogue.project, f"{project.resolve().name}: new pages", pages)
    if target == STDOUT:
        put(feed.decode())
    else:
        replace_whole(Path(target), feed, sync=False)
        put(f"{len(pages)} pages in {target}")


def _wanted(catalogue: Catalogue, since: datetime | None, kinds: set[str], least: float | None) -> Iterator[PageChange]:
    for change in catalogue.changes(since=since, newest=True):
        relevant = least is None or change.entry.relevance >= least or change.before >= least  # nan is neither
        if relevant and (not kinds or change.kind in kinds):
            yield change


def _moment(text: str | None) -> datetime | None:
    """When that is. A time without a zone is in UTC, as we print them."""
    if text is None:
        return None
    with suppress(ValueError, OverflowError):
        if length := _LENGTH.fullmatch(text):
            return datetime.now(UTC) - timedelta(**{UNITS[length[2]]: int(length[1])})
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    raise ForagerError(f"--since {text[:50]!r} is no time: give 7d, 12h or 30m, or a date such as 2026-11-17T08:30")


def _line(change: PageChange) -> str:
    entry = change.entry
    judged = [f"{value:.3f}" for value in (change.before, entry.relevance) if not math.isnan(value)]
    why = f"  ({in_words(entry.reason)})" if change.kind == "gone" and entry.reason else ""
    leads = f"  -> {change.target}" if change.target else ""
    told = f"{entry.asked_at:%Y-%m-%d %H:%M:%S}  {change.kind:<7}  {' -> '.join(judged):<14}"
    return f"{told}  {entry.url}{leads}  {change.title}{why}".rstrip()


def _row(change: PageChange) -> dict[str, Any]:
    entry = change.entry
    return {
        "at": entry.asked_at.isoformat(),
        "kind": change.kind,
        "url": entry.url,
        "title": change.title,
        "relevance": _finite(entry.relevance),
        "before": _finite(change.before),
        "target": change.target or None,
        "reason": entry.reason or None,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
