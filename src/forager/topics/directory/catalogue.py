"""An imported directory: one SQLite file with the categories, their counts and their listings.

An import writes beside the file and takes its place at the end, so that there is the old directory or the new one and
never half of one. Every category has its ancestors before it: a parent's id is smaller than its children's.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any, Self

from forager.errors import ForagerError, unknown
from forager.topics.directory.listing import ROOT, Category, Item, Listing, Relation, parent

VERSION = 1
APPLICATION = 0x666F7264  # "ford", in the head of the file
BATCH = 10_000  # items to a transaction
_REMEMBERED = 20_000  # ids of categories; dumps are ordered by category
_BEAM, _SIBLINGS, _CANDIDATES = 3, 2000, 200  # how far the nearest names are looked for
_LAST = chr(0x10FFFF)  # no name comes after it
_TABLES = (
    "CREATE TABLE category(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, parent INTEGER,"
    " description TEXT NOT NULL DEFAULT '', own INTEGER NOT NULL DEFAULT 0, total INTEGER NOT NULL DEFAULT 0)",
    "CREATE TABLE listing(id INTEGER PRIMARY KEY, category INTEGER NOT NULL, url TEXT NOT NULL, title TEXT NOT NULL,"
    " description TEXT NOT NULL)",
    "CREATE TABLE relation(category INTEGER NOT NULL, kind TEXT NOT NULL, target TEXT NOT NULL, label TEXT NOT NULL)",
)
# A category and all below it, by whole parts, as a range of the index: "/" is the character after ".".
_BELOW = "c.name >= :under AND c.name < :upto AND (:under = '' OR c.name = :under OR c.name > :under || '.')"


@dataclass(frozen=True, slots=True)
class Counted:
    """A category with its counts."""

    name: str
    own: int  # listings in it
    total: int  # and in all below it
    children: int  # categories directly below


@dataclass(frozen=True, slots=True)
class Shown:
    """All there is to say of a category."""

    category: Counted
    description: str
    children: tuple[Counted, ...]
    relations: tuple[Relation, ...]
    examples: tuple[Listing, ...]


# ---- importing ------------------------------------------------------------------------------------------------------


def import_directory(items: Iterable[Item], file: Path) -> Counted:
    """Make the file anew from what sources hold; the counts of its root. What there was is replaced at the end."""
    beside = file.with_name(file.name + ".part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        beside.unlink(missing_ok=True)
        with closing(sqlite3.connect(beside, isolation_level=None)) as db:
            root = _fill(db, items)
        os.replace(beside, file)
    except (OSError, sqlite3.Error) as error:
        raise ForagerError(f"{file} cannot be written: {getattr(error, 'strerror', None) or error}") from None
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
    return root


def _fill(db: sqlite3.Connection, items: Iterable[Item]) -> Counted:
    # Nobody reads this file before it is whole, so it needs no journal.
    for pragma in ("journal_mode = OFF", "synchronous = OFF", f"application_id = {APPLICATION}"):
        db.execute(f"PRAGMA {pragma}")
    for statement in _TABLES:
        db.execute(statement)
    intake = _Intake(db)
    for item in items:
        intake.take(item)
    intake.flush()
    if not intake.taken:
        raise ForagerError("the sources hold no listing and no category: nothing was imported")
    _count(db)
    db.execute("CREATE INDEX relation_category ON relation(category)")
    db.execute(f"PRAGMA user_version = {VERSION}")
    return _counted(db, ROOT)


class _Intake:
    """Items into rows, a transaction for each BATCH of them."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._listings: list[tuple[int, str, str, str]] = []
        self._ids: dict[str, int] = {}  # of categories met of late
        self.taken = 0
        db.execute("INSERT INTO category(id, name) VALUES (0, '')")
        db.execute("BEGIN")

    def take(self, item: Item) -> None:
        if isinstance(item, Listing):
            self._listings.append((self._id(item.category), item.url, item.title, item.description))
        else:
            self._describe(self._id(item.name), item)
        self.taken += 1
        if self.taken % BATCH == 0:
            self.flush()
            self._db.execute("BEGIN")

    def flush(self) -> None:
        sql = "INSERT INTO listing(category, url, title, description) VALUES (?, ?, ?, ?)"
        self._db.executemany(sql, self._listings)
        self._db.execute("COMMIT")
        self._listings.clear()

    def _id(self, name: str) -> int:
        """The id of a category, which is made if need be, after its ancestors."""
        missing = []
        while (id := self._known(name)) is None:
            missing.append(name)
            name = parent(name)
        for each in reversed(missing):
            id = self._db.execute("INSERT INTO category(name, parent) VALUES (?, ?)", (each, id)).lastrowid
        assert id is not None
        if missing:
            self._ids[missing[0]] = id
        return id

    def _known(self, name: str) -> int | None:
        id = self._ids.get(name)
        if id is not None:
            return id
        row = self._db.execute("SELECT id FROM category WHERE name = ?", (name,)).fetchone()
        if len(self._ids) >= _REMEMBERED:
            self._ids.clear()
        if row is not None:
            self._ids[name] = row[0]
        return None if row is None else int(row[0])

    def _describe(self, id: int, category: Category) -> None:
        if category.description:
            self._db.execute("UPDATE category SET description = ? WHERE id = ?", (category.description, id))
        rows = [(id, relation.kind, relation.target, relation.label) for relation in category.relations]
        if rows:
            self._db.executemany("INSERT INTO relation VALUES (?, ?, ?, ?)", rows)


def _count(db: sqlite3.Connection) -> None:
    """Own and total counts, from the last category to the first: children come after their parents."""
    db.execute("CREATE INDEX listing_category ON listing(category)")
    db.execute("CREATE INDEX category_parent ON category(parent)")
    parents = [row[0] for row in db.execute("SELECT parent FROM category ORDER BY id")]
    own = [0] * len(parents)
    for id, count in db.execute("SELECT category, count(*) FROM listing GROUP BY category"):
        own[id] = count
    total = own.copy()
    for id in range(len(parents) - 1, 0, -1):
        total[parents[id]] += total[id]
    rows = ((*counts, id) for id, counts in enumerate(zip(own, total, strict=True)) if counts[1])
    db.execute("BEGIN")
    db.executemany("UPDATE category SET own = ?, total = ? WHERE id = ?", rows)
    db.execute("COMMIT")


# ---- asking ---------------------------------------------------------------------------------------------------------


class Directory:
    """Read-only. `with Directory(file) as directory: directory.children("Arts")`."""

    def __init__(self, file: Path) -> None:
        self.file = file
        if not file.is_file():
            raise ForagerError(
                f"there is no directory {file}: make it with forager taxonomy import SOURCE --out {file}"
            )
        self._db = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)
        try:
            found = [self._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
        except sqlite3.DatabaseError:
            found = [0, 0]
        if found != [APPLICATION, VERSION]:
            self._db.close()
            raise ForagerError(f"{file} is no directory that this program reads: import the sources again")

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def categories(self) -> int:
        """How many there are, the root not counted."""
        return int(self._db.execute("SELECT count(*) - 1 FROM category").fetchone()[0])

    def counted(self, name: str = ROOT) -> Counted:
        """The counts of a category; one that does not exist is told with the nearest that do."""
        try:
            return _counted(self._db, name)
        except LookupError:
            raise unknown("category", name, self._candidates(name)) from None

    def children(self, name: str = ROOT) -> list[Counted]:
        """The categories directly below, by name."""
        self.counted(name)
        sql = f"{_COUNTED} WHERE c.parent = (SELECT id FROM category WHERE name = ?) ORDER BY c.name"
        return [Counted(*row) for row in self._db.execute(sql, (name,))]

    def show(self, name: str, examples: int = 5) -> Shown:
        """With the first listings of the category, or of those below it if it has none itself."""
        category = self.counted(name)
        id, description = self._one("SELECT id, description FROM category WHERE name = ?", name)
        rows = self._db.execute("SELECT kind, target, label FROM relation WHERE category = ? ORDER BY rowid", (id,))
        relations = tuple(Relation(*row) for row in rows)
        listed = tuple(islice(self.listings(name), examples))
        return Shown(category, description, tuple(self.children(name)), relations, listed)

    def listings(self, under: str = ROOT) -> Iterator[Listing]:
        """The listings of a category and of all below it, by category, in a stream."""
        sql = "SELECT l.url, c.name, l.title, l.description FROM category c CROSS JOIN listing l ON l.category = c.id"
        rows = self._db.execute(f"{sql} WHERE {_BELOW} ORDER BY c.name, l.id", self._range(under))
        return (Listing(*row) for row in rows)

    def counts(self, under: str = ROOT) -> Iterator[tuple[str, int]]:
        """A category and all below it by name, each with the number of its own listings."""
        sql = f"SELECT c.name, c.own FROM category c WHERE {_BELOW} ORDER BY c.name"
        return self._db.execute(sql, self._range(under))

    def _range(self, under: str) -> dict[str, str]:
        self.counted(under)
        return {"under": under, "upto": f"{under}/" if under else _LAST}

    def _one(self, sql: str, name: str) -> Any:
        return self._db.execute(sql, (name,)).fetchone()

    def _candidates(self, name: str) -> list[str]:
        """Names that may be meant: like it part by part from the root, and the same last part anywhere."""
        beam, below = [ROOT], self._below(ROOT)
        for part in name.split("."):
            near = [found for above in beam for found in _alike(part, self._below(above))]
            if not near:
                break
            beam = near[:_BEAM]
            below = self._below(beam[0])
        last = name.rpartition(".")[2].lower()
        ending = "lower(substr(name, -length(?1) - 1)) IN (?1, '.' || ?1)"
        sql = f"SELECT name FROM category WHERE id > 0 AND {ending} LIMIT ?2"
        elsewhere = [row[0] for row in self._db.execute(sql, (last, _CANDIDATES))]
        return [*beam, *below, *elsewhere] if beam != [ROOT] else elsewhere or below

    def _below(self, name: str) -> list[str]:
        sql = "SELECT name FROM category WHERE parent = (SELECT id FROM category WHERE name = ?) LIMIT ?"
        return [row[0] for row in self._db.execute(sql, (name, _SIBLINGS))]


def _alike(part: str, names: list[str]) -> list[str]:
    """Those of the names whose last part is like the given one, the most alike first."""
    lasts = {name.rpartition(".")[2].lower(): name for name in names}
    return [lasts[last] for last in get_close_matches(part.lower(), lasts, n=_BEAM)]


_COUNTED = "SELECT c.name, c.own, c.total, (SELECT count(*) FROM category b WHERE b.parent = c.id) FROM category c"


def _counted(db: sqlite3.Connection, name: str) -> Counted:
    row = db.execute(f"{_COUNTED} WHERE c.name = ?", (name,)).fetchone()
    if row is None:
        raise LookupError(name)
    return Counted(*row)
