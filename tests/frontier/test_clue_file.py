"""Rows in a file come back as they were put in, few or many, also before they are written."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forager.frontier import edges
from forager.frontier.edges import ClueFile, Edges
from forager.types import Ragged, ScoredLinks


@given(st.lists(st.lists(st.integers(0, 2**32 - 1), max_size=9), max_size=30), st.integers(0, 40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_come_back(tmp_path: Path, rows: list[list[int]], tail: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edges, "TAIL", tail)
        patch.setattr(edges, "FEW", 4)  # so that rows are read in both ways
        file = ClueFile(tmp_path)
        ends = np.cumsum([0, *map(len, rows)])
        for row in rows:
            file.extend(np.array(row, np.uint32))
        assert len(file) == ends[-1]
        for chosen in (np.arange(len(rows))[::-1], np.arange(min(3, len(rows)))):
            got = file.take(ends[chosen], ends[chosen + 1] - ends[chosen])
            assert [got[i].tolist() for i in range(len(got))] == [rows[i] for i in chosen]


@pytest.mark.parametrize("few", [10_000, 0])
def test_rows_come_back_when_the_map_has_slid_past_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    page = mmap.ALLOCATIONGRANULARITY // 4
    for name, value in {"TAIL": 500, "WINDOW": 3 * page, "AHEAD": page, "FEW": few}.items():
        monkeypatch.setattr(edges, name, value)
    rng = np.random.default_rng(1)
    file, kept, starts = ClueFile(tmp_path), [], []
    for _ in range(20 * page // 50):
        kept.append(rng.integers(0, 2**32, rng.integers(0, 100), dtype=np.uint32))
        starts.append(len(file))
        file.extend(kept[-1])
        chosen = rng.integers(0, len(kept), 5)
        got = file.take(np.array(starts)[chosen], np.array([len(kept[i]) for i in chosen]))
        assert [got[i].tolist() for i in range(5)] == [kept[i].tolist() for i in chosen]
    assert len(file) > 5 * edges.WINDOW


def test_edges_give_the_same_clues_from_a_file_as_from_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    on_disk, in_memory = Edges(tmp_path), Edges()
    for source in range(300):
        clues = Ragged.of([rng.integers(0, 99, rng.integers(0, 9)).astype(np.uint32) for _ in range(4)])
        scored = ScoredLinks(np.zeros(4, np.float32), clues=clues)
        for each in (on_disk, in_memory):
            each.append(source, np.arange(4, dtype=np.int32), scored)
    for rows in (np.array([3, 0, 3], np.int32), rng.permutation(1200).astype(np.int32)):
        one, other = on_disk.clues(rows), in_memory.clues(rows)
        assert one.values.tolist() == other.values.tolist()
        assert one.offsets.tolist() == other.offsets.tolist()
    assert not list(tmp_path.iterdir())
