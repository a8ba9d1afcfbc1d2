"""Rows in a file come back as they were put in, few or many, written or not yet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forager.frontier import spool
from forager.frontier.edges import Edges
from forager.frontier.spool import Spool
from forager.types import Ragged, ScoredLinks


@given(st.lists(st.lists(st.integers(0, 2**32 - 1), max_size=9), max_size=30), st.integers(0, 40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_come_back(tmp_path: Path, rows: list[list[int]], tail: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spool, "TAIL", tail)
        patch.setattr(spool, "FEW", 4)  # so that both ways are gone
        file = Spool(tmp_path)
        ends = np.cumsum([0, *map(len, rows)])
        for row in rows:
            file.extend(np.array(row, np.uint32))
        assert len(file) == ends[-1]
        for chosen in (np.arange(len(rows))[::-1], np.arange(min(3, len(rows)))):
            got = file.take(ends[chosen], ends[chosen + 1] - ends[chosen])
            assert [got[i].tolist() for i in range(len(got))] == [rows[i] for i in chosen]


def test_edges_give_the_same_clues_from_a_file_as_from_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    on_disk, in_memory = Edges(tmp_path), Edges()
    for source in range(300):
        clues = Ragged.of([rng.integers(0, 99, rng.integers(0, 9)).astype(np.uint32) for _ in range(4)])
        scored = ScoredLinks(np.zeros(4, np.float32), clues=clues)
        for edges in (on_disk, in_memory):
            edges.append(source, np.arange(4, dtype=np.int32), scored)
    for rows in (np.array([3, 0, 3], np.int32), rng.permutation(1200).astype(np.int32)):
        one, other = on_disk.clues(rows), in_memory.clues(rows)
        assert one.values.tolist() == other.values.tolist()
        assert one.offsets.tolist() == other.offsets.tolist()
    assert not list(tmp_path.iterdir())
