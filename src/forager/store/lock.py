"""Only one process at a time works on a project, and only on a local disk.

The lock itself is filelock's, a lock of the operating system on the file `lock`. It ends with the process, so the file
of a killed process blocks nobody. The file says who holds the lock.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from forager.errors import ForagerError
from forager.store.records import moment, stamp

NAME = "lock"
# On these a lock or a memory map is only as good as the server, and many servers fail.
NETWORK = frozenset(
    (
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "lustre", "beegfs", "gpfs", "glusterfs"),
        *("fuse.glusterfs", "fuse.sshfs", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse"),
    )
)


@dataclass(frozen=True, slots=True)
class LockHolder:
    """The process that holds a lock."""

    pid: int
    since: datetime
    host: str = ""  # "": not known

    def __str__(self) -> str:
        elsewhere = f" on {self.host}" if self.host not in ("", socket.gethostname()) else ""
        return f"process {self.pid}{elsewhere} since {self.since:%Y-%m-%d %H:%M:%S} UTC"

    @property
    def alive(self) -> bool:
        """False if the process has certainly ended."""
        if self.host not in ("", socket.gethostname()):
            return True
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:  # it belongs to somebody else
            pass
        return True


class Lock:
    """The lock of a folder, held from the making of this object until `close`, or until the process ends."""

    def __init__(self, folder: Path, now: datetime) -> None:
        file = folder / NAME
        self._lock = _lock_of(file)
        try:
            self._lock.acquire()
        except Timeout:
            raise ForagerError(
                f"{folder} is in use by {_written(file) or 'another process'}: wait for it, or stop it"
            ) from None
        file.write_text(f"{os.getpid()} {stamp(now)} {socket.gethostname()}\n", encoding="utf-8")

    def close(self) -> None:
        self._lock.release()


def _lock_of(file: Path) -> FileLock:
    """A lock that is tried once, and that any thread may release. It is never filelock's soft lock, which the file of a
    killed process would keep. (Before version 3.30 of filelock, a refused process emptied the file.)"""
    return FileLock(file, mode=0o644, thread_local=False, blocking=False, fallback_to_soft=False)


def holder(folder: Path) -> LockHolder | None:
    """Who works on this project now. None: nobody."""
    file = folder / NAME
    if not file.exists():
        return None
    try:
        with _lock_of(file):
            return None
    except Timeout:
        return _written(file)
    except OSError:  # we may only read the project, so we cannot try the lock
        last = _written(file)
        return last if last and last.alive else None


def _written(file: Path) -> LockHolder | None:
    try:
        pid, since, *host = file.read_text(encoding="utf-8").split()
        return LockHolder(int(pid), moment(since), "".join(host))
    except (OSError, ValueError):  # somebody has just taken the lock, and has not written yet
        return None


def refuse_network(folder: Path, mounts: Path = Path("/proc/mounts")) -> None:
    """Raise if the folder lies on a network file system. Without a list of mounts nothing is refused."""
    if not mounts.exists():
        return
    kind = _kind(folder.resolve(), mounts.read_text(encoding="utf-8", errors="replace"))
    if kind in NETWORK:
        raise ForagerError(f"{folder} lies on a network file system ({kind}), which may lose pages: use a local disk")


def _kind(folder: Path, mounts: str) -> str:
    """The type of the file system that is mounted nearest above the folder."""
    nearest, kind = -1, ""
    for line in mounts.splitlines():
        _, place, type_, *_ = line.split(" ")
        point = Path(place.encode().decode("unicode_escape"))  # a blank is written as \040
        if folder.is_relative_to(point) and len(point.parts) >= nearest:
            nearest, kind = len(point.parts), type_
    return kind
