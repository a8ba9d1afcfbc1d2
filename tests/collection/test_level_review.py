"""People say on which level of a path pages are: their agreement with each other and with the directory."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copyfile

import pytest
import typer
from typer.testing import CliRunner, Result

from forager.cli.judge import judge
from forager.collection.level_review import level_verdicts, topic_path
from forager.errors import ForagerError
from forager.store import Catalogue
from forager.store.verdicts import FILE, read_labels, read_level_verdicts, read_reviews
from tests.topics.test_directory_path import LISTED, PAGES, PATH, project
from tests.topics.test_topics import run as command

LEVEL = {topic: str(level) for level, topic in enumerate(PATH, 1)}


def run(folder: Path, answers: str = "", *words: str) -> Result:
    app = typer.Typer()
    app.command()(judge)
    lines = "".join(f"{answer}\n" for answer in answers)
    return CliRunner().invoke(app, [str(folder), "--levels", "--sample", "6", "--listed", "4", *words], input=lines)


def rows(done: Result) -> dict[frozenset[str], dict[str, object]]:
    """The figures of each pair of judges."""
    assert done.exception is None, done.output
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {frozenset(row["judges"]): row for row in found}


def asked(folder: Path) -> list[str]:
    """The pages that a judge is shown, in their order."""
    given = read_level_verdicts(folder / FILE)
    return list(next(iter(given.values())))


def test_judges_are_compared_with_the_directory_and_with_each_other(tmp_path: Path) -> None:
    folder = project(tmp_path)
    command("crawl", str(folder))
    done = run(folder, "1" * 10, "--judge", "ann", "--json")
    urls = asked(folder)
    assert len(urls) == 10
    listed = [url for url in urls if int(url[-1]) < LISTED]
    truth = [LEVEL.get(PAGES[url][0], "outside") for url in listed]
    with_directory = rows(done)[frozenset(("ann", "the directory"))]
    assert with_directory["raw"]["of"] == len(listed) >= 4  # type: ignore[index]
    assert with_directory["raw"]["hits"] == truth.count("1")  # type: ignore[index]

    keys = [LEVEL.get(PAGES[url][0], "o") for url in urls]
    found = rows(run(folder, "".join(keys), "--judge", "ben", "--json"))
    assert found[frozenset(("ben", "the directory"))]["raw"]["value"] == 1  # type: ignore[index]
    assert found[frozenset(("ann", "ben"))]["raw"]["hits"] == keys.count("1")  # type: ignore[index]
    assert asked(folder) == urls, "all judges see the same pages in the same order"
    assert not read_reviews(folder), "no verdicts on relevance"
    assert not read_labels(folder)

    copyfile(folder / FILE, tmp_path / "theirs.tsv")
    told = run(folder, "", "--report", "--with", str(tmp_path / "theirs.tsv"))
    assert f"ben and ben ({tmp_path / 'theirs.tsv'}): agree on 10 of 10" in told.stdout
    assert "Cohen's kappa" in told.stdout
    with Catalogue(folder) as catalogue:
        assert set(urls) - {entry.url for entry in catalogue.pages()} | set(listed) == set(listed)


def test_wrong_words_and_wrong_files(tmp_path: Path) -> None:
    folder = project(tmp_path)
    assert "no crawl yet" in str(run(folder).exception)
    command("crawl", str(folder))
    assert "no verdicts on levels" in str(run(folder, "", "--report").exception)
    done = run(folder, "9q", "--judge", "ann")
    assert "no key '9'" in done.output
    run(folder, "ouq", "--judge", "ann")
    assert [each.verdict for each in read_level_verdicts(folder / FILE)["ann"].values()] == ["outside", "unsure"]
    assert "there is no file" in str(run(folder, "", "--report", "--with", str(tmp_path / "none.tsv")).exception)
    file = folder / FILE
    file.write_text(file.read_text().replace("\toutside\t", "\tfar\t"))
    assert "is not the number of a level" in str(run(folder, "", "--report").exception)


def test_paths_and_what_may_be_said() -> None:
    assert topic_path(["Science", "Science.Biology.Owls"]) == PATH
    assert level_verdicts(PATH) == ("1", "2", "3", "outside", "unsure")
    with pytest.raises(ForagerError, match="no path of levels"):
        topic_path(["wanted"])
