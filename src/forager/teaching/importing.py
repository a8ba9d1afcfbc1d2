"""Paths from elsewhere: what a file is, names that are taken, anchors that are missing, and what is odd."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import pairwise
from pathlib import Path

from forager.errors import ForagerError
from forager.fetch.replay import Replay, read_table
from forager.files import open_bytes
from forager.paths import (
    LabelUsedOnce,
    PathGap,
    PathOutcome,
    PathStep,
    ShownPath,
    articles,
    gaps,
    numbered_lines,
    read_har,
    read_paths,
    read_wikispeedia,
    used_once,
    write_paths,
)
from forager.teaching.notebook import PATHS
from forager.teaching.training_webs import reading_of, recording
from forager.types import Url
from forager.web.urls import RULES, UrlRules

_LABELS = "labels.tsv"
_GAME = (5, 6)  # columns of Wikispeedia's files
_BEGINNING = 4096  # bytes


@dataclass(frozen=True)
class Imported:
    """Paths of several files as one set, and what was seen on the way."""

    paths: tuple[ShownPath, ...]
    renamed: Mapping[str, str]  # names that were taken: the new one, and what it was
    doubles: int  # paths left out, because the same is there under the same name
    filled: int  # anchors found on the recorded pages
    unchecked: int  # steps from pages that are not at hand
    gaps: tuple[PathGap, ...]
    used_once: tuple[LabelUsedOnce, ...]
    unmet: tuple[Url, ...]  # goals that no path ends in

    @property
    def goals(self) -> int:
        return sum(path.outcome is PathOutcome.GOAL for path in self.paths)

    @property
    def labels(self) -> Counter[str]:
        """How many pages of the paths have each label."""
        return Counter(step.label for path in self.paths for step in path.steps if step.label is not None)


def import_paths(
    files: Sequence[Path], *, goals: Sequence[str] = (), web: Path | None = None, rules: UrlRules = RULES
) -> Imported:
    """The paths of HAR files, Wikispeedia's files, files of our own, and folders of `forager teach record`.

    `goals` are the URLs that a path in a HAR file is to end in. `web` is a folder of recorded pages; anchors that are
    missing come from there, and from the folders among `files`.
    """
    wanted = [_goal(goal, rules) for goal in goals]
    kinds = [(file, _kind(file)) for file in files]
    if wanted and not any(kind is _Kind.HAR for _, kind in kinds):
        raise ForagerError("goals are for HAR files, and none of the files is one: leave the goals out")
    pages = articles(_urls(web, rules)) if any(kind is _Kind.GAMES for _, kind in kinds) else {}
    names = _Names()
    for file, kind in kinds:
        for path in _paths(file, kind, wanted, pages, rules):
            names.add(path)
    if not names.paths:
        raise ForagerError(f"no paths in {', '.join(map(str, files))}: there is nothing to import")
    way = _Way(names.paths, _replay(web, [file for file, kind in kinds if kind is _Kind.FOLDER], rules), rules)
    ends = {path.steps[-1].url for path in names.paths}
    return Imported(
        way.paths,
        names.renamed,
        names.doubles,
        way.filled,
        way.unchecked,
        way.gaps,
        used_once(names.paths),
        tuple(goal for goal in wanted if goal not in ends),
    )


def save_paths(out: Path, paths: Iterable[ShownPath], files: Sequence[Path] = ()) -> None:
    """Write a file of paths. One that is there is replaced only if it is among the files that the paths are from."""
    if out.exists() and not any(out.samefile(file / PATHS if file.is_dir() else file) for file in files):
        raise ForagerError(f"{out} is there already: name it among the files to add to it, or remove it")
    new = out.with_name(out.name + ".new")
    try:
        write_paths(new, paths)
        new.replace(out)
    except OSError as error:
        raise ForagerError(f"{out} cannot be written: {error.strerror}") from None


# ---- files ----------------------------------------------------------------------------------------------------------


class _Kind(Enum):
    HAR = auto()
    GAMES = auto()
    OWN = auto()
    FOLDER = auto()


def _kind(file: Path) -> _Kind:
    """By what is in it: names of files are as people like them."""
    if file.is_dir():
        if not (file / PATHS).is_file():
            raise ForagerError(f"{file} has no {PATHS}: name a file, or a folder made by `forager teach record`")
        return _Kind.FOLDER
    with open_bytes(file) as stream:
        beginning = stream.read(_BEGINNING).removeprefix(b"\xef\xbb\xbf").lstrip()
    if beginning.startswith(b"{"):
        is_har = beginning[1:].lstrip().startswith(b'"log"') or ".har" in file.suffixes
        return _Kind.HAR if is_har else _Kind.OWN
    if not beginning:
        raise ForagerError(f"{file} is empty: it has no paths")
    if b"\0" not in beginning:
        first = next((text for _, text in numbered_lines(file) if not text.startswith("#")), "")
        if len(first.split("\t")) in _GAME:
            return _Kind.GAMES
    raise ForagerError(
        f"{file} is no file of paths that is known: neither HAR, nor Wikispeedia's, nor JSON lines with path, outcome, "
        "steps"
    )


def _paths(
    file: Path, kind: _Kind, goals: Sequence[Url], pages: Mapping[str, Url], rules: UrlRules
) -> Iterable[ShownPath]:
    if kind is _Kind.HAR:
        return read_har(file, goals, rules)
    if kind is _Kind.GAMES:
        return read_wikispeedia(file, pages)
    return read_paths(file / PATHS if kind is _Kind.FOLDER else file, rules)


def _goal(goal: str, rules: UrlRules) -> Url:
    url = rules.canonical(goal)
    if url is None:
        raise ForagerError(f"goal {goal!r} is not an http or https URL of at most {rules.longest} characters")
    return url


def _urls(web: Path | None, rules: UrlRules) -> Iterator[Url]:
    """The pages of the web whose articles were played with."""
    if web is None:
        raise ForagerError("Wikispeedia's files name articles, not URLs: give the recorded web with --web FOLDER")
    if not (web / _LABELS).exists():
        return iter(recording(web, rules).places)
    rows = read_table(web / _LABELS, 1)[1]
    return (url for row in rows if (url := rules.canonical(row[0])) is not None)


class _Names:
    """Paths of several files under names of their own."""

    def __init__(self) -> None:
        self._named: dict[str, ShownPath] = {}
        self.renamed: dict[str, str] = {}
        self.doubles = 0

    @property
    def paths(self) -> tuple[ShownPath, ...]:
        return tuple(self._named.values())

    def add(self, path: ShownPath) -> None:
        name, number = path.id, 1
        while name in self._named:
            both = _merged(self._named[name], path)
            if both is not None:
                self._named[name] = both
                self.doubles += 1
                return
            number += 1
            name = f"{path.id}~{number}"
        if number > 1:
            self.renamed[name] = path.id
        self._named[name] = replace(path, id=name)


def _merged(one: ShownPath, other: ShownPath) -> ShownPath | None:
    """Two records of one path as one, with what either says of it; None if they are of two, or contradict."""
    pairs = list(zip(one.steps, other.steps, strict=False))
    if one.outcome is not other.outcome or len(one.steps) != len(other.steps):
        return None
    if any(a.url != b.url or (a.label and b.label and a.label != b.label) for a, b in pairs):
        return None
    steps = (PathStep(a.url, b.anchor if a.anchor is None else a.anchor, a.label or b.label) for a, b in pairs)
    return replace(one, steps=tuple(steps))


# ---- pages ----------------------------------------------------------------------------------------------------------


def _replay(web: Path | None, folders: Iterable[Path], rules: UrlRules) -> Replay | None:
    """The recorded pages of all folders that have any. A web of which there are only labels has none."""
    found = [recording(folder, rules) for folder in folders if any(folder.glob("*.warc*"))]
    if web is not None and (any(web.glob("*.warc*")) or (web / "warc").is_dir() or not (web / _LABELS).exists()):
        found.append(recording(web, rules))
    if not found:
        return None
    places = {url: place for replay in found for url, place in replay.places.items()}
    aliases = {url: page for replay in found for url, page in replay.aliases.items()}
    return Replay(places, aliases, rules)


class _Way:
    """The steps of paths held against the links of their pages, each page read once."""

    def __init__(self, paths: Sequence[ShownPath], replay: Replay | None, rules: UrlRules) -> None:
        self._final = (lambda url: replay.aliases.get(url, url)) if replay else (lambda url: url)
        self._wanted: defaultdict[Url, dict[Url, None]] = defaultdict(dict)  # by page, where steps go from there
        for path in paths:
            for before, step in pairwise(path.steps):
                self._wanted[before.url][step.url] = None
        self._anchors = dict(self._read(replay, rules)) if replay else {}
        self.gaps = tuple(gaps(paths, lambda url: self._anchors.get(url, self._wanted[url])))
        steps = [pair for path in paths for pair in pairwise(path.steps)]
        self.unchecked = sum(before.url not in self._anchors for before, _ in steps)
        self.filled = sum(step.anchor is None and self._anchor(before, step) is not None for before, step in steps)
        self.paths = tuple(map(self._with_anchors, paths))

    def _read(self, replay: Replay, rules: UrlRules) -> Iterator[tuple[Url, dict[Url, str]]]:
        """Of each page at hand, the steps that are links of it, with the first anchor that says anything."""
        for url, page in zip(self._wanted, reading_of(replay, rules)(list(self._wanted)), strict=True):
            if page is None:
                continue
            found: dict[Url, str] = {}
            for target, anchor in zip(page.links.targets, page.links.anchors, strict=True):
                end = self._final(target)
                found[end] = found.get(end) or anchor
            yield url, {step: found[self._final(step)] for step in self._wanted[url] if self._final(step) in found}

    def _anchor(self, before: PathStep, step: PathStep) -> str | None:
        return step.anchor if step.anchor is not None else self._anchors.get(before.url, {}).get(step.url)

    def _with_anchors(self, path: ShownPath) -> ShownPath:
        later = (replace(step, anchor=self._anchor(before, step)) for before, step in pairwise(path.steps))
        return replace(path, steps=(path.steps[0], *later))
