"""The links of a parsed page. Their anchors are made when somebody asks: many strategies never look at one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Self

import numpy as np

from forager.types import Ids, Links, Url

LONGEST = 1000  # characters of an anchor
_LEAVES = 200  # of an anchor that are read, and one


class ParsedLinks(Links):
    _leaves: tuple[str, ...]  # of the page

    @classmethod
    def of(
        cls,
        leaves: tuple[str, ...],
        targets: tuple[Url, ...],
        first_leaf: Ids,
        last_leaf: Ids,
        tag_paths: tuple[str, ...],
        rels: tuple[str, ...],
    ) -> Self:
        links = cls.__new__(cls)
        given = {"targets": targets, "first_leaf": first_leaf, "last_leaf": last_leaf, "tag_paths": tag_paths}
        for name, value in {**given, "rels": rels, "_leaves": leaves}.items():
            object.__setattr__(links, name, value)  # frozen
        return links

    @cached_property
    def anchors(self) -> tuple[str, ...]:
        spans = zip(self.first_leaf.tolist(), self.last_leaf.tolist(), strict=True)
        return tuple([_anchor(self._leaves, first, last) for first, last in spans])

    def take(self, rows: Sequence[int]) -> Links:
        if "anchors" in self.__dict__:  # made, or given to a copy with other columns
            return super().take(rows)
        at = np.asarray(rows, np.intp)
        targets = tuple([self.targets[i] for i in rows])
        paths, rels = tuple([self.tag_paths[i] for i in rows]), tuple([self.rels[i] for i in rows])
        return self.of(self._leaves, targets, self.first_leaf[at], self.last_leaf[at], paths, rels)


def _anchor(leaves: Sequence[str], first: int, last: int) -> str:
    if first == last:
        leaf = leaves[first]
        if len(leaf) <= LONGEST and leaf.isprintable() and "  " not in leaf:  # as of most
            return leaf.strip()
        return " ".join(leaf[:LONGEST].split())
    return " ".join(" ".join(leaves[first : min(last, first + _LEAVES) + 1])[:LONGEST].split())
