"""`forager terms` over files, WARC files, folders and projects."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from forager.cli.terms import terms
from forager.errors import ForagerError
from forager.project import Project
from tests.lab.warc import write_warc, write_web

NETWORK = "<title>Networks</title><p>A neural network.</p><p>The neural network learns.</p>"
LENS = "<title>Lens</title><p>The contact lens of a camera.</p><p>A neural network sees.</p>"
GERMAN = "<html lang=de><title>Stadt</title><p>Die Stadt am Fluss</p>"
PAGES = {"http://a.test/1": NETWORK, "http://a.test/2": LENS, "http://a.test/3": GERMAN}

app = typer.Typer()
app.command()(terms)


def run(*words: object) -> tuple[str, str]:
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None:
        raise done.exception
    return done.stdout, done.stderr


def found(*words: object) -> dict[str, Any]:
    shown: dict[str, Any] = json.loads(run(*words, "--json")[0])
    return shown


@pytest.fixture
def warc(tmp_path: Path) -> Path:
    file = tmp_path / "web" / "pages.warc.gz"
    file.parent.mkdir()
    write_warc(file, PAGES)
    return file


def test_a_file_of_html(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(NETWORK)
    out, told = run(file, "--top", 2)
    # f("neural network") = 2 in no longer candidate: log2(3) 2
    assert out.splitlines() == ["     3.17  neural network", "     1.00  networks"]
    assert not told
    assert found(file)["pages"] == 1
    assert [row["term"] for row in found(file, "--mode", "thesis")["terms"]] == ["neural network"]


def test_several_pages_have_the_union_with_the_number_of_pages(warc: Path) -> None:
    shown = found(warc)
    rows = {row["term"]: (row["weight"], row["pages"]) for row in shown["terms"]}
    assert (shown["pages"], shown["spoken"]) == (3, 2)
    assert rows["neural network"] == (pytest.approx(3.1699), 2)  # the larger of 3.17 and 1.58
    assert rows["contact lens"] == (pytest.approx(1.585), 1)
    assert rows["fluss"] == (1, 1)
    out, told = run(warc, "--top", 1)
    assert out.split() == ["3.17", "2", "neural", "network"]
    assert "1 of 3 pages are not in English" in told


def test_a_folder_of_warc_files_and_one_of_html_files(warc: Path, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for number, body in enumerate(PAGES.values()):
        (folder / f"{number}.html").write_text(body)
    assert found(warc.parent) == found(folder) == found(warc)


def test_a_project(tmp_path: Path) -> None:
    linked = {url: ("x", body + "<a href=/1>1</a><a href=/2>2</a><a href=/3>3</a>") for url, body in PAGES.items()}
    web, folder = write_web(tmp_path / "web", linked), tmp_path / "project"
    folder.mkdir()
    (folder / "forager.toml").write_text(
        'seeds = ["http://a.test/1"]\n[critic]\nname = "predicate"\noptions.keywords = ["network"]\n'
        f"[fetch]\nreplay = {json.dumps(str(web))}\n"
    )
    with pytest.raises(ForagerError, match="crawl"):
        run(folder)
    asyncio.run(Project(folder).crawl())
    shown = found(folder)
    assert shown["pages"] == 3
    assert shown["terms"][0] == {"term": "neural network", "weight": pytest.approx(3.1699), "pages": 2}


def test_what_is_common_in_other_pages_weighs_less(warc: Path, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("<p>The neural network, a contact lens.</p>")
    rows = {row["term"]: row["weight"] for row in found(file, "--idf", warc)["terms"]}
    # Of 3 pages 2 have "neural network", 1 has "contact lens": log2(3) times 1 - log(3)/log(4), and times 1/2.
    assert rows == {"contact lens": pytest.approx(0.7925, abs=1e-4), "neural network": pytest.approx(0.3289, abs=1e-4)}


@pytest.mark.parametrize(
    ("source", "cure"),
    [
        ("http://a.test/", "save the page to a file"),
        ("nowhere.html", "there is no such file or folder"),
        (".", "neither HTML nor WARC files"),
    ],
)
def test_wrong_sources_are_one_line(source: str, cure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ForagerError, match=cure) as wrong:
        run(source)
    assert "\n" not in str(wrong.value)


def test_progress_is_told_only_if_it_takes_long(warc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "pages read" not in run(warc)[1]
    monkeypatch.setattr(sys.modules[terms.__module__], "PATIENCE", 0.0)
    assert "0 pages read" in run(warc)[1]
