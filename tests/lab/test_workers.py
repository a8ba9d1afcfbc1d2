"""Tasks spread over processes: all are done, each once, whatever becomes of some of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from forager.errors import ForagerError
from forager_lab.workers import Failed, _nearest, _shared, work


def square(number: int) -> tuple[int, int]:
    if number == 3:
        raise ValueError("three\nis odd")
    if number == 4:
        raise ForagerError("four is not wanted: take five")
    if number == 5:
        os._exit(7)
    return number * number, os.getpid()


def test_failures_and_a_lost_process_name_themselves_and_the_rest_is_done() -> None:
    outcomes = dict(work(range(9), square, 2, lambda number: (number % 2,)))
    failed = {number: outcome.why for number, outcome in outcomes.items() if isinstance(outcome, Failed)}
    assert set(failed) == {3, 4, 5}
    assert failed[3].startswith("ValueError: three is odd (test_workers.py, line ")
    assert failed[4] == "four is not wanted: take five"
    assert failed[5] == "its process ended with code 7"
    done = {number: outcome for number, outcome in outcomes.items() if not isinstance(outcome, Failed)}
    assert {number: value for number, (value, _) in done.items()} == {n: n * n for n in (0, 1, 2, 6, 7, 8)}
    assert os.getpid() not in {process for _, process in done.values()}


def test_one_job_works_here_in_order() -> None:
    outcomes = list(work([2, 3, 1], square, 1, lambda number: ()))
    assert [number for number, _ in outcomes] == [2, 3, 1]
    assert outcomes[0][1] == (4, os.getpid())
    assert isinstance(outcomes[1][1], Failed)


class At:
    """A worker that has something at hand."""

    def __init__(self, *at_hand: str) -> None:
        self.at_hand = at_hand


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        (("wiki", "birds"), ("kb", "courses"), 1),  # the same critic
        (("wiki", "owls"), ("wiki", "birds"), 2),  # the same web, a critic nobody has
        ((), ("wiki", "birds"), 3),  # nothing at hand: a web nobody has
        (("kb", "courses"), (), 3),
        (("none", "none"), ("none", "none"), 0),  # all alike: the first
    ],
)
def test_a_worker_takes_what_is_nearest_to_it_and_farthest_from_the_others(
    mine: tuple[str, ...], theirs: tuple[str, ...], expected: int
) -> None:
    left = [(n, needs) for n, needs in enumerate([("wiki", "rocks"), ("wiki", "birds"), ("wiki", "x"), ("kb", "y")])]
    if mine == ("wiki", "owls"):
        left[0] = (0, ("wiki", "birds"))
    me = At(*mine)
    assert _nearest(left, me, [me, At(*theirs)]) == expected  # type: ignore[arg-type]


def test_shared_needs_count_from_the_dearest_on() -> None:
    assert _shared(("a", "b", "c"), ("a", "b", "d")) == 2
    assert _shared(("a", "b"), ("x", "b")) == 0
    assert _shared((), ("x",)) == 0


WAITING = """
import os, sys, time
from pathlib import Path
from forager_lab.workers import work

def wait_to_be_told(name):
    Path(name).write_text(str(os.getpid()))
    while not Path(name).with_name("go").exists():
        time.sleep(0.05)

if __name__ == "__main__":
    list(work(sys.argv[1:], wait_to_be_told, 2, lambda name: (name,)))
"""


def until(true: Callable[[], bool]) -> None:
    for _ in range(1200):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen in a minute")


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] != "Z" if Path("/proc/self").exists() else True


@pytest.mark.parametrize("how", ["interrupted", "killed"])
def test_workers_end_when_their_parent_does(tmp_path: Path, how: str) -> None:
    """A terminal interrupts all processes, and they end at once. If the parent is killed, they first end their task."""
    (tmp_path / "waiting.py").write_text(WAITING)
    files = [tmp_path / "one", tmp_path / "two"]
    command = [sys.executable, *map(str, (tmp_path / "waiting.py", *files, tmp_path / "three"))]
    parent = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        until(lambda: all(file.exists() and file.read_text() for file in files))
        workers = [int(file.read_text()) for file in files]
        if how == "interrupted":
            os.killpg(parent.pid, signal.SIGINT)
        else:
            parent.kill()
            (tmp_path / "go").touch()
        parent.wait(60)
        until(lambda: not any(map(alive, workers)))
        assert not (tmp_path / "three").exists()
    finally:
        (tmp_path / "go").touch()
        parent.kill()
        parent.wait()
