"""A matrix from its file to its page: kept, resumed after a kill, the same with any number of jobs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from forager.errors import ForagerError
from forager.registry import Spec
from forager_lab import cells as cells_module
from forager_lab import experiment, matrix
from forager_lab.cli.matrix import matrix as command
from forager_lab.comparison import compare, how_made, write_comparison, write_topics
from forager_lab.experiment import Cell, PathGoal, Plan, TopicGoal
from forager_lab.laboratory import Laboratory
from forager_lab.matrix import USUAL, CellTask, MatrixResult, MatrixStatus, Pace, run_matrix
from forager_lab.matrix_file import read_matrix
from forager_lab.protocol import CrawlRecord, Trial, crawl_trial

WEB = "procedural:hosts=6:pages_per_host=25:links=12:length=2000"
MATRIX = f"""
strategies = ["breadth-first", "random", "best-first", "oracle"]
runs = 2
advice = [
  {{ when = "any page on business", use = "best-first", work = "{WEB}" }},
  {{ when = "never", use = "best-first", work = "another web" }},
]

[[experiment]]
web = "{WEB}"
topic = ["Business", "Business.Finance"]

[[experiment]]
web = "{WEB}"
target = "Business"
leave_out = "host"
strategies = ["breadth-first", "best-first:tau=0.3"]
runs = 1
pages = 12
"""
TOTAL = 2 * 2 * 4 + 6 * 2  # two topics, two runs, four strategies; six hosts, two strategies


pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("matrix") / "matrix.toml"
    file.write_text(MATRIX)
    return file


@pytest.fixture(scope="module")
def undisturbed(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that a run with one job wrote; its cells are in `kept`."""
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "reading.md").write_text("## What wins\n\nThe *oracle*, | as `ever`.\n")
    done = compare(file, kept=folder / "kept", docs=folder, seconds=False)
    assert (done.crawled, done.failed, dict(done.incomplete)) == (TOTAL, [], {})
    return folder


def written(folder: Path) -> dict[str, bytes]:
    """The page and the pictures."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in [*folder.glob("*.md"), *folder.rglob("*.svg")]}


def kept(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.npz")}


RUN = """
import sys
from pathlib import Path
from forager_lab import matrix
from forager_lab.comparison import compare
file, folder = map(Path, sys.argv[1:3])
matrix.code_fingerprint = lambda: sys.argv[3]  # of the test: a file saved meanwhile is no matter here
compare(file, kept=folder / "kept", docs=folder, jobs=2, seconds=False)
"""


def test_a_killed_run_resumes_with_what_is_missing_and_ends_the_same(
    file: Path, undisturbed: Path, tmp_path: Path
) -> None:
    (tmp_path / "reading.md").write_bytes((undisturbed / "reading.md").read_bytes())
    line = [sys.executable, "-c", RUN, str(file), str(tmp_path), cells_module.code_fingerprint()]
    run = subprocess.Popen(line, start_new_session=True)
    try:
        while len(kept(tmp_path / "kept")) < 3 and run.poll() is None:
            time.sleep(0.01)
    finally:
        os.killpg(run.pid, signal.SIGKILL)  # parent and workers, in the middle of what they are doing
        run.wait()
    before = kept(tmp_path / "kept")
    assert 3 <= len(before) < TOTAL
    assert not (tmp_path / "comparison.md").exists()
    told: list[MatrixStatus] = []
    done = compare(file, kept=tmp_path / "kept", docs=tmp_path, seconds=False, tell=told.append)
    assert done.crawled == TOTAL - len(before)
    assert [progress.done for progress in told] == list(range(len(before), TOTAL + 1))
    assert told[0].left > told[-1].left == 0
    assert before.items() <= kept(tmp_path / "kept").items()  # not written again
    assert written(tmp_path) == written(undisturbed)


def test_two_jobs_write_what_one_does(file: Path, undisturbed: Path, tmp_path: Path) -> None:
    (tmp_path / "reading.md").write_bytes((undisturbed / "reading.md").read_bytes())
    done = compare(file, kept=tmp_path / "kept", docs=tmp_path, jobs=2, seconds=False)
    assert done.crawled == TOTAL
    assert written(tmp_path) == written(undisturbed)


def test_a_rerun_crawls_nothing_and_changes_nothing(file: Path, undisturbed: Path, tmp_path: Path) -> None:
    """With the seconds too: they are those of the crawl that was kept."""
    pages = []
    for _ in range(2):
        assert compare(file, kept=undisturbed / "kept", docs=tmp_path).crawled == 0
        pages.append(written(tmp_path))
    assert pages[0] == pages[1]
    assert b"s a run" in pages[0]["comparison-topics.md"]


def test_the_page_has_what_was_measured(undisturbed: Path) -> None:
    page = (undisturbed / "comparison-topics.md").read_text()
    assert f"\n## {WEB} · Business\n" in page
    assert "| strategy | Business | Business.Finance | mean |" in page
    assert f"Difference to best-first at R/2 on {WEB}:" in page
    assert re.search(r"\| best-first \| (\S+ ± \S+ \| ){4}\.000 \| \.000 \| ", page)
    assert re.search(r"\| oracle \| 1\.00 ± \.000 \| ", page)
    assert f"{TOTAL} cells; code that crawled them: {cells_module.code_fingerprint()} ({TOTAL} cells)." in page
    pictures = re.findall(r"!\[.*\]\((pictures/.*\.svg)\)", page)
    assert len(pictures) == len(set(pictures)) == 2 + 6
    assert all((undisturbed / name).stat().st_size < 200_000 for name in pictures)
    widths: dict[int, int] = {}
    for line in page.splitlines():
        if line.startswith("| strategy "):
            columns = line.count("|")
        if line.startswith("| "):
            widths[line.count("|") - columns] = widths.get(line.count("|") - columns, 0) + 1
    assert set(widths) == {0}  # every row is as long as its head


def test_the_first_page_says_what_to_use_and_has_every_strategy_once(undisturbed: Path) -> None:
    page = (undisturbed / "comparison.md").read_text()
    assert page.startswith("# Comparison\n\n## What to use when\n\n| you want | use | measured on | figure |")
    assert re.search(rf"\| any page on business \| `best-first` \| {WEB} \| (\.\d+) \| \1 \| `\S+` \.\d+ \|", page)
    assert "| never |" not in page, "there are no figures for it"
    assert "## What wins\n\nThe *oracle*, | as `ever`.\n\n" in page
    rows = re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)
    assert sorted(rows) == ["best-first", "best-first:tau=0.3", "breadth-first", "oracle", "random"]
    assert rows[-1] == "oracle"


def test_a_damaged_cell_is_crawled_again_with_a_note(file: Path, undisturbed: Path, tmp_path: Path) -> None:
    first = sorted((undisturbed / "kept").glob("*.npz"))[0]
    first.write_bytes(first.read_bytes()[:100])
    (tmp_path / "reading.md").write_bytes((undisturbed / "reading.md").read_bytes())
    notes: list[str] = []
    done = compare(file, kept=undisturbed / "kept", docs=tmp_path, seconds=False, note=notes.append)
    assert done.crawled == 1
    assert len(notes) == 1
    assert re.match(rf"cell {first.name} cannot be used: .*; crawled again: {WEB} · Business", notes[0])
    assert written(tmp_path) == written(undisturbed)


# ---- other code, failures -------------------------------------------------------------------------------------------

SMALL = {"small": Plan(WEB, TopicGoal("Business"), ("breadth-first", "random"), runs=2, pages=10)}


def test_cells_of_other_code_are_used_and_told_or_crawled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []
    monkeypatch.setattr(matrix, "code_fingerprint", lambda: "old")
    assert run_matrix(SMALL, tmp_path).codes == {"old": 4}
    monkeypatch.setattr(matrix, "code_fingerprint", lambda: "new")
    used = run_matrix(SMALL, tmp_path, note=notes.append)
    assert (used.crawled, used.codes) == (0, {"old": 4})
    fresh = run_matrix(SMALL, tmp_path, fresh=True, note=notes.append)
    assert (fresh.crawled, fresh.codes) == (4, {"new": 4})
    assert run_matrix(SMALL, tmp_path, fresh=True, note=notes.append).crawled == 0
    told = "4 of 4 kept cells were made by other code (old)"
    assert notes == [f"{told}: used as they are; --fresh crawls them again", f"{told}: crawled again"]


def test_a_cell_that_fails_names_itself_and_the_others_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crawl(lab: Laboratory, trial: Trial, spec: Spec) -> CrawlRecord:
        if spec.name == "random" and trial.seed == 1:
            raise ZeroDivisionError("no\nluck")
        return crawl_trial(lab, trial, spec)

    monkeypatch.setattr(experiment, "crawl_trial", crawl)
    told: list[MatrixStatus] = []
    done = run_matrix(SMALL, tmp_path / "kept", tell=told.append)
    assert len(done.failed) == 1
    assert done.failed[0].startswith("small · random · run 1 failed: ZeroDivisionError: no luck (test_matrix.py, line ")
    assert done.crawled == 3
    assert (told[-1].done, told[-1].failed, told[-1].total) == (3, 1, 4)
    assert done.experiments["small"].plan.strategies == ("breadth-first",)
    assert done.incomplete == {"small": ["random"]}
    page = write_topics(done, tmp_path, made=how_made(done, "again", [])).read_text()
    assert "Left out of small, where a crawl failed: random." in page
    assert "| random |" not in page
    monkeypatch.undo()
    assert run_matrix(SMALL, tmp_path / "kept").crawled == 1


def test_nothing_at_all_can_be_written_too(tmp_path: Path) -> None:
    nothing = MatrixResult({}, {"small": ["random"]}, {}, 0, ["it failed"])
    made = how_made(nothing, "again", [])
    for page in (write_comparison(nothing, tmp_path, made=made), write_topics(nothing, tmp_path, made=made)):
        assert "where a crawl failed: random" in page.read_text()


# ---- the time that is left ------------------------------------------------------------------------------------------


def task(web: str, strategy: str, pages: int) -> CellTask:
    return CellTask("x", Plan(web, TopicGoal("t"), (strategy,)), Cell(strategy, 0, None), {}, pages)


def test_time_left_is_by_pages_from_the_nearest_kind_of_finished_cells() -> None:
    pace = Pace()
    todo = [task("a", "fast", 100), task("a", "new", 100), task("b", "fast", 100)]
    assert pace.expect(todo, 1) == pytest.approx(300 * USUAL)  # nothing is known
    pace.learn(task("a", "fast", 999), 50, 5.0)  # 0.1 s a page
    pace.learn(task("a", "slow", 999), 50, 15.0)  # 0.3: the web as a whole 0.2
    pace.learn(task("c", "slow", 999), 300, 20.0)  # all that is known: 40 s for 400 pages
    assert pace.expect(todo[:1], 1) == pytest.approx(10)
    assert pace.expect(todo[1:2], 1) == pytest.approx(20)
    assert pace.expect(todo[2:], 1) == pytest.approx(10)
    assert pace.expect(todo, 2) == pytest.approx(20)


# ---- the file -------------------------------------------------------------------------------------------------------


def test_an_experiment_overrides_what_stands_above(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text(
        """
        strategies = ["random", "random", "best-first:tau=0.3"]
        runs = 3
        pages = 50
        seed = 7
        [[experiment]]
        web = "procedural:hosts=3"
        topic = ["A.B", "C"]
        [[experiment]]
        web = "procedural"
        target = "A"
        leave_out = "host"
        strategies = ["oracle"]
        critic = "predicate"
        runs = 1
        pages = 9
        seed = 0
        [[experiment]]
        web = "procedural"
        topic = "A"
        """
    )
    both = ("random", "best-first:tau=0.3")
    assert read_matrix(file).plans == {
        "procedural:hosts=3 · A.B": Plan("procedural:hosts=3", TopicGoal("A.B"), both, "naive-bayes", 3, 50, 7),
        "procedural:hosts=3 · C": Plan("procedural:hosts=3", TopicGoal("C"), both, "naive-bayes", 3, 50, 7),
        "procedural · A, critic predicate": Plan(
            "procedural", PathGoal("A", "host"), ("oracle",), "predicate", 1, 9, 0
        ),
        "procedural · A": Plan("procedural", TopicGoal("A"), both, "naive-bayes", 3, 50, 7),
    }


def test_webs_are_looked_for_where_the_environment_says_and_beside_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("one/x", "two/y", "beside/x", "beside/z", "shared/data/w"):
        (tmp_path / place).mkdir(parents=True)
    file = tmp_path / "beside" / "m.toml"
    webs = "".join(f"[[experiment]]\nweb = '{name}'\ntopic = 't'\n" for name in "xyzw")
    file.write_text(f"strategies = ['random']\n{webs}")
    monkeypatch.setenv("FORAGER_WEBS", os.pathsep.join(str(tmp_path / name) for name in ("one", "two")))
    found = read_matrix(file)
    assert [plan.web for plan in found.plans.values()] == [
        str(tmp_path / place) for place in ("one/x", "two/y", "beside/z")
    ]
    assert list(found.skipped) == ["w"]
    assert found.skipped["w"].startswith(f"no web w in {tmp_path / 'one'}, {tmp_path / 'two'}, {tmp_path / 'beside'}: ")
    assert "--webs DIR" in found.skipped["w"]
    given = read_matrix(file, [tmp_path / "shared" / "data"])  # instead of those of the environment
    assert [plan.web for plan in given.plans.values()] == [
        str(tmp_path / place) for place in ("beside/x", "beside/z", "shared/data/w")
    ]
    monkeypatch.delenv("FORAGER_WEBS")
    monkeypatch.chdir(tmp_path / "one")
    assert list(read_matrix(file).skipped) == ["y", "w"]  # nothing outside is looked at unless somebody says so


def test_a_web_may_be_named_by_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORAGER_WEBS", raising=False)
    (tmp_path / "far" / "x").mkdir(parents=True)
    (tmp_path / "near").mkdir()
    file = tmp_path / "near" / "m.toml"
    names = [str(tmp_path / "far" / "x"), "../far/x"]
    webs = "".join(f"[[experiment]]\nweb = '{name}'\ntopic = 't'\n" for name in names)
    file.write_text(f"strategies = ['random']\n{webs}")
    found = read_matrix(file)
    assert not found.skipped
    assert [Path(plan.web).resolve() for plan in found.plans.values()] == [tmp_path / "far" / "x"] * 2
    assert list(found.plans) == ["x · t", "x · t (2)"]


GOOD = "strategies = ['random']\n[[experiment]]\nweb = 'procedural:hosts=6:pages_per_host=25'\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[experiment", r"m\.toml is not valid TOML: "),
        ("run = 3\n" + GOOD, r"m\.toml: no key named 'run'; nearest: runs"),
        (GOOD + "topc = 'Business'", r"m\.toml: in experiment\[0\], no key named 'topc'; nearest: topic"),
        (GOOD + "topic = 3", r"m\.toml: experiment\[0\]\.topic: 3 does not fit: give text in quotes or a list"),
        (GOOD, r"m\.toml: experiment 1 \(procedural:\S+\): give either topic, or target with leave_out"),
        (GOOD + "topic = 'A'\ntarget = 'B'", "give either topic, or target with leave_out"),
        (GOOD + "topic = 'A'\nruns = 0", r"experiment 1 \(.*\): runs and pages must be at least 1"),
        (GOOD + "topic = 'A'\nstrategies = []", r"experiment 1 .*: no strategies; name some there"),
        ("runs = 3", "the file: experiment is missing: give a list with a table"),
        ("experiment = []", r"m\.toml: nothing to do; it has no \[\[experiment\]\]"),
        ("strategies = ['random']\n[[experiment]]\nweb = 'nowhere'\ntopic = 'A'", "nothing to do; no web nowhere in "),
        (GOOD + "topic = 'Busines'", r"procedural:\S+ · Busines: no topic named 'Busines'; nearest: Business"),
        (GOOD + "target = 'Business'\nleave_out = 'hots'", r"procedural:\S+ · Business: no column .* named 'hots'"),
        (GOOD + "topic = 'Business'\nstrategies = ['randon']", "· Business: no strategy named 'randon'; nearest: ran"),
        (GOOD + "topic = 'Business'\ncritic = 'naive-bays'", "no critic named 'naive-bays'; nearest: naive-b"),
    ],
)  # fmt: skip
def test_wrong_files_are_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "m.toml"
    file.write_text(text)
    with pytest.raises(ForagerError, match=message) as caught:
        compare(file, kept=tmp_path / "kept")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "kept").exists()


def test_a_missing_file_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(ForagerError, match="there is no such file"):
        compare(tmp_path / "none.toml")


def test_the_projects_own_matrix_can_be_read_without_any_recorded_web(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORAGER_WEBS", str(tmp_path))
    found = read_matrix(Path(__file__).parents[2] / "docs" / "lab" / "matrix.toml")
    assert list(found.skipped) == ["wikispeedia", "uic", "webkb"]
    assert all(plan.web == "procedural" for plan in found.plans.values())


# ---- the command ----------------------------------------------------------------------------------------------------


def test_the_command_runs_it_tells_lines_and_skips_what_is_missing(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(command)
    file = tmp_path / "m.toml"
    file.write_text(
        f"strategies = ['random']\nruns = 1\npages = 5\n[[experiment]]\nweb = '{WEB}'\ntopic = 'Business'\n"
        "[[experiment]]\nweb = 'nowhere'\ntopic = 'Business'\n"
    )
    result = CliRunner().invoke(app, [str(file), "--jobs", "1", "--keep", str(tmp_path / "kept")])
    assert result.exit_code == 0, result.output
    assert f"1 cells crawled, 0 kept from earlier; {tmp_path / 'comparison.md'}" in result.stdout
    assert "skipped: no web nowhere in " in result.stderr
    assert "\n0/1 cells; about 0 s left; 0 cells kept from earlier\n" in result.stderr
    assert f"1/1 cells; about 0 s left; {WEB} · Business · random · run 0: 5 pages, " in result.stderr
    assert "Left out, because it was not at hand: the web nowhere." in (tmp_path / "comparison.md").read_text()
