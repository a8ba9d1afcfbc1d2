"""`forager taxonomy`, as a person uses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from forager.cli.taxonomy import taxonomy
from forager.errors import ForagerError
from tests.shared import WEBS, needs

TABLE = "url,category,title\n" + "".join(
    f"http://a.test/{name}/{i},{name},{name} {i}\n"
    for name, count in {"Arts.Music": 12, "Arts.Film": 3, "Arts": 1, "Sports.Golf": 2}.items()
    for i in range(count)
)


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(taxonomy, [str(word) for word in words], catch_exceptions=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "list.csv").write_text(TABLE)
    result = run("import", tmp_path / "list.csv", "--out", tmp_path / "d.sqlite")
    assert result.exit_code == 0
    assert result.stdout == f"18 listings in 5 categories, in {tmp_path / 'd.sqlite'}\n"
    return tmp_path / "d.sqlite"


def test_list(file: Path) -> None:
    assert run("list", "--in", file).stdout.split() == ["16", "Arts", "(2", "below)", "2", "Sports", "(1", "below)"]
    rows = [json.loads(line) for line in run("list", "Arts", "--in", file, "--json").stdout.splitlines()]
    assert rows == [
        {"name": "Arts.Film", "own": 3, "total": 3, "children": 0},
        {"name": "Arts.Music", "own": 12, "total": 12, "children": 0},
    ]
    assert "nothing below Arts.Film" in run("list", "Arts.Film", "--in", file).stderr


def test_show(file: Path) -> None:
    told = run("show", "Arts", "--in", file, "--examples", "2").stdout
    assert told.startswith("Arts\n1 listings, 16 with those below\n")
    assert "Arts.Film 0\n    http://a.test/Arts.Film/0" in told
    assert json.loads(run("show", "Arts", "--in", file, "--json").stdout)["category"]["total"] == 16


def test_prune(file: Path) -> None:
    result = run("prune", "--k", "5", "--in", file, "--json")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert rows == [
        {"class": "Arts.Music", "listings": 12, "used": 5},
        {"class": "Arts.Other", "listings": 4, "used": 4},
        {"class": "Other", "listings": 2, "used": 2},
    ]
    assert "3 classes of 6 categories; 18 listings, 11 of them" in result.stderr.replace("\n", " ")
    assert run("prune", "--k", "5", "--in", file, "--under", "Sports").stdout.split() == ["2", "Sports"]


def test_a_sample_is_a_table_that_can_be_imported(file: Path, tmp_path: Path) -> None:
    run("prune", "--k", "5", "--in", file, "--sample", tmp_path / "sample.tsv")
    assert run("import", tmp_path / "sample.tsv", "--out", tmp_path / "again.sqlite", "--strict").exit_code == 0
    assert run("list", "Arts", "--in", tmp_path / "again.sqlite").stdout.split() == [
        "5",
        "Arts.Music",
        "4",
        "Arts.Other",
    ]


def test_malformed_rows_are_counted_or_stop_the_import(tmp_path: Path) -> None:
    source, out = tmp_path / "list.csv", tmp_path / "d.sqlite"
    source.write_text(TABLE + "http://b.test/\nftp://c.test/,Arts\n")
    result = run("import", source, "--out", out, "--json")
    assert json.loads(result.stdout) == {
        **{"listings": 18, "categories": 5, "out": str(out)},
        "skipped": {"malformed": 1, "not an http URL": 1},
    }
    assert "skipped: " in result.stderr
    assert "line 20, byte " in result.stderr.replace("\n", "")
    out.unlink()
    with pytest.raises(ForagerError, match="line 20"):
        run("import", source, "--out", out, "--strict")
    assert not out.exists()


WRONG = {
    "no such category": (["show", "Art.Musik"], "no category named 'Art.Musik'; nearest: .*Arts.Music"),
    "no such prefix": (["list", "Spots"], "nearest: Sports"),
    "nothing to prune under": (["prune", "--under", "Golf"], "nearest: .*Sports.Golf"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_names(file: Path, kind: str) -> None:
    words, message = WRONG[kind]
    with pytest.raises(ForagerError, match=message):
        run(*words, "--in", file)


def test_empty_directories(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("url,category\n")
    with pytest.raises(ForagerError, match="have no listing and no category"):
        run("import", tmp_path / "list.csv", "--out", tmp_path / "d.sqlite")
    (tmp_path / "structure.rdf").write_text('<RDF><Topic id="Top/Arts"></Topic></RDF>')
    run("import", tmp_path / "structure.rdf", "--out", tmp_path / "d.sqlite")
    with pytest.raises(ForagerError, match="has no listings: choose another category"):
        run("prune", "--in", tmp_path / "d.sqlite")
    with pytest.raises(ForagerError, match="there is no directory"):
        run("list", "--in", tmp_path / "none.sqlite")


@needs("dmoz-samples")
def test_the_samples_together(tmp_path: Path) -> None:
    names = ("content_sample.rdf.u8", "structure_sample.rdf.u8", "dmoz-content-example.xml")
    sources = [WEBS / "dmoz-samples" / name for name in names]
    result = run("import", *sources, "--out", tmp_path / "d.sqlite", "--strict")
    assert "76 listings" in result.stdout
    classes = run("prune", "--k", "11", "--in", tmp_path / "d.sqlite").stdout.split()
    assert dict(zip(classes[1::2], classes[::2], strict=True)) == {
        **{"Home": "13", "News": "15", "Reference": "11", "Science": "11", "Other": "26"},
    }
