"""The tables of a project, and the steps that bring older projects up to date.

`PRAGMA user_version` counts the steps that a file has been through. A new project goes through all of them, so that new
and migrated projects are the same.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from uuid import uuid4

from forager.errors import ForagerError
from forager.store import warc
from forager.store.damage import Database, damaged_database, row_checksum
from forager.store.rows import SEALED_COLUMNS, seal_of

DATABASE = "crawl.sqlite"
SEALED_TOGETHER = 10_000  # URLs of an older project that have one checksum
CHECKED = 256_000_000  # bytes of a database that is looked through when it is opened


def _first(db: sqlite3.Connection) -> None:
    for statement in (
        "CREATE TABLE project(id TEXT NOT NULL)",
        "CREATE TABLE file(name TEXT PRIMARY KEY, length INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE TABLE session(id INTEGER PRIMARY KEY, config TEXT NOT NULL, version TEXT NOT NULL,"
        " began TEXT NOT NULL, ended TEXT, reason TEXT NOT NULL DEFAULT '')",
        "CREATE TABLE host(id INTEGER PRIMARY KEY, name TEXT NOT NULL)",
        # No index over the texts: it would cost three times as much as the table, and only people look up texts.
        "CREATE TABLE url(id INTEGER PRIMARY KEY, host INTEGER NOT NULL, text TEXT NOT NULL, score REAL)",
        "CREATE TABLE visit(seq INTEGER PRIMARY KEY, session INTEGER NOT NULL,"
        " asked INTEGER NOT NULL, answered INTEGER NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL,"
        " detail TEXT NOT NULL, status INTEGER NOT NULL, parent INTEGER NOT NULL, depth INTEGER NOT NULL, score REAL,"
        " relevance REAL, raw REAL, topics BLOB, critic TEXT NOT NULL, label TEXT NOT NULL,"
        " asked_at TEXT NOT NULL, seconds REAL NOT NULL, title TEXT NOT NULL,"
        " new_from INTEGER NOT NULL, new_to INTEGER NOT NULL,"  # ids of the new URLs
        " links_at INTEGER NOT NULL, links_length INTEGER NOT NULL,"
        " warc INTEGER, warc_at INTEGER, warc_length INTEGER, digest TEXT)",  # null: no answer to keep
        "CREATE INDEX visit_asked ON visit(asked)",
        "CREATE INDEX visit_answered ON visit(answered)",
    ):
        db.execute(statement)
    db.execute("INSERT INTO project VALUES (?)", (str(uuid4()),))


def _texts_and_redirects(db: sqlite3.Connection) -> None:
    """The visible text gets its own file, and a table says which URL redirected to which."""
    db.execute("ALTER TABLE visit ADD COLUMN text_at INTEGER NOT NULL DEFAULT 0")
    db.execute("ALTER TABLE visit ADD COLUMN text_length INTEGER NOT NULL DEFAULT 0")
    db.execute("CREATE TABLE redirect(seq INTEGER NOT NULL, source INTEGER NOT NULL, target INTEGER NOT NULL)")
    db.execute("CREATE INDEX redirect_seq ON redirect(seq)")


def _earlier_judgements(db: sqlite3.Connection) -> None:
    """A page may be judged again by a better critic. The earlier judgements stay on record."""
    db.execute(
        "CREATE TABLE earlier(seq INTEGER NOT NULL, critic TEXT NOT NULL, relevance REAL, raw REAL,"
        " until TEXT NOT NULL)"
    )
    db.execute("CREATE INDEX earlier_seq ON earlier(seq)")


def _no_texts(db: sqlite3.Connection) -> None:
    """The archive has the pages, so their text is not stored a second time, and the file of texts goes."""
    for column in ("text_at", "text_length"):
        db.execute(f"ALTER TABLE visit DROP COLUMN {column}")
    db.execute("DELETE FROM file WHERE name = 'texts.bin'")


def _rests_copies_and_returns(db: sqlite3.Connection) -> None:
    """How long hosts rest, which pages are copies of others, and which URLs are asked for once more."""
    for column in (
        "rest REAL NOT NULL DEFAULT 0",  # seconds that the host rests after a failure that may pass
        "attempt INTEGER NOT NULL DEFAULT 0",  # how often the link has failed so far, if that counts
        "copy_of INTEGER",  # the URL whose page has the same text; null: none has
        "sketch BLOB",  # of the text, to recognise copies
    ):
        db.execute(f"ALTER TABLE visit ADD COLUMN {column}")
    # Before record `after` + 1 these URLs wait again.
    db.execute("CREATE TABLE again(after INTEGER NOT NULL, id INTEGER NOT NULL, score REAL, why TEXT NOT NULL)")


def _checksums(db: sqlite3.Connection) -> None:
    """Rows and pieces of links get checksums, so that damage is seen. A seal is the checksum of the URLs of a group."""
    db.execute("ALTER TABLE visit ADD COLUMN links_checksum INTEGER")
    for table, columns in (("visit", SEALED_COLUMNS), ("redirect", "seq, source, target")):
        db.execute(f"ALTER TABLE {table} ADD COLUMN checksum INTEGER")
        db.create_function("of_row", -1, lambda *values: row_checksum(values), deterministic=True)
        db.execute(f"UPDATE {table} SET checksum = of_row({columns})")
    db.execute("CREATE TABLE seal(first INTEGER PRIMARY KEY, last INTEGER NOT NULL, checksum INTEGER NOT NULL)")
    rows = db.execute("SELECT id, host, text, score FROM url ORDER BY id")
    while urls := rows.fetchmany(SEALED_TOGETHER):
        whole = [(*url[:3], float("nan") if url[3] is None else url[3]) for url in urls]
        db.execute("INSERT INTO seal VALUES (?, ?, ?)", seal_of(whole))


STEPS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    *(_first, _texts_and_redirects, _earlier_judgements, _no_texts, _rests_copies_and_returns, _checksums),
)
VERSION = len(STEPS)


def open_database(folder: Path, *, synchronous: str, fresh: bool) -> Database:
    """The database of a project, brought up to date. Only if `fresh`, one is made where there is none."""
    path = folder / DATABASE
    if not fresh and not path.is_file():
        raise _gone(path, "is missing")
    db = _connect(path, f"?mode={'rwc' if fresh else 'rw'}")
    try:
        if not fresh and not has_tables(db):
            raise _gone(path, "is empty")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA synchronous = {synchronous}")
        db.execute("PRAGMA secure_delete = OFF")  # nothing is ever deleted
        db.execute("PRAGMA cache_size = -16000")
        _check_quickly(db, path)
        migrate(db, path)
    except BaseException as error:
        db.close()
        if isinstance(error, sqlite3.DatabaseError):
            raise ForagerError(f"{path} cannot be opened: {error}") from error
        raise
    return db


def _connect(path: Path, options: str) -> Database:
    uri = path.resolve().as_uri() + options
    db = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=30, factory=Database)
    db.path = path
    return db


def _check_quickly(db: Database, path: Path) -> None:
    """Look for damage in the structure of the file: 7 ms a MB. In a large file it is found when it is come upon."""
    if path.stat().st_size <= CHECKED:
        found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise damaged_database(path, found)


def _gone(path: Path, how: str) -> ForagerError:
    return ForagerError(
        f"{path} {how}, but its archive is there: restore it from a copy, or run forager recover {path.parent}, which "
        "builds it again from the archive; nothing was changed"
    )


def migrate(db: sqlite3.Connection, path: Path) -> None:
    """Take the steps that this file has not been through, all of them or none."""
    found = version(db)
    if found > VERSION:
        raise newer(path, found)
    if found == VERSION:
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        for step in STEPS[found:]:
            step(db)
        db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise


def open_to_read(folder: Path) -> Database:
    """A connection that cannot write. A crawl may be running at the same time, and the folder may be read-only."""
    path = folder / DATABASE
    if not path.is_file():
        raise _no_crawl(path, "is missing")
    try:
        db = open_as_it_is(path)
    except sqlite3.DatabaseError as error:
        raise ForagerError(f"{path} cannot be read: {error}") from error
    try:
        found = version(db)
        if found == 0 and not has_tables(db):
            raise _no_crawl(path, "is empty")
        if found > VERSION:
            raise newer(path, found)
        if found < VERSION:
            db = _brought_up_to_date(db, path)
    except BaseException:
        db.close()
        raise
    db.reading = True
    return db


def _no_crawl(path: Path, how: str) -> ForagerError:
    if warc.is_there(path.parent):
        return _gone(path, how)
    return ForagerError(f"{path.parent} holds no crawl yet: start one there with forager crawl")


def open_as_it_is(path: Path) -> Database:
    """A database that is only read.

    SQLite shares a file beside the database with those who write. In a folder that cannot be written, this file
    cannot be made if it is not there. But then nobody writes either."""
    db = _connect(path, "?mode=ro")
    try:
        version(db)
        return db
    except BaseException as error:
        db.close()
        if not isinstance(error, sqlite3.OperationalError) or path.with_name(f"{path.name}-shm").exists():
            raise
    log = path.with_name(f"{path.name}-wal")
    if not log.exists() or not log.stat().st_size:
        return _connect(path, "?mode=ro&immutable=1")
    return _copied(path, log)


def _copied(path: Path, log: Path) -> Database:
    """A copy elsewhere, with what only the log has."""
    with tempfile.TemporaryDirectory() as folder:
        for file in (path, log):
            shutil.copyfile(file, Path(folder) / file.name)
        with closing(_connect(Path(folder) / path.name, "")) as copy:
            return _in_passing(copy, path)


def _in_passing(db: Database, path: Path) -> Database:
    """A copy without a name, which goes when it is closed."""
    passing = sqlite3.connect("", isolation_level=None, check_same_thread=False, factory=Database)
    passing.path = path
    db.backup(passing)
    return passing


def _brought_up_to_date(db: Database, path: Path) -> Database:
    """A copy of an older database that has been through all steps. The older one stays as it is, until a crawl goes
    on."""
    with closing(db):
        passing = _in_passing(db, path)
    migrate(passing, path)
    return passing


def has_tables(db: sqlite3.Connection) -> bool:
    return bool(db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def version(db: sqlite3.Connection) -> int:
    """How many steps a file has been through."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def newer(path: Path, found: int) -> ForagerError:
    """The error for a file that a newer program made."""
    return ForagerError(f"{path} was made by a newer forager (version {found}, this one reads {VERSION}): update it")
