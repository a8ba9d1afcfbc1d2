"""A full disk: there is one clear error, nothing acknowledged is lost, nothing is half-written, and the crawl can go on
later."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from forager.store import Store, StoreFull
from tests.store.making import record
from tests.store.test_kill import check_all, look
from tests.store.test_store import filled

LIMITED = """
import resource, signal, sys
from pathlib import Path
from forager.store import Store, StoreFull
from tests.store.making import new_url, record

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
store = Store(Path(sys.argv[1]))
store.add_urls([new_url(0)])
seq = -1
try:
    while True:
        for _ in range(8):
            seq += 1
            store.add(record(seq))
        print(store.commit(), flush=True)
except StoreFull as error:
    print(error, file=sys.stderr)
    store.close()
"""


@pytest.mark.parametrize("limit", [130_000, 150_000, 200_001, 234_567])
def test_files_that_may_not_grow(tmp_path: Path, limit: int) -> None:
    """With each limit another file is the first to reach it: the links, the database, or the archive."""
    child = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path), str(limit)], capture_output=True, text=True, timeout=60
    )
    assert child.returncode == 0, child.stderr
    acknowledged = int(child.stdout.split()[-1])
    assert child.stderr.count("\n") == 1
    assert f"the {acknowledged + 1} records before are safe" in child.stderr
    assert look(tmp_path).last_seq == acknowledged
    check_all(tmp_path)
    with Store(tmp_path) as store:
        for seq in range(acknowledged + 1, acknowledged + 10):
            store.add(record(seq))
    check_all(tmp_path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting a small file system is not permitted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def fill(store: Store) -> None:
    for seq in range(1, 100_000):
        store.add(record(seq))
        if store.pending == 16:
            store.commit()


def test_a_disk_that_is_full(small_disk: Path) -> None:
    project = small_disk / "project"
    store = filled(project, 1)
    with pytest.raises(StoreFull, match=r"takes no more .* make room and resume"):
        fill(store)
    acknowledged = store.last_seq
    store.close()
    assert acknowledged > 50
    assert look(project).last_seq == acknowledged
    check_all(project)


def test_once_there_is_room_the_same_group_is_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with filled(tmp_path, 10) as store:
        for seq in range(10, 15):
            store.add(record(seq))
        whole = os.pwrite

        def short(file: int, rest: bytes, at: int) -> int:
            whole(file, bytes(rest)[:5], at)
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr("forager.store.flat.os.pwrite", short)
            with pytest.raises(StoreFull):
                store.commit()
        assert store.pending == 5
        assert store.commit() == 14
    check_all(tmp_path)
