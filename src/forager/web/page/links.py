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
        first, last, leaves = self.first_leaf.tolist(), self.last_leaf.tolist(), self._leaves
        anchors = [leaves[at] for at in first]
        together = "".join(anchors)
        plain = together.isprintable() and "  " not in together and max(map(len, anchors), default=0) <= LONGEST
        others = [row for row, at in enumerate(first) if not plain or last[row] != at]  # on most pages there are few
        for row in others:
            anchors[row] = _anchor(leaves, first[row], last[row])
        return tuple(anchors)

    def take(self, rows: Sequence[int]) -> Links:
        if "anchors" in self.__dict__:  # made, or given to a copy with other columns
            return super().take(rows)
        at = np.asarray(rows, np.intp)
        targets = tuple([self.targets[i] for i in rows])
        paths, rels = tuple([self.tag_paths[i] for i in rows]), tuple([self.rels[i] for i in rows])
        return self.of(self._leaves, targets, self.first_leaf[at], self.last_leaf[at], paths, rels)


def _anchor(leaves: Sequence[str], first: int, last: int) -> str:
    return " ".join(" ".join(leaves[first : min(last, first + _LEAVES) + 1])[:LONGEST].split())
