"""Errors that the user can correct: one line says what is wrong and what to do about it."""

from collections.abc import Iterable
from difflib import get_close_matches


class ForagerError(Exception):
    """Wrong input. The command line prints the message as one line and exits with 2."""


def unknown(kind: str, name: str, known: Iterable[str]) -> ForagerError:
    """The error for an unknown name. It tells the nearest known names."""
    names = sorted(set(known))
    near = get_close_matches(name, names, n=3, cutoff=0.5) or names[:8]
    more = "" if len(near) == len(names) or get_close_matches(name, names, n=1, cutoff=0.5) else ", …"
    return ForagerError(f"no {kind} named {name!r}; nearest: {', '.join(near)}{more}")
