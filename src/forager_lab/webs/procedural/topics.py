"""The topic tree: leaves numbered in tree order, so that kin is arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from forager_lab.webs.procedural.vocabulary import TREE

NONE = "_none"  # the label of a page that is about nothing


def turn(leaf: int, unit: int, group: int, step: int) -> int:
    """Move a leaf `step` places round in its group of `group` neighbours of `unit` leaves each; -step undoes it."""
    span = unit * group
    place, rest = divmod(leaf % span, unit)
    return leaf - leaf % span + (place + step) % group * unit + rest


@dataclass(frozen=True, slots=True)
class Topics:
    branching: tuple[int, int, int]
    paths: tuple[str, ...]  # "Science.Biology.Birds" of each leaf
    words: tuple[tuple[str, ...], ...]  # of each leaf, its own only
    middle_words: tuple[tuple[str, ...], ...]
    top_words: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.paths)

    def parent(self, leaf: int) -> str:
        return self.paths[leaf].rpartition(".")[0]

    def name(self, leaf: int) -> str:
        return self.paths[leaf].rpartition(".")[2]

    def sibling(self, leaf: int, step: int) -> int:
        """Another leaf of the same parent; step counts from 0. Where there is none, any other leaf."""
        few = self.branching[2]
        if few == 1:
            return self.other(leaf, step)
        return turn(leaf, 1, few, 1 + step % (few - 1))

    def cousin(self, leaf: int, step: int) -> int:
        """A leaf of the same grandparent but another parent. Where there is none, any other leaf."""
        _, middles, few = self.branching
        if middles == 1:
            return self.other(leaf, step)
        return turn(leaf, few, middles, 1 + step % (middles - 1))

    def other(self, leaf: int, step: int) -> int:
        return turn(leaf, 1, len(self), 1 + step % max(1, len(self) - 1))

    def under(self, prefix: str) -> tuple[int, ...]:
        """Leaves whose path starts with the whole parts of `prefix`."""
        return tuple(i for i, path in enumerate(self.paths) if within(path, prefix))


def within(label: str, prefix: str) -> bool:
    return label == prefix or label.startswith(prefix + ".")


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.replace("_", " ") for word in text.split()))


@lru_cache(maxsize=8)
def topic_tree(branching: tuple[int, int, int]) -> Topics:
    """The first so many branches of the vocabulary at each level."""
    paths, words, middle_words, top_words = [], [], [], []
    tops = list(TREE.items())[: branching[0]]
    middles = min(branching[1], min(len(children) for _, (_, children) in tops))
    for top, (of_top, children) in tops:
        for middle, (of_middle, leaves) in list(children.items())[:middles]:
            for leaf, of_leaf in list(leaves.items())[: branching[2]]:
                paths.append(f"{top}.{middle}.{leaf}")
                words.append(_words(of_leaf))
                middle_words.append(_words(of_middle))
                top_words.append(_words(of_top))
    shape = (len(tops), middles, len(paths) // (len(tops) * middles))
    return Topics(shape, tuple(paths), tuple(words), tuple(middle_words), tuple(top_words))
