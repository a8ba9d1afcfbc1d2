"""Files are opened with clear errors, and written whole or not at all."""

from __future__ import annotations

import errno
import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from forager.errors import ForagerError
from forager.files import append_whole, open_bytes, replace_whole, writing, written_whole


def full(*_: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file that was there before."""
    file = tmp_path / "file"
    file.write_bytes(b"old")
    return file


def alone(file: Path) -> bool:
    """Nothing lies beside the file."""
    return list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("content", [b"", b"x", b"plain", gzip.compress(b"plain", mtime=0)], ids=range(4))
def test_a_file_is_read_compressed_or_not(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with open_bytes(tmp_path / "x") as stream:
        assert stream.read() == (b"plain" if len(content) > 1 else content)


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "cut.gz").write_bytes(gzip.compress(os.urandom(10_000))[:5_000])
    with pytest.raises(ForagerError, match=r"cut\.gz is damaged"), open_bytes(tmp_path / "cut.gz") as stream:
        stream.read()
    with pytest.raises(ForagerError, match="none cannot be read: No such file"), open_bytes(tmp_path / "none"):
        pass


@pytest.mark.parametrize("sync", [True, False])
def test_new_content_takes_the_place_of_the_old(file: Path, sync: bool) -> None:
    replace_whole(file, b"new", sync=sync)
    assert file.read_bytes() == b"new"
    replace_whole(file, "größer\n", sync=sync)
    assert file.read_bytes() == "größer\n".encode()
    assert alone(file)


def test_folders_are_made(tmp_path: Path) -> None:
    replace_whole(tmp_path / "a" / "b" / "c", "x")
    assert (tmp_path / "a" / "b" / "c").read_text() == "x"


def test_only_a_synced_file_is_brought_to_the_disk(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    replace_whole(file, b"1", sync=False)
    assert not synced
    replace_whole(file, b"2")
    assert len(synced) == 1


def test_a_full_disk_leaves_the_old_content(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", full)
    told = r"file cannot be written: No space left on device; what was there before is safe$"
    with pytest.raises(ForagerError, match=told):
        replace_whole(file, b"new")
    with pytest.raises(OSError, match="No space"), written_whole(file) as stream:
        stream.write(b"new")
    with pytest.raises(ForagerError, match=told):
        append_whole(file, b"new")
    assert file.read_bytes() == b"old"
    assert alone(file)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_while_it_is_written_leaves_the_old_content(file: Path, error: type[BaseException]) -> None:
    def begin() -> None:
        with written_whole(file) as stream:
            stream.write(b"new")
            raise error

    with pytest.raises(error):
        begin()
    assert file.read_bytes() == b"old"
    assert alone(file)


def test_nobody_sees_a_part(file: Path) -> None:
    with written_whole(file) as stream:
        stream.write(b"ne")
        stream.flush()
        assert file.read_bytes() == b"old"
        stream.write(b"w")
    assert file.read_bytes() == b"new"


def test_a_piece_is_put_at_the_end(tmp_path: Path) -> None:
    file = tmp_path / "pieces"
    assert [append_whole(file, piece) for piece in (b"one", b"", b"two")] == [0, 3, 3]
    assert file.read_bytes() == b"onetwo"


def test_a_piece_that_fits_only_in_part_is_taken_back(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.write

    def short(opened: int, rest: bytes) -> int:
        return whole(opened, bytes(rest)[:2]) if len(rest) > 2 else full()

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", short)
        with pytest.raises(ForagerError, match="cannot be written"):
            append_whole(file, b"piece")
    assert file.read_bytes() == b"old"
    assert append_whole(file, b"piece") == 3


def test_writing_says_what_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "no" / "file"
    with pytest.raises(ForagerError, match=r"no/file cannot be written: No such file or directory; try again$"):  # noqa: SIM117
        with writing(file, "; try again"), written_whole(file):
            pass
    with pytest.raises(KeyError), writing(file):
        raise KeyError


WRITE_FOR_EVER = """
import sys
from pathlib import Path
from forager.files import replace_whole
for i in range(10**6):
    replace_whole(Path(sys.argv[1]), bytes([i % 256]) * 500_000)
    print(i, flush=True)
"""


@pytest.mark.parametrize("pause", [0.0, 0.003, 0.011])
def test_a_killed_process_leaves_a_whole_file(file: Path, pause: float) -> None:
    writer = subprocess.Popen([sys.executable, "-c", WRITE_FOR_EVER, str(file)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "0\n"
    time.sleep(pause)
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    content = file.read_bytes()
    assert len(content) == 500_000
    assert len(set(content)) == 1
