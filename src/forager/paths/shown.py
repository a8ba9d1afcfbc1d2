"""Browsing paths that somebody has shown, and the file they are kept in. Path models learn from them.

A path lists the pages that somebody clicked through, from a first page to a goal, or to the page where the person gave
up. Some of its pages are *milestones*: the user gave them a label. The file has one path a line, as JSON:

    {"path": "a", "outcome": "goal", "steps": [{"url": "https://…"}, {"url": "https://…", "anchor": "…", "label": "…"}]}

Some models need a label for every page. They get it by these rules, where c is a milestone or `goal`:

    the last page                                            goal or fail, the outcome of the path
    a milestone                                              its own label
    a page before c                                          prefix(c), where c is the next labelled page of the path
    a page after the last milestone of a path that failed    fail
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
from forager.files import open_bytes
from forager.types import Url
from forager.web.urls import RULES, UrlRules

LONGEST_LINE = 1 << 20  # bytes: a file without line ends is not read into memory
_BOM = b"\xef\xbb\xbf"


class PathOutcome(StrEnum):
    """How a path ended."""

    GOAL = "goal"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class PathStep:
    """One page of a path."""

    url: Url
    anchor: str | None = None  # text of the link that led here; None for a first page, and where it is not known
    label: str | None = None  # milestone


@dataclass(frozen=True, slots=True)
class ShownPath:
    """A path with a name, its pages in the order they were visited, and how it ended."""

    id: str
    steps: tuple[PathStep, ...]
    outcome: PathOutcome

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
        if label in set(PathOutcome) or label.startswith("prefix("):
            raise ForagerError(f"{where}: the label {label!r} has a meaning of its own: choose another word")
        if number == len(self.steps):
            raise ForagerError(
                f"{where}: the last page is labelled {self.outcome.value} by the outcome, not {label!r}: "
                "take the label out, or add the step after it"
            )

    @property
    def labels(self) -> tuple[str, ...]:
        """A label for each page, by the rules at the top of this file."""
        following = self.outcome.value
        labels = [following]
        for step in reversed(self.steps[:-1]):
            following = step.label or following
            on_the_way = following if following == PathOutcome.FAIL else prefix(following)
            labels.append(step.label or on_the_way)
        return tuple(reversed(labels))


def prefix(label: str) -> str:
    """The label of the pages on the way to a page with this label."""
    return f"prefix({label})"


def label_set(paths: Iterable[ShownPath]) -> tuple[str, ...]:
    """All labels of a model of these paths: milestones, goal, fail, and prefix(c) for every milestone and goal."""
    milestones = sorted({step.label for path in paths for step in path.steps if step.label is not None})
    return (*milestones, "goal", "fail", *(prefix(label) for label in (*milestones, "goal")))


# ---- what may be wrong with a set of paths --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LabelUsedOnce:
    """A label on a single page. It is not wrong, but nothing can be learnt from it, and often it is misspelt."""

    label: str
    path: str
    step: int  # counted from 1

    def __str__(self) -> str:
        return f"label {self.label!r} is used once (path {self.path!r}, step {self.step}): is it spelt as elsewhere?"


@dataclass(frozen=True, slots=True)
class PathGap:
    """Two pages in a row where the first has no link to the second."""

    path: str
    step: int  # number of the second page, counted from 1
    source: Url
    target: Url

    def __str__(self) -> str:
        return f"path {self.path!r}, step {self.step}: {self.source} has no link to {self.target}"


def used_once(paths: Iterable[ShownPath]) -> tuple[LabelUsedOnce, ...]:
    """The labels that occur on one page only, in order of appearance."""
    places: defaultdict[str, list[LabelUsedOnce]] = defaultdict(list)
    for path in paths:
        for number, step in enumerate(path.steps, 1):
            if step.label is not None:
                places[step.label].append(LabelUsedOnce(step.label, path.id, number))
    return tuple(used[0] for used in places.values() if len(used) == 1)


def gaps(paths: Iterable[ShownPath], links_of: Callable[[Url], Collection[Url]]) -> Iterator[PathGap]:
    """Where paths are not connected: the next page is not among `links_of` the page before it."""
    for path in paths:
        for number, (before, step) in enumerate(pairwise(path.steps), 2):
            if step.url not in links_of(before.url):
                yield PathGap(path.id, number, before.url, step.url)


# ---- the file -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LoadedPaths:
    """All paths of a file. At least one of them ends in a goal."""

    paths: tuple[ShownPath, ...]
    concerns: tuple[LabelUsedOnce, ...]  # labels that may be misspelt


class _Step(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    url: str
    anchor: str | None = None
    label: str | None = None


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    path: str
    outcome: str
    steps: list[_Step]


def load_paths(file: Path, rules: UrlRules = RULES) -> LoadedPaths:
    """The paths of a file to learn from. An error if none of them ends in a goal."""
    paths = tuple(read_paths(file, rules))
    if not paths:
        raise ForagerError(f"{file} has no paths: show at least one that ends in a goal")
    if all(path.outcome is PathOutcome.FAIL for path in paths):
        raise ForagerError(f"{file}: none of {len(paths)} paths has the outcome goal: show at least one that arrives")
    return LoadedPaths(paths, used_once(paths))


def read_paths(file: Path, rules: UrlRules = RULES) -> Iterator[ShownPath]:
    """The paths of a file, one at a time."""
    decoder = msgspec.json.Decoder(_Line)
    lines: dict[str, int] = {}
    for number, text in numbered_lines(file):
        try:
            path = _path(decoder.decode(text), rules)
        except msgspec.ValidationError as error:
            raise line_error(
                file, number, f"{error}: a line is {{path, outcome, steps: [{{url, anchor, label}}]}}"
            ) from None
        except msgspec.DecodeError as error:
            raise line_error(file, number, f"not JSON ({error}): each line is one object") from None
        except ForagerError as error:
            raise line_error(file, number, str(error)) from None
        first = lines.setdefault(path.id, number)
        if first != number:
            raise line_error(
                file, number, f"path {path.id!r} is in line {first} already: give each path a name of its own"
            )
        yield path


def write_paths(file: Path, paths: Iterable[ShownPath]) -> None:
    """Write a file that `read_paths` can read."""
    encoder = msgspec.json.Encoder()
    with file.open("wb") as stream:
        for path in paths:
            steps = [_Step(step.url, step.anchor, step.label) for step in path.steps]
            stream.write(encoder.encode(_Line(path.id, path.outcome.value, steps)) + b"\n")


def _path(line: _Line, rules: UrlRules) -> ShownPath:
    if line.outcome not in set(PathOutcome):
        raise ForagerError(f"path {line.path!r} has the outcome {line.outcome!r}: write goal or fail")
    if line.steps and line.steps[-1].label == line.outcome:  # the same said twice is no error
        line.steps[-1].label = None
    steps = []
    for number, step in enumerate(line.steps, 1):
        url = rules.canonical(step.url)
        if url is None:
            raise ForagerError(
                f"path {line.path!r}, step {number}: {step.url!r} is not an http or https URL "
                f"of at most {rules.longest} characters"
            )
        steps.append(PathStep(url, step.anchor, step.label))
    return ShownPath(line.path, tuple(steps), PathOutcome(line.outcome))


# ---- files of lines -------------------------------------------------------------------------------------------------


def line_error(file: Path, line: int, what: str) -> ForagerError:
    """An error that names the file and the line."""
    return ForagerError(f"{file}, line {line}: {what}")


def read_whole(file: Path) -> bytes:
    """All bytes of a file, compressed or not, without a byte order mark."""
    with open_bytes(file) as stream:
        return stream.read().removeprefix(_BOM)


def numbered_lines(file: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file, compressed or not, without blank ones and without line ends. Numbers start at 1."""
    with open_bytes(file) as stream:
        number = 0
        while raw := stream.readline(LONGEST_LINE + 1):
            number += 1
            text = _text(file, number, raw.removeprefix(_BOM) if number == 1 else raw)
            if text and not text.isspace():
                yield number, text


def _text(file: Path, number: int, raw: bytes) -> str:
    if len(raw) > LONGEST_LINE:
        raise line_error(file, number, f"longer than {LONGEST_LINE:,} bytes: is it a file of lines?")
    try:
        return raw.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise line_error(file, number, f"not UTF-8 ({error.reason}): save the file as UTF-8") from None
