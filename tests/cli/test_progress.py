"""How far something is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from forager.cli import progress
from forager.cli.progress import counting


def told(*, terminal: bool) -> str:
    out = StringIO()
    with counting(Console(file=out, force_terminal=terminal, width=80), "writing pages", 3) as tell:
        for done in (1, 2, 3):
            tell(done)
    return out.getvalue()


def test_elsewhere_a_line_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(terminal=False) == ""  # not so soon
    monkeypatch.setattr(progress, "EVERY", 0.0)
    assert told(terminal=False).splitlines() == [f"writing pages: {done} of 3" for done in (1, 2, 3)]


def test_on_a_terminal_a_bar_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.0)
    shown = told(terminal=True)
    assert "writing pages" in shown
    assert "100%" in shown
    assert "of 3" not in shown
