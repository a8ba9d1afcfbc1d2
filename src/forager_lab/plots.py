"""Pictures of an experiment, drawn from its figures: what `forager_lab.results.figures` gives and `--json` writes.

A strategy has one colour and one kind of line in all pictures; its name stands at the end of its curve. The same
figures give the same bytes: no dates, no random ids. matplotlib (`forager[lab]`) is imported when something is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from forager.errors import ForagerError
from forager_lab.linestyles import BLUE, FAINT, INK, PAPER, RULE, SOLID, Stroke, strokes
from forager_lab.metrics import Figure as Value
from forager_lab.pairs import against

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 7.6, 4.4  # inches
BANDED = 6  # curves whose bands can be told apart in one picture
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
    svg: str  # a file of its own, on white
    png: bytes

    def inline(self, name: str) -> str:
        """The SVG as a part of a page: transparent, ink in the page's colours, ids under a name of their own."""
        body = re.sub(
            r"<style.*?</style>", "", self.svg[self.svg.index("<svg") :], flags=re.DOTALL
        )  # is for whole pages
        for colour, variable in ((INK, "ink"), (FAINT, "faint"), (RULE, "rule")):
            body = body.replace(colour, f"var(--{variable})")
        body = body.replace(f"fill: {PAPER}", "fill: none")
        body = re.sub(r'\b(id="|href="#|url\(#)', rf"\g<1>{name}-", body)
        return re.sub(r' (width|height)="[^"]*pt"', "", body, count=2)  # the page says how wide


def need_matplotlib() -> None:
    """Say what to install before hours are spent, not after."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise ForagerError("pictures need matplotlib: install forager[lab]") from None


# ---- the pictures ---------------------------------------------------------------------------------------------------


def harvest_curves(report: Mapping[str, Any]) -> Picture:
    """Harvest along the crawl, with bands where they can be told apart."""
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
    """Each strategy with its band before all the others, for when they are too many for one picture."""
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
    found = [pair for pair in against(report["pairwise"], baseline, measure, at) if pair["difference"] is not None]
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
    """What the critic said against what was true; below, how many pages it said it of."""
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
    halves: list[float]  # of the band; 0 where there is none


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
        for name in sorted(series, key=lambda name: looks[name].dash != SOLID):  # dashes last: solid ones show through
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
    """The names to the right of the plot in the order in which the curves end, each with a piece of its line."""
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
    """Ascending places as near to those wanted as can be, at least so far apart and, if there is room, within 0..1."""
    if not wanted:
        return []
    steps = np.arange(len(wanted)) * apart
    blocks: list[list[float]] = []  # each: sum, number; places of a block touch one another
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
    need_matplotlib()
    from matplotlib import style
    from matplotlib.figure import Figure

    with style.context(["default", _RC]):  # not what the user has set for other pictures
        yield Figure(figsize=(width, height), dpi=160)


def _finished(figure: Figure) -> Picture:
    files = {kind: BytesIO() for kind in ("svg", "png")}
    nothing = {"svg": dict.fromkeys(("Date", "Creator", "Format", "Type")), "png": {"Software": None}}
    for kind, file in files.items():
        figure.savefig(file, format=kind, metadata=nothing[kind], bbox_inches="tight", pad_inches=0.08)
    return Picture(files["svg"].getvalue().decode(), files["png"].getvalue())
