"""Where the CPU time of a process goes, by stage: at any instant one stage is running, and all time is some stage's."""

from __future__ import annotations

import functools
import inspect
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Generator
from typing import Any

REST = "rest"  # whatever has no stage


class Spent:
    """`watch` puts a call in a stage; a call in another stage from within stops the first one's clock."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._stage, self._since = REST, time.process_time()

    def switch(self, stage: str) -> str:
        """Go over to a stage; gives the one before."""
        now, before = time.process_time(), self._stage
        self.seconds[before] += now - self._since
        self._stage, self._since = stage, now
        return before

    def start(self) -> None:
        self.switch(REST)
        self.seconds.clear()

    def watch(self, stage: str, owner: object, *names: str) -> None:
        """Count the time in these functions of a class or module under a stage, as long as this process lives."""
        for name in names:
            work = getattr(owner, name)
            watched = self._watched_task if inspect.iscoroutinefunction(work) else self._watched
            setattr(owner, name, watched(stage, work))

    def _watched(self, stage: str, work: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(work)
        def watched(*args: Any, **options: Any) -> Any:
            before = self.switch(stage)
            try:
                return work(*args, **options)
            finally:
                self.switch(before)

        return watched

    def _watched_task(self, stage: str, work: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(work)
        async def watched(*args: Any, **options: Any) -> Any:
            return await _Steps(self, stage, work(*args, **options))

        return watched


class _Steps:
    """A coroutine whose steps are counted and not what others do while it waits."""

    def __init__(self, spent: Spent, stage: str, work: Coroutine[Any, Any, Any]) -> None:
        self._spent, self._stage, self._work = spent, stage, work

    def __await__(self) -> Generator[Any, Any, Any]:
        step: Callable[[], Any] = functools.partial(self._work.send, None)
        while True:
            before = self._spent.switch(self._stage)
            try:
                awaited = step()
            except StopIteration as end:
                return end.value
            finally:
                self._spent.switch(before)
            try:
                step = functools.partial(self._work.send, (yield awaited))
            except BaseException as error:
                step = functools.partial(self._work.throw, error)
