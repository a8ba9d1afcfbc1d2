"""A recorded web with labels: a folder with `*.warc.gz` and `labels.tsv`; it may have `aliases.tsv` and `seeds.tsv`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from xxhash import xxh3_64_hexdigest

from forager.errors import ForagerError, unknown
from forager.fetch.replay import Replay, open_recording, read_table
from forager.learn.focus import below
from forager.types import Url
from forager.web.urls import RULES, UrlRules

LABEL_COLUMNS = ("label", "subjects")
UNLABELLED = ("", "_none")


@dataclass(frozen=True, slots=True)
class Truth:
    """What people say about the topic of each page. Labels are dotted paths; a page may have several or none."""

    labels: Mapping[Url, tuple[str, ...]]  # every page of the web, in a fixed order

    def topics(self) -> dict[str, int]:
        """Every label and every path above it, with the number of pages, in the order of the names."""
        pages: dict[str, int] = {}
        for labels in self.labels.values():
            paths = {path for label in labels for path in _and_above(label)}
            for path in paths:
                pages[path] = pages.get(path, 0) + 1
        return dict(sorted(pages.items()))

    def relevant(self, topic: str) -> list[Url]:
        """The pages of a topic, in the order of the labels."""
        pages = [url for url, labels in self.labels.items() if _on(labels, topic)]
        if not pages:
            raise unknown("topic", topic, self.topics())
        return pages


def _on(labels: Collection[str], topic: str) -> bool:
    return any(below(label, topic) for label in labels)


def _and_above(label: str) -> list[str]:
    parts = label.split(".")
    return [".".join(parts[: n + 1]) for n in range(len(parts))]


class LabelledWeb:
    """The pages of a recorded web, with their labels."""

    def __init__(self, folder: Path, rules: UrlRules = RULES) -> None:
        if not folder.is_dir():
            raise ForagerError(f"{folder}: there is no such folder; a web is a folder with *.warc.gz and labels.tsv")
        if not (folder / "labels.tsv").exists():
            raise ForagerError(
                f"{folder}: no labels.tsv; without labels (columns url, label) a crawl cannot be measured"
            )
        self.folder, self._rules = folder, rules
        recording = open_recording(folder, rules)
        self.fetcher: Replay = recording.fetcher
        self._losses = list(recording.losses)
        self._columns, self._rows = self._labelled_rows()
        self.truth = Truth(self._labels())

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    @property
    def losses(self) -> list[str]:
        """What could not be used, one line for each sort."""
        return self._losses

    @cached_property
    def fingerprint(self) -> str:
        """Changes when a WARC file changes."""
        files = sorted(self.folder.glob("*.warc*"))
        stamp = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
        return f"{self.name}-{xxh3_64_hexdigest(repr(stamp).encode())}"

    def final(self, url: Url) -> Url:
        """The URL that redirects lead to; without redirects, the URL itself."""
        return self.fetcher.aliases.get(url, url)

    def groups(self, column: str) -> Mapping[Url, str]:
        """What a column of labels.tsv says about each page."""
        at = self._column(column)
        return {url: row[at] for url, row in self._rows.items()}

    def seeds(self, group: str) -> list[Url]:
        """The seeds of a group, by seeds.tsv."""
        return self._seeds.get(group, [])

    @cached_property
    def _seeds(self) -> dict[str, list[Url]]:
        file = self.folder / "seeds.tsv"
        if not file.exists():
            raise ForagerError(f"{self.folder}: no seeds.tsv: make one with the columns url and group")
        seeds: dict[str, list[Url]] = {}
        for text, group, *_ in read_table(file, 2)[1]:
            url = self._rules.canonical(text)
            if url is not None:
                seeds.setdefault(group, []).append(url)
        return seeds

    def _column(self, name: str) -> int:
        if name not in self._columns:
            raise unknown(f"column of {self.folder / 'labels.tsv'}", name, self._columns)
        return self._columns.index(name)

    def _labelled_rows(self) -> tuple[list[str], dict[Url, list[str]]]:
        """The columns of labels.tsv, and its rows whose page was recorded, by URL."""
        file = self.folder / "labels.tsv"
        columns, lines = read_table(file, 2)
        rows: dict[Url, list[str]] = {}
        missing = foreign = 0
        for line in lines:
            url = self._rules.canonical(line[0])
            if url is None:
                foreign += 1
            elif url in rows:
                raise ForagerError(f"{file}: {line[0]} and {rows[url][0]} are the same URL, {url}; keep one of them")
            elif url not in self.fetcher.places:
                missing += 1
            else:
                rows[url] = line
        for count, why in ((foreign, "their URL is not http or https"), (missing, "their page is not recorded")):
            if count:
                self._losses.append(f"{count} labels left out: {why}")
        return columns, rows

    def _labels(self) -> dict[Url, tuple[str, ...]]:
        column = next((name for name in LABEL_COLUMNS if name in self._columns), None)
        if column is None:
            wanted, found = " or ".join(LABEL_COLUMNS), ", ".join(self._columns)
            raise ForagerError(f"{self.folder / 'labels.tsv'}: no column named {wanted} among {found}")
        at = self._column(column)
        labels = {
            url: tuple(label for label in row[at].split(",") if label not in UNLABELLED)
            for url, row in self._rows.items()
        }
        return _without_root(labels)


def _without_root(labels: dict[Url, tuple[str, ...]]) -> dict[Url, tuple[str, ...]]:
    """Drop the first part of the labels if all share it, because it distinguishes nothing."""
    roots = {label.partition(".")[0] for given in labels.values() for label in given}
    dotted = all("." in label for given in labels.values() for label in given)
    if len(roots) != 1 or not dotted:
        return labels
    return {url: tuple(label.partition(".")[2] for label in given) for url, given in labels.items()}
