"""One process a project, and not over a network."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from forager.errors import ForagerError
from forager.store import Store
from forager.store.lock import holder, refuse_network

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
