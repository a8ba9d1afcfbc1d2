"""Where the recorded webs lie that some tests need; those tests are skipped where they are absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

WEBS = Path(os.environ.get("FORAGER_WEBS") or Path(__file__).resolve().parents[2] / "shared" / "data")


def needs(web: str) -> pytest.MarkDecorator:
    """A test that can only run where this web is."""
    return pytest.mark.skipif(not (WEBS / web).is_dir(), reason=f"no recorded web {web} in {WEBS}: set FORAGER_WEBS")
