"""Only one process at a time works on a project, and only on a local disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from forager.errors import ForagerError
from forager.store import Store
from forager.store.lock import NAME, Lock, LockHolder, holder, refuse_network

MOUNTS = """\
/dev/vda / ext4 rw,relatime 0 0
server:/home /home nfs4 rw,vers=4.2 0 0
tmpfs /home/me/fast tmpfs rw 0 0
//nas/share /media/my\\040disk cifs rw 0 0
"""


def test_a_second_opening_is_refused_and_told_by_whom(tmp_path: Path) -> None:
    assert holder(tmp_path) is None
    with Store(tmp_path):
        by = holder(tmp_path)
        assert by is not None
        assert by.pid == os.getpid()
        with pytest.raises(ForagerError, match=rf"in use by process {os.getpid()} since 20\d\d-") as error:
            Store(tmp_path)
        assert "\n" not in str(error.value)
    assert holder(tmp_path) is None
    Store(tmp_path).close()


HOLD = """
import sys, time
from pathlib import Path
from forager.store import Store
with Store(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_the_lock_of_a_killed_process_blocks_nobody(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    for _ in range(3):  # a refused process does not erase who holds the lock
        with pytest.raises(ForagerError, match=f"in use by process {other.pid} since"):
            Store(tmp_path)
        by = holder(tmp_path)
        assert by is not None
        assert by.pid == other.pid
    other.send_signal(signal.SIGKILL)
    other.communicate()
    assert (tmp_path / NAME).read_text().startswith(f"{other.pid} ")  # it had no time to clean up
    assert holder(tmp_path) is None
    Store(tmp_path).close()


def test_any_thread_may_let_go(tmp_path: Path) -> None:
    lock = Lock(tmp_path, datetime.now(UTC))
    thread = threading.Thread(target=lock.close)
    thread.start()
    thread.join()
    assert holder(tmp_path) is None


SINCE = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)


def test_a_holder_is_told_with_its_host_if_that_is_another_one() -> None:
    assert str(LockHolder(7, SINCE)) == "process 7 since 2024-05-06 07:08:09 UTC"
    assert str(LockHolder(7, SINCE, "elsewhere.test")) == "process 7 on elsewhere.test since 2024-05-06 07:08:09 UTC"


@pytest.mark.parametrize(
    ("written", "found"),
    [
        (f"{os.getpid()} {SINCE.isoformat()}\n", True),  # as older versions wrote it
        (f"{os.getpid()} {SINCE.isoformat()} {os.uname().nodename}\n", True),
        (f"{2**22 + 1} {SINCE.isoformat()} {os.uname().nodename}\n", False),  # there is no such process
        (f"{2**22 + 1} {SINCE.isoformat()} elsewhere.test\n", True),
        ("", False),
        ("what is this\n", False),
    ],
    ids=["older", "here", "gone", "elsewhere", "empty", "strange"],  # not by process: every worker has another one
)
def test_who_may_only_read_a_project_sees_whether_its_process_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, found: bool
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError

    (tmp_path / NAME).write_text(written)
    monkeypatch.setattr("forager.store.lock.FileLock.acquire", refused)
    assert (holder(tmp_path) is not None) == found


@pytest.mark.parametrize(
    ("folder", "refused"),
    [("/work", ""), ("/home/me", "nfs4"), ("/home/me/fast/x", ""), ("/media/my disk/y", "cifs"), ("/homely", "")],
)
def test_network_file_systems_are_refused(tmp_path: Path, folder: str, refused: str) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    if refused:
        with pytest.raises(ForagerError, match=rf"network file system \({refused}\)"):
            refuse_network(Path(folder), mounts)
    else:
        refuse_network(Path(folder), mounts)


def test_without_a_list_of_mounts_nothing_is_refused(tmp_path: Path) -> None:
    refuse_network(tmp_path, tmp_path / "none")
