"""Several processes share a list of tasks. Each prefers tasks that need what it has already made ready.

The needs of a task are a tuple, the most expensive first: a web to open, a critic to train. A worker takes the task
that shares most needs with its last one; if several do, the one that shares least with the tasks of the other workers.
So webs and critics are made ready as rarely as possible, and at the end all workers help with what is left.

If a task fails, or its process ends, its result is `Failed`, and the other tasks go on. A worker ends when its parent
ends, for whatever reason, because the pipe between them is then closed.
"""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

from forager.errors import ForagerError

Needs: TypeAlias = tuple[Hashable, ...]
Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Failed:
    """Why there is no result."""

    why: str  # in one line
    trace: str = ""


def work(
    tasks: Sequence[Task], do: Callable[[Task], Result], jobs: int, needs: Callable[[Task], Needs]
) -> Iterator[tuple[Task, Result | Failed]]:
    """Each task with its result, in the order in which they finish. With one job all run in this process, in order."""
    if jobs == 1:
        for task in tasks:
            yield task, _attempt(do, task)
    else:
        yield from _spread(tasks, do, jobs, needs)


def _spread(
    tasks: Sequence[Task], do: Callable[[Task], Result], jobs: int, needs: Callable[[Task], Needs]
) -> Iterator[tuple[Task, Result | Failed]]:
    left = [(task, needs(task)) for task in tasks]
    workers = [_Worker[Task, Result](do) for _ in range(min(jobs, len(left)))]
    try:
        for worker in workers:
            worker.begin(*left.pop(_nearest(left, worker, workers)))
        busy = list(workers)
        while busy:
            ready = wait([worker.pipe for worker in busy])
            for worker in [worker for worker in busy if worker.pipe in ready]:
                task, outcome = worker.end()
                if left:
                    worker.begin(*left.pop(_nearest(left, worker, workers)))
                else:
                    busy.remove(worker)
                yield task, outcome
    finally:
        for worker in workers:
            worker.stop()


def _nearest(left: Sequence[tuple[Any, Needs]], worker: _Worker[Any, Any], all_workers: Sequence[Any]) -> int:
    """The index of the task that this worker should do next."""
    elsewhere = [other.at_hand for other in all_workers if other is not worker]

    def rank(at: int) -> tuple[int, int, int]:
        wanted = left[at][1]
        taken = max((_shared(wanted, there) for there in elsewhere), default=0)
        return -_shared(wanted, worker.at_hand), taken, at

    return min(range(len(left)), key=rank)


def _shared(one: Needs, other: Needs) -> int:
    """How many needs are the same, counted from the most expensive one."""
    same = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        same += 1
    return same


class _Worker(Generic[Task, Result]):
    """A process, the pipe to it, its current task, and what it has made ready."""

    task: Task

    def __init__(self, do: Callable[[Task], Result]) -> None:
        self._do = do
        self._start()

    def _start(self) -> None:
        context = get_context("spawn")
        self.at_hand: Needs = ()
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self._do), daemon=True)
        self._process.start()
        theirs.close()  # now only the worker holds it: if one of the two ends, the other notices

    def begin(self, task: Task, needs: Needs) -> None:
        self.task, self.at_hand = task, needs
        with suppress(OSError):  # the process has ended already: `end` will notice
            self.pipe.send(task)

    def end(self) -> tuple[Task, Result | Failed]:
        """The task and its result. A process that has ended is replaced."""
        try:
            outcome: Result | Failed = self.pipe.recv()
        except (EOFError, OSError):
            self.stop()
            outcome = Failed(f"its process ended with code {self._process.exitcode}")
            self._start()
        return self.task, outcome

    def stop(self) -> None:
        self.pipe.close()
        self._process.terminate()
        self._process.join()


def _serve(pipe: Connection[Any, Any], do: Callable[[Any], Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and stops us
    with suppress(EOFError, OSError):
        while True:
            pipe.send(_attempt(do, pipe.recv()))


def _attempt(do: Callable[[Task], Result], task: Task) -> Result | Failed:
    try:
        return do(task)
    except Exception as error:  # a strategy may raise anything; the other tasks go on
        return Failed(_line(error), traceback.format_exc())


def _line(error: Exception) -> str:
    """The message. For an error that is not a ForagerError also its type and its place in the code."""
    said = " ".join(str(error).split())
    if isinstance(error, ForagerError):
        return said
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {said} ({Path(place.filename).name}, line {place.lineno})"
