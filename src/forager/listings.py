"""Examples out of a directory of topics."""

from collections.abc import Iterator
from pathlib import Path

from forager.config import TopicConfig
from forager.lessons import Example
from forager.urls import UrlRules


def from_directory(topic: TopicConfig, base: Path, rules: UrlRules) -> Iterator[Example]:
    yield from ()
