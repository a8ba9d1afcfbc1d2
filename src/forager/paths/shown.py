"""Browsing paths that somebody has shown: what the path models learn from, and the file they are kept in.

A path is what was clicked from a first page to a goal, or to where it was given up. Some of its pages are *milestones*
with a label of the user's. The file has one path a line, as JSON:

    {"path": "a", "outcome": "goal", "steps": [{"url": "https://…"}, {"url": "https://…", "anchor": "…", "label": "…"}]}

Labels of all pages, for models that need one for each (c runs over milestones and `goal`):

    the last page           goal or fail, as the path ended
    a milestone             its label
    a page before c         prefix(c), c the next labelled page of the path
    after the last milestone of a path that failed: fail
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from pathlib import Path

import msgspec

from forager.errors import ForagerError
from forager.paths.lines import numbered, wrong
from forager.types import Url
from forager.web.urls import RULES, UrlRules


class Outcome(StrEnum):
    GOAL = "goal"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Step:
    url: Url
    anchor: str | None = None  # text of the link that led here; None for a first page, and where it is not known
    label: str | None = None  # milestone


@dataclass(frozen=True, slots=True)
class ShownPath:
    id: str
    steps: tuple[Step, ...]
    outcome: Outcome

    def __post_init__(self) -> None:
        if not self.id.strip():
            raise ForagerError("the path has no name: give it one of its own in `path`")
        if not self.steps:
            raise ForagerError(f"path {self.id!r} has no steps: list its pages, or take the line out")
        if self.steps[0].anchor is not None:
            raise ForagerError(f"path {self.id!r}, step 1: no link leads to a first page: take its anchor out")
        for number, step in enumerate(self.steps, 1):
            if step.label is not None:
                self._check_label(number, step.label)

    def _check_label(self, number: int, label: str) -> None:
        where = f"path {self.id!r}, step {number}"
        if not label.strip():
            raise ForagerError(f"{where}: the label is blank: leave it out, or write null")
        if label in set(Outcome) or label.startswith("prefix("):
            raise ForagerError(f"{where}: the label {label!r} has a meaning of its own: choose another word")
        if number == len(self.steps):
            raise ForagerError(
                f"{where}: the last page is labelled {self.outcome.value} by the outcome, not {label!r}: "
                "take the label out, or add the step after it"
            )

    @property
    def labels(self) -> tuple[str, ...]:
        """A label for each page, as the head of this file says."""
        following = self.outcome.value
        labels = [following]
        for step in reversed(self.steps[:-1]):
            following = step.label or following
            on_the_way = following if following == Outcome.FAIL else prefix(following)
            labels.append(step.label or on_the_way)
        return tuple(reversed(labels))


def prefix(label: str) -> str:
    """The label of pages on the way to one labelled so."""
    return f"prefix({label})"


def label_set(paths: Iterable[ShownPath]) -> tuple[str, ...]:
    """Every label that a model of these paths has: milestones, goal, fail, and prefix(c) for milestones and goal."""
    milestones = sorted({step.label for path in paths for step in path.steps if step.label is not None})
    return (*milestones, "goal", "fail", *(prefix(label) for label in (*milestones, "goal")))


# ---- what may be wrong with a set of paths --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UsedOnce:
    """A label on a single page: not wrong, but nothing can be learnt from it, and often it is a slip of spelling."""

    label: str
    path: str
    step: int  # counted from 1

    def __str__(self) -> str:
        return f"label {self.label!r} is used once (path {self.path!r}, step {self.step}): is it spelt as elsewhere?"


@dataclass(frozen=True, slots=True)
class Gap:
    """A step that is not a link of the page before it."""

    path: str
    step: int  # of the page that the page before does not link to, counted from 1
    source: Url
    target: Url

    def __str__(self) -> str:
        return f"path {self.path!r}, step {self.step}: {self.source} has no link to {self.target}"


def used_once(paths: Iterable[ShownPath]) -> tuple[UsedOnce, ...]:
    """Labels that occur on one page only, in order of appearance."""
    places: defaultdict[str, list[UsedOnce]] = defaultdict(list)
    for path in paths:
        for number, step in enumerate(path.steps, 1):
            if step.label is not None:
                places[step.label].append(UsedOnce(step.label, path.id, number))
    return tuple(used[0] for used in places.values() if len(used) == 1)


def gaps(paths: Iterable[ShownPath], links_of: Callable[[Url], Collection[Url]]) -> Iterator[Gap]:
    """Where paths are not connected: steps that are not among `links_of` the page before."""
    for path in paths:
        for number, (before, step) in enumerate(pairwise(path.steps), 2):
            if step.url not in links_of(before.url):
                yield Gap(path.id, number, before.url, step.url)


# ---- the file -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shown:
    """All paths of a file, at least one of which ends in a goal."""

    paths: tuple[ShownPath, ...]
    concerns: tuple[UsedOnce, ...]


class _Step(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    url: str
    anchor: str | None = None
    label: str | None = None


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    path: str
    outcome: str
    steps: list[_Step]


def load_paths(file: Path, rules: UrlRules = RULES) -> Shown:
    """A file to learn from."""
    paths = tuple(read_paths(file, rules))
    if not paths:
        raise ForagerError(f"{file} has no paths: show at least one that ends in a goal")
    if all(path.outcome is Outcome.FAIL for path in paths):
        raise ForagerError(f"{file}: none of {len(paths)} paths has the outcome goal: show at least one that arrives")
    return Shown(paths, used_once(paths))


def read_paths(file: Path, rules: UrlRules = RULES) -> Iterator[ShownPath]:
    """The paths of a file, one at a time."""
    decoder = msgspec.json.Decoder(_Line)
    lines: dict[str, int] = {}
    for number, text in numbered(file):
        try:
            path = _path(decoder.decode(text), rules)
        except msgspec.ValidationError as error:
            raise wrong(
                file, number, f"{error}: a line is {{path, outcome, steps: [{{url, anchor, label}}]}}"
            ) from None
        except msgspec.DecodeError as error:
            raise wrong(file, number, f"not JSON ({error}): each line is one object") from None
        except ForagerError as error:
            raise wrong(file, number, str(error)) from None
        first = lines.setdefault(path.id, number)
        if first != number:
            raise wrong(file, number, f"path {path.id!r} is in line {first} already: give each path a name of its own")
        yield path


def write_paths(file: Path, paths: Iterable[ShownPath]) -> None:
    """What `read_paths` reads."""
    encoder = msgspec.json.Encoder()
    with file.open("wb") as stream:
        for path in paths:
            steps = [_Step(step.url, step.anchor, step.label) for step in path.steps]
            stream.write(encoder.encode(_Line(path.id, path.outcome.value, steps)) + b"\n")


def _path(line: _Line, rules: UrlRules) -> ShownPath:
    if line.outcome not in set(Outcome):
        raise ForagerError(f"path {line.path!r} has the outcome {line.outcome!r}: write goal or fail")
    if line.steps and line.steps[-1].label == line.outcome:  # said twice, which is no contradiction
        line.steps[-1].label = None
    steps = []
    for number, step in enumerate(line.steps, 1):
        url = rules.canonical(step.url)
        if url is None:
            raise ForagerError(
                f"path {line.path!r}, step {number}: {step.url!r} is not an http or https URL "
                f"of at most {rules.longest} characters"
            )
        steps.append(Step(url, step.anchor, step.label))
    return ShownPath(line.path, tuple(steps), Outcome(line.outcome))
