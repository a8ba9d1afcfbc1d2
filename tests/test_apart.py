"""Work in a process of its own: what comes back, and what happens when something ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from forager import apart
from forager.apart import Apart, WorkerDiedError

PID = "__import__('os').getpid()"


@pytest.fixture
def worker() -> Iterator[Apart]:
    worker = Apart()
    yield worker
    worker.close()


def is_gone(pid: int) -> bool:
    """Whether a process that was told to end does so."""
    for _ in range(600):
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or state.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.1)
    return False


def test_another_process_computes_one_work_after_the_other(worker: Apart) -> None:
    first, second = worker.do(eval, PID), worker.do(eval, PID)
    assert first == second != os.getpid()
    assert worker.do(sorted, [3, 1, 2]) == [1, 2, 3]


def test_what_it_raises_is_raised_here(worker: Apart) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        worker.do(int, "three")
    assert worker.do(int, "3") == 3


def test_what_is_large_comes_whole(worker: Apart) -> None:
    assert worker.do(bytes.upper, b"ab" * 5_000_000) == b"AB" * 5_000_000


def test_what_cannot_be_sent_is_computed_here(worker: Apart) -> None:
    assert worker.do(lambda _: os.getpid(), None) == os.getpid()
    assert worker.do(iter, "abc").__next__() == "a"


def test_printing_does_not_disturb_it(worker: Apart) -> None:
    assert worker.do(print, "a line") is None
    assert worker.do(len, "abc") == 3


def test_work_that_takes_its_process_down_is_told_and_the_next_is_done(worker: Apart) -> None:
    with pytest.raises(WorkerDiedError, match="ended with 3"):
        worker.do(os._exit, 3)
    assert worker.do(len, "abc") == 3


def test_a_process_that_somebody_ended_is_replaced(worker: Apart) -> None:
    pid = worker.do(eval, PID)
    os.kill(pid, signal.SIGKILL)
    assert worker.do(eval, PID) not in (pid, os.getpid())


def test_a_process_that_has_taken_much_memory_is_replaced(worker: Apart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "MOST_MEMORY", 0)
    assert worker.do(eval, PID) != worker.do(eval, PID)


def test_ctrl_c_is_for_those_who_crawl(worker: Apart) -> None:
    pid = worker.do(eval, PID)
    os.kill(pid, signal.SIGINT)
    assert worker.do(eval, PID) == pid


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("how", ["pass", "__import__('os').kill(__import__('os').getpid(), 9)"])
def test_it_ends_with_us_however_we_end(how: str) -> None:
    script = f"from forager.apart import APART; print(APART.do(eval, {PID!r}), flush=True); {how}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120)
    assert is_gone(int(done.stdout))


def test_what_we_have_ourselves_is_not_what_it_takes(worker: Apart) -> None:
    ours = bytes(range(256)) * (apart.MOST_MEMORY // 200)  # touched, so that it is in memory
    assert worker.do(eval, PID) == worker.do(eval, PID)
    assert len(ours) > apart.MOST_MEMORY
