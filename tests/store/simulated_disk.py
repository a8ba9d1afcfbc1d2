"""A disk that loses power. All that the store does to its files is recorded, and rebuilt as it may be after a cut.

What Python does is recorded in `os`. What SQLite does is recorded inside of the SQLite library that Python itself uses:
the functions of its VFS that write, truncate, sync and delete are wrapped, and call the real ones. So the store, the
library and the files are the real ones.

After a cut, everything before the last sync of a file is there. Of the later writes any may be there, whole or in part,
or none. The name of a file is there if its folder was synced since the file was made; else it may be missing. (Many
file systems promise more. This is what POSIX promises.)
"""

from __future__ import annotations

import _sqlite3
import ctypes
import os
import random
import sqlite3  # noqa: F401 - so that the library is loaded
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

SECTOR = 512  # bytes that the disk writes as one
FOLDER = 1
UNSEEN = ("lock", "-shm")  # the ends of files that mean nothing after a cut
_JOURNALS = 0x80000 | 0x800 | 0x4000  # SQLite makes and syncs the names of these, when it syncs them first
_CREATE = 0x4


class Step(NamedTuple):
    """One thing that was done: write, truncate and sync a file; make, remove and sync names; acknowledge a record."""

    what: str
    file: int = -1  # number of the file, however it is called
    path: str = ""  # of a name
    at: int = 0  # of a write; the size, of a truncation; the seq, of an acknowledgement; FOLDER, of a folder
    content: bytes = b""


class Recorder:
    """All steps under one folder, in order."""

    def __init__(self, root: Path) -> None:
        self.root, self.steps = root, list[Step]()
        self._numbers: dict[str, int] = {}  # by path, now
        self._made = 0

    def inside(self, path: str | bytes | os.PathLike[str]) -> str | None:
        """The path within the folder. None if it is elsewhere, or does not matter."""
        full = os.path.abspath(os.fsdecode(path))
        prefix = f"{self.root}{os.sep}"
        return full.removeprefix(prefix) if full.startswith(prefix) and not full.endswith(UNSEEN) else None

    def note(self, what: str, path: str, **more: Any) -> None:
        if what == "make":
            self._made += 1
            self._numbers[path] = self._made
        file = self._numbers.get(path, -1)
        self.steps.append(Step(what, file, path, **more))
        if what == "remove":
            self._numbers.pop(path, None)

    def renamed(self, source: str, target: str) -> None:
        self.steps.append(Step("make", self._numbers[source], target))
        self.steps.append(Step("remove", self._numbers[source], source))
        self._numbers[target] = self._numbers.pop(source)

    def acknowledged(self, seq: int) -> None:
        self.steps.append(Step("acknowledged", at=seq))


# ---- what Python does


@contextmanager
def recording_python(recorder: Recorder, patch: pytest.MonkeyPatch) -> Iterator[None]:
    paths: dict[int, str] = {}  # by descriptor
    real = {name: getattr(os, name) for name in ("open", "close", "pwrite", "fsync", "ftruncate", "truncate")}
    real |= {name: getattr(os, name) for name in ("unlink", "remove", "replace", "rename", "mkdir")}

    def opened(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        within = recorder.inside(path)
        new = within is not None and flags & os.O_CREAT and not os.path.exists(path)
        file: int = real["open"](path, flags, *rest, **more)
        if os.path.abspath(os.fsdecode(path)) == str(recorder.root):
            within = ""
        if within is not None:
            paths[file] = within
            if new:
                recorder.note("make", within)
        return file

    def close(file: int) -> None:
        paths.pop(file, None)
        real["close"](file)

    def pwrite(file: int, content: Any, at: int) -> int:
        written: int = real["pwrite"](file, content, at)
        if file in paths:
            recorder.note("write", paths[file], at=at, content=bytes(content)[:written])
        return written

    def fsync(file: int) -> None:
        real["fsync"](file)
        if file in paths:
            recorder.note("sync folder" if (recorder.root / paths[file]).is_dir() else "sync", paths[file])

    def truncate(file: Any, size: int) -> None:
        real["truncate"](file, size)
        within = paths.get(file) if isinstance(file, int) else recorder.inside(file)
        if within is not None:
            recorder.note("truncate", within, at=size)

    def unlink(path: Any, *rest: Any, **more: Any) -> None:
        real["unlink"](path, *rest, **more)
        within = recorder.inside(path)
        if within is not None:
            recorder.note("remove", within)

    def replace(source: Any, target: Any, *rest: Any, **more: Any) -> None:
        real["replace"](source, target, *rest, **more)
        inside = recorder.inside(source), recorder.inside(target)
        if inside[0] is not None and inside[1] is not None:
            recorder.renamed(inside[0], inside[1])

    def mkdir(path: Any, *rest: Any, **more: Any) -> None:
        real["mkdir"](path, *rest, **more)
        within = recorder.inside(path)
        if within is not None:
            recorder.note("make", within, at=FOLDER)

    with patch.context() as patched:
        for name, wrapped in {
            **{"open": opened, "close": close, "pwrite": pwrite, "fsync": fsync, "ftruncate": truncate},
            **{"truncate": truncate, "unlink": unlink, "remove": unlink, "replace": replace, "rename": replace},
            "mkdir": mkdir,
        }.items():
            patched.setattr(os, name, wrapped)
        yield


# ---- what SQLite does


class _Vfs(ctypes.Structure):
    _fields_ = (
        *(("version", ctypes.c_int), ("size", ctypes.c_int), ("longest", ctypes.c_int), ("next", ctypes.c_void_p)),
        *(("name", ctypes.c_char_p), ("app", ctypes.c_void_p)),
        *(("open", ctypes.c_void_p), ("delete", ctypes.c_void_p)),
    )


class _Methods(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_int),
        *((name, ctypes.c_void_p) for name in ("close", "read", "write", "truncate", "sync")),
        ("others", ctypes.c_void_p * 13),
    )


class _File(ctypes.Structure):
    _fields_ = (("methods", ctypes.POINTER(_Methods)),)


# The name is passed on as it is, not as bytes: SQLite keeps the pointer.
_Open = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(_File), ctypes.c_int, ctypes.c_void_p
)
_Delete = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int)
_Write = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int64)
_Truncate = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64)
_Sync = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)


def default_vfs() -> Any:
    """The VFS of the library that Python uses. The test is skipped if Python does not let it be reached."""
    library = ctypes.CDLL(_sqlite3.__file__)
    try:
        find = library.sqlite3_vfs_find
    except AttributeError:
        pytest.skip("this Python hides its SQLite library, so that its writes cannot be seen")
    find.restype, find.argtypes = ctypes.POINTER(_Vfs), (ctypes.c_char_p,)
    return find(None).contents


class _Opened(NamedTuple):
    path: str
    write: Any
    truncate: Any
    sync: Any


@contextmanager
def recording_sqlite(recorder: Recorder) -> Iterator[None]:
    vfs, files, kept = default_vfs(), dict[int, _Opened](), list[Any]()
    first_syncs: set[int] = set()  # of files whose names SQLite syncs with them
    real_open, real_delete = vfs.open, vfs.delete

    def opened(vfs_: int, name: int | None, file: Any, flags: int, out: int) -> int:
        path = ctypes.string_at(name) if name else b""
        within = recorder.inside(path) if path else None
        new = within is not None and not os.path.exists(path)
        code: int = _Open(real_open)(vfs_, name, file, flags, out)
        if code or within is None or not file.contents.methods:
            return code
        if new:
            recorder.note("make", within)
        address = ctypes.addressof(file.contents)
        methods = file.contents.methods.contents
        files[address] = _Opened(within, _Write(methods.write), _Truncate(methods.truncate), _Sync(methods.sync))
        first_syncs.discard(address)
        if flags & _CREATE and flags & _JOURNALS:
            first_syncs.add(address)
        wrapped = _Methods.from_buffer_copy(methods)
        for field, callback in (("write", on_write), ("truncate", on_truncate), ("sync", on_sync)):
            setattr(wrapped, field, ctypes.cast(callback, ctypes.c_void_p))
        kept.append(wrapped)
        file.contents.methods = ctypes.pointer(wrapped)
        return 0

    def write(file: int, content: int, length: int, at: int) -> int:
        code: int = files[file].write(file, content, length, at)
        if not code:
            recorder.note("write", files[file].path, at=at, content=ctypes.string_at(content, length))
        return code

    def truncate(file: int, size: int) -> int:
        code: int = files[file].truncate(file, size)
        if not code:
            recorder.note("truncate", files[file].path, at=size)
        return code

    def sync(file: int, flags: int) -> int:
        code: int = files[file].sync(file, flags)
        if not code:
            recorder.note("sync", files[file].path)
            if file in first_syncs:
                first_syncs.discard(file)
                recorder.note("sync folder", os.path.dirname(files[file].path))
        return code

    def delete(vfs_: int, name: bytes, sync_folder: int) -> int:
        code: int = _Delete(real_delete)(vfs_, name, sync_folder)
        within = recorder.inside(name)
        if not code and within is not None:
            recorder.note("remove", within)
            if sync_folder:
                recorder.note("sync folder", os.path.dirname(within))
        return code

    on_open, on_delete = _Open(opened), _Delete(delete)
    on_write, on_truncate, on_sync = _Write(write), _Truncate(truncate), _Sync(sync)
    vfs.open, vfs.delete = (ctypes.cast(callback, ctypes.c_void_p).value for callback in (on_open, on_delete))
    try:
        yield
    finally:
        vfs.open, vfs.delete = real_open, real_delete


# ---- after a cut


def torn(step: Step, rng: random.Random) -> Iterator[Step]:
    """A write as the disk may have it: some of its sectors."""
    for start in range(0, len(step.content), SECTOR):
        if rng.random() < 0.5:
            yield step._replace(at=step.at + start, content=step.content[start : start + SECTOR])


Keeps = Callable[[Step], list[Step]]  # what the disk has of a step that was not synced


def nothing(step: Step) -> list[Step]:
    return []


def everything(step: Step) -> list[Step]:
    return [step]


def some(rng: random.Random) -> Keeps:
    """Some steps whole, some in part, some not."""

    def keeps(step: Step) -> list[Step]:
        chance = rng.random()
        if chance < 0.4:
            return []
        return [step] if chance < 0.8 or step.what != "write" else list(torn(step, rng))

    return keeps


def after_cut(steps: list[Step], keeps: Keeps) -> dict[str, bytes | None]:
    """The content of each file by its path, None for a folder, when the power goes after these steps."""
    synced: dict[int, int] = {}  # by file: the last sync
    named: dict[str, int] = {}  # by folder
    for place, step in enumerate(steps):
        if step.what == "sync":
            synced[step.file] = place
        elif step.what == "sync folder":
            named[step.path] = place
    contents: dict[int, bytearray] = {}
    names: dict[str, int] = {}
    for place, step in enumerate(steps):
        if step.what in ("write", "truncate"):
            for kept in [step] if place < synced.get(step.file, -1) else keeps(step):
                _change(contents.setdefault(step.file, bytearray()), kept)
        elif step.what in ("make", "remove"):
            for kept in [step] if place < named.get(os.path.dirname(step.path), -1) else keeps(step):
                if kept.what == "make":
                    names[kept.path] = kept.file
                else:
                    names.pop(kept.path, None)
    there = {path: file for path, file in names.items() if all(str(above) in names for above in _above(path))}
    folders = {step.path for step in steps if step.what == "make" and step.at == FOLDER}
    return {path: None if path in folders else bytes(contents.get(file, b"")) for path, file in there.items()}


def _above(path: str) -> list[Path]:
    return [above for above in Path(path).parents if str(above) != "."]


def _change(content: bytearray, step: Step) -> None:
    if step.what == "truncate":
        del content[step.at :]
    if len(content) < step.at:  # also where a write was lost before this one
        content.extend(bytes(step.at - len(content)))
    content[step.at : step.at + len(step.content)] = step.content


def rebuild(found: dict[str, bytes | None], root: Path) -> None:
    """Write the files of `after_cut` into a folder."""
    for path, content in sorted(found.items()):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            (root / path).mkdir(exist_ok=True)
        else:
            (root / path).write_bytes(content)


def on_disk(root: Path) -> dict[str, bytes | None]:
    """The files that are really there, in the form of `after_cut`."""
    found: dict[str, bytes | None] = {}
    for path in root.rglob("*"):
        if not str(path).endswith(UNSEEN):
            with suppress(FileNotFoundError):
                found[str(path.relative_to(root))] = None if path.is_dir() else path.read_bytes()
    return found
