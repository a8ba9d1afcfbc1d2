"""From a directory with hundreds of thousands of categories to classes with enough examples each.

    n(v)     the examples at v itself
    while a leaf v has n(v) < k:  n(parent of v) += n(v), delete v
    the own examples of a v that still has children go to one more leaf, v.Other
    of each class at most k examples are used

Whatever the order, the result is the same: a category goes if and only if all below it has gone and what has come
together in it is fewer than k. So one pass from the deepest category upwards does it. The root is never deleted. An
"Other" leaf may have fewer than k examples. If a category is itself named Other and remains, it takes in what goes to
its parent's Other leaf, or to its own Other leaf if it has children.
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
class Pruned:
    leaf_of: Mapping[str, str]  # the class of each category, also of those that were only implied
    sizes: Mapping[str, int]  # examples of each class, by name


def prune(counts: Mapping[str, int], k: int, root: str = ROOT) -> Pruned:
    """Classes of about k examples or more, from the number of examples at each category below the root."""
    if k < 1:
        raise ForagerError(f"k is the least number of examples of a class and must be at least 1, not {k}")
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
    return Pruned(leaf_of, dict(sorted(sizes.items())))


def _with_ancestors(counts: Mapping[str, int], root: str) -> dict[str, int]:
    own = {root: 0, **counts}
    for name in counts:
        if root != ROOT and not below(name, root):
            raise ForagerError(f"{name} is not below {root}: prune what is below one category")
        above = name
        while above != root and (above := parent(above)) not in own:
            own[above] = 0
    return own


def _class(name: str, children: Mapping[str, int]) -> str:
    """The class of a remaining category's own examples: itself if it is a leaf, else its Other leaf."""
    while not name or children[name]:
        name = f"{name}.{OTHER}" if name else OTHER
    return name


def balanced(listings: Iterable[Listing], pruned: Pruned, k: int, seed: int = 0) -> Iterator[tuple[str, Listing]]:
    """At most k listings of each class, each with its class: a random sample without replacement, in one pass.

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
