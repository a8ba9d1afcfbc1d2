"""Draws harvest.svg, the picture of the front page, from the figures of a laboratory run.

    forager lab run --web WEBS/wikispeedia --topic Science.Biology --runs 5 --json biology.json \\
        --strategies breadth-first,best-first,default:weights=.lab/left-out/wikispeedia-Science.Biology.json,oracle
    python docs/pictures/harvest.py biology.json

The weights have not seen the topic: `make left-out` makes them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 380, 56, 190, 44, 52
MOST = 550  # of the upright axis
INKS = {"breadth-first": "#6b7280", "best-first": "#1565c0", "default": "#c2410c", "oracle": "#7c828d"}
NAMES = {
    "breadth-first": "breadth-first: takes links as they come",
    "best-first": "best-first",
    "default": "default: weighs all signs, and learns",
    "oracle": "if it knew each target",
}


def drawn(figures: dict[str, Any]) -> Iterator[str]:
    wanted = figures["relevant"]
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">'
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#ffffff"/>'
    yield _text(LEFT, 26, "pages on the topic that were found", size=15, ink="#222")
    yield _text(LEFT + wide, HEIGHT - 12, "pages fetched", anchor="end")
    for tick in range(0, MOST + 1, 100):
        y = HEIGHT - BOTTOM - high * tick / MOST
        yield f'<path d="M{LEFT} {y:.1f}h{wide}" stroke="#e5e7eb"/>'
        yield _text(LEFT - 8, y + 4, str(tick), anchor="end")
    for tick in range(0, wanted + 1, 100):
        yield _text(LEFT + wide * tick / wanted, HEIGHT - BOTTOM + 18, str(tick), anchor="middle")
    for result in figures["results"]:
        name, found = result["strategy"].partition(":")[0], wanted * result["harvest"]["R"]
        points = [(at["pages"], at["pages"] * at["harvest"]) for at in result["curve"] if at["pages"] < wanted]
        line = " ".join(
            f"{LEFT + wide * pages / wanted:.1f},{HEIGHT - BOTTOM - high * some / MOST:.1f}"
            for pages, some in [*points, (wanted, found)]
        )
        dashes = ' stroke-dasharray="5 4"' if name == "oracle" else ""
        yield f'<polyline points="{line}" fill="none" stroke="{INKS[name]}" stroke-width="2.5"{dashes}/>'
        first, _, rest = NAMES[name].partition(": ")
        y = HEIGHT - BOTTOM - high * found / MOST + (12 if name == "best-first" else -2)
        yield _text(LEFT + wide + 8, y, f'<tspan font-weight="bold">{found:.0f}</tspan> {first}', 13, INKS[name])
        yield _text(LEFT + wide + 8, y + 14, rest, 11, INKS[name])
    yield "</svg>\n"


def _text(x: float, y: float, text: str, size: int = 12, ink: str = "#555", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{ink}" text-anchor="{anchor}">{text}</text>'


if __name__ == "__main__":
    file = Path(__file__).parent / "harvest.svg"
    file.write_text("\n".join(drawn(json.loads(Path(sys.argv[1]).read_text()))), encoding="utf-8")
