"""Links with both ends judged that wait to be learnt from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from forager.types import Evidence, Parts, Ragged

ROOM = 1 << 22  # features that may wait: 16 MB


class Instances:
    def __init__(self, waiting: Sequence[Evidence] = ()) -> None:
        self._waiting = [each for each in waiting if len(each.clues)]
        self._features = sum(len(each.clues.values) for each in self._waiting)

    def add(self, evidence: Evidence) -> None:
        if len(evidence.clues):
            self._waiting.append(evidence)
            self._features += len(evidence.clues.values)

    @property
    def full(self) -> bool:
        return self._features > ROOM

    def all(self) -> Evidence:
        nothing = np.empty(0, np.float32)
        return Evidence(
            Ragged.concat([each.clues for each in self._waiting]),
            np.concatenate([nothing, *(each.relevance for each in self._waiting)]),
            np.concatenate([nothing, *(each.source_relevance for each in self._waiting)]),
        )

    def parts(self) -> Parts:
        waiting = self.all()
        return {
            "waiting_features": waiting.clues.values,
            "waiting_offsets": waiting.clues.offsets,
            "waiting_relevance": waiting.relevance,
            "waiting_source_relevance": waiting.source_relevance,
        }

    @classmethod
    def of_parts(cls, *parts: Parts) -> Self:
        """What waits in all of them together."""
        return cls([_evidence(each) for each in parts])


def most_surprising(evidence: Evidence, share: float) -> Evidence:
    """That share of the instances with the largest |Pr(c*|u) - Pr(c*|v)|, in the order they came."""
    if share == 1:
        return evidence
    surprise = np.abs(evidence.source_relevance - evidence.relevance)
    rows = np.sort(np.argsort(-surprise, kind="stable")[: int(np.ceil(share * len(surprise)))])
    return Evidence(evidence.clues.take(rows), evidence.relevance[rows], evidence.source_relevance[rows])


def _evidence(parts: Parts) -> Evidence:
    clues = Ragged(np.asarray(parts["waiting_features"]), np.asarray(parts["waiting_offsets"]))
    return Evidence(clues, np.asarray(parts["waiting_relevance"]), np.asarray(parts["waiting_source_relevance"]))
