"""A project on a medium that cannot be written is read like any other; what must write says so in one line."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from forager.cli import main
from forager.project import Project
from forager.store import Catalogue, SearchIndex, Store
from forager.store.schema import DATABASE
from tests.crawl.test_resuming import web
from tests.store.making import record
from tests.store.test_store import filled

TOML = """
seeds = ["http://a.test/bird-0", "http://a.test/stone-1"]
topic.keywords = ["bird"]
frontier.delay = 0
stop.pages = 12
"""


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nothing in the folder can be changed: by its permissions, or for the superuser by a mount."""
    if os.geteuid() != 0:
        entries = [folder, *folder.rglob("*")]
        modes = {entry: stat.S_IMODE(entry.stat().st_mode) for entry in entries}
        for entry in entries:
            entry.chmod(modes[entry] & 0o555)
        try:
            yield
        finally:
            for entry in entries:
                entry.chmod(modes[entry])
        return
    mount = ["mount", "--bind", str(folder), str(folder)]
    if sys.platform != "linux" or not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a superuser who may not mount can write everywhere: run this test as another user")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=True)
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = Project.create(tmp_path_factory.mktemp("crawled") / "project", TOML)
    asyncio.run(project.crawl(fetcher=web()))
    return project.folder


class Answer(NamedTuple):
    code: object
    out: str
    err: str


@pytest.fixture
def forager(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    def run(*words: str | Path) -> Answer:
        monkeypatch.setattr(sys, "argv", ["forager", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return Answer(ended.value.code or 0, *capsys.readouterr())

    return run


def test_commands_that_read(crawled: Path, tmp_path: Path, forager: Callable[..., Answer]) -> None:
    with read_only(crawled):
        assert forager("status", crawled).code == 0
        assert len(forager("pages", crawled).out.splitlines()) == 12
        assert "bird" in forager("search", crawled, "bird").out
        assert "12 pages" in forager("export", crawled, tmp_path / "out.jsonl").out
        assert "seed" in forager("why", crawled, "http://a.test/bird-0").out
        assert "the project is whole" in forager("verify", crawled).out


@pytest.mark.parametrize(
    "words",
    [
        ("crawl", "PROJECT"),
        ("seeds", "add", "PROJECT", "http://new.test/"),
        ("label", "PROJECT", "http://a.test/bird-0", "relevant"),
        ("recover", "PROJECT"),
    ],
    ids=lambda words: words[0],
)
def test_commands_that_write(crawled: Path, forager: Callable[..., Answer], words: tuple[str, ...]) -> None:
    with read_only(crawled):
        told = forager(*(crawled if word == "PROJECT" else word for word in words))
    assert told.code == 2
    assert told.err.startswith("forager: ")
    assert told.err.count("\n") == 1
    assert "Read-only file system" in told.err or "Permission denied" in told.err


KILLED = """
import os, sys
from pathlib import Path
from forager.store import Store
from tests.store.making import record
store = Store(Path(sys.argv[1]))
for seq in range(5, 9):
    store.add(record(seq))
store.commit()
os._exit(9)
"""


@pytest.mark.parametrize("left", [("-wal", "-shm"), ("-wal",), ("-shm",), ()], ids="+".join)
def test_whatever_a_killed_process_has_left(tmp_path: Path, left: tuple[str, ...]) -> None:
    """Its log has the last pages. Without what processes share, SQLite reads the log only where it may write."""
    filled(tmp_path, 5).close()
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], timeout=60)
    assert (tmp_path / f"{DATABASE}-wal").stat().st_size
    if "-wal" not in left:
        sqlite3.connect(tmp_path / DATABASE).execute("PRAGMA wal_checkpoint(TRUNCATE)").connection.close()
    for ending in {"-wal", "-shm"} - {*left}:
        (tmp_path / f"{DATABASE}{ending}").unlink(missing_ok=True)
    with read_only(tmp_path), Catalogue(tmp_path) as catalogue:
        assert catalogue.last_seq == 8
        assert [page.seq for page in catalogue.pages()] == [0, 1, 2, 6, 7, 8]
        assert all(catalogue.text(page) for page in catalogue.pages())


READER = """
import sys
from pathlib import Path
from forager.store import Catalogue
with Catalogue(Path(sys.argv[1])) as catalogue:
    print(catalogue.last_seq)
"""


def test_while_somebody_else_writes(tmp_path: Path) -> None:
    """Through a second view of the folder, which is read-only."""
    view = tmp_path / "view"
    view.mkdir()
    with filled(tmp_path / "project", 5) as store:
        mount = ["mount", "--bind", str(tmp_path / "project"), str(view)]
        if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
            pytest.skip("a second view of a folder needs a mount")
        try:
            subprocess.run(["mount", "-o", "remount,ro,bind", str(view)], check=True)
            store.add(record(5))
            store.commit()
            reader = [sys.executable, "-c", READER, str(view)]
            assert subprocess.run(reader, capture_output=True, text=True, timeout=60).stdout == "5\n"
        finally:
            subprocess.run(["umount", str(view)], check=True)


def test_an_index_that_is_there_is_used_and_one_that_is_behind_is_completed(tmp_path: Path) -> None:
    filled(tmp_path, 3).close()
    with SearchIndex(tmp_path) as index:
        assert index.update() == 3
    with read_only(tmp_path), SearchIndex(tmp_path) as index:
        assert index.behind == 0
        assert [hit.seq for hit in index.search("number1")] == [1]
    with Store(tmp_path) as store:
        for seq in range(3, 9):
            store.add(record(seq))
    with read_only(tmp_path), SearchIndex(tmp_path) as index:
        assert index.update() == 3
        assert [hit.seq for hit in index.search("number8 OR number1")] == [1, 8]
    with SearchIndex(tmp_path) as index:
        assert index.behind == 3  # what was added there is gone
