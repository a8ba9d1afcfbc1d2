from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from forager.errors import ForagerError
from forager.paths import PathOutcome, ShownPath, articles, gaps, read_edges, read_wikispeedia
from forager.types import Url
from tests.shared import WEBS, needs

PAGES = articles(Url(f"http://w.org/wp/x/{name}.htm") for name in ("A", "B", "C", "D", "C%252B%252B"))


def read(folder: Path, *rows: str) -> list[ShownPath]:
    file = folder / "paths.tsv"
    file.write_text("# a comment\n\n" + "".join(f"ip\t1\t60\t{row}\n" for row in rows))
    return list(read_wikispeedia(file, PAGES))


def brief(paths: list[ShownPath]) -> list[tuple[str, str, str]]:
    names = {url: name for name, url in PAGES.items()}
    return [(path.id, " ".join(names[step.url] for step in path.steps), path.outcome.value) for path in paths]


def test_names_of_articles_are_escaped_twice() -> None:
    assert PAGES["C++"] == "http://w.org/wp/x/C%252B%252B.htm"


def test_a_branch_ends_where_somebody_goes_back(tmp_path: Path) -> None:
    found = read(tmp_path, "A;B;C;<;<;D\tC%2B%2B\ttimeout", "A;B;<\tD\trestart", "A\tNo_article\trestart")
    assert brief(found) == [
        ("game-3-1", "A B C", "fail"),
        ("game-3-2", "A D", "fail"),
        ("game-4", "A B", "fail"),
        ("game-5", "A", "fail"),
    ]


def test_the_target_reached_is_a_goal(tmp_path: Path) -> None:
    given_up, finished = "A;C%2B%2B;<;C%2B%2B\tC++\ttimeout", "A;B;<;C;D\tNULL"
    assert brief(read(tmp_path, given_up, finished)) == [
        ("game-3", "A C++", "goal"),
        ("game-4-1", "A B", "fail"),
        ("game-4-2", "A C D", "goal"),
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("A;B", "line 3: 4 columns: a finished game has 5, one given up 6"),
        ("A;Z\tB\ttimeout", "line 3: no page is the article 'Z': is it a path of this web"),
        ("A;<;<\tB\ttimeout", "line 3: a click goes back from the first article"),
        ("<\tB\ttimeout", "line 3: a click goes back from the first article"),
    ],
)
def test_wrong_rows_are_named(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(ForagerError, match=message):
        read(tmp_path, row)


@needs("wikispeedia")
def test_every_recorded_game_is_read_and_follows_links() -> None:
    folder = WEBS / "wikispeedia"
    edges = read_edges(folder / "edges.tsv.gz")
    paths = list(read_wikispeedia(folder / "paths_unfinished.tsv.gz", articles(edges.urls)))
    with gzip.open(folder / "paths_unfinished.tsv.gz", "rt", encoding="utf-8") as lines:
        games = {f"game-{n}" for n, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")}
    assert len(games) == 24_875
    assert {"-".join(path.id.split("-")[:2]) for path in paths} == games
    assert [path.steps[-1].url[-15:] for path in paths if path.outcome is PathOutcome.GOAL] == ["C%252B%252B.htm"]
    index = {url: page for page, url in enumerate(edges.urls)}
    linked = [
        {edges.urls[v] for v in row} for row in np.split(edges.graph.targets, edges.graph.offsets[1:-1].astype(np.intp))
    ]
    assert not list(gaps(paths, lambda url: linked[index[url]]))
