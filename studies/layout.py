"""A section of the page, and how tables and figures are written in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from forager_lab.metrics import Figure
from studies.apprentice.losses import Mean


@dataclass(frozen=True, slots=True)
class Section:
    name: str  # of its reading and of its pictures
    title: str
    text: str  # what is shown, and how it is defined
    paper: str = ""  # what the paper reported
    pictures: Mapping[str, str] = field(default_factory=dict)  # SVG, by name
    table: str = ""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines_ = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines_)


def share(value: Figure) -> str:
    """Three digits, without the leading zero."""
    if value is None:
        return "–"
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.2f}"


def percent(found: Mean) -> str:
    if found.value is None:
        return "–"
    half = "" if found.half is None else f" ± {100 * found.half:.0f}"
    return f"{100 * found.value:.0f}{half} %{'†' if found.of_means else ''}"


def nan_if_none(value: Figure) -> float:
    return float("nan") if value is None else value


def runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def balanced(found: Sequence[float] | None) -> Figure:
    """Accuracy as the mean of that on negatives and that on positives."""
    return None if found is None else (found[0] + found[1]) / 2
