"""The signals of the default strategy by family, as docs/strategies/default.md describes them.

A family can be left out of the weights, to see what it is worth: `default:without=meaning` in a matrix file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from forager.errors import unknown
from forager.strategies.weigher.signals import NAMES

FAMILIES: Mapping[str, Sequence[str]] = {  # names without how they are pooled
    "words": ("anchor", "url", "context", "heading", "words"),
    "meaning": ("prior", "near", "far", "like", "unlike", "learnt"),
    "source": ("source", "opinion"),
    "place": ("same host", "host", "host pages", "folder", "path", "neighbours", "page"),
    "menus": ("menu", "edge"),
    "company": ("inlinks", "relevant inlinks", "links", "parents", "kin", "few kin"),
    "past": ("depth", "base", "pages"),
}


def columns(family: str) -> list[int]:
    """The indices in NAMES of the signals of a family."""
    if family not in FAMILIES:
        raise unknown("family of signals", family, FAMILIES)
    return [at for at, name in enumerate(NAMES) if name.partition(",")[0] in FAMILIES[family]]
