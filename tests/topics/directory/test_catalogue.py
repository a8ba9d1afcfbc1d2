"""An imported directory: counts, listings by category, nearest names; all of the new one or all of the old one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forager.errors import ForagerError
from forager.topics.directory import (
    Category,
    CategoryCount,
    Directory,
    DirectoryItem,
    Listing,
    Relation,
    import_directory,
)
from forager.topics.directory import catalogue as catalogue_module


def listing(category: str, number: int = 0) -> Listing:
    return Listing(f"http://a.test/{category}/{number}", category, f"{category} {number}", "words")


ITEMS: list[DirectoryItem] = [
    Category("Science", "All of it", (Relation("related", "Arts"), Relation("symbolic", "Arts.Music", "Song"))),
    listing("Arts.Music.Guitar", 1),
    listing("Arts.Music.Guitar", 2),
    listing("Arts.Music", 3),
    listing("Arts", 4),
    listing("Arts-and-Crafts", 5),
    listing("Arts,_Old", 6),
    Category("Science.Biology.Empty"),
    listing("Arts.Music.Guitar", 1),
]


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Directory]:
    import_directory(ITEMS, tmp_path / "d.sqlite")
    with Directory(tmp_path / "d.sqlite") as opened:
        yield opened


def test_counts(directory: Directory) -> None:
    assert directory.counted() == CategoryCount("", 0, 7, 4)
    assert directory.counted("Arts") == CategoryCount("Arts", 1, 5, 1)
    assert directory.children("Arts") == [CategoryCount("Arts.Music", 1, 4, 1)]
    assert [child.name for child in directory.children()] == ["Arts", "Arts,_Old", "Arts-and-Crafts", "Science"]
    assert directory.children("Science") == [CategoryCount("Science.Biology", 0, 0, 1)]
    assert directory.categories == 8


def test_listings_below_a_category_by_whole_parts(directory: Directory) -> None:
    assert [item.title for item in directory.listings("Arts")] == [
        "Arts 4",
        "Arts.Music 3",
        *("Arts.Music.Guitar 1", "Arts.Music.Guitar 2", "Arts.Music.Guitar 1"),
    ]
    assert list(directory.listings("Science")) == []
    assert len(list(directory.listings())) == 7
    assert dict(directory.counts("Arts")) == {"Arts": 1, "Arts.Music": 1, "Arts.Music.Guitar": 3}
    assert next(directory.listings("Arts")) == listing("Arts", 4)


def test_show(directory: Directory) -> None:
    shown = directory.show("Science")
    assert shown.description == "All of it"
    assert shown.relations == (Relation("related", "Arts"), Relation("symbolic", "Arts.Music", "Song"))
    assert [child.name for child in shown.children] == ["Science.Biology"]
    assert [item.title for item in directory.show("Arts.Music", 2).examples] == ["Arts.Music 3", "Arts.Music.Guitar 1"]


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("Art.Musik", "Arts.Music"),
        ("arts.music.guitar", "Arts.Music.Guitar"),
        ("Guitar", "Arts.Music.Guitar$"),
        ("Science.Biologie", "Science.Biology"),
        ("Arts.Music.Drum", "Arts.Music"),
    ],
)
def test_a_category_that_does_not_exist_is_told_with_the_nearest(directory: Directory, name: str, nearest: str) -> None:
    for ask in (directory.counted, directory.children, directory.show, directory.listings, directory.counts):
        with pytest.raises(ForagerError, match=f"no category named '{name}'; nearest: .*{nearest}"):
            ask(name)


PATHS = st.lists(st.sampled_from(["a", "b", "b-", "é"]), min_size=1, max_size=4).map(".".join)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(st.lists(PATHS, min_size=1, max_size=40))
def test_totals_are_sums(tmp_path: Path, paths: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue_module, "BATCH", 7)
        patch.setattr(catalogue_module, "_REMEMBERED", 2)
        import_directory((listing(path, i) for i, path in enumerate(paths)), tmp_path / "d.sqlite")
    with Directory(tmp_path / "d.sqlite") as directory:
        for name, own in directory.counts():
            below = [path for path in paths if not name or path == name or path.startswith(name + ".")]
            found = directory.counted(name)
            assert (found.own, found.total, own) == (paths.count(name), len(below), paths.count(name))
            assert sorted(item.category for item in directory.listings(name)) == sorted(below)


def test_an_import_that_fails_leaves_what_there_was(tmp_path: Path) -> None:
    file = tmp_path / "d.sqlite"
    import_directory([listing("Old")], file)

    def failing() -> Iterator[DirectoryItem]:
        yield listing("New")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_directory(failing(), file)
    with pytest.raises(ForagerError, match="have no listing and no category"):
        import_directory([], file)
    (tmp_path / "d.sqlite.part").write_bytes(b"left by one that was killed")
    with Directory(file) as directory:
        assert [child.name for child in directory.children()] == ["Old"]
    import_directory([listing("New")], file)
    assert [path.name for path in tmp_path.iterdir()] == ["d.sqlite"]
    with Directory(file) as directory:
        assert [child.name for child in directory.children()] == ["New"]


def test_files_that_are_no_directory(tmp_path: Path) -> None:
    with pytest.raises(ForagerError, match="there is no directory"):
        Directory(tmp_path / "none.sqlite")
    (tmp_path / "text").write_text("not a database, but longer than the head of one " * 50)
    with pytest.raises(ForagerError, match="is not a directory that this version can read"):
        Directory(tmp_path / "text")
    other = sqlite3.connect(tmp_path / "other.sqlite")
    other.execute("CREATE TABLE t(x)")
    other.close()
    with pytest.raises(ForagerError, match="is not a directory that this version can read"):
        Directory(tmp_path / "other.sqlite")


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ForagerError, match="cannot be written"):
        import_directory(ITEMS, tmp_path / "file" / "d.sqlite")
