"""A catalogue that is built again, for an archive that is there already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from uuid import UUID, uuid4

from forager.errors import ForagerError
from forager.store import warc
from forager.store.aside import ASIDE
from forager.store.commit import Store
from forager.store.members import Member, walk
from forager.store.reading import read_project, read_sessions
from forager.store.records import CrawlSession, NewUrl, Record, stamp
from forager.store.schema import open_to_read


class OldCatalogue(NamedTuple):
    """What can be had of the catalogue that was there, or of the archive: the rest is built again."""

    project: UUID
    sessions: tuple[CrawlSession, ...]


def old_catalogue(folder: Path) -> OldCatalogue:
    """The id and the sessions of a project. Without its database, the id that the archive names, or a new one."""
    try:
        with closing(open_to_read(folder)) as db:
            return OldCatalogue(read_project(db), tuple(read_sessions(db)))
    except ForagerError:
        return OldCatalogue(_named_by_archive(folder) or uuid4(), ())


def _named_by_archive(folder: Path) -> UUID | None:
    for path, _ in archives(folder):
        for found in walk(path, 0, 10_000):
            if isinstance(found, Member):
                for line in found.block.decode("utf-8", "replace").splitlines():
                    if line.startswith("isPartOf: "):
                        try:
                            return UUID(line.removeprefix("isPartOf: "))
                        except ValueError:
                            return None
    return None


def archives(folder: Path) -> list[tuple[Path, int]]:
    """The WARC files of a project with their numbers, in order."""
    found = ((path, warc.number_of(f"{warc.FOLDER}/{path.name}")) for path in (folder / warc.FOLDER).glob("*.warc.gz"))
    return sorted(((path, number) for path, number in found if number), key=lambda each: each[1])


def take_back(folder: Path) -> int:
    """Move what was moved aside of the archive back into it, under new numbers; how many files there were."""
    set_aside = sorted(path for path in (folder / ASIDE).glob(f"*/{warc.FOLDER}/forager-*.warc.gz*") if path.is_file())
    number = max((number for _, number in archives(folder)), default=0)
    for path in set_aside:
        number += 1
        path.replace(folder / warc.name(number))
    return len(set_aside)


class RebuiltStore(Store):
    """A store that is filled from an archive: its records point at answers that are there already."""

    def know(self, urls: Sequence[NewUrl]) -> None:
        """Store URLs that were found on no page, with the next commit."""
        self._check_ids(urls)
        self._queue_urls(urls)

    def add_archived(self, record: Record, place: warc.ArchivedAnswer) -> None:
        """Queue a record whose answer lies there."""
        self._add(record, place)

    def finish(self, old: OldCatalogue, lengths: Mapping[str, int]) -> None:
        """Note what was kept of the old catalogue, and the lengths of the archive's files."""
        self.commit()
        rows = [
            (one.id, one.config, one.version, stamp(one.began), one.ended and stamp(one.ended), one.reason)
            for one in old.sessions
        ]
        with self._writing(), self._transaction():
            self._db.execute("UPDATE project SET id = ?", (str(old.project),))
            self._db.executemany("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?)", rows)
            self._db.executemany("INSERT OR REPLACE INTO file (name, length) VALUES (?, ?)", lengths.items())
