"""Opening a project deletes nothing that was ever acknowledged, whatever became of its database."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from uuid import UUID

import pytest

from forager.errors import ForagerError
from forager.store import Catalogue, Store
from forager.store.committed import FILE, read_committed
from forager.store.schema import DATABASE
from tests.store.making import archives, new_url, record
from tests.store.test_kill import check_all
from tests.store.test_store import filled

WARC_SIZE = 6_000


def project(folder: Path, count: int, first: int = 0) -> Path:
    """A project with several WARC files. It goes on if there is one."""
    with Store(folder, warc_size=WARC_SIZE) as store:
        if not store.known:
            store.add_urls([new_url(0)])
        for seq in range(first, count):
            store.add(record(seq))
            if seq % 5 == 4:
                store.commit()
    return folder


def all_bytes(folder: Path) -> dict[str, bytes]:
    """The content of every flat file, with what was moved aside put back behind it, so that nothing that is cut off
    goes unseen."""
    found: dict[str, bytes] = {}
    for path in (folder / "links.bin", *archives(folder)):
        if path.exists():
            found[path.name] = path.read_bytes()
    for path in sorted((folder / "aside").rglob("*")):
        if path.is_file():
            name = path.name.partition(".from-")[0]
            found[name] = found.get(name, b"") + path.read_bytes()
    return found


def contents(folder: Path) -> dict[Path, bytes]:
    """The content of every file, but for the lock and what SQLite shares between processes."""
    shared = ("lock", f"{DATABASE}-shm", f"{DATABASE}-wal")
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name not in shared}


def copy_database(folder: Path, target: Path) -> None:
    target.mkdir()
    for path in folder.glob(f"{DATABASE}*"):
        shutil.copy(path, target)


def put_back(folder: Path, copy: Path) -> None:
    for path in folder.glob(f"{DATABASE}*"):
        path.unlink()
    for path in copy.iterdir():
        shutil.copy(path, folder)


def test_an_older_database_moves_aside_what_it_does_not_know(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", 20)
    copy_database(folder, tmp_path / "copy")
    project(folder, 60, 20)
    before = all_bytes(folder)
    put_back(folder, tmp_path / "copy")
    with Store(folder, warc_size=WARC_SIZE) as store:
        assert store.last_seq == 19
        assert len(store.warnings) == 1
        for told in ("links.bin", "forager-00005.warc.gz", "moved to aside/", "nothing is lost", "forager recover"):
            assert told in store.warnings[0]
    assert all_bytes(folder) == before
    check_all(folder)


def test_what_was_moved_aside_stays_when_the_crawl_goes_on(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", 20)
    copy_database(folder, tmp_path / "copy")
    project(folder, 40, 20)
    put_back(folder, tmp_path / "copy")
    project(folder, 50, 20)
    check_all(folder)
    set_aside = contents(folder / "aside")
    assert set_aside
    project(folder, 60, 50)  # a second opening finds nothing more to move
    assert contents(folder / "aside") == set_aside


def test_an_older_copy_of_the_whole_folder_put_over_a_newer_one(tmp_path: Path) -> None:
    """Only new files are left of the newer one, and the note agrees with the older database."""
    folder = project(tmp_path / "project", 20)
    shutil.copytree(folder, tmp_path / "copy")
    project(folder, 60, 20)
    newer = archives(folder)[-1]
    kept = newer.read_bytes()
    shutil.copytree(tmp_path / "copy", folder, dirs_exist_ok=True)
    assert newer.name not in {path.name for path in archives(tmp_path / "copy")}
    with Store(folder, warc_size=WARC_SIZE) as store:
        assert len(store.warnings) == 1
    assert [path.read_bytes() for path in (folder / "aside").rglob(newer.name)] == [kept]


@pytest.mark.parametrize("how", ["missing", "empty", "no tables"])
def test_without_its_database_a_project_is_not_opened_and_not_changed(tmp_path: Path, how: str) -> None:
    folder = project(tmp_path / "project", 20)
    database = folder / DATABASE
    database.unlink()
    if how == "empty":
        database.touch()
    elif how == "no tables":
        with closing(sqlite3.connect(database)) as db:
            db.execute("PRAGMA journal_mode = WAL")
    before = contents(folder)
    for opening in (Store, Catalogue):
        with pytest.raises(ForagerError, match=f"forager recover {folder}") as error:
            opening(folder)
        assert "\n" not in str(error.value)
    assert contents(folder) == before


def test_links_alone_are_enough_to_refuse_a_new_database(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", 20)
    (folder / DATABASE).unlink()
    shutil.rmtree(folder / "warc")
    with pytest.raises(ForagerError, match="forager recover"):
        Store(folder)
    assert not (folder / DATABASE).exists()


def test_the_database_of_another_project_is_refused(tmp_path: Path) -> None:
    folder, other = project(tmp_path / "project", 20), project(tmp_path / "other", 20)
    before = all_bytes(folder)
    copy_database(other, tmp_path / "copy")
    put_back(folder, tmp_path / "copy")
    with pytest.raises(ForagerError, match="belongs to another project"):
        Store(folder)
    assert all_bytes(folder) == before


def leave_a_tail(folder: Path) -> None:
    """As a process that is killed before COMMIT."""
    for path in (folder / "links.bin", archives(folder)[-1]):
        with path.open("ab") as file:
            file.write(b"of a group that was never acknowledged")


def test_what_was_never_acknowledged_is_cut_off(tmp_path: Path) -> None:
    folder = project(tmp_path, 20)
    before = all_bytes(folder)
    leave_a_tail(folder)
    with Store(folder) as store:
        assert store.warnings == []
    assert all_bytes(folder) == before
    assert not (folder / "aside").exists()


@pytest.mark.parametrize("note", ["none", "damaged", "short", "of another boot"])
def test_without_a_note_to_go_by_a_tail_is_moved_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, note: str
) -> None:
    folder = project(tmp_path, 20)
    leave_a_tail(folder)
    before = all_bytes(folder)
    written = (folder / FILE).read_bytes()
    if note == "none":
        (folder / FILE).unlink()
    elif note == "damaged":
        (folder / FILE).write_bytes(written[:30] + b"\xff" + written[31:])
    elif note == "short":
        (folder / FILE).write_bytes(written[:-1])
    else:
        monkeypatch.setattr("forager.store.aside.BOOT", UUID(int=7))
    with Store(folder) as store:
        assert len(store.warnings) == 1
    assert all_bytes(folder) == before
    leave_a_tail(folder)
    with Store(folder) as store:  # now there is a note
        assert store.warnings == []
    check_all(folder)


def test_a_database_that_is_newer_than_the_note_is_believed(tmp_path: Path) -> None:
    """Killed between COMMIT and the note."""
    folder = project(tmp_path, 20)
    older = (folder / FILE).read_bytes()
    project(folder, 30, 20)
    (folder / FILE).write_bytes(older)
    before = all_bytes(folder)
    leave_a_tail(folder)
    with Store(folder) as store:
        assert store.warnings == []
        assert store.last_seq == 29
    assert all_bytes(folder) == before
    check_all(folder)


def test_the_note_says_what_was_acknowledged(tmp_path: Path) -> None:
    with filled(tmp_path, 12) as store:
        store.add(record(12))
        found = read_committed(tmp_path)
        assert found is not None
        assert found.last_seq == 11
        assert found.links == (tmp_path / "links.bin").stat().st_size
        assert (found.warc, found.warc_length) == (1, archives(tmp_path)[0].stat().st_size)


def test_a_tail_that_cannot_be_copied_stays_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project(tmp_path, 20)
    leave_a_tail(folder)
    (folder / FILE).unlink()
    before = all_bytes(folder)

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(ForagerError, match="No space left"):
            Store(folder)
    assert all_bytes(folder) == before
    Store(folder).close()
    assert all_bytes(folder) == before
