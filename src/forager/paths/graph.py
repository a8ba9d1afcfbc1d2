"""The links of a web as two arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forager.types import Ids, Mask, stretches


@dataclass(frozen=True, slots=True, eq=False)
class LinkGraph:
    """Page u links to the pages `targets[offsets[u]:offsets[u + 1]]`, each once."""

    offsets: NDArray[np.int64]  # (n + 1,)
    targets: Ids  # (links,)

    def __post_init__(self) -> None:
        if self.offsets[0] != 0 or self.offsets[-1] != len(self.targets) or (np.diff(self.offsets) < 0).any():
            raise ValueError("offsets must rise from 0 to the number of targets")
        if len(self.targets) and not (self.targets.min() >= 0 and self.targets.max() < len(self)):
            raise ValueError(f"targets must be pages 0..{len(self) - 1}")

    @classmethod
    def of(cls, pages: int, sources: NDArray[np.integer[Any]], targets: NDArray[np.integer[Any]]) -> LinkGraph:
        """The graph of these edges. They may come in any order, and more than once."""
        if len(sources) and not (min(sources.min(), targets.min()) >= 0 and max(sources.max(), targets.max()) < pages):
            raise ValueError(f"edges must join pages 0..{pages - 1}")
        pairs = np.unique(sources.astype(np.int64) * pages + targets)
        degree = np.bincount(pairs // max(pages, 1), minlength=pages)
        return cls(np.concatenate(([0], np.cumsum(degree))), (pairs % max(pages, 1)).astype(np.int32))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sources(self) -> Ids:
        """The page that each link is on."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.offsets))

    def children(self, pages: Ids) -> tuple[Ids, Ids]:
        """All links of these pages: for each link the position of its page in `pages`, ascending, and its target."""
        starts = self.offsets[pages]
        degree = self.offsets[pages + 1] - starts
        rows = np.repeat(np.arange(len(pages), dtype=np.int32), degree)
        return rows, self.targets[stretches(starts, degree)]

    def without(self, left_out: Mask) -> LinkGraph:
        """The same pages, without the links on or to the pages left out."""
        sources = self.sources
        kept = ~(left_out[sources] | left_out[self.targets])
        degree = np.bincount(sources[kept], minlength=len(self))
        return LinkGraph(np.concatenate(([0], np.cumsum(degree))), self.targets[kept])
