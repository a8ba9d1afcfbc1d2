"""What is typed wrong is told in one line, numbers have bounds, and exit codes say how a crawl ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from inspect import unwrap
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from forager.cli import app, main, projects
from forager.cli.projects import CURES
from forager.crawl.stats import CrawlStats
from forager.errors import ForagerError
from forager.project import Project
from forager.types import Reason
from tests.lab.warc import write_web


def typed(words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    monkeypatch.setattr(sys, "argv", ["forager", *words.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr()
    return int(str(ended.value.code)), told.out, told.err


WRONG = {
    "pages p --limit -1": "'--limit'",
    "pages p --limit 0": "'--limit'",
    "pages p --limit 1e3": "'--limit'",
    f"pages p --limit {'9' * 5000}": "'--limit'",
    f"search p x --limit {10**30}": "'--limit'",
    "pages p --min-relevance 7": "'--min-relevance'",
    "search p x --min-relevance -0.1": "'--min-relevance'",
    "export p f --min-relevance nan": "'--min-relevance'",
    "pages p --min-relevance inf": "'--min-relevance'",
    "new p --pages -3": "'--pages'",
    "new p --pages-per-site 0": "'--pages-per-site'",
    "judge p --seed -1": "'--seed'",
    "train crf --out o --relevant 7": "'--relevant'",
    "train crf --out o --folds -1": "'--folds'",
    "pagse": "no such command 'pagse'",
    "pages p --limti 3": "no such option: --limti",
    "pages": "missing argument 'project'",
    "pages a b": "unexpected extra argument",
    "new p --within mars": "'mars' is not one of",
    "pages nowhere": "nowhere holds no crawl yet",
    "taxonomy shwo": "no such command 'shwo'",
}


@pytest.mark.parametrize(("words", "message"), WRONG.items(), ids=[words[:40] for words in WRONG])
def test_what_is_typed_wrong_is_told_in_one_line(
    words: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = typed(words, monkeypatch, capsys)
    assert (code, out) == (2, "")
    assert err.startswith("forager: ")
    assert err.count("\n") == 1
    assert message in err
    assert not list(tmp_path.iterdir())


def test_without_words_the_help_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = typed("", monkeypatch, capsys)
    assert (code, err) == (2, "")
    assert "Usage: forager" in out
    code, out, err = typed("--help", monkeypatch, capsys)
    assert (code, err) == (0, "")


def numbers(command: Any) -> Iterator[tuple[str, Any]]:
    """Each option that is a number, with what is said of it."""
    for name, each in getattr(command, "commands", {}).items():
        if name not in ("lab", "demo"):
            yield from numbers(each)
    if not hasattr(command, "commands"):
        called = unwrap(command.callback)
        for name, hint in get_type_hints(called, include_extras=True).items():
            kind, *said = get_args(hint) if get_origin(hint) is Annotated else (hint,)
            if said and {int, float} & {kind, *get_args(kind)} and not said[0].count:
                yield f"{called.__name__} {name}", said[0]


def test_every_number_of_every_command_has_bounds() -> None:
    found = dict(numbers(get_command(app)))
    assert len(found) > 12
    assert not [name for name, option in found.items() if option.min is None or option.max is None]


# ---- exit codes


def project(folder: Path, *seeds: str, more: str = "") -> Path:
    """A project on a recorded web of two pages."""
    write_web(folder / "web", {f"http://a.test/{n}": ("", f"<title>{n}</title>nest <a href=/2>x</a>") for n in (1, 2)})
    (folder / "forager.toml").write_text(
        f'seeds = {json.dumps(seeds)}\n[critic]\nname = "predicate"\noptions.keywords = ["nest"]\n'
        f'[fetch]\nreplay = "web"\n{more}'
    )
    return folder


def crawl(place: Path, *words: str) -> Any:
    return CliRunner().invoke(app, ["crawl", str(place), *words])


def test_a_crawl_that_fetched_nothing_exits_with_1_and_says_why(tmp_path: Path) -> None:
    place = project(tmp_path, "http://a.test/none", "http://b.test/")
    done = crawl(place)
    assert done.exit_code == 1
    why = "2 of 2 links failed for this reason: not found (404 or 410); check the URLs of the seeds"
    assert done.stderr.splitlines()[-1] == f"nothing was fetched: {why}"
    assert crawl(place).exit_code == 1  # still nothing
    assert crawl(place / "forager.toml").exit_code == 1
    summary = crawl(place, "--json")
    assert summary.exit_code == 1
    assert json.loads(summary.stdout)["pages"] == 0


def test_a_crawl_that_has_pages_exits_with_0_also_if_nothing_is_left(tmp_path: Path) -> None:
    place = project(tmp_path, "http://a.test/1")
    assert crawl(place).exit_code == 0
    again = crawl(place)
    assert again.exit_code == 0
    assert again.stderr.splitlines()[-1] == "nothing is left to fetch"


def test_no_page_and_no_failure(tmp_path: Path) -> None:
    done = crawl(project(tmp_path, "http://a.test/1", more="[stop]\nseconds = 0"))
    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1] == "nothing was fetched: the budget of 0 seconds is used up"


def test_cures_are_for_reasons_and_the_help_has_the_exit_codes() -> None:
    assert set(CURES) <= set(Reason)
    told = CliRunner().invoke(app, ["crawl", "--help"], env={"COLUMNS": "200"}).stdout
    assert "Exit codes: 0 the crawl has ended, 1 nothing was fetched, 2 wrong input, 130 stopped at once." in told


def test_stopped_at_once_is_130(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def stopped(*_: object) -> CrawlStats:
        return CrawlStats()

    monkeypatch.setattr(projects, "_crawl_project", stopped)
    assert crawl(project(tmp_path, "http://a.test/1")).exit_code == 130


# ---- asking again


class Asked:
    """Takes the place of `Project.retry`."""

    def __init__(self) -> None:
        self.given: tuple[list[str], list[str]] = ([], [])

    def __call__(self, reasons: Sequence[str], hosts: Sequence[str]) -> int:
        self.given = list(reasons), list(hosts)
        return 1234


def test_links_that_failed_are_asked_for_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asked = Asked()
    monkeypatch.setattr(Project, "retry", asked, raising=False)
    place = project(tmp_path, "http://a.test/1")
    projects.retry(place, ["dns", "timeout"], ["a.test"])
    assert capsys.readouterr().out == "1,234 links will be asked for again\n"
    assert asked.given == (["dns", "timeout"], ["a.test"])
    monkeypatch.undo()
    with pytest.raises(ForagerError, match="no reason named 'tiemout'; nearest: timeout"):
        projects.retry(place, ["tiemout"], None)


def test_letters_that_a_terminal_has_not_are_escaped(tmp_path: Path) -> None:
    place = project(tmp_path, "http://a.test/1")
    (place / "seeds.txt").write_text("http://a.test/ł\n", encoding="utf-8")
    command = [sys.executable, "-m", "forager", "seeds", "list", str(place)]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=120)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, r"http://a.test/\u0142")
