"""Computing in a process of our own, so that what takes long does not hold up those who wait for the network.

Python computes in one thread at a time. A page of 10 MB, parsed in a thread, takes half of its time from the event
loop. `Apart` sends such work to a process that has lower priority, and begins when first needed. It ends with us,
however we end, because then nothing more can come through the pipe.

    parent -> child    length, pickle of (work, given)
    child -> parent    length, pickle of (what it gave or raised, whether it raised, the memory that it takes)
"""

from __future__ import annotations

import atexit
import os
import pickle
import resource
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, TypeVar, cast

T = TypeVar("T")
R = TypeVar("R")

MOST_MEMORY = 300_000_000  # bytes: a process that has taken more is ended, and the next work begins another
NICE = 5
_LENGTH = struct.Struct("<Q")


class WorkerDiedError(RuntimeError):
    """The process ended while it worked, twice: the work asked for more memory than there is, or a library failed."""


class Apart:
    """One process, for one work after the other."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def do(self, work: Callable[[T], R], given: T) -> R:
        """What `work` gives for `given`. What cannot be sent to another process is computed here."""
        try:
            sent = pickle.dumps((work, given), pickle.HIGHEST_PROTOCOL)
        except (pickle.PicklingError, AttributeError, TypeError):
            return work(given)
        with self._lock:
            try:
                gave = self._ask(sent)
            except WorkerDiedError:  # somebody else may have ended it
                gave = self._ask(sent)
        if gave is None:  # it does not know what we know, such as a function of a script
            return work(given)
        result, raised, memory = gave
        if memory > MOST_MEMORY:
            self.close()
        if raised:
            raise result
        return cast(R, result)

    def close(self) -> None:
        """End the process, if there is one."""
        with self._lock:
            process, self._process = self._process, None
            if process is not None:
                _end(process)

    def _ask(self, sent: bytes) -> tuple[Any, bool, int] | None:
        if self._process is None or self._process.poll() is not None:
            try:
                self._process = _begin()
            except OSError:  # too many processes or open files
                return None
        process = self._process
        assert process.stdin
        assert process.stdout
        try:
            _write(process.stdin, sent)
            return cast("tuple[Any, bool, int] | None", pickle.loads(_read(process.stdout)))
        except (OSError, EOFError):
            self._process = None
            _end(process)
            raise WorkerDiedError(f"the process that computes ended with {process.returncode}") from None


def _begin() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", "from forager.apart import serve; serve()"]
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ | path
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    with suppress(OSError):
        process.communicate()


def _write(pipe: IO[bytes], sent: bytes) -> None:
    pipe.write(_LENGTH.pack(len(sent)))
    pipe.write(sent)
    pipe.flush()


def _read(pipe: IO[bytes]) -> bytes:
    head = pipe.read(_LENGTH.size)
    (length,) = _LENGTH.unpack(head) if len(head) == _LENGTH.size else (1,)
    body = pipe.read(length) if head else b""
    if len(body) < length:
        raise EOFError
    return body


def serve() -> None:
    """Work until nothing more comes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for those who crawl
    os.nice(NICE)
    given, gives = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed goes elsewhere
    with suppress(EOFError, BrokenPipeError):
        while True:
            _write(gives, _work(_read(given)))


def _work(sent: bytes) -> bytes:
    try:
        work, given = pickle.loads(sent)
    except Exception:  # anything may go wrong where nothing of the other's script is known
        return pickle.dumps(None)
    try:
        gave, raised = work(given), False
    except Exception as problem:
        gave, raised = problem, True
    try:
        return pickle.dumps((gave, raised, _memory()), pickle.HIGHEST_PROTOCOL)
    except Exception:  # what it gave stays here
        return pickle.dumps(None)


def _memory() -> int:
    """Bytes that this process takes now. (What `getrusage` says begins with what our parent had.)"""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    except OSError:  # not Linux
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


APART = Apart()
atexit.register(APART.close)
