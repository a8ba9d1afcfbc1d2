"""The figures of an experiment as a table for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from forager.lab.metrics import Figure
from forager.lab.results import GOALS, PLACES


def table(figures: Mapping[str, Any]) -> Table:
    """Topic protocol: harvest at R/4 … 2R; path protocol: pages until 50 and 90 % of the targets."""
    rows = figures["results"]
    path = any("groups" in row for row in rows)
    title = f"{figures['web']} · {figures['topic']} · R = {figures['relevant']} · {figures['runs']} runs"
    shown = Table(title=title, title_justify="left")
    shown.add_column("strategy")
    for name in _path_columns(rows[0]) if path else _TOPIC_COLUMNS:
        shown.add_column(name, justify="right")
    for row in rows:
        shown.add_row(row["strategy"], *(_path_cells(row) if path else _topic_cells(row)), *_cost_cells(row))
    return shown


_COST_COLUMNS = ("requests/page", "seconds")
_TOPIC_COLUMNS = (*(f"harvest {place}" for place in PLACES), "loss cut R/2", "gap closed R/2", *_COST_COLUMNS)


def _topic_cells(row: Mapping[str, Any]) -> list[str]:
    rates = [_with(row["harvest"][place], row["ci"][place]) for place in PLACES]
    return [*rates, _share(row["loss_reduction"]["R/2"]), _share(row["gap_closed"]["R/2"])]


def _path_columns(row: Mapping[str, Any]) -> list[str]:
    groups = [f"{group} 50/90" for group in row["groups"]]
    return [*(f"pages to {goal} %" for goal in GOALS), *groups, "recall at 10 %", *_COST_COLUMNS]


def _path_cells(row: Mapping[str, Any]) -> list[str]:
    sums = [_count(row["pages_to"][goal]) for goal in GOALS]
    groups = ["/".join(_count(group["pages_to"][goal]) for goal in GOALS) for group in row["groups"].values()]
    return [*sums, *groups, _share(row["recall_at_10pct"])]


def _cost_cells(row: Mapping[str, Any]) -> list[str]:
    return [f"{row['requests_per_page']:.2f}", f"{row['seconds']:.1f}"]


def _with(value: Figure, half_width: Figure) -> str:
    return _share(value) if half_width is None else f"{_share(value)} ±{half_width:.3f}"


def _share(value: Figure) -> str:
    return "–" if value is None else f"{value:.3f}"


def _count(value: Figure) -> str:
    return "–" if value is None else f"{value:,.0f}"
