"""The newest learner that can be read comes back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from forager.store import Store
from tests.store.test_store import filled


def parts(n: int) -> dict[str, object]:
    return {"weights": np.full(3, n, np.float32), "name": f"learner {n}"}


def test_the_two_newest_are_kept(tmp_path: Path) -> None:
    with filled(tmp_path, 12) as store:
        assert store.last_checkpoint() is None
        for seq in (3, 7, 11):
            store.checkpoint(seq, parts(seq))
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["0000000007.npz", "0000000011.npz"]
    with Store(tmp_path) as store:
        found = store.last_checkpoint()
        assert found is not None
        assert (found[0], found[1]["name"], store.warnings) == (11, "learner 11", [])


def test_a_damaged_one_is_passed_over_with_a_warning(tmp_path: Path) -> None:
    with filled(tmp_path, 12) as store:
        store.checkpoint(7, parts(7))
        store.checkpoint(11, parts(11))
        newest = tmp_path / "checkpoints/0000000011.npz"
        newest.write_bytes(newest.read_bytes()[:100])
        found = store.last_checkpoint()
        assert found is not None
        assert found[0] == 7
        assert len(store.warnings) == 1
        assert "damaged" in store.warnings[0]


def test_one_ahead_of_the_records_is_passed_over(tmp_path: Path) -> None:
    with filled(tmp_path, 3) as store:
        store.checkpoint(2, parts(2))
        (tmp_path / "checkpoints/0000000002.npz").rename(tmp_path / "checkpoints/0000000099.npz")
        assert store.last_checkpoint() is None
        assert "passed over" in store.warnings[0]


def test_only_what_is_acknowledged_can_have_been_seen(tmp_path: Path) -> None:
    with filled(tmp_path, 3) as store, pytest.raises(ValueError, match="commit first"):
        store.checkpoint(3, parts(3))


def test_what_a_killed_save_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints/0000000001.npz.123.part").write_bytes(b"half")
    Store(tmp_path).close()
    assert list((tmp_path / "checkpoints").iterdir()) == []
