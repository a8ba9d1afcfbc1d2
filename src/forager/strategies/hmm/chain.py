"""The chain of a hidden Markov model over hops to a target: counted from pages whose states are known, with add-one.

    pi(i)      = (1 + paths that begin in i) / (k + paths)
    a(i,j)     = (1 + steps from i to j) / (k + steps from i)
    b(i,c)     = (1 + pages of i in cluster c) / (C + pages of i)

Rows are log-alpha, (1, k), of one page (`forager.learn.chains.rows`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from forager.learn.chains.rows import Reals, log_sum, rescaled
from forager.paths import PageSequences
from forager.types import Ids, Parts


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """Pages with known states, and the steps between them."""

    pages: Ids  # one as often as it counts
    states: Ids  # of each of them
    first: Ids  # the states in which paths begin
    steps: tuple[Ids, Ids]  # the states before and after each step
    count: int  # of states, k

    @classmethod
    def of(cls, sequences: PageSequences, count: int) -> Self:
        begins = np.zeros(len(sequences.states), bool)
        begins[sequences.offsets[:-1]] = True
        after = np.flatnonzero(~begins)
        states = sequences.states
        return cls(sequences.pages, states, states[begins], (states[after - 1], states[after]), count)


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    start: Reals  # (k,) log pi
    step: Reals  # (k, k) log a
    emit: Reals  # (k, C) log b

    @classmethod
    def counted(cls, lesson: Lesson, cluster: Ids, clusters: int) -> Self:
        """`cluster`: of each page of the ground, -1 where it could not be read."""
        seen = cluster[lesson.pages]
        read = seen >= 0
        start = _add_one(np.zeros_like(lesson.first), lesson.first, (1, lesson.count))[0]
        step = _add_one(*lesson.steps, (lesson.count, lesson.count))
        return cls(start, step, _add_one(lesson.states[read], seen[read], (lesson.count, clusters)))

    def forward(self, before: Reals | None, cluster: int) -> Reals:
        """log alpha of a page, (1, k), from that of the page before it on the path; None: it is the first."""
        expected = self.start[None] if before is None else self.ahead(before)
        return rescaled(expected + self.emit[:, cluster], best=False)

    def ahead(self, alpha: Reals) -> Reals:
        """log P of a page of which only the page before it is known, (1, k)."""
        return log_sum(alpha[:, :, None] + self.step, axis=1)

    def parts(self) -> Parts:
        return {"start": self.start, "step": self.step, "emit": self.emit}

    @classmethod
    def from_parts(cls, parts: Parts) -> Self:
        return cls(*(np.asarray(parts[name], np.float64) for name in ("start", "step", "emit")))


def _add_one(rows: Ids, columns: Ids, shape: tuple[int, int]) -> Reals:
    """How often each pair of row and column is given, and once more, as a share of its row; logarithms."""
    counts = np.bincount(rows * shape[1] + columns, minlength=shape[0] * shape[1]).reshape(shape)
    logs: Reals = np.log1p(counts) - np.log(shape[1] + counts.sum(axis=1, keepdims=True))
    return logs
