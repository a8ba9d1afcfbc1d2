"""Parts of the report's page: tables of figures, shaded matrices, pictures. Nothing in them comes from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

STYLE = """
body { max-width: 70em; }
h3 { font-size: 1em; margin: 1.5em 0 .3em; }
.plot svg { width: 100%; min-width: 34rem; max-width: 54rem; fill: none; }
.plot svg * { stroke-linejoin: round; stroke-linecap: butt; }
.plot.small svg { min-width: 0; max-width: 27rem; }
.note { color: var(--faint); font-size: .9em; max-width: 46em; }
.figures th, .figures td { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.figures th:first-child, .figures td:first-child { text-align: left; position: sticky; left: 0;
  background: var(--paper); }
.figures tr.knows td { color: var(--faint); }
.matrix td { padding: .25em .5em; text-align: right; border: 1px solid var(--paper); font-variant-numeric: tabular-nums;
  background: color-mix(in srgb, var(--shade, transparent) var(--much, 0%), transparent); }
.matrix th { padding: .25em .5em; text-align: right; border: 0; font-weight: 600; }
.matrix th[scope=row] { text-align: left; white-space: nowrap; position: sticky; left: 0; background: var(--paper); }
.better { --shade: var(--c2); --much: 35%; } .worse { --shade: #d1495b; --much: 35%; } .open { color: var(--faint); }
.share { --shade: var(--c1); }
pre { background: color-mix(in srgb, var(--ink) 6%, transparent); padding: .6em .8em; border-radius: 4px;
  white-space: pre-wrap; overflow-wrap: anywhere; }
dt { font-weight: 600; margin-top: .5em; } dd { margin-left: 1.2em; }
"""


def figures_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, knowing: frozenset[str] = frozenset()) -> str:
    """Names to the left, figures to the right; rows of strategies that know the truth stand back."""
    top = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = "".join(
        f"<tr{' class=knows' if row[0] in knowing else ''}>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
        for row in rows
    )
    return (
        f'<div class="wide"><table class="figures"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shaded:
    """A cell of a matrix."""

    text: str
    kind: str = ""  # better, worse, open or share
    much: float | None = None  # of the shade, 0..1, where the kind does not say
    hint: str = ""

    def __str__(self) -> str:
        style = "" if self.much is None else f' style="--much: {70 * self.much:.0f}%"'
        hint = f' title="{escape(self.hint)}"' if self.hint else ""
        kind = f' class="{self.kind}"' if self.kind else ""
        return f"<td{kind}{style}{hint}>{escape(self.text)}</td>"


def matrix(names: Sequence[str], cells: Sequence[Sequence[Shaded]]) -> str:
    """Strategies against strategies; columns have the numbers of the rows, so that twenty fit."""
    top = "".join(f'<th scope="col" title="{escape(name)}">{at}</th>' for at, name in enumerate(names, 1))
    body = "".join(
        f'<tr><th scope="row">{at} {escape(name)}</th>{"".join(map(str, row))}</tr>'
        for at, (name, row) in enumerate(zip(names, cells, strict=True), 1)
    )
    return f'<div class="wide"><table class="matrix"><tr><td></td>{top}</tr>{body}</table></div>'


def plot(svg: str, caption: str, *, small: bool = False) -> str:
    """A picture as `Picture.inline` gives it."""
    named = svg.replace("<svg ", f'<svg role="img" aria-label="{escape(caption)}" ', 1)
    kind = "plot small" if small else "plot"
    return f'<figure class="{kind}"><div class="wide">{named}</div><figcaption>{escape(caption)}</figcaption></figure>'


def subheading(text: str) -> str:
    return f"<h3>{escape(text)}</h3>"


def note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def definitions(items: Sequence[tuple[str, str]]) -> str:
    return f"<dl>{''.join(f'<dt>{escape(term)}</dt><dd>{escape(said)}</dd>' for term, said in items)}</dl>"
