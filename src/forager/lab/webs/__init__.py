"""Webs with the truth about them: what the laboratory crawls."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from forager.errors import unknown
from forager.topic import below
from forager.types import Fetcher, Url


@dataclass(frozen=True, slots=True)
class Truth:
    """What people say each page is about: labels are dotted paths, a page may have several or none."""

    labels: Mapping[Url, tuple[str, ...]]  # every page of the web, in a fixed order

    def topics(self) -> dict[str, int]:
        """Every label and every path above one, with its number of pages, in order of name."""
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


class Web(Protocol):
    """A web one can crawl, of which the truth is known."""

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str:
        """Changes when the web does; names its cache."""

    @property
    def fetcher(self) -> Fetcher: ...
    @property
    def truth(self) -> Truth: ...
    @property
    def losses(self) -> Sequence[str]:
        """What could not be used, a line each."""

    def final(self, url: Url) -> Url:
        """Where a URL leads in the end."""

    def groups(self, column: str) -> Mapping[Url, str]:
        """The value of another column of the labels for each page."""

    def seeds(self, group: str) -> list[Url]:
        """The pages from which a group is to be crawled."""
