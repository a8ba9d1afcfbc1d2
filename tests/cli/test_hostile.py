"""Strangers write pages. Whatever they write, a command prints text: nothing that a terminal would obey."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command
from typer.testing import CliRunner, Result

from forager.cli import app, progress
from forager.errors import ForagerError, plain
from tests.lab.warc import write_web

EVIL = (
    "\x1b[31mred\x1b]8;;http://evil.test/\x07link\x1b]8;;\x07 [/b] [bold]\x9b2J\u202ecod\u2028\u2066.exe"
    "\x7f\x85\x0b\x08 \r\n done"
)
WORDS = "birds with feathers build a nest and lay an egg in it"
URL = "http://a.test/[/b]1"
COURSE = f"<title>CS 302 {EVIL}</title><h1>CS 302 {EVIL}</h1><h2>Syllabus</h2><ul><li>{EVIL} deadlock<li>memory</ul>"


def page(number: int) -> str:
    links = "".join(f"<p><a href='/[/b]{(number * k + 1) % 12}'>{EVIL} {k}</a></p>" for k in (2, 3, 5))
    return f"<title>{EVIL} {number}</title><h1>{EVIL}</h1><p>{WORDS} {EVIL} {number}</p>{COURSE}{links}"


CONFIG = """
seeds = ["http://a.test/[/b]1", "http://a.test/missing"]
[topic]
keywords = ["nest"]
[topic.examples]
"birds \\u001b[31m [/b] \\u202e" = ["liked"]
[scope]
exclude = ['never']
[frontier]
delay = 0
[fetch]
replay = "web"
contact = "me@example.org"
"""
ALONE = """
seeds = ["http://a.test/[/b]1"]
[critic]
name = "predicate"
options.keywords = ["nest"]
[frontier]
delay = 0
[fetch]
replay = "web"
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a hostile web, a project that has crawled it, and a directory of hostile listings."""
    folder = tmp_path_factory.mktemp("hostile")
    project = folder / "project"
    write_web(project / "web", {f"http://a.test/[/b]{n}": ("", page(n)) for n in range(12)})
    write_web(folder / "web", {f"http://a.test/[/b]{n}": ("", page(n)) for n in range(12)})
    (project / "liked").mkdir()
    for number in range(3):
        (project / "liked" / f"{number}.html").write_text(page(number))
    (project / "forager.toml").write_text(CONFIG)
    (folder / "alone.toml").write_text(ALONE)
    rows = "".join(f"http://a.test/{n},Arts.{n % 2}{EVIL[:4]},{EVIL[:60]} {n}\n" for n in range(9))
    (folder / "list.csv").write_text("url,category,title\n" + rows)
    (folder / "har.jsonl").write_text(json.dumps({"path": EVIL, "outcome": "goal", "steps": [{"url": URL}]}) + "\n")
    for words in (f"taxonomy import {folder}/list.csv --out {folder}/d.sqlite", f"crawl {project}"):
        done = CliRunner().invoke(app, words.split())
        assert done.exit_code == 0, done.output
    return folder


WALK = (
    "crawl {p}",
    "crawl {p} --json -vv",
    "crawl {f}/alone.toml",
    "crawl {f}/alone.toml --json",
    "verify {p}",
    "verify {p} --json",
    "recover {p}",
    "retry {p}",
    "retry {p} --reason \x1b[31m",
    "status {p}",
    "status {p} --json",
    "pages {p}",
    "pages {p} --json",
    "why {p} {u}",
    "why {p} {u} --json",
    "search {p} nest",
    "search {p} nest --json",
    "search {p} \x1b[31m",
    "export {p} {f}/out.jsonl",
    "seeds list {p}",
    "seeds add {p} http://a.test/\x1b]8;;",
    "seeds add {p} \x1b]8;;",
    "topic show {p}",
    "topic show {p} --json",
    "topic from-courses {p}",
    "label {p} {u} relevant",
    "label {p} {u} \x1b[31m",
    "retrain {p}",
    "judge {p} --sample 3 --judge me",
    "judge {p} --sample 3 --judge you",
    "judge {p} --report",
    "judge {p} --report --json",
    "terms {p}",
    "terms {p} --json",
    "train crf --project {p} --out {f}/taught --folds 0",
    "teach record {f}/lessons --config {f}/alone.toml --start {u}",
    "teach import {f}/lessons --out {f}/paths.jsonl",
    "teach import {f}/har.jsonl --out {f}/more.jsonl",
    "taxonomy import {f}/list.csv --out {f}/again.sqlite",
    "taxonomy import {f}/list.csv --out {f}/again.sqlite --json",
    "taxonomy list --in {f}/d.sqlite Arts",
    "taxonomy list --in {f}/d.sqlite Arts --json",
    "taxonomy show Arts --in {f}/d.sqlite",
    "taxonomy show Arts --in {f}/d.sqlite --json",
    "taxonomy show \x1b[31m --in {f}/d.sqlite",
    "taxonomy prune --k 2 --in {f}/d.sqlite",
    "taxonomy prune --k 2 --in {f}/d.sqlite --json",
    "new {f}/new --keywords \x1b[31m --seed {u}",
    "new {f}/other --keywords nest --seed \x1b[31m",
    "strategies",
    "critics --json",
    "doctor {f}",
)
TYPED = {
    "judge": "m\nr\nb\nn\nu\nr\n\x1b\nq\n",
    "teach": "help\n1\nlabel \x1b[31mx\nlabels\npath\nstarts\nred\nall\ngoal\n1\nfail\nquit\n",
}


def run(words: str, place: Path) -> Result:
    given = [word.format(p=place / "project", f=place, u=URL) for word in words.split(" ")]
    return CliRunner().invoke(app, given, input=TYPED.get(given[0], ""))


@pytest.mark.parametrize("words", WALK)
def test_nothing_that_a_terminal_would_obey_is_printed(words: str, place: Path) -> None:
    done = run(words, place)
    told = f"{done.stdout}{done.stderr}{done.exception if done.exit_code else ''}"
    assert told
    assert not {letter for letter in told if not letter.isprintable() and letter not in "\n\t"}
    if words.endswith("--json") and "Error" not in told:
        assert done.stdout.isascii()
    assert done.exception is None or isinstance(done.exception, SystemExit) or done.exception.args[0].isprintable()


def test_evil_titles_are_there_to_be_printed(place: Path) -> None:
    """Else the walk would show nothing."""
    rows = [json.loads(line) for line in run("pages {p} --json", place).stdout.splitlines()]
    assert all("\x1b[31mred\x1b]8;;" in row["title"] for row in rows)
    assert "[31mred" in run("pages {p}", place).stdout
    assert "[31mred" in run("why {p} {u}", place).stdout
    assert "[31mred" in run("search {p} nest", place).stdout
    assert "[31m" in run("taxonomy show Arts --in {f}/d.sqlite", place).stdout


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    if hasattr(command, "commands"):
        for name, each in command.commands.items():
            yield from commands(each, (*path, name))
    else:
        yield " ".join(path)


def test_every_command_is_walked() -> None:
    here = {name for name in commands(get_command(app)) if not name.startswith(("lab", "demo"))}
    assert {name for name in here if not any(words.startswith(name) for words in WALK)} == set()


@given(st.text())
def test_any_text_is_made_plain(text: str) -> None:
    assert plain(text).isprintable()
    assert plain(plain(text)) == plain(text)
    assert str(ForagerError(text)).isprintable()


def test_letters_stay_and_signs_that_change_their_direction_go() -> None:
    assert plain("naïve 中文 \u05d0\u05d1 \U0001f989") == "naïve 中文 \u05d0\u05d1 \U0001f989"
    assert plain("a\u202eb\u2066c\u200ed\ufeffe\xadf") == "abcdef"
    assert plain("a\x00b\x1bc\u2028d\u2029e\x85f\x7fg\ud800h\ti\nj") == "a b c d e f g h i j"


def test_commands_print_with_the_verbs_of_the_terminal_alone() -> None:
    folder = Path(progress.__file__).parent
    wrong = [
        f"{file.name}:{number}"
        for file in sorted(folder.glob("*.py"))
        if file.name != "terminal.py"
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if line.lstrip().startswith(("print(", "typer.echo(", "sys.stdout.write(", "err.print("))
    ]
    assert not wrong
