"""Errors that the user can correct: one line says what is wrong and what to do about it."""

from collections.abc import Iterable
from difflib import get_close_matches
from unicodedata import category

LONGEST = 100  # characters of an unknown name: comparing takes time
_INVISIBLE = "Cf"  # the Unicode category of what only changes how its neighbours look, such as their direction


def plain(text: str) -> str:
    """The text on one line, without signs that a terminal would obey: strangers write pages.

    >>> plain("two\\nlines \\x1b[31min red\\u202e")
    'two lines  [31min red'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else "" if category(c) == _INVISIBLE else " " for c in text)


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

    def __init__(self, message: str) -> None:
        super().__init__(plain(message))


def unknown(kind: str, name: str, known: Iterable[str]) -> ForagerError:
    """The error for an unknown name. It tells the nearest known names."""
    names = sorted(set(known))
    name = name if len(name) <= LONGEST else f"{name[:LONGEST]}…"
    close = get_close_matches(name, names, n=3, cutoff=0.5)
    near = close or names[:8]
    more = "" if close or len(near) == len(names) else ", …"
    return ForagerError(f"no {kind} named {name!r}; nearest: {', '.join(near)}{more}")
