"""From a directory with hundreds of thousands of categories to classes with enough examples each.

    n(v)     the examples at v itself
    while a leaf v has n(v) < k:  n(parent of v) += n(v), delete v
    the own examples of a v that still has children go to one more leaf, v.Other
    of each class at most k examples are used

The order does not change the result: a category is deleted if and only if all categories below it are deleted and the
examples gathered in it are fewer than k. So one pass from the deepest category upwards is enough. The root is never
deleted. An "Other" leaf may have fewer than k examples. If a category is itself named Other and remains, it also gets
the examples of its parent's Other leaf, or of its own Other leaf if it has children.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from random import Random

from forager.errors import ForagerError
from forager.learn.focus import below
from forager.topics.directory.listing import ROOT, Listing, parent

OTHER = "Other"


@dataclass(frozen=True, slots=True)
class PrunedClasses:
    """The classes that a directory was pruned to."""

    leaf_of: Mapping[str, str]  # the class of each category, also of those without listings of their own
    sizes: Mapping[str, int]  # examples of each class, by name


def prune(counts: Mapping[str, int], k: int, root: str = ROOT) -> PrunedClasses:
    """Classes with k examples or more, from the number of examples of each category below the root."""
    if k < 1:
        raise ForagerError(f"k is {k}, but a class must have at least 1 example: give a larger k")
    own = _with_ancestors(counts, root)
    upwards = sorted(own, key=lambda name: name.count(".") if name else -1, reverse=True)
    children: Counter[str] = Counter()  # that remain
    gone: set[str] = set()
    for name in upwards[:-1]:
        if own[name] < k and not children[name]:
            own[parent(name)] += own[name]
            gone.add(name)
        else:
            children[parent(name)] += 1
    leaf_of: dict[str, str] = {}
    for name in reversed(upwards):
        leaf_of[name] = leaf_of[parent(name)] if name in gone else _class(name, children)
    sizes: Counter[str] = Counter()
    for name, count in own.items():
        if name not in gone and count:
            sizes[leaf_of[name]] += count
    return PrunedClasses(leaf_of, dict(sorted(sizes.items())))


def _with_ancestors(counts: Mapping[str, int], root: str) -> dict[str, int]:
    own = {root: 0, **counts}
    for name in counts:
        if root != ROOT and not below(name, root):
            raise ForagerError(f"{name} is not below {root}: prune only categories below one root")
        above = name
        while above != root and (above := parent(above)) not in own:
            own[above] = 0
    return own


def _class(name: str, children: Mapping[str, int]) -> str:
    """The class of the own examples of a remaining category: itself if it is a leaf, else its Other leaf."""
    while not name or children[name]:
        name = f"{name}.{OTHER}" if name else OTHER
    return name


def balanced(
    listings: Iterable[Listing], pruned: PrunedClasses, k: int, seed: int = 0
) -> Iterator[tuple[str, Listing]]:
    """At most k listings of each class, with the name of the class: a random sample without replacement, in one pass.

    A listing is taken with the probability wanted / left of its class; `listings` are those that were counted.
    """
    chance = Random(seed)
    left = dict(pruned.sizes)
    wanted = dict.fromkeys(left, k)  # of a smaller class all are taken, because then wanted / left > 1
    for listing in listings:
        name = pruned.leaf_of[listing.category]
        if chance.random() * left[name] < wanted[name]:
            wanted[name] -= 1
            yield name, listing
        left[name] -= 1
