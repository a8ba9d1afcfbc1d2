"""Does a project hold together? Archive, catalogue, links and digests are compared. Nothing is changed.

A check yields, for each thing that it looks at, None if it is right, else a `Finding`. All checks see the project as it
was at one moment, also while a crawl runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

from forager.errors import ForagerError
from forager.store import warc
from forager.store.aside import ASIDE, LINKS
from forager.store.committed import FILE as NOTE
from forager.store.committed import read_committed
from forager.store.damage import DamagedError, Database, row_checksum
from forager.store.links import whole_links
from forager.store.lock import holder
from forager.store.members import ArchivedRecords, LostStretch, records_in, walk
from forager.store.models import CHECKPOINT, CHECKPOINT_VERSION, CHECKPOINTS, load
from forager.store.reading import read_hosts, read_lengths, read_range, read_urls
from forager.store.rows import VISIT_COLUMNS, ByteRange, VisitRow, visit_row
from forager.store.schema import DATABASE, open_to_read

MOST = 100  # findings of a check that are kept; the others are counted
CHUNK = 10_000  # URLs in memory at once


class Finding(NamedTuple):
    """Something that is wrong, and what to do about it."""

    what: str
    cure: str


@dataclass(frozen=True, slots=True, eq=False)
class Inspected:
    """A project that is looked at."""

    folder: Path
    db: Database  # in a transaction that reads
    lengths: dict[str, int]  # of the files, as committed
    urls: int  # that are known
    running: bool  # somebody is writing to it now

    @property
    def again(self) -> str:
        """The cure for what the archive still has."""
        return f"forager recover {self.folder} builds it again from the archive"

    def rows(self) -> Iterator[tuple[int, VisitRow | None]]:
        """The number of each record with its row; None: it is damaged."""
        for values in self.db.execute(f"SELECT {VISIT_COLUMNS} FROM visit ORDER BY seq"):
            yield values[0], visit_row(values)


Looked: TypeAlias = Iterator[Finding | None]


class Check(NamedTuple):
    """One thing that is checked: its name for people, and the function that does it."""

    name: str
    run: Callable[[Inspected], Looked]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a check has found."""

    name: str
    checked: int
    wrong: int
    findings: tuple[Finding, ...]  # the first of them


def verify(
    folder: Path, checks: Sequence[Check] | None = None, tell: Callable[[str, int], None] = lambda name, done: None
) -> list[CheckResult]:
    """Check a project. `tell` hears the name of the check and how much it has looked at. Without `checks`, all of this
    room."""
    try:
        with closing(open_to_read(folder)) as db:
            project = _inspected(folder, db)
            return [_result(check, project, tell) for check in checks or CHECKS]
    except ForagerError as error:
        if not (folder / DATABASE).exists() and not warc.is_there(folder):
            raise
        return [CheckResult("database", 1, 1, (Finding(str(error), f"forager recover {folder}"),))]


def _inspected(folder: Path, db: Database) -> Inspected:
    running = holder(folder) is not None
    db.execute("BEGIN")
    lengths = read_lengths(db)
    urls = db.execute("SELECT coalesce(max(id), -1) + 1 FROM url").fetchone()[0]
    return Inspected(folder, db, lengths, urls, running or holder(folder) is not None)


def _result(check: Check, project: Inspected, tell: Callable[[str, int], None]) -> CheckResult:
    checked, wrong, findings = 0, 0, list[Finding]()
    for found in _told(check, project):
        checked += 1
        if found is not None:
            wrong += 1
            findings += [found] if wrong <= MOST else []
        tell(check.name, checked)
    return CheckResult(check.name, checked, wrong, tuple(findings))


def _told(check: Check, project: Inspected) -> Looked:
    """What a check yields. An error that ends it is a finding too."""
    try:
        yield from check.run(project)
    except ForagerError as error:
        yield Finding(f"the check ended here: {error}", project.again)


# ---- checks ---------------------------------------------------------------------------------------------------------


def database(project: Inspected) -> Looked:
    """SQLite's own check of the whole file."""
    for (line,) in project.db.execute("PRAGMA integrity_check"):
        yield None if line == "ok" else Finding(f"{DATABASE}: {line}", project.again)


def files(project: Inspected) -> Looked:
    """Every file is there, as long as it was committed, and known."""
    folder, cure = project.folder, f"restore it from a copy; else forager recover {project.folder} takes what is whole"
    for name, length in project.lengths.items():
        size = (folder / name).stat().st_size if (folder / name).exists() else -1
        if size < 0:
            yield Finding(f"{name} is missing", cure)
        else:
            short = f"{name} has {size:,} of the {length:,} bytes that were committed"
            yield None if size >= length else Finding(short, cure)
    if not project.running:
        known = {Path(name).name for name in project.lengths}
        for path in sorted((folder / warc.FOLDER).glob("forager-*.warc.gz")):
            if path.name not in known and path.stat().st_size:
                yield Finding(f"{path.name} is not in the catalogue", project.again)
        yield _note(project)
    for path in sorted((folder / ASIDE).glob("*/warc/*")):
        if warc.FOLDER in path.parts and ".warc.gz" in path.name:
            what = f"{path.relative_to(folder)} was moved aside, and its pages are not in the collection"
            yield Finding(what, f"forager recover {folder} takes them in")


def _note(project: Inspected) -> Finding | None:
    """The database is not older than what was acknowledged."""
    note = read_committed(project.folder)
    if note is None:
        return None  # a project of an older version
    last = max(filter(None, map(warc.number_of, project.lengths)), default=0)
    ends = note._replace(links=project.lengths.get(LINKS, 0), warc=last)
    ends = ends._replace(warc_length=project.lengths.get(warc.name(last), 0))
    if ends.covers(note):
        return None
    told = f"{NOTE} says that record {note.last_seq} was acknowledged, and {DATABASE} ends before: it is an older copy"
    return Finding(told, f"put the newest copy back, or run forager recover {project.folder}")


def rows(project: Inspected) -> Looked:
    """Records have no gaps, are as they were written, and name URLs that are known."""
    expected, new = 0, 0
    for seq, row in project.rows():
        if seq != expected:
            yield Finding(f"record {expected - 1} is followed by {seq}: records are missing", project.again)
        expected = seq + 1
        if row is None:
            yield Finding(f"record {seq} is not as it was written", project.again)
            continue
        problem = _row_problem(project, row, new)
        new = row.new_to
        yield Finding(f"record {seq}: {problem}", project.again) if problem else None


def _row_problem(project: Inspected, row: VisitRow, new: int) -> str:
    ids = (row.asked, row.answered, max(row.parent, 0), row.new_to - 1)
    if not all(-1 <= id < project.urls for id in ids):
        return f"it names URLs that are not known: {ids}"
    if not new <= row.new_from <= row.new_to:
        return f"it has found the URLs {row.new_from} to {row.new_to}, but those to {new} were known"
    return ""


def urls(project: Inspected) -> Looked:
    """URLs have no gaps, are as they were written, and belong to their hosts."""
    hosts = read_hosts(project.db)
    for chunk in read_urls(project.db, CHUNK):
        for row, (text, host) in enumerate(zip(chunk.texts, chunk.hosts.tolist(), strict=True)):
            name = hosts[host] if 0 <= host < len(hosts) else None
            right = name is not None and text.partition("://")[2].startswith(name)
            told = f"URL {chunk.first + row} ({text}) is noted under the host {name}"
            yield None if right else Finding(told, project.again)


def archive(project: Inspected) -> Looked:
    """Every answer is in the archive, whole, with its URL and its digest; and the archive has no others."""
    ends = dict.fromkeys(project.lengths, 0)
    columns = ", ".join(f"v.{name}" for name in VISIT_COLUMNS.split(", "))
    sql = f"SELECT u.text, {columns} FROM visit v LEFT JOIN url u ON u.id = v.answered ORDER BY v.warc, v.warc_at"
    for url, *values in project.db.execute(sql):
        row = visit_row(values)
        if row is None or row.warc is None or row.members is None:
            continue  # what is wrong with a row is told elsewhere
        name, place = warc.name(row.warc), row.members
        yield from _between(project, name, ends.get(name, 0), place.at)
        ends[name] = max(ends.get(name, 0), place.at + place.length)
        problem = _archived_problem(project.folder / name, place, row, url)
        cure = f"restore {name} from a copy; else forager recover {project.folder} lets the page be asked for again"
        yield Finding(f"record {row.seq} ({url}): {problem}", cure) if problem else None
    for name, end in ends.items():
        if name != LINKS:
            yield from _between(project, name, end, project.lengths.get(name, end))


def _archived_problem(path: Path, place: ByteRange, row: VisitRow, url: str) -> str:
    try:
        found = records_in(read_range(path, place))
    except DamagedError as error:
        return f"its place in the archive holds no whole answer ({error})"
    if found.url != url:
        return f"its place in the archive holds an answer of {found.url}"
    if not row.digest == found.digest == warc.digest(found.split()[1]):
        return "the digest of its body differs"
    return ""


def _between(project: Inspected, name: str, start: int, end: int) -> Looked:
    """What lies in a WARC file where no row points."""
    if not (project.folder / name).exists():
        return
    for found in walk(project.folder / name, start, end) if start < end else ():
        if isinstance(found, LostStretch):
            what = f"{name}: {found.length:,} bytes from {found.at:,} on hold no whole answer ({found.why})"
            yield Finding(what, f"restore {name} from a copy, if there is one")
        elif isinstance(found, ArchivedRecords) and not found.beside:
            yield Finding(f"{name}: no row points at the answer of {found.url} at {found.at:,}", project.again)
        else:
            yield None


def links(project: Inspected) -> Looked:
    """The links of each page can be read, and lead to known URLs."""
    path = project.folder / LINKS
    for seq, row in project.rows():
        if row is None or row.outcome != "page":
            continue
        try:
            whole = whole_links(read_range(path, ByteRange(row.links_at, row.links_length)), row) is not None
        except DamagedError:
            whole = False
        cure = "the next crawl reads them again from the archived page, or asks for it again"
        yield None if whole else Finding(f"the links of record {seq} in {LINKS} are damaged", cure)


def redirects(project: Inspected) -> Looked:
    """Redirects lead from known URLs to known URLs."""
    for *values, checksum in project.db.execute("SELECT seq, source, target, checksum FROM redirect"):
        known = all(isinstance(id, int) and 0 <= id < project.urls for id in values[1:])
        whole = known and row_checksum(values) == checksum
        yield None if whole else Finding(f"the redirect of record {values[0]} is not as it was written", project.again)


def checkpoints(project: Inspected) -> Looked:
    """What the strategy has learnt can be read."""
    for path in sorted((project.folder / CHECKPOINTS).glob("*.npz")):
        try:
            load(path, kind=CHECKPOINT, version=CHECKPOINT_VERSION)
            yield None
        except ForagerError as error:
            if path.exists():  # else a running crawl has put a newer one in its place
                yield Finding(str(error), f"remove {path.name}: the next crawl learns it again from the pages")


CHECKS: tuple[Check, ...] = (
    Check("database", database),
    Check("files", files),
    Check("records", rows),
    Check("URLs", urls),
    Check("answers in the archive", archive),
    Check("links", links),
    Check("redirects", redirects),
    Check("checkpoints", checkpoints),
)


def is_whole(results: Iterable[CheckResult]) -> bool:
    return not any(result.wrong for result in results)
