"""Pictures of an experiment, drawn from the figures that `forager_lab.results.figures` gives and `--json` writes.

A strategy has the same colour and the same kind of line in all pictures; its name stands at the end of its curve. Every
colour has a contrast of at least 3 with white and with the dark page, so that a picture serves both. The same figures
give the same bytes: no dates, no random ids. matplotlib (`forager[lab]`) is imported only when something is drawn.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from forager.errors import ForagerError
from forager_lab.metrics import Figure as Value
from forager_lab.results import pairs_with

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT, RULE, PAPER = "#1c1c1c", "#767676", "#dddddd", "#ffffff"  # in a page, the page's own colours instead
DARK = "#161616"  # background of a dark page

Dash: TypeAlias = tuple[float, tuple[float, ...] | None]
SOLID: Dash = (0.0, None)
DASHED: Dash = (0.0, (5.0, 1.6))
DOTTED: Dash = (0.0, (1.2, 1.2))
BROKEN: Dash = (0.0, (6.0, 1.5, 1.2, 1.5))
DASHES = (SOLID, DASHED, DOTTED, BROKEN)

RED, BLUE, GREEN, ORANGE, PURPLE = "#d1495b", "#2f7fc1", "#2e8b57", "#c77700", "#8e5bc0"
TEAL, PINK, GREY, OLIVE, BROWN = "#008c95", "#b5508f", "#7a7a7a", "#8a7a1f", "#a0623a"
COLOURS = (BLUE, RED, GREEN, PURPLE, ORANGE, TEAL, PINK, BROWN, OLIVE, GREY)

WIDTH, HEIGHT = 7.6, 4.4  # inches
BANDED = 6  # with more curves in one picture their bands are not drawn
_RC: dict[str, Any] = {
    "text.parse_math": False,
    "svg.hashsalt": "forager",
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": RULE,
    "grid.linewidth": 0.7,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawn picture in both formats."""

    svg: str  # a whole file, on white
    png: bytes

    def inline(self, name: str) -> str:
        """The SVG as a part of a page: transparent, in the colours of the page. `name` makes its ids unique."""
        body = self.svg[self.svg.index("<svg") :]
        body = re.sub(r"<style.*?</style>", "", body, flags=re.DOTALL)  # it would apply to the whole page
        for colour, variable in ((INK, "ink"), (FAINT, "faint"), (RULE, "rule")):
            body = body.replace(colour, f"var(--{variable})")
        body = body.replace(f"fill: {PAPER}", "fill: none")
        body = re.sub(r'\b(id="|href="#|url\(#)', rf"\g<1>{name}-", body)
        return re.sub(r' (width|height)="[^"]*pt"', "", body, count=2)  # the page decides the width


def need_matplotlib() -> None:
    """Raise an error that says what to install. Call it before a long run."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise ForagerError("pictures need matplotlib: install forager[lab]") from None


# ---- the pictures ---------------------------------------------------------------------------------------------------


def harvest_curves(report: Mapping[str, Any]) -> Picture:
    """Harvest along the crawl, with 95 % bands if there are few curves."""
    return _curves(report, _series(report, "harvest", "ci"), "harvest: share of relevant pages so far")


def loss_curves(report: Mapping[str, Any]) -> Picture:
    """The critic's expected loss along the crawl."""
    return _curves(
        report, _series(report, "loss_by_critic", "loss_by_critic_ci"), "expected loss: mean of 1 − Pr so far"
    )


def recall_curves(report: Mapping[str, Any], group: str) -> Picture:
    """Share of the reachable targets found along the crawl of one group left out."""
    found = {
        row["strategy"]: _columns(row["groups"][group]["curve"], "recall", "ci") for row in report["results"]
    }  # fmt: skip
    return _curves({}, found, f"{group}: share of the targets found")


def harvest_panels(report: Mapping[str, Any]) -> Picture:
    """A small picture for each strategy: its curve with its band, and all other curves in grey."""
    series, looks = _series(report, "harvest", "ci"), strokes([row["strategy"] for row in report["results"]])
    across = 4
    down = -(-len(series) // across)
    height = 0.7 + 1.45 * down
    with drawing(WIDTH, height) as figure:
        figure.subplots_adjust(bottom=0.5 / height, top=1 - 0.2 / height, hspace=0.3)
        grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
        for axes, (name, columns) in zip(grid, series.items(), strict=False):
            for other in series.values():
                axes.plot(other.pages, other.values, color=RULE, linewidth=0.7)
            _draw(axes, columns, looks[name], band=True)
            axes.set_title(_short(name, 24), fontsize=8, color=looks[name].colour, loc="left", pad=3)
            axes.tick_params(labelsize=7)
            axes.set_ylim(0, 1.02)
        for axes in grid[len(series) :]:
            axes.set_visible(False)
        figure.supxlabel("pages fetched", fontsize=8, y=0.1 / height)
        return _finished(figure)


def differences(report: Mapping[str, Any], baseline: str, measure: str, at: str, said: str) -> Picture:
    """Each strategy's paired difference to a baseline with both intervals: thick Student's t, thin bootstrap-t."""
    found = [pair for pair in pairs_with(report["pairwise"], baseline, measure, at) if pair["difference"] is not None]
    found.sort(key=lambda pair: (pair["difference"], pair["name"]))
    looks = strokes([row["strategy"] for row in report["results"]])
    with drawing(WIDTH, 1.1 + 0.3 * max(1, len(found))) as figure:
        axes = figure.subplots()
        axes.axvline(0, color=INK, linewidth=1)
        for place, pair in enumerate(found):
            middle, colour = pair["difference"], looks[pair["name"]].colour
            for half, width in ((pair["ci"], 1.2), (pair["student_ci"], 4.0)):
                if half is not None:
                    ends = [middle - half, middle + half]
                    axes.plot(ends, [place, place], color=colour, linewidth=width, solid_capstyle="butt")
            axes.plot([middle], [place], marker="o", markersize=6, color=colour, markeredgecolor=INK)
            axes.annotate(
                pair["verdict"], (1.01, place), xycoords=("axes fraction", "data"), va="center",
                color=FAINT if pair["verdict"] == "not told apart" else INK, fontsize=8,
            )  # fmt: skip
        axes.set_yticks(range(len(found)), [_short(pair["name"], 32) for pair in found], color=INK)
        axes.set_ylim(-0.7, max(1, len(found)) - 0.3)
        axes.grid(axis="x")
        axes.set_xlabel(said)
        return _finished(figure)


def reliability(quality: Mapping[str, Any]) -> Picture:
    """The relevance that the critic gave against the share that is relevant; below, the number of pages."""
    steps = quality["reliability"]
    given, relevant, pages = (np.array([step[key] for step in steps]) for key in ("given", "relevant", "pages"))
    with drawing(4.6, 4.8) as figure:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[4, 1])
        upper.plot([0, 1], [0, 1], color=FAINT, linewidth=1, linestyle=(0, (2, 2)))
        upper.plot(given, relevant, color=BLUE, linewidth=1.8, marker="o", markersize=5)
        upper.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), ylabel="share that is relevant")
        lower.bar(given, pages, width=0.05, color=BLUE, linewidth=0)
        lower.set(yscale="log", ylim=(0.8, None), ylabel="pages", xlabel="relevance the critic gave")
        lower.yaxis.set_major_formatter("{x:,.0f}")
        lower.tick_params(labelsize=7)
        return _finished(figure)


# ---- how they are drawn ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Series:
    pages: list[float]
    values: list[float]
    halves: list[float]  # half widths of the band; 0 if there is none


def _columns(curve: Sequence[Mapping[str, Value]], value: str, half: str) -> _Series:
    known = [point for point in curve if point[value] is not None]
    columns = [[float(point[key] or 0.0) for point in known] for key in ("pages", value, half)]
    return _Series(*columns)


def _series(report: Mapping[str, Any], value: str, half: str) -> dict[str, _Series]:
    return {row["strategy"]: _columns(row["curve"], value, half) for row in report["results"]}


def _curves(report: Mapping[str, Any], series: Mapping[str, _Series], said: str) -> Picture:
    looks = strokes(list(series))
    with drawing(WIDTH, max(HEIGHT, 0.21 * len(series) + 0.9)) as figure:
        axes = figure.subplots()
        longest = max((each.pages[-1] for each in series.values() if each.pages), default=1)
        for place, pages in report.get("places", {}).items():
            if pages <= longest:
                axes.axvline(pages, color=RULE, linewidth=0.9)
                axes.annotate(place, (pages, 1.0), xycoords=("data", "axes fraction"), ha="center", va="bottom",
                              fontsize=8, color=FAINT)  # fmt: skip
        for name in sorted(series, key=lambda name: looks[name].dash != SOLID):  # dashes last: what is under them shows
            _draw(axes, series[name], looks[name], band=len(series) <= BANDED)
        axes.set(xlim=(0, longest), ylim=(0, 1.02), xlabel="pages fetched", ylabel=said)
        _name_ends(axes, {name: each for name, each in series.items() if each.pages}, looks)
        return _finished(figure)


def _draw(axes: Axes, series: _Series, look: Stroke, *, band: bool) -> None:
    axes.plot(series.pages, series.values, color=look.colour, linestyle=look.dash, linewidth=1.8)
    if band and any(series.halves):
        values, halves = np.array(series.values), np.array(series.halves)
        low, high = np.clip(values - halves, 0, 1), np.clip(values + halves, 0, 1)
        axes.fill_between(series.pages, low, high, color=look.colour, alpha=0.16, linewidth=0)


def _name_ends(axes: Axes, series: Mapping[str, _Series], looks: Mapping[str, Stroke]) -> None:
    """Write the names to the right of the plot, in the order in which the curves end, with a piece of the line."""
    ranked = sorted(series, key=lambda name: (series[name].values[-1], name))
    low, high = axes.get_ylim()
    ends = [(series[name].values[-1] - low) / (high - low) for name in ranked]
    height = axes.get_window_extent().height / axes.figure.dpi  # inches
    for name, end, place in zip(ranked, ends, spread(ends, 0.15 / height), strict=True):
        look, reach = looks[name], series[name].pages[-1] / axes.get_xlim()[1]
        line: dict[str, Any] = {"transform": axes.transAxes, "color": look.colour, "clip_on": False}
        axes.plot([reach, 1.03], [end, place], linewidth=0.6, alpha=0.7, **line)
        axes.plot([1.03, 1.085], [place, place], linewidth=1.8, linestyle=look.dash, **line)
        axes.text(1.095, place, _short(name, 30), transform=axes.transAxes, va="center", fontsize=8, color=look.colour)


def spread(wanted: Sequence[float], apart: float) -> list[float]:
    """Ascending places as near as possible to the wanted ones, at least `apart`; within 0..1 if there is room."""
    if not wanted:
        return []
    steps = np.arange(len(wanted)) * apart
    blocks: list[list[float]] = []  # each: sum, number; the places of a block touch
    for value in np.asarray(wanted) - steps:
        blocks.append([float(value), 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            total, number = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += number
    level = np.concatenate([np.full(int(number), total / number) for total, number in blocks])
    return list(np.clip(level, 0, max(0.0, 1 - steps[-1])) + steps)


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


@contextmanager
def drawing(width: float, height: float) -> Iterator[Figure]:
    """A new matplotlib figure in our style; sizes in inches."""
    need_matplotlib()
    from matplotlib import style
    from matplotlib.figure import Figure

    with style.context(["default", _RC]):  # not the settings of the user
        yield Figure(figsize=(width, height), dpi=160)


def _finished(figure: Figure) -> Picture:
    files = {kind: BytesIO() for kind in ("svg", "png")}
    nothing = {"svg": dict.fromkeys(("Date", "Creator", "Format", "Type")), "png": {"Software": None}}
    for kind, file in files.items():
        figure.savefig(file, format=kind, metadata=nothing[kind], bbox_inches="tight", pad_inches=0.08)
    return Picture(files["svg"].getvalue().decode(), files["png"].getvalue())


# ---- colours and lines ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stroke:
    """How a curve is drawn."""

    colour: str
    dash: Dash


KNOWN = {
    "default": Stroke(RED, SOLID),
    "apprentice": Stroke(RED, DASHED),
    "best-first": Stroke(ORANGE, SOLID),
    "breadth-first": Stroke(GREY, SOLID),
    "random": Stroke(GREY, DASHED),
    "shark": Stroke(BLUE, SOLID),
    "fish": Stroke(BLUE, DASHED),
    "crf": Stroke(GREEN, SOLID),
    "infospiders": Stroke(GREEN, DASHED),
    "context-graph": Stroke(PURPLE, SOLID),
    "lexical": Stroke(PURPLE, DASHED),
    "memm": Stroke(TEAL, SOLID),
    "hmm": Stroke(TEAL, DASHED),
    "q-value": Stroke(PINK, SOLID),
    "intelligent": Stroke(PINK, DASHED),
    "pagerank": Stroke(OLIVE, SOLID),
    "backlink": Stroke(OLIVE, DASHED),
    "distiller": Stroke(BROWN, SOLID),
    "oracle": Stroke(GREY, DOTTED),
    "lookahead": Stroke(BROWN, DOTTED),
}


def strokes(names: Sequence[str]) -> dict[str, Stroke]:
    """A stroke for each name. Unknown names get, in order, strokes that differ most from those already used."""
    found = {name: KNOWN[name] for name in names if name in KNOWN}
    for name in names:
        if name not in found:
            found[name] = _free(list(found.values()))
    return {name: found[name] for name in names}


def _free(taken: Sequence[Stroke]) -> Stroke:
    """The colour used least, then the first dash that is free with it. After 40 strokes they repeat."""
    used, uses = Counter(taken), Counter(stroke.colour for stroke in taken)
    every = [Stroke(colour, dash) for dash, colour in product(DASHES, COLOURS)]
    return min(every, key=lambda stroke: (used[stroke], uses[stroke.colour]))
