"""Paths brought from elsewhere: what a file is, names, anchors, gaps, and what is told of it all."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pytest

from forager.cli import main
from forager.errors import ForagerError
from forager.paths import PathOutcome, PathStep, ShownPath, load_paths, read_paths, write_paths
from forager.teaching import ARCHIVE, PATHS, import_paths, save_paths
from forager.types import Url
from tests.lab.warc import write_warc, write_web
from tests.shared import WEBS, needs

A = "http://a.test"
PAGES = {
    "/": "<a href='/list'><img></a> <a href='/list'>All courses</a> <a href='/list'>again</a> <a href='/old'>News</a>",
    "/list": "<a href='/cs1'>CS 1</a>",
    "/news": "<a href='/cs1'><img></a>",
    "/cs1": "no links",
}
GOAL, FAIL = PathOutcome.GOAL, PathOutcome.FAIL


def path(name: str, *places: str, outcome: PathOutcome = GOAL, labels: dict[str, str] | None = None) -> ShownPath:
    steps = (PathStep(Url(A + place), None, (labels or {}).get(place)) for place in places)
    return ShownPath(name, tuple(steps), outcome)


def saved(file: Path, *paths: ShownPath) -> Path:
    write_paths(file, paths)
    return file


def har(file: Path, *ways: tuple[str, str | None]) -> Path:
    """What a browser exports of visits to pages, each with its referer."""
    entries = [
        {
            "startedDateTime": f"2024-05-01T10:00:{second:02}.000Z",
            "request": {"url": A + to, "headers": [{"name": "Referer", "value": A + come}] if come else []},
            "response": {"status": 200, "content": {"mimeType": "text/html"}},
            "_resourceType": "document",
        }
        for second, (to, come) in enumerate(ways)
    ]
    file.write_text(json.dumps({"log": {"entries": entries}}, indent=1))
    return file


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pages = {A + place: ("", body) for place, body in PAGES.items()}
    return write_web(tmp_path_factory.mktemp("import") / "web", pages, aliases=f"url\tpage\n{A}/old\t{A}/news\n")


def anchors(paths: tuple[ShownPath, ...]) -> dict[str, list[str | None]]:
    return {path.id: [step.anchor for step in path.steps] for path in paths}


# ---- anchors and gaps


def test_anchors_come_from_the_recorded_pages(tmp_path: Path, web: Path) -> None:
    """The first that says anything; through a redirect; blank where the link has no text; not where one is given."""
    given = ShownPath("given", (PathStep(Url(f"{A}/")), PathStep(Url(f"{A}/list"), "here")), FAIL)
    file = saved(tmp_path / "paths.jsonl", path("a", "/", "/list", "/cs1"), path("b", "/", "/news", "/cs1"), given)
    found = import_paths([file], web=web)
    assert anchors(found.paths) == {
        "a": [None, "All courses", "CS 1"],
        "b": [None, "News", ""],
        "given": [None, "here"],
    }
    assert (found.filled, found.gaps, found.unchecked) == (4, (), 0)


def test_steps_that_are_no_links_are_gaps_where_the_page_is_at_hand(tmp_path: Path, web: Path) -> None:
    file = saved(tmp_path / "p.jsonl", path("a", "/", "/cs1", "/list"), path("b", "/far", "/cs1", "/far"))
    found = import_paths([file], web=web)
    assert [str(gap) for gap in found.gaps] == [
        f"path 'a', step 2: {A}/ has no link to {A}/cs1",
        f"path 'a', step 3: {A}/cs1 has no link to {A}/list",
        f"path 'b', step 3: {A}/cs1 has no link to {A}/far",
    ]
    assert (found.filled, found.unchecked) == (0, 1)
    assert import_paths([file]).unchecked == 4


def test_a_folder_of_a_session_has_its_own_pages(tmp_path: Path, web: Path) -> None:
    folder = tmp_path / "lessons"
    folder.mkdir()
    saved(folder / PATHS, path("a", "/", "/list"))
    assert anchors(import_paths([folder]).paths) == {"a": [None, None]}
    write_warc(folder / ARCHIVE, {A + place: body for place, body in PAGES.items()})
    assert anchors(import_paths([folder]).paths) == {"a": [None, "All courses"]}
    browsed = har(tmp_path / "x.har", ("/", None), ("/old", "/"))
    found = import_paths([browsed, folder], web=web)  # aliases are in the web alone
    assert anchors(found.paths) == {"x": [None, "News"], "a": [None, "All courses"]}


# ---- kinds of files


def test_a_browser_s_log_with_goals(tmp_path: Path, web: Path) -> None:
    file = har(tmp_path / "mine", ("/", None), ("/list", "/"), ("/cs1", "/list"), ("/news", "/"))
    found = import_paths([file], goals=[f"{A}/cs1#top", f"{A}/cs9"], web=web)
    assert [(path.id, path.outcome, len(path.steps)) for path in found.paths] == [
        ("mine-1", GOAL, 3),
        ("mine-2", FAIL, 2),
    ]
    assert anchors(found.paths)["mine-1"] == [None, "All courses", "CS 1"]
    assert found.unmet == (f"{A}/cs9",)
    assert found.goals == 1


def test_games_need_a_web_with_labels_or_pages(tmp_path: Path) -> None:
    games = tmp_path / "games.tsv.gz"
    games.write_bytes(gzip.compress(b"# who\twhen\n\nip\t1\t60\tA;B;<;C\tNULL\nip\t1\t60\tA;B\tC\ttimeout\n"))
    pages = {
        f"http://w.test/wp/{name}.htm": body
        for name, body in {"A": "<a href='B.htm'>bee</a>", "B": "", "C": ""}.items()
    }
    with pytest.raises(ForagerError, match="name articles, not URLs: give the recorded web with --web"):
        import_paths([games])
    labelled = tmp_path / "labelled"
    labelled.mkdir()
    (labelled / "labels.tsv").write_text("url\tlabel\n" + "".join(f"{url}\tx\n" for url in pages))
    recorded = tmp_path / "recorded"
    recorded.mkdir()
    write_warc(recorded / "w.warc.gz", pages)
    for web, told in ((labelled, [None, None]), (recorded, [None, "bee"])):
        found = import_paths([games], web=web)
        assert {path.id: path.outcome for path in found.paths} == {"game-3-1": FAIL, "game-3-2": GOAL, "game-4": FAIL}
        assert anchors(found.paths)["game-4"] == told
    assert [gap.path for gap in found.gaps] == ["game-3-2"]


@needs("wikispeedia")
def test_games_of_the_recorded_web(tmp_path: Path) -> None:
    folder, file = WEBS / "wikispeedia", tmp_path / "some.tsv"
    with gzip.open(folder / "paths_unfinished.tsv.gz", "rt", encoding="utf-8") as lines:
        file.write_text("".join(line for _, line in zip(range(80), lines, strict=False)), encoding="utf-8")
    found = import_paths([file], web=folder)
    steps = sum(len(path.steps) - 1 for path in found.paths)
    assert len(found.paths) > 60
    assert (found.filled, found.unchecked, found.gaps) == (steps, 0, ())


# ---- several files


def test_files_become_one(tmp_path: Path) -> None:
    """The same path twice is one path, with what either says of it; another of that name gets a new one."""
    one = saved(tmp_path / "one.jsonl", path("a", "/", "/list", "/cs1"), path("b", "/", "/news", labels={"/": "home"}))
    two = saved(
        tmp_path / "two.jsonl",
        path("a", "/", "/list", "/cs1", labels={"/list": "list"}),
        path("b", "/", "/cs1", outcome=FAIL),
        path("c", "/", "/cs1"),
    )
    three = saved(tmp_path / "three.jsonl", path("b", "/", "/news", labels={"/": "start"}), path("b~2", "/", "/list"))
    found = import_paths([one, two, three])
    assert [path.id for path in found.paths] == ["a", "b", "b~2", "c", "b~3", "b~2~2"]
    assert found.renamed == {"b~2": "b", "b~3": "b", "b~2~2": "b~2"}
    assert found.doubles == 1
    assert [step.label for step in found.paths[0].steps] == [None, "list", None]
    assert found.labels == {"list": 1, "home": 1, "start": 1}
    assert [concern.label for concern in found.used_once] == ["list", "home", "start"]


def test_a_file_is_replaced_only_if_it_was_read(tmp_path: Path) -> None:
    out = saved(tmp_path / "out.jsonl", path("a", "/", "/list"))
    more = saved(tmp_path / "more.jsonl", path("b", "/", "/cs1"))
    with pytest.raises(ForagerError, match=r"out\.jsonl is there already: name it among the files"):
        save_paths(out, [], [more])
    save_paths(out, import_paths([out, more]).paths, [out, more])
    assert [path.id for path in read_paths(out)] == ["a", "b"]
    save_paths(tmp_path / PATHS, [path("c", "/", "/list")], [tmp_path])
    save_paths(tmp_path / PATHS, import_paths([tmp_path]).paths, [tmp_path])
    with pytest.raises(ForagerError, match="cannot be written: No such file"):
        save_paths(tmp_path / "no" / "out.jsonl", [])


# ---- the command


class Done(NamedTuple):
    code: int
    out: list[str]
    said: list[str]


Run: TypeAlias = Callable[..., Done]


@pytest.fixture
def teach_import(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*words: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["forager", "teach", "import", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return Done(int(ended.value.code or 0), printed.out.splitlines(), printed.err.splitlines())

    return run


def test_the_command_tells_what_there_is(tmp_path: Path, web: Path, teach_import: Run) -> None:
    (tmp_path / "goals.txt").write_text(f"# courses\n{A}/cs1\n\n")
    browsed = har(tmp_path / "x.har", ("/", None), ("/list", "/"), ("/cs1", "/list"), ("/cs1", "/"))
    own = saved(tmp_path / "own.jsonl", path("x-1", "/", "/news", "/cs1", labels={"/": "home"}, outcome=FAIL))
    out = tmp_path / "out.jsonl"
    goals = ["--goals", tmp_path / "goals.txt", "--goal", f"{A}/cs2"]
    assert teach_import(browsed, own, *goals, "--web", web, "--out", out) == Done(
        0,
        [f"3 paths in {out}: 2 goal, 1 fail", "labels: home 1", "4 anchors found on recorded pages"],
        [
            "note: the name 'x-1' was taken: now it is 'x-1~2'",
            f"note: no path ends in the goal {A}/cs2",
            "note: label 'home' is used once (path 'x-1~2', step 1): is it spelt as elsewhere?",
            f"note: path 'x-2', step 2: {A}/ has no link to {A}/cs1",
        ],
    )
    assert [path.id for path in load_paths(out).paths] == ["x-1", "x-2", "x-1~2"]


def test_many_gaps_are_counted(tmp_path: Path, web: Path, teach_import: Run) -> None:
    file = saved(tmp_path / "f.jsonl", *(path(f"p{number}", "/", "/cs1") for number in range(13)))
    said = teach_import(file, "--web", web, "--out", tmp_path / "o").said
    assert (len(said), said[-1]) == (11, "note: … and 3 more of these")


def test_paths_of_which_none_arrives_are_taken_with_a_warning(tmp_path: Path, teach_import: Run) -> None:
    out = tmp_path / "out.jsonl"
    done = teach_import(saved(tmp_path / "f.jsonl", path("a", "/", "/x", outcome=FAIL)), "--out", out)
    assert (done.code, done.out[0]) == (0, f"1 paths in {out}: 0 goal, 1 fail")
    assert "none of the paths arrives, so they cannot be learnt from yet" in done.said[0]


LINE = '{{"path": "a", "outcome": "{}", "steps": [{{"url": "http://a.test/", "label": "{}"}}, {{"url": "http://a.test/x"}}]}}\n'


@pytest.mark.parametrize(
    ("content", "more", "message"),
    [
        ("url,title\n1,2\n", [], "in.x is no file of paths that is known"),
        ("[1, 2]", [], "in.x is no file of paths that is known"),
        ("\0\0\t\t\t\t\t", [], "in.x is no file of paths that is known"),
        ("", [], "in.x is empty"),
        ('{"a": 1}\n', [], "in.x, line 1: Object contains unknown field `a`"),
        (LINE.format("won", "list"), [], "in.x, line 1: path 'a' has the outcome 'won': write goal or fail"),
        (LINE.format("goal", " "), [], "in.x, line 1: path 'a', step 1: the label is blank"),
        (LINE.format("goal", "list") * 2, [], "in.x, line 2: path 'a' is in line 1 already"),
        (LINE.format("goal", "list"), ["--goal", f"{A}/x"], "goals are for HAR files"),
        ('{"log": {"entries": []}}', ["--goal", "cs1"], "goal 'cs1' is not an http or https URL"),
        ('{"log": {"entries": []}}', [], "in.x has no page among its 0 requests"),
        ("ip\t1\t60\tA;B\tNULL\n", [], "give the recorded web with --web"),
        ("ip\t1\t60\tA;B\tNULL\n", ["--web", "/nowhere"], "/nowhere: no *.warc.gz here"),
        (None, [], "in.x cannot be read: No such file or directory"),
        (LINE.format("goal", "list"), ["--goals", "/nowhere"], "/nowhere cannot be read"),
    ],
)  # fmt: skip
def test_wrong_input_is_one_line(
    tmp_path: Path, teach_import: Run, content: str | None, more: list[str], message: str
) -> None:
    file = tmp_path / "in.x"
    if content is not None:
        file.write_text(content)
    done = teach_import(file, "--out", tmp_path / "out.jsonl", *more)
    assert (done.code, len(done.said)) == (2, 1), done.said
    assert done.said[0].startswith("forager: ")
    assert message in done.said[0]
    assert not (tmp_path / "out.jsonl").exists()


def test_a_folder_that_nobody_has_taught_in(tmp_path: Path, teach_import: Run) -> None:
    (tmp_path / "f").mkdir()
    assert "has no paths.jsonl: name a file" in teach_import(tmp_path / "f", "--out", tmp_path / "o").said[0]
    (tmp_path / "f" / PATHS).touch()
    assert "there is nothing to import" in teach_import(tmp_path / "f", "--out", tmp_path / "o").said[0]
