"""Paths of people who played Wikispeedia: from a given article to another, by links alone.

Two files are known, by their number of columns. Both begin: player, time, seconds, path. The games given up go on with
the target and how they ended; of the finished ones the last article is the target, and a rating follows. Articles of a
path are separated by `;`, and `<` is a click on the back button.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote

from forager.paths.lines import numbered, wrong
from forager.paths.shown import ShownPath
from forager.paths.trail import START, Trail
from forager.types import Url

BACK = "<"
_GIVEN_UP, _FINISHED = 6, 5  # columns


def articles(urls: Iterable[Url]) -> dict[str, Url]:
    """The pages of the recorded web by the name of their article. File names are escaped, and once more as URLs."""
    return {unquote(unquote(url.rpartition("/")[2].removesuffix(".htm"))): url for url in urls}


def read_wikispeedia(file: Path, pages: Mapping[str, Url]) -> Iterator[ShownPath]:
    """A path for each branch of each game, without labels; the outcome is goal where it ends in the target.

    A branch ends where somebody went back. `pages` are the URLs of articles by name, from `articles`.
    """
    for number, text in numbered(file):
        if text.startswith("#"):
            continue
        columns = text.split("\t")
        if len(columns) not in (_GIVEN_UP, _FINISHED):
            raise wrong(
                file,
                number,
                f"{len(columns)} columns: a finished game has {_FINISHED}, one given up {_GIVEN_UP}, between tabs",
            )
        clicks = columns[3].split(";")
        target = unquote(columns[4] if len(columns) == _GIVEN_UP else clicks[-1])
        try:
            trail = _trail(clicks, pages)
        except LookupError as error:
            raise wrong(file, number, f"{error.args[0]}: is it a path of this web?") from None
        goals = {pages[target]} if target in pages else set()  # players may have chosen a target that is no article
        yield from trail.paths(f"game-{number}", goals)


def _trail(clicks: Iterable[str], pages: Mapping[str, Url]) -> Trail:
    trail, here = Trail(), START
    for click in clicks:
        if click != BACK:
            name = unquote(click)
            if name not in pages:
                raise LookupError(f"no page is the article {name!r}")
            here = trail.visit(pages[name], here)
        elif here == START or trail.back(here) == START:
            raise LookupError("a click goes back from the first article")
        else:
            here = trail.back(here)
    return trail
