"""A report that is one HTML file: curves as inline SVG, tables, no scripts, nothing from elsewhere, light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 12, 36  # around the plot
POINTS = 400  # of a curve; more cannot be seen
COLOURS = 4  # of curves, in _STYLE

_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1c1c1c; --faint: #767676; --rule: #ddd;
        --c0: #b8530d; --c1: #1f66b3; --c2: #2c7a3f; --c3: #7d3fa8; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #161616; --ink: #e8e8e8; --faint: #989898; --rule: #3a3a3a;
          --c0: #f2995c; --c1: #74b2f2; --c2: #7ccc8f; --c3: #c79bea; } }
body { background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; max-width: 56em;
       margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; }
figure { margin: 1em 0; } figcaption { color: var(--faint); font-size: .9em; }
svg { width: 100%; height: auto; max-width: 640px; font: 12px system-ui, sans-serif; fill: var(--faint); }
.rule { stroke: var(--rule); stroke-width: 1; }
.curve { fill: none; stroke-width: 2.5; stroke-linejoin: round; }
.c0 { stroke: var(--c0); } .c1 { stroke: var(--c1); } .c2 { stroke: var(--c2); } .c3 { stroke: var(--c3); }
.k0 { color: var(--c0); } .k1 { color: var(--c1); } .k2 { color: var(--c2); } .k3 { color: var(--c3); }
.key { font-weight: 600; margin-right: 1.5em; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .93em; }
th, td { text-align: left; padding: .25em 1em .25em 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; } pre { overflow-x: auto; }
"""


@dataclass(frozen=True, slots=True)
class Curve:
    name: str
    values: Sequence[float]  # in 0..1, one after each page


def so_far(marks: Sequence[float]) -> list[float]:
    """The mean over all pages up to each one."""
    return [total / count for count, total in enumerate(accumulate(marks), 1)]


def over_last(marks: Sequence[float], width: int) -> list[float]:
    """The mean over the last so many pages up to each one, over fewer at the beginning."""
    sums = [0.0, *accumulate(marks)]
    firsts = [max(0, end - width) for end in range(1, len(sums))]
    return [(sums[end] - sums[first]) / (end - first) for end, first in enumerate(firsts, 1)]


# ---- the curves -----------------------------------------------------------------------------------------------------


def chart(curves: Sequence[Curve], said: str) -> str:
    """The curves over the number of pages; `said` tells what they show, also to who cannot see them."""
    pages = max([1, *(len(curve.values) for curve in curves)])
    keys = "".join(f'<span class="key k{n % COLOURS}">{escape(curve.name)}</span>' for n, curve in enumerate(curves))
    drawn = "".join(_line(curve, n, pages) for n, curve in enumerate(curves))
    svg = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(said)}">{_axes(pages)}{drawn}</svg>'
    return f"<figure><div>{keys}</div>{svg}<figcaption>{escape(said)}</figcaption></figure>"


def _line(curve: Curve, number: int, pages: int) -> str:
    if not curve.values:
        return ""
    step = max(1, len(curve.values) // POINTS)
    places = sorted({*range(0, len(curve.values), step), len(curve.values) - 1})
    points = " ".join(f"{_x(place + 1, pages):.1f},{_y(curve.values[place]):.1f}" for place in places)
    title = f"<title>{escape(curve.name)}: {curve.values[-1]:.3f} at the end</title>"
    return f'<polyline class="curve c{number % COLOURS}" points="{points}">{title}</polyline>'


def _axes(pages: int) -> str:
    levels = "".join(
        f'<line class="rule" x1="{LEFT}" y1="{_y(share):.1f}" x2="{WIDTH - RIGHT}" y2="{_y(share):.1f}"/>'
        f'<text x="{LEFT - 6}" y="{_y(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>'
        for share in (0, 0.25, 0.5, 0.75, 1)
    )
    counts = "".join(
        f'<text x="{_x(count, pages):.1f}" y="{HEIGHT - 18}" text-anchor="middle">{count}</text>'
        for count in range(0, pages + 1, _between(pages))
    )
    middle = (LEFT + WIDTH - RIGHT) / 2
    return f'{levels}{counts}<text x="{middle:.1f}" y="{HEIGHT - 2}" text-anchor="middle">pages</text>'


def _between(pages: int) -> int:
    """A round number of pages from one mark to the next, for at most six of them."""
    size = 1
    while True:
        for factor in (1, 2, 5):
            if pages <= 6 * factor * size:
                return factor * size
        size *= 10


def _x(count: float, pages: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * count / pages


def _y(share: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - min(1.0, max(0.0, share)))


# ---- what is around them --------------------------------------------------------------------------------------------


def heading(text: str) -> str:
    return f"<h2>{escape(text)}</h2>"


def paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def commands(lines: Sequence[str]) -> str:
    return f"<pre>{escape(chr(10).join(lines))}</pre>"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Numbers stand to the right and are written as they are: give them rounded."""
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(value: object) -> str:
    number = ' class="number"' if isinstance(value, int | float) else ""
    return f"<td{number}>{escape(str(value))}</td>"


def document(title: str, parts: Sequence[str]) -> str:
    """The whole file."""
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style></head>\n"
        f"<body><h1>{escape(title)}</h1>\n{body}\n</body></html>\n"
    )
