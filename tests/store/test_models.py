from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from forager.errors import ForagerError
from forager.store import models

PARTS = {
    "counts": np.arange(12, dtype=np.uint32).reshape(3, 4),
    "weights": np.array([0.5, -np.inf, np.nan], np.float32),
    "empty": np.empty((0, 5), np.int64),
    "names": ["a", "ö"],
    "settings": {"tau": 0.1, "on": True, "none": None},
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "models" / "critic.npz"
    models.save(path, PARTS, kind="naive-bayes", version=3)
    return path


def test_what_is_saved_comes_back(model: Path) -> None:
    loaded = models.load(model, kind="naive-bayes", version=3)
    assert loaded.keys() == PARTS.keys()
    for name, part in PARTS.items():
        if isinstance(part, np.ndarray):
            np.testing.assert_array_equal(loaded[name], part)
            assert (loaded[name].dtype, loaded[name].shape) == (part.dtype, part.shape)
        else:
            assert loaded[name] == part
    assert [file.name for file in model.parent.iterdir()] == ["critic.npz"]


def test_what_is_asked_for_must_be_there(model: Path) -> None:
    with pytest.raises(ForagerError, match=r"there is no model at .*: train one"):
        models.load(model.with_name("other.npz"), kind="naive-bayes", version=3)
    with pytest.raises(ForagerError, match="of kind 'naive-bayes', wanted is 'crf'"):
        models.load(model, kind="crf", version=3)
    with pytest.raises(ForagerError, match="has version 3, this program reads 4: train it again"):
        models.load(model, kind="naive-bayes", version=4)


def test_a_damaged_model_is_refused_whatever_the_damage(model: Path) -> None:
    whole = model.read_bytes()
    for cut in (0, 1, 30, len(whole) // 2, len(whole) - 1):
        model.write_bytes(whole[:cut])
        with pytest.raises(ForagerError, match=r"is damaged .*train it again"):
            models.load(model, kind="naive-bayes", version=3)
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(whole), 200).tolist():
        changed = bytearray(whole)
        changed[place] ^= 1 << int(rng.integers(8))
        model.write_bytes(changed)
        try:  # some bits, such as those of a date, change nothing that is read
            loaded = models.load(model, kind="naive-bayes", version=3)
        except ForagerError:
            continue
        np.testing.assert_array_equal(loaded["counts"], PARTS["counts"])


def test_another_file_is_no_model(model: Path) -> None:
    np.savez(model, counts=np.arange(3))
    with pytest.raises(ForagerError, match="damaged"):
        models.load(model, kind="naive-bayes", version=3)
    np.savez(model, header=np.frombuffer(b'{"x": 1}', np.uint8))
    with pytest.raises(ForagerError, match="no model of this program"):
        models.load(model, kind="naive-bayes", version=3)


def test_pickles_are_neither_written_nor_read(model: Path) -> None:
    with pytest.raises(TypeError, match="'objects' cannot be saved"):
        models.save(model, {"objects": np.array([{}])}, kind="x", version=1)
    with pytest.raises(TypeError):
        models.save(model, {"function": print}, kind="x", version=1)
    assert models.load(model, kind="naive-bayes", version=3)["names"] == ["a", "ö"]
    np.savez(model, header=np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ForagerError, match="damaged"):
        models.load(model, kind="naive-bayes", version=3)


def test_a_failed_save_leaves_the_old_model(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        models.save(model, {"names": []}, kind="naive-bayes", version=3)
    assert models.load(model, kind="naive-bayes", version=3)["names"] == ["a", "ö"]
    assert [file.name for file in model.parent.iterdir()] == ["critic.npz"]


SAVE_FOR_EVER = """
import sys, numpy as np
from pathlib import Path
from forager.store import models
for i in range(10**6):
    models.save(Path(sys.argv[1]), {"n": np.full(200_000, i)}, kind="x", version=1)
    print(i, flush=True)
"""


def test_a_killed_save_leaves_a_whole_model(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    for pause in (0.0, 0.003, 0.011):
        saver = subprocess.Popen([sys.executable, "-c", SAVE_FOR_EVER, str(path)], stdout=subprocess.PIPE, text=True)
        assert saver.stdout is not None
        saver.stdout.readline()
        time.sleep(pause)
        saver.send_signal(signal.SIGKILL)
        told = saver.stdout.read().split()
        saver.wait()
        saver.stdout.close()
        numbers = models.load(path, kind="x", version=1)["n"]
        assert (numbers == numbers[0]).all()
        assert numbers[0] >= int(told[-1] if told else 0)
