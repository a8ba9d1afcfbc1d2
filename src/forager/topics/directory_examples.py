"""Examples out of a directory of topics: pruned to classes of enough pages, and of each class about as many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from forager.config import TopicConfig
from forager.errors import ForagerError
from forager.learn.focus import below
from forager.topics.directory import Directory, Pruned, balanced, prune
from forager.topics.examples import Example
from forager.types import Url


def from_directory(topic: TopicConfig, base: Path, seed: int = 0) -> Iterator[Example]:
    """About k listings of every class of the topic's directory; those at or below the wanted paths are the focus, and
    all others are what it is told from. Nothing if the topic has no directory."""
    if topic.directory is None:
        return
    if not topic.paths:
        raise ForagerError('a directory, but no category of it is wanted: name some, e.g. paths = ["Science.Biology"]')
    with Directory(base / topic.directory) as directory:
        for path in topic.paths:
            if not directory.counted(path).total:
                raise ForagerError(f"{path} has no pages in {topic.directory}: choose a category that has some")
        counts = dict(directory.counts())
        pruned = with_wanted(prune(counts, topic.k), counts, topic.paths)
        for name, listing in balanced(directory.listings(), pruned, topic.k, seed):
            yield Example(Url(listing.url), name, listing.title, listing.description)


def with_wanted(pruned: Pruned, counts: Mapping[str, int], wanted: Sequence[str]) -> Pruned:
    """The same classes, but a wanted category is one however few its pages are: it must not go up into its parent."""
    leaf_of = dict(pruned.leaf_of)
    for name, leaf in pruned.leaf_of.items():
        path = next((path for path in wanted if below(name, path)), None)
        if path is not None and not below(leaf, path):
            leaf_of[name] = path
    sizes: Counter[str] = Counter()
    for name, count in counts.items():
        sizes[leaf_of[name]] += count
    return Pruned(leaf_of, {name: size for name, size in sorted(sizes.items()) if size})
