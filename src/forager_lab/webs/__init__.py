"""Webs with the truth about them: what the laboratory crawls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from forager.teaching.labelled_web import Truth
from forager.types import Fetcher, Url


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
