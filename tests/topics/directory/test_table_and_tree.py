"""Directories as tables and as folders."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from forager.errors import ForagerError
from forager.topics.directory import DirectoryItem, ImportProgress, Listing, SkipReason, read_source


def read(file: Path, *, strict: bool = False, separator: str = ".") -> tuple[list[DirectoryItem], ImportProgress]:
    progress = ImportProgress(strict=strict)
    return list(read_source(file, progress, separator=separator)), progress


def test_csv_with_quotes_and_more_columns(tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_bytes(
        b"\xef\xbb\xbfid,Category,URL,Title\r\n"
        b'1,Arts.Music,http://A.test/x#y,"Bach, and\n  sons"\r\n'
        b"\r\n"
        b"2,Arts. Film noir ,https://b.test,Noir\r\n"
    )
    items, progress = read(file, strict=True)
    assert items == [
        Listing("http://a.test/x", "Arts.Music", "Bach, and sons"),
        Listing("https://b.test/", "Arts.Film_noir", "Noir"),
    ]
    assert not progress.skipped


def test_tsv_has_no_quotes(tmp_path: Path) -> None:
    file = tmp_path / "list.tsv.gz"
    text = 'url\tcategory\tdescription\nhttp://a.test/\tTop/U.S./A\t"Best" site\nhttp://b.test/\tTop\t"open\n'
    file.write_bytes(gzip.compress(text.encode()))
    items, _ = read(file, separator="/")
    assert items == [
        Listing("http://a.test/", "Top.U_S_.A", "", '"Best" site'),
        Listing("http://b.test/", "Top", "", '"open'),
    ]


def test_nothing_that_a_terminal_would_obey_comes_in(tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text("url,category,title\nhttp://a.test/,A\x1b[2J.B,\x1b]0;own\x07 \x9b31mred\u200c\n", encoding="utf-8")
    assert read(file)[0] == [Listing("http://a.test/", "A[2J.B", "]0;own 31mred\u200c")]


def test_rows_that_are_no_listings(tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    rows = [b"url,category", b"http://a.test/,A", b"http://b.test/", b"ftp://c.test/,A", b"http://d.test/, . "]
    file.write_bytes(b"\n".join([*rows, *[b"http://e.test/,caf\xe9"] * 2, b"x", b"http://f.test/,B"]))
    items, progress = read(file)
    assert [item.url for item in items if isinstance(item, Listing)] == ["http://a.test/", "http://f.test/"]
    assert progress.skipped == {SkipReason.MALFORMED: 4, SkipReason.NOT_HTTP: 1, SkipReason.NO_CATEGORY: 1}
    assert (progress.faults[0].line, progress.faults[0].byte) == (3, len(b"\n".join(rows[:2])) + 1)
    encoded = len(b"\n".join(rows)) + 1
    places = [(6, encoded), (7, encoded + 20), (8, encoded + 40)]
    assert [(fault.line, fault.byte) for fault in progress.faults[1:]] == places
    with pytest.raises(ForagerError, match=r"line 3, byte 30: the row has 1 fields"):
        read(file, strict=True)


def test_a_quote_left_open_does_not_fill_the_memory(tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    row = "http://a.test/,A,fine\n"
    file.write_text("url,category,title\n" + row + 'http://b.test/,A,"open\n' + row * 10_000)
    items, progress = read(file)
    assert 1 < len(items) < 10_000
    assert progress.faults[0].line == 3
    assert "field larger" in progress.faults[0].what


@pytest.mark.parametrize("head", ["address,category", "url;category", "", "\x00\x01\x02"])
def test_a_table_without_the_columns_is_told(tmp_path: Path, head: str) -> None:
    file = tmp_path / "list.csv"
    file.write_text(head + "\nhttp://a.test/,A\n")
    with pytest.raises(ForagerError, match=r"has no column url.*its first line must name the columns"):
        read(file)


def test_no_such_source(tmp_path: Path) -> None:
    with pytest.raises(ForagerError, match=r"there is no .*: name an RDF dump"):
        read(tmp_path / "nothing.csv")


def test_a_tree_of_pages(tmp_path: Path) -> None:
    pages = {
        "Arts/Music/bach.html": "<html><title>Bach &amp;\n sons</title><meta content='A life' name=description></html>",
        "Arts/Music/air.txt": "just words",
        "Arts/v1.5/x.HTM": "<TITLE>Caf\xe9</TITLE>",
        "Arts/Music/notes.pdf": "",
        "index.html": "<title>No category</title>",
        ".git/x.html": "",
        "Arts/.hidden.html": "",
    }
    for name, text in pages.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(text.encode("latin-1"))
    items, progress = read(tmp_path)
    base = tmp_path.as_uri()
    assert items == [
        Listing(f"{base}/Arts/Music/air.txt", "Arts.Music"),
        Listing(f"{base}/Arts/Music/bach.html", "Arts.Music", "Bach & sons", "A life"),
        Listing(f"{base}/Arts/v1.5/x.HTM", "Arts.v1_5", "Café"),
    ]
    assert progress.skipped == {SkipReason.NOT_A_PAGE: 1, SkipReason.NO_CATEGORY: 1}


def test_a_folder_whose_name_is_no_text(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    try:
        os.mkdir(folder)
    except OSError:
        pytest.skip("this file system has only names that are text")
    (Path(os.fsdecode(folder)) / "x.html").write_text("<title>x</title>")
    (item,), _ = read(tmp_path)
    assert item == Listing(f"{tmp_path.as_uri()}/caf%E9/x.html", "caf\ufffd", "x")
