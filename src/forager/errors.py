"""Errors that the user can correct: one line says what is wrong and what to do about it."""

from collections.abc import Iterable
from difflib import get_close_matches


class ForagerError(Exception):
    """Wrong input. The message is one line that says what is wrong and how to mend it.

    The command line prints it and exits with 2.

    >>> from pathlib import Path
    >>> from forager import read_config
    >>> try:
    ...     read_config(Path("nowhere.toml"))
    ... except ForagerError as error:
    ...     print(error)
    nowhere.toml: there is no such file
    """


def unknown(kind: str, name: str, known: Iterable[str]) -> ForagerError:
    """The error for an unknown name. It tells the nearest known names."""
    names = sorted(set(known))
    near = get_close_matches(name, names, n=3, cutoff=0.5) or names[:8]
    more = "" if len(near) == len(names) or get_close_matches(name, names, n=1, cutoff=0.5) else ", …"
    return ForagerError(f"no {kind} named {name!r}; nearest: {', '.join(near)}{more}")
