"""The colour and the kind of line of each strategy, the same in all pictures.

Every colour has a contrast of at least 3 against white and against the dark page, so that a picture serves both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

INK, FAINT, RULE, PAPER = "#1c1c1c", "#767676", "#dddddd", "#ffffff"  # on pages: their variables, and nothing
DARK = "#161616"  # of a page at night

Dash: TypeAlias = tuple[float, tuple[float, ...] | None]
SOLID: Dash = (0.0, None)
DASHED: Dash = (0.0, (5.0, 1.6))
DOTTED: Dash = (0.0, (1.2, 1.2))
BROKEN: Dash = (0.0, (6.0, 1.5, 1.2, 1.5))
DASHES = (SOLID, DASHED, DOTTED, BROKEN)

RED, BLUE, GREEN, ORANGE, PURPLE = "#d1495b", "#2f7fc1", "#2e8b57", "#c77700", "#8e5bc0"
TEAL, PINK, GREY, OLIVE, BROWN = "#008c95", "#b5508f", "#7a7a7a", "#8a7a1f", "#a0623a"
COLOURS = (BLUE, RED, GREEN, PURPLE, ORANGE, TEAL, PINK, BROWN, OLIVE, GREY)


@dataclass(frozen=True, slots=True)
class Stroke:
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
    """A stroke for each; names that are not known take, in order, what differs most from those taken."""
    found = {name: KNOWN[name] for name in names if name in KNOWN}
    for name in names:
        if name not in found:
            found[name] = _free(list(found.values()))
    return {name: found[name] for name in names}


def _free(taken: Sequence[Stroke]) -> Stroke:
    """The colour least used, then the first dash not taken with it; after 40 of them strokes come again."""
    used, uses = Counter(taken), Counter(stroke.colour for stroke in taken)
    every = [Stroke(colour, dash) for dash, colour in product(DASHES, COLOURS)]
    return min(every, key=lambda stroke: (used[stroke], uses[stroke.colour]))
