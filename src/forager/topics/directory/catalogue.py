"""An imported directory: one SQLite file with the categories, their counts and their listings.

An import writes to another file and renames it at the end. So there is always the old directory or the new one, and
never half of one. Every category comes after its ancestors: a parent's id is smaller than its children's.
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
from forager.topics.directory.listing import ROOT, Category, DirectoryItem, Listing, Relation, parent

VERSION = 1
APPLICATION = 0x666F7264  # "ford": marks the SQLite file as a directory
BATCH = 10_000  # items to a transaction
_REMEMBERED = 20_000  # ids of categories in memory; dumps are ordered by category
_BEAM, _SIBLINGS, _CANDIDATES = 3, 2000, 200  # how many categories are searched for the nearest names
_LAST = chr(0x10FFFF)  # comes after every name
_TABLES = (
    "CREATE TABLE category(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, parent INTEGER,"
    " description TEXT NOT NULL DEFAULT '', own INTEGER NOT NULL DEFAULT 0, total INTEGER NOT NULL DEFAULT 0)",
    "CREATE TABLE listing(id INTEGER PRIMARY KEY, category INTEGER NOT NULL, url TEXT NOT NULL, title TEXT NOT NULL,"
    " description TEXT NOT NULL)",
    "CREATE TABLE relation(category INTEGER NOT NULL, kind TEXT NOT NULL, target TEXT NOT NULL, label TEXT NOT NULL)",
)
# A category and all below it, by whole parts, as a range of the index ("/" is the character after ".").
_BELOW = "c.name >= :under AND c.name < :upto AND (:under = '' OR c.name = :under OR c.name > :under || '.')"


@dataclass(frozen=True, slots=True)
class CategoryCount:
    """A category with its counts."""

    name: str
    own: int  # listings in it
    total: int  # listings in it and in all categories below it
    children: int  # categories directly below it


@dataclass(frozen=True, slots=True)
class CategoryDetails:
    """Everything that a directory has about a category."""

    category: CategoryCount
    description: str
    children: tuple[CategoryCount, ...]
    relations: tuple[Relation, ...]
    examples: tuple[Listing, ...]


# ---- importing ------------------------------------------------------------------------------------------------------


def import_directory(items: Iterable[DirectoryItem], file: Path) -> CategoryCount:
    """Make the file from the items of sources, and give the counts of its root. An old file is replaced at the end."""
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


def _fill(db: sqlite3.Connection, items: Iterable[DirectoryItem]) -> CategoryCount:
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
        raise ForagerError("the sources have no listing and no category: nothing was imported")
    _count(db)
    db.execute("CREATE INDEX relation_category ON relation(category)")
    db.execute(f"PRAGMA user_version = {VERSION}")
    return _counted(db, ROOT)


class _Intake:
    """Writes items as rows, with one transaction for each BATCH of them."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._listings: list[tuple[int, str, str, str]] = []
        self._ids: dict[str, int] = {}  # of the categories met last
        self.taken = 0
        db.execute("INSERT INTO category(id, name) VALUES (0, '')")
        db.execute("BEGIN")

    def take(self, item: DirectoryItem) -> None:
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
        """The id of a category. A new category is added after its ancestors."""
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
    """Fill in own and total counts, from the last category to the first, because children come after their parents."""
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
    """An imported directory, to read. `with Directory(file) as directory: directory.children("Arts")`."""

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
            raise ForagerError(f"{file} is not a directory that this version can read: import the sources again")

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def categories(self) -> int:
        """The number of categories, without the root."""
        return int(self._db.execute("SELECT count(*) - 1 FROM category").fetchone()[0])

    def counted(self, name: str = ROOT) -> CategoryCount:
        """The counts of a category. If it does not exist, the error names the nearest ones that do."""
        try:
            return _counted(self._db, name)
        except LookupError:
            raise unknown("category", name, self._candidates(name)) from None

    def children(self, name: str = ROOT) -> list[CategoryCount]:
        """The categories directly below one, in the order of their names."""
        self.counted(name)
        sql = f"{_COUNTED} WHERE c.parent = (SELECT id FROM category WHERE name = ?) ORDER BY c.name"
        return [CategoryCount(*row) for row in self._db.execute(sql, (name,))]

    def show(self, name: str, examples: int = 5) -> CategoryDetails:
        """Everything about a category, with its first listings, or those of the categories below it if it has none."""
        category = self.counted(name)
        id, description = self._one("SELECT id, description FROM category WHERE name = ?", name)
        rows = self._db.execute("SELECT kind, target, label FROM relation WHERE category = ? ORDER BY rowid", (id,))
        relations = tuple(Relation(*row) for row in rows)
        listed = tuple(islice(self.listings(name), examples))
        return CategoryDetails(category, description, tuple(self.children(name)), relations, listed)

    def listings(self, under: str = ROOT) -> Iterator[Listing]:
        """The listings of a category and of all below it, one at a time, in the order of the categories."""
        sql = "SELECT l.url, c.name, l.title, l.description FROM category c CROSS JOIN listing l ON l.category = c.id"
        rows = self._db.execute(f"{sql} WHERE {_BELOW} ORDER BY c.name, l.id", self._range(under))
        return (Listing(*row) for row in rows)

    def counts(self, under: str = ROOT) -> Iterator[tuple[str, int]]:
        """A category and all below it, in the order of their names, each with the number of its own listings."""
        sql = f"SELECT c.name, c.own FROM category c WHERE {_BELOW} ORDER BY c.name"
        return self._db.execute(sql, self._range(under))

    def _range(self, under: str) -> dict[str, str]:
        self.counted(under)
        return {"under": under, "upto": f"{under}/" if under else _LAST}

    def _one(self, sql: str, name: str) -> Any:
        return self._db.execute(sql, (name,)).fetchone()

    def _candidates(self, name: str) -> list[str]:
        """Names that the user may have meant: similar part by part from the root, or with the same last part."""
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
    """The names whose last part is similar to the given one, the most similar first."""
    lasts = {name.rpartition(".")[2].lower(): name for name in names}
    return [lasts[last] for last in get_close_matches(part.lower(), lasts, n=_BEAM)]


_COUNTED = "SELECT c.name, c.own, c.total, (SELECT count(*) FROM category b WHERE b.parent = c.id) FROM category c"


def _counted(db: sqlite3.Connection, name: str) -> CategoryCount:
    row = db.execute(f"{_COUNTED} WHERE c.name = ?", (name,)).fetchone()
    if row is None:
        raise LookupError(name)
    return CategoryCount(*row)
