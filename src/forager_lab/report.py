"""The figures of an experiment as a table for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forager_lab.metrics import Figure
from forager_lab.results import GOALS, PLACES


def table(figures: Mapping[str, Any]) -> str:
    """Topic protocol: harvest at R/4 … 2R; path protocol: pages until 50 and 90 % of the targets."""
    rows = figures["results"]
    path = any("groups" in row for row in rows)
    title = f"{figures['web']} · {figures['topic']} · R = {figures['relevant']} · {runs_of(figures['runs'])} · "
    title += "pages fetched until 50 % / 90 % of the targets" if path else "harvest after … pages"
    heads = ["strategy", *(_path_columns(rows[0]) if path else _TOPIC_COLUMNS)]
    cells = [[row["strategy"], *(_path_cells(row) if path else _topic_cells(row)), *_cost_cells(row)] for row in rows]
    return "\n".join([title, *_aligned([heads, *cells])])


def _aligned(rows: list[list[str]]) -> list[str]:
    """The first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


_COST_COLUMNS = ("req/p", "s")  # requests a page, seconds a run
_TOPIC_COLUMNS = (*PLACES, "cut", "gap", *_COST_COLUMNS)  # loss cut against best-first and gap closed, at R/2


def runs_of(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _topic_cells(row: Mapping[str, Any]) -> list[str]:
    rates = [with_half(row["harvest"][place], row["ci"][place]) for place in PLACES]
    return [*rates, share(row["loss_reduction"]["R/2"]), share(row["gap_closed"]["R/2"])]


def _path_columns(row: Mapping[str, Any]) -> list[str]:
    return [*(f"{goal} %" for goal in GOALS), *row["groups"], "recall", *_COST_COLUMNS]  # recall at 10 % of the site


def _path_cells(row: Mapping[str, Any]) -> list[str]:
    sums = [count(row["pages_to"][goal]) for goal in GOALS]
    groups = ["/".join(count(group["pages_to"][goal]) for goal in GOALS) for group in row["groups"].values()]
    return [*sums, *groups, share(row["recall_at_10pct"])]


def _cost_cells(row: Mapping[str, Any]) -> list[str]:
    return [f"{row['requests_per_page']:.2f}", f"{row['seconds']:.1f}"]


def with_half(value: Figure, half_width: Figure) -> str:
    return share(value) if half_width is None else f"{share(value)}±{share(half_width)}"


def share(value: Figure) -> str:
    """Three digits, without the leading zero."""
    return "–" if value is None else f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.2f}"


def count(value: Figure) -> str:
    return "–" if value is None else f"{value:,.0f}"
