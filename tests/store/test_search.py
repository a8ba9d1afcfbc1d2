"""Search finds words of the pages, and an index that is lost can be made again."""

from __future__ import annotations

from pathlib import Path

import pytest

from forager.errors import ForagerError
from forager.store import SearchIndex, Store
from forager.types import Fetch
from tests.store.making import record, url

PAGES = [
    ("Deep learning", "Neural networks with many layers learn representations."),
    ("Gardening", "Digging deep holes for learning apple trees."),
    ("Machines", "A machine is learning slowly. Deep sea machines differ."),
    ("Été à la plage", "Le café et la mer."),
]


def write(store: Store, seq: int, title: str, text: str, id: int | None = None) -> None:
    at = seq if id is None else id
    page = Fetch(url(at), f"<title>{title}</title><p>{text}</p>".encode(), "text/html", "utf-8")
    shown = {"title": title, "answer": page, "relevance": seq / 10}
    store.add(record(seq, store.known, asked=at, answered=at, outcome="page", **shown))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    with Store(tmp_path) as store:
        for seq, (title, text) in enumerate(PAGES):
            write(store, seq, title, text)
    return tmp_path


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("deep learning", [0, 2, 1]),
        ('"deep learning"', [0]),
        ("deep AND trees", [1]),
        ("trees OR layers", [0, 1]),
        ("learning NOT deep", []),
        ("deep NOT trees", [0, 2]),
        ("machin*", [2]),
        ("title: deep", [0]),
        ("cafe", [3]),
        ("ete", [3]),
        ("nothing", []),
    ],
)
def test_queries(project: Path, query: str, found: list[int]) -> None:
    with SearchIndex(project) as index:
        index.update()
        hits = index.search(query)
        assert sorted(hit.seq for hit in hits) == sorted(found)
        assert [hit.rank for hit in hits] == sorted((hit.rank for hit in hits), reverse=True)


def test_a_word_in_the_title_comes_first(project: Path) -> None:
    with SearchIndex(project) as index:
        index.update()
        assert index.search("deep")[0].seq == 0
        assert [hit.seq for hit in index.search("deep", min_relevance=0.15)] == [2]


def test_snippets_have_marks(project: Path) -> None:
    with SearchIndex(project) as index:
        index.update()
        assert index.search("apple", marks=("<b>", "</b>"))[0].snippet.count("<b>apple</b>") == 1
        assert index.search("apple")[0].url.startswith("http://")


@pytest.mark.parametrize("query", ['"open', "a AND", "(", "c++", "no-such", "*", "what's", "nowhere: x"])
def test_a_query_that_is_none_is_told_in_one_line(project: Path, query: str) -> None:
    with SearchIndex(project) as index:
        with pytest.raises(ForagerError, match="cannot search for") as error:
            index.search(query)
        assert "\n" not in str(error.value)
        with pytest.raises(ForagerError, match="nothing to search for"):
            index.search("  ")


def test_only_what_is_new_is_taken_in(project: Path) -> None:
    with SearchIndex(project) as index:
        assert index.update() == 4
        assert index.update() == 0
    with Store(project) as store:
        write(store, 4, "Fresh", "fresh words")
        write(store, 5, "Machines no more", "replaced", id=2)
    with SearchIndex(project) as index:
        assert index.search("fresh") == []
        assert index.behind == 2
        told: list[int] = []
        assert index.update(told.append) == 2
        assert told == [2]
        assert index.behind == 0
        assert [hit.seq for hit in index.search("fresh OR slowly OR replaced")] == [4, 5]


@pytest.mark.parametrize("damage", ["gone", "noise", "middle", "other"])
def test_an_index_that_is_lost_is_made_again(project: Path, tmp_path: Path, damage: str) -> None:
    with SearchIndex(project) as index:
        index.update()
    path = project / "search.sqlite"
    if damage == "gone":
        path.unlink()
    elif damage == "noise":
        path.write_bytes(b"noise" * 1000)
    elif damage == "middle":
        path.write_bytes(path.read_bytes()[:4096] + b"\xff" * (path.stat().st_size - 4096))
    else:  # of another project
        Store(tmp_path / "other").close()
        with SearchIndex(tmp_path / "other") as index:
            index.update()
        path.write_bytes((tmp_path / "other/search.sqlite").read_bytes())
    with SearchIndex(project) as index:
        index.update()
        assert [hit.seq for hit in index.search("apple")] == [1]
