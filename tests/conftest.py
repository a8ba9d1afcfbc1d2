from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest
from hypothesis import settings

settings.register_profile("forager", deadline=None)  # a busy machine must not fail a test
settings.load_profile("forager")
PLUGIN = Path(__file__).parent / "plugin"  # as pip would have installed it


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background by a shell: processes of tests would ignore the Ctrl-C that tests send them.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    copytree(PLUGIN, tmp_path / "site", ignore=lambda *_: ["__pycache__"])
    (tmp_path / "site" / "sample_dist-info").rename(tmp_path / "site" / "forager_sample-1.0.dist-info")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield
    sys.modules.pop("forager_sample", None)
