"""The tree of topics. Leaves are numbered in the order of the tree, so siblings and cousins are found by arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from forager_lab.webs.procedural.vocabulary import TOPIC_WORDS

NONE = "_none"  # the label of a page that is about nothing


def turn(leaf: int, unit: int, group: int, step: int) -> int:
    """Move a leaf `step` places round in its group of `group` neighbours of `unit` leaves each; -step undoes it."""
    span = unit * group
    place, rest = divmod(leaf % span, unit)
    return leaf - leaf % span + (place + step) % group * unit + rest


@dataclass(frozen=True, slots=True)
class TopicTree:
    """Three levels of topics: tops, middles, leaves."""

    branching: tuple[int, int, int]
    paths: tuple[str, ...]  # "Science.Biology.Birds" of each leaf
    words: tuple[tuple[str, ...], ...]  # of each leaf, its own only
    middle_words: tuple[tuple[str, ...], ...]
    top_words: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.paths)

    def parent(self, leaf: int) -> str:
        return _parent(self.paths[leaf])

    def name(self, leaf: int) -> str:
        return self.paths[leaf].rpartition(".")[2]

    def sibling(self, leaf: int, step: int) -> int:
        """Another leaf of the same parent; step counts from 0. If there is none, any other leaf."""
        few = self.branching[2]
        if few == 1:
            return self.other(leaf, step)
        return turn(leaf, 1, few, 1 + step % (few - 1))

    def cousin(self, leaf: int, step: int) -> int:
        """A leaf of the same grandparent but another parent. If there is none, any other leaf."""
        _, middles, few = self.branching
        if middles == 1:
            return self.other(leaf, step)
        return turn(leaf, few, middles, 1 + step % (middles - 1))

    def other(self, leaf: int, step: int) -> int:
        """Any other leaf."""
        return turn(leaf, 1, len(self), 1 + step % max(1, len(self) - 1))

    def under(self, prefix: str) -> tuple[int, ...]:
        """Leaves whose path starts with the whole parts of `prefix`."""
        return tuple(i for i, path in enumerate(self.paths) if within(path, prefix))


def within(label: str, prefix: str) -> bool:
    """True if the label is the prefix or below it."""
    return label == prefix or label.startswith(prefix + ".")


@lru_cache(maxsize=8)
def topic_tree(branching: tuple[int, int, int]) -> TopicTree:
    """The first branches of the vocabulary, as many at each level as `branching` says."""
    tops = _children("")[: branching[0]]
    middles = min(branching[1], min(len(_children(top)) for top in tops))
    parents = [middle for top in tops for middle in _children(top)[:middles]]
    paths = [leaf for parent in parents for leaf in _children(parent)[: branching[2]]]
    return TopicTree(
        branching=(len(tops), middles, len(paths) // (len(tops) * middles)),
        paths=tuple(paths),
        words=tuple(_words(path) for path in paths),
        middle_words=tuple(_words(_parent(path)) for path in paths),
        top_words=tuple(_words(_parent(_parent(path))) for path in paths),
    )


def _parent(path: str) -> str:
    return path.rpartition(".")[0]


def _children(path: str) -> list[str]:
    return [name for name in TOPIC_WORDS if _parent(name) == path]


def _words(path: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.replace("_", " ") for word in TOPIC_WORDS[path].split()))
