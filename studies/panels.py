"""Pictures of the study, as SVG: a small panel for each topic, drawn as the laboratory draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

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
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACROSS = 5
LOOKS = {
    "baseline": Stroke(ORANGE, SOLID),
    "apprentice": Stroke(RED, SOLID),
    "apprentice, undivided": Stroke(RED, DOTTED),
    "baseline, undivided": Stroke(ORANGE, DOTTED),
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
}


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    x: Sequence[float]
    y: Sequence[float]


Panels: TypeAlias = Mapping[str, Sequence[Line]]  # the lines of each topic


def lines(
    panels: Panels, x: str, y: str, *, own_axes: bool = False, mark: Mapping[str, float] | None = None, **limits: Any
) -> str:
    """Curves. `own_axes`: a scale of its own for each topic; `mark`: a place on the abscissa of each."""

    def draw(axes: Axes, topic: str) -> None:
        for line in panels[topic]:
            look = LOOKS[line.name]
            axes.plot(line.x, line.y, color=look.colour, linestyle=look.dash, linewidth=1.4)
        if mark is not None:
            axes.axvline(mark[topic], color=FAINT, linewidth=0.8)

    return panelled(list(panels), _names(panels), draw, x, y, own_axes, limits)


def bars(panels: Panels, x: str, y: str, **limits: Any) -> str:
    """Bars side by side; every line of a panel has the same abscissae."""

    def draw(axes: Axes, topic: str) -> None:
        count = len(panels[topic])
        for at, line in enumerate(panels[topic]):
            step = (line.x[1] - line.x[0]) / (count + 0.5) if len(line.x) > 1 else 0.8 / count
            shifted = np.asarray(line.x) + (at - (count - 1) / 2) * step
            axes.bar(shifted, line.y, width=step, color=LOOKS[line.name].colour, linewidth=0)

    return panelled(list(panels), _names(panels), draw, x, y, False, limits)


def stacked(panels: Panels, x: str, y: str, colours: Mapping[str, str]) -> str:
    """Bars upon one another, up to 1; names and colours are the caller's."""

    def draw(axes: Axes, topic: str) -> None:
        bottom = np.zeros(len(panels[topic][0].x))
        for line in panels[topic]:
            axes.bar(line.x, line.y, bottom=bottom, width=1.0, color=colours[line.name], linewidth=0)
            bottom += np.asarray(line.y)

    names = {name: Stroke(colour, SOLID) for name, colour in colours.items()}
    return panelled(list(panels), names, draw, x, y, False, {"ylim": (0, 1)})


def row_bars(values: Mapping[str, Sequence[tuple[str, float]]], x: str) -> str:
    """A row for each topic, its bars one behind the other."""
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


def _svg(figure: Any) -> str:
    """Without dates and random ids: the same figures give the same bytes."""
    file = BytesIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(file, format="svg", metadata=nothing, bbox_inches="tight", pad_inches=0.08)
    return file.getvalue().decode()


def _names(panels: Panels) -> dict[str, Stroke]:
    return {line.name: LOOKS[line.name] for given in panels.values() for line in given}


def panelled(
    topics: Sequence[str],
    names: Mapping[str, Stroke],
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
        for axes in grid[: len(topics)]:  # when all is drawn: axes that are shared must know the largest
            axes.set(**limits)
        for axes in grid[len(topics) :]:
            axes.set_visible(False)
        figure.subplots_adjust(hspace=0.4, wspace=0.32 if own else 0.12)
        figure.supxlabel(x, fontsize=8, y=0.0)
        figure.supylabel(y, fontsize=8, x=0.06)
        _legend(figure, names)
        return _svg(figure)


def _legend(figure: Any, names: Mapping[str, Stroke]) -> None:
    from matplotlib.lines import Line2D

    drawn: list[dict[str, Any]] = [{"color": look.colour, "linestyle": look.dash} for look in names.values()]
    pieces = [Line2D([], [], linewidth=2, **look) for look in drawn]
    figure.legend(
        pieces, list(names), loc="lower center", bbox_to_anchor=(0.5, 0.97), ncols=6, frameon=False, fontsize=8
    )  # fmt: skip
