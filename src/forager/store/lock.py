"""One process a project, on a file system that keeps its promises."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from forager.errors import ForagerError
from forager.store.records import moment, stamp

NAME = "lock"
# Locks and memory maps shared over a network are promises of the server, and many do not keep them.
NETWORK = frozenset(
    (
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "lustre", "beegfs", "gpfs", "glusterfs"),
        *("fuse.glusterfs", "fuse.sshfs", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse"),
    )
)


@dataclass(frozen=True, slots=True)
class Holder:
    pid: int
    since: datetime


class Lock:
    """Held from making to `close`; the operating system lets go of it when the process dies, however it dies."""

    def __init__(self, folder: Path, now: datetime) -> None:
        self._file = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            by = _read(self._file)
            os.close(self._file)
            told = f"process {by.pid} since {by.since:%Y-%m-%d %H:%M:%S} UTC" if by else "another process"
            raise ForagerError(f"{folder} is in use by {told}: wait for it, or stop it") from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()} {stamp(now)}\n".encode(), 0)

    def close(self) -> None:
        os.close(self._file)


def holder(folder: Path) -> Holder | None:
    """Who works on this project now; None: nobody."""
    try:
        file = os.open(folder / NAME, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(file)
    else:
        return None
    finally:
        os.close(file)


def _read(file: int) -> Holder | None:
    try:
        pid, since = os.pread(file, 100, 0).decode().split()
        return Holder(int(pid), moment(since))
    except ValueError:  # between taking the lock and writing who took it
        return None


def refuse_network(folder: Path, mounts: Path = Path("/proc/mounts")) -> None:
    """Raise if the folder lies on a network file system; where there is no list of mounts, nothing is known."""
    if not mounts.exists():
        return
    kind = _kind(folder.resolve(), mounts.read_text(encoding="utf-8", errors="replace"))
    if kind in NETWORK:
        raise ForagerError(f"{folder} lies on a network file system ({kind}), which may lose pages: use a local disk")


def _kind(folder: Path, mounts: str) -> str:
    """Type of the file system mounted nearest above the folder."""
    nearest, kind = -1, ""
    for line in mounts.splitlines():
        _, place, type_, *_ = line.split(" ")
        point = Path(place.encode().decode("unicode_escape"))  # a blank is written as \040
        if folder.is_relative_to(point) and len(point.parts) >= nearest:
            nearest, kind = len(point.parts), type_
    return kind
