"""Browsing is a tree: who goes back and follows another link begins a new path that shares its first pages."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from forager.paths.shown import Outcome, ShownPath, Step
from forager.types import Url

START = -1  # the visit before a first page


class Trail:
    """Visits in their order, each with the visit it was made from. Going the same way again is no new visit."""

    def __init__(self) -> None:
        self._urls: list[Url] = []
        self._origins: list[int] = []
        self._visits: dict[tuple[int, Url], int] = {}

    def visit(self, url: Url, origin: int = START) -> int:
        """The number of the visit to a page from the visit `origin`."""
        visit = self._visits.setdefault((origin, url), len(self._urls))
        if visit == len(self._urls):
            self._urls.append(url)
            self._origins.append(origin)
        return visit

    def back(self, visit: int) -> int:
        """The visit from which a visit was made."""
        return self._origins[visit]

    def paths(self, name: str, goals: Collection[Url]) -> Iterator[ShownPath]:
        """A path to each goal, and to each page from which nobody went on. A goal ends its path: what was visited
        from it is left out."""
        ways_on, ended = set(self._origins), set[int]()
        last: list[tuple[int, Outcome]] = []
        for visit, url in enumerate(self._urls):
            if self._origins[visit] in ended:
                ended.add(visit)
            elif url in goals:
                ended.add(visit)
                last.append((visit, Outcome.GOAL))
            elif visit not in ways_on:
                last.append((visit, Outcome.FAIL))
        for number, (visit, outcome) in enumerate(last, 1):
            yield ShownPath(name if len(last) == 1 else f"{name}-{number}", self._steps(visit), outcome)

    def _steps(self, visit: int) -> tuple[Step, ...]:
        steps = []
        while visit != START:
            steps.append(Step(self._urls[visit]))
            visit = self._origins[visit]
        return tuple(reversed(steps))
