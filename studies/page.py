"""The page of a study: sections with text, tables and pictures, written as NAME.md beside the folder NAME of pictures.

The page depends on the kept parts and on one file beside it, `NAME-reading.toml`. That file has a key for each section;
its value is the paragraphs that say what the figures mean. They are written by hand and quote no figures.

A picture is an SVG with a small panel for each topic. The same figures give the same bytes. matplotlib (`forager[lab]`)
is imported when something is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from forager_lab.markdown import readings
from forager_lab.markdown import table as table
from forager_lab.metrics import Figure
from forager_lab.plots import (
    BLUE,
    BROWN,
    DASHED,
    DOTTED,
    FAINT,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SOLID,
    TEAL,
    WIDTH,
    Stroke,
    drawing,
    strokes,
)
from forager_lab.report import write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACROSS = 5  # panels in a row
LOOKS = {  # where the laboratory's own strokes do not show what belongs together
    "baseline": Stroke(ORANGE, SOLID),
    "baseline, undivided": Stroke(ORANGE, DOTTED),
    "apprentice": Stroke(RED, SOLID),
    "apprentice, undivided": Stroke(RED, DOTTED),
    "apprentice*": Stroke(RED, DOTTED),
    "best-first*": Stroke(ORANGE, DOTTED),
    "recall": Stroke(BLUE, DASHED),
    "all": Stroke(BLUE, SOLID),
    "negative": Stroke(GREEN, DASHED),
    "positive": Stroke(PURPLE, DASHED),
    "offset": Stroke(RED, SOLID),
    "words": Stroke(GREY, SOLID),
    "distance": Stroke(BLUE, DASHED),
    "path": Stroke(TEAL, DOTTED),
    "chance": Stroke(GREY, DOTTED),
    "before": Stroke(ORANGE, SOLID),
    "after": Stroke(RED, SOLID),
    "good": Stroke(GREEN, SOLID),
    "bad": Stroke(BROWN, SOLID),
    "calibrated": Stroke(BLUE, SOLID),
    "raw": Stroke(ORANGE, SOLID),
    "lexical": Stroke(PURPLE, SOLID),
    "lexical, finer": Stroke(PURPLE, DASHED),
    "naive Bayes": Stroke(ORANGE, SOLID),
    "naive Bayes, 600 others": Stroke(ORANGE, DOTTED),
    "description, examples": Stroke(BLUE, SOLID),
    "description, the path": Stroke(BLUE, DOTTED),
    "cosine": Stroke(GREEN, SOLID),
}


# ---- sections and tables --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page."""

    name: str  # the key of its reading
    title: str
    text: str  # what is shown, and how it is defined
    paper: str = ""  # what the paper reported
    pictures: Mapping[str, str] = field(default_factory=dict)  # SVG, by name
    table: str = ""


def share(value: Figure) -> str:
    """Three digits, without the leading zero."""
    if value is None:
        return "–"
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.2f}"


def nan_if_none(value: Figure) -> float:
    """The value as a curve needs it."""
    return float("nan") if value is None else value


def runs_text(count: int) -> str:
    """In words of the page."""
    return "1 run" if count == 1 else f"{count} runs"


# ---- the page -------------------------------------------------------------------------------------------------------


def write_study(folder: Path, title: str, introduction: str, sections: Sequence[Section], made: str) -> Path:
    """Write the pictures into the folder, and the page beside it; returns the page."""
    written = readings(folder.with_name(f"{folder.name}-reading.toml"), [section.name for section in sections])
    parts = [f"# {title}", introduction, _written(written.get("introduction"))]
    for section in sections:
        parts += _section(section, folder.name, written.get(section.name))
        for name, picture in section.pictures.items():
            write_text(folder / f"{name}.svg", picture)
    parts += ["## How it was made", made]
    page = folder.with_suffix(".md")
    write_text(page, "\n\n".join(part for part in parts if part) + "\n")
    return page


def how_made(command: Sequence[str], parts: str, codes: Mapping[str, int], *notes: str) -> str:
    """The command that makes the page again, in lines, and the code that made its parts."""
    said = " \\\n  ".join(command)
    by_code = ", ".join(f"{code} ({count})" for code, count in codes.items())
    made = f"{sum(codes.values())} {parts}; code that made them: {by_code}."
    return "\n\n".join([f"```\n{said}\n```", *notes, made])


def _section(section: Section, folder: str, reading: str | None) -> list[str]:
    pictures = [f"![{section.title}]({folder}/{name}.svg)" for name in section.pictures]
    return [
        f"## {section.title}",
        section.text,
        *pictures,
        section.table,
        f"*The paper*: {section.paper}" if section.paper else "",
        _written(reading),
    ]


def _written(reading: str | None) -> str:
    return f"*Here*: {reading.strip()}" if reading else ""


# ---- pictures -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PanelLine:
    """A curve, or a series of bars, in a panel."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


Panels: TypeAlias = Mapping[str, Sequence[PanelLine]]  # the lines of each topic


def lines(
    panels: Panels, x: str, y: str, *, own_axes: bool = False, mark: Mapping[str, float] | None = None, **limits: Any
) -> str:
    """Curves. `own_axes`: each topic has its own scale; `mark`: where each topic has an upright line."""
    looks = _looks(panels)

    def draw(axes: Axes, topic: str) -> None:
        for line in panels[topic]:
            look = looks[line.name]
            axes.plot(line.x, line.y, color=look.colour, linestyle=look.dash, linewidth=1.4)
        if mark is not None:
            axes.axvline(mark[topic], color=FAINT, linewidth=0.8)

    return _panelled(list(panels), looks, draw, x, y, own_axes, limits)


def bars(panels: Panels, x: str, y: str, **limits: Any) -> str:
    """Bars side by side. All lines of a panel have the same x."""

    def draw(axes: Axes, topic: str) -> None:
        count = len(panels[topic])
        for at, line in enumerate(panels[topic]):
            step = (line.x[1] - line.x[0]) / (count + 0.5) if len(line.x) > 1 else 0.8 / count
            shifted = np.asarray(line.x) + (at - (count - 1) / 2) * step
            axes.bar(shifted, line.y, width=step, color=LOOKS[line.name].colour, linewidth=0)

    return _panelled(list(panels), _looks(panels), draw, x, y, False, limits)


def stacked(panels: Panels, x: str, y: str, colours: Mapping[str, str]) -> str:
    """Bars on top of each other, up to 1. The caller gives the colour of each line."""

    def draw(axes: Axes, topic: str) -> None:
        bottom = np.zeros(len(panels[topic][0].x))
        for line in panels[topic]:
            axes.bar(line.x, line.y, bottom=bottom, width=1.0, color=colours[line.name], linewidth=0)
            bottom += np.asarray(line.y)

    looks = {name: Stroke(colour, SOLID) for name, colour in colours.items()}
    return _panelled(list(panels), looks, draw, x, y, False, {"ylim": (0, 1)})


def row_bars(values: Mapping[str, Sequence[tuple[str, float]]], x: str) -> str:
    """A row for each topic, with its bars end to end."""
    names = list(dict.fromkeys(name for row in values.values() for name, _ in row))
    with drawing(WIDTH, 0.9 + 0.28 * len(values)) as figure:
        axes = figure.subplots()
        for at, row in enumerate(values.values()):
            left = 0.0
            for name, value in row:
                axes.barh(at, value, left=left, height=0.7, color=LOOKS[name].colour, linewidth=0)
                left += value
        axes.set_yticks(range(len(values)), list(values))
        axes.invert_yaxis()
        axes.grid(axis="x")
        axes.set_xlabel(x)
        _legend(figure, {name: LOOKS[name] for name in names})
        return _svg(figure)


def _looks(panels: Panels) -> dict[str, Stroke]:
    """Of all lines, in the order of the legend."""
    names = dict.fromkeys(line.name for given in panels.values() for line in given)
    return {name: LOOKS.get(name) or look for name, look in strokes(list(names)).items()}


def _panelled(
    topics: Sequence[str],
    looks: Mapping[str, Stroke],
    draw: Callable[[Axes, str], None],
    x: str,
    y: str,
    own: bool,
    limits: Mapping[str, Any],
) -> str:
    across = min(ACROSS, len(topics))
    down = -(-len(topics) // across)
    with drawing(WIDTH * 1.25, 0.8 + 1.6 * down) as figure:
        shared: Any = {} if own else {"sharex": True, "sharey": True}
        grid = figure.subplots(down, across, squeeze=False, **shared).ravel()
        for axes, topic in zip(grid, topics, strict=False):
            draw(axes, topic)
            axes.set_title(topic, fontsize=8, loc="left", pad=3)
            axes.tick_params(labelsize=6.5)
        for axes in grid[: len(topics)]:  # only when all is drawn: shared axes must know the largest value
            axes.set(**limits)
        for axes in grid[len(topics) :]:
            axes.set_visible(False)
        figure.subplots_adjust(hspace=0.4, wspace=0.32 if own else 0.12)
        figure.supxlabel(x, fontsize=8, y=0.0)
        figure.supylabel(y, fontsize=8, x=0.06)
        _legend(figure, looks)
        return _svg(figure)


def _legend(figure: Any, looks: Mapping[str, Stroke]) -> None:
    from matplotlib.lines import Line2D

    drawn: list[dict[str, Any]] = [{"color": look.colour, "linestyle": look.dash} for look in looks.values()]
    pieces = [Line2D([], [], linewidth=2, **look) for look in drawn]
    figure.legend(
        pieces, list(looks), loc="lower center", bbox_to_anchor=(0.5, 0.97), ncols=6, frameon=False, fontsize=8
    )  # fmt: skip


def _svg(figure: Any) -> str:
    """Without dates and random ids: the same figures give the same bytes."""
    file = BytesIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(file, format="svg", metadata=nothing, bbox_inches="tight", pad_inches=0.08)
    return file.getvalue().decode()
