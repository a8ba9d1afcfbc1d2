"""The tables of a project, and the steps that bring older projects up to date.

`PRAGMA user_version` counts the steps that a file has been through. A new project goes through all of them, so that new
and migrated projects are the same.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from forager.errors import ForagerError

DATABASE = "crawl.sqlite"


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


STEPS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    *(_first, _texts_and_redirects, _earlier_judgements, _no_texts, _rests_copies_and_returns),
)
VERSION = len(STEPS)
# A file that has been through fewer steps can be read too, through views that have what it lacks.
VIEWS = {
    4: (
        "CREATE TEMP VIEW visit AS"
        " SELECT *, 0.0 AS rest, 0 AS attempt, NULL AS copy_of, NULL AS sketch FROM main.visit",
        "CREATE TEMP TABLE again(after INTEGER, id INTEGER, score REAL, why TEXT)",
    )
}


def open_database(folder: Path, *, synchronous: str) -> sqlite3.Connection:
    """The database of a project, made or brought up to date."""
    path = folder / DATABASE
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA synchronous = {synchronous}")
        db.execute("PRAGMA secure_delete = OFF")  # nothing is ever deleted
        db.execute("PRAGMA cache_size = -16000")
        migrate(db, path)
    except sqlite3.DatabaseError as error:
        db.close()
        raise ForagerError(f"{path} cannot be opened: {error}; restore it from a copy") from error
    except ForagerError:
        db.close()
        raise
    return db


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


def open_to_read(folder: Path) -> sqlite3.Connection:
    """A connection that cannot write. A crawl may be running at the same time."""
    path = folder / DATABASE
    if not path.is_file():
        raise ForagerError(f"{folder} holds no crawl yet: start one there with forager crawl")
    db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None, timeout=30)
    try:
        found = version(db)
    except sqlite3.DatabaseError as error:
        db.close()
        raise ForagerError(f"{path} cannot be read: {error}; restore it from a copy") from error
    for statement in VIEWS.get(found, ()):
        db.execute(statement)
    if found != VERSION and found not in VIEWS:
        db.close()
        told = f"{path} has version {found}, this program reads {VERSION}: resume its crawl once to bring it up to date"
        raise newer(path, found) if found > VERSION else ForagerError(told)
    return db


def version(db: sqlite3.Connection) -> int:
    """How many steps a file has been through."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def newer(path: Path, found: int) -> ForagerError:
    """The error for a file that a newer program made."""
    return ForagerError(f"{path} was made by a newer forager (version {found}, this one reads {VERSION}): update it")
