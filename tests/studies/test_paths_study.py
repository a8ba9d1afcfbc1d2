"""The study of the path models: on four small universities."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from studies.__main__ import app, main
from studies.paths.labelling import NamingCounts
from studies.paths.page import write_paths_page
from studies.paths.study import BY_COSINE, COURSES, COURSES_AGAIN, TOPIC, PathsPlan, PathsStudy, run_paths_study
from typer.testing import CliRunner

from forager.errors import ForagerError
from forager.paths import PathOutcome, PathStep, ShownPath
from forager.types import Url
from tests.lab.warc import write_web
from tests.teaching.test_train_strategy import COURSES as COUNT
from tests.teaching.test_train_strategy import SCHOOLS, school

CRF = "crf:goals=30:fails=10:iterations=10"
HEAD, SEEDS, PARTS = "url\tlabel\tuniversity", "url\tuniversity", "url\tkind\ttext\ttype"


pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> PathsPlan:
    """People are called by no name, so that paths may lead nowhere."""
    pages = {url: said for name in SCHOOLS for url, said in school(name).items()}
    pages = {url: ("other" if label == "person" else label, body) for url, (label, body) in pages.items()}
    homes = [f"http://{name}.test/\t{name}" for name in SCHOOLS]
    rows = [f"{url}\t{label}\t{url[7:].partition('.')[0]}" for url, (label, _) in pages.items()]
    folder = tmp_path_factory.mktemp("webs")
    labels, seeds = ("\n".join([head, *lines]) + "\n" for head, lines in ((HEAD, rows), (SEEDS, homes)))
    web = write_web(folder / "web", pages, labels=labels, seeds=seeds)
    parts = folder / "parts.tsv"
    parts.write_text(f"{PARTS}\nhttp://{SCHOOLS[0]}.test/courses/cs100\theading\tCS 100\tnone\n")
    return PathsPlan(
        str(web), str(web), parts, ("course",), draws=2,
        crawlers=("breadth-first", CRF, "lookahead"), again=(CRF,), on_topics=("best-first", CRF),
        models={"dual": CRF}, counts=(8,),
    )  # fmt: skip


@pytest.fixture(scope="module")
def done(plan: PathsPlan, tmp_path_factory: pytest.TempPathFactory) -> PathsStudy:
    return run_paths_study(plan, tmp_path_factory.mktemp("kept"))


def test_every_university_is_crawled_with_what_the_others_taught(done: PathsStudy) -> None:
    assert done.groups == SCHOOLS
    rows = {row["strategy"]: row for row in done.reports[COURSES]["results"]}
    assert rows["lookahead"]["pages_to"]["90"] <= rows[CRF]["pages_to"]["90"] < rows["breadth-first"]["pages_to"]["90"]
    assert all(group["reachable"] == COUNT for group in rows[CRF]["groups"].values())
    assert done.reports[COURSES_AGAIN]["runs"] == 2
    assert [row["strategy"] for row in done.reports[f"{TOPIC}course"]["results"]] == ["best-first", BY_COSINE, CRF]


def test_pages_of_a_university_not_seen_are_named(done: PathsStudy) -> None:
    naming = done.labelled["dual", 8]
    assert naming.paths == len(SCHOOLS) * 2 * 68
    precision, recall = naming.of_label("goal")
    assert min(precision, recall) > 0.9
    assert naming.told / naming.paths > 0.9


def path(outcome: PathOutcome, *labels: str | None) -> ShownPath:
    steps = (PathStep(Url(f"http://a.test/{at}"), None, label) for at, label in enumerate(labels))
    return ShownPath("p", tuple(steps), outcome)


def test_counts_of_names() -> None:
    paths = [
        path(PathOutcome.GOAL, "home", None),
        path(PathOutcome.FAIL, "home", None),
        path(PathOutcome.GOAL, "home", None),
    ]
    named = [("home", "goal"), ("home", "goal"), ()]  # the last cannot be read
    found = NamingCounts.of(paths, named, [0.9, 0.6, float("nan")])
    assert found == NamingCounts(
        Counter(home=2, goal=1, fail=1), Counter(home=2, goal=2), Counter(home=2, goal=1), paths=2, told=1
    )
    assert found.of_label("goal") == (0.5, 1.0)
    assert found.of_label("fail") == (0.0, 0.0)
    assert found.accuracy == 0.75
    assert found.of_all() == pytest.approx((0.5, 2 / 3))
    assert (found + found).there == Counter(home=4, goal=2, fail=2)
    assert (found + found).told == 2


def test_the_page_and_a_rerun(done: PathsStudy, plan: PathsPlan, tmp_path: Path) -> None:
    (tmp_path / "paths-reading.toml").write_text('labelling = "Names are right."\n')
    text = write_paths_page(done, tmp_path / "paths").read_text()
    assert len(re.findall(r"^## ", text, re.MULTILINE)) == 7
    assert "*Here*: Names are right." in text
    assert len(re.findall(r"\]\(paths/.*\.svg\)", text)) == len(list((tmp_path / "paths").iterdir())) == len(SCHOOLS)
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):  # every row is as long as its head
        assert len({line.count("|") for line in block.splitlines()}) == 1


def test_a_rerun_makes_nothing(plan: PathsPlan, tmp_path: Path) -> None:
    small = replace(plan, crawlers=("breadth-first",), again=("breadth-first",), on_topics=("best-first",), draws=1)
    notes: list[str] = []
    first = run_paths_study(small, tmp_path, note=notes.append)
    assert len(notes) == len(SCHOOLS)  # pages named
    notes.clear()
    again = run_paths_study(small, tmp_path, note=notes.append)
    assert again.done.crawled == 0
    assert notes == []
    assert again.labelled == first.labelled


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["--runs", "0"], "--runs and --draws must be at least 1"),
        (["--parts", "nowhere.tsv"], r"nowhere\.tsv cannot be read"),
        (["--topics", "curse"], "curse.*course"),
    ],
)
def test_wrong_words_are_told(words: list[str], wrong: str, plan: PathsPlan, tmp_path: Path) -> None:
    given = ["--courses", plan.courses_web, "--web", plan.topics_web, "--parts", str(plan.parts)]
    out = CliRunner().invoke(app, ["paths", *given, "--keep", str(tmp_path), *words])
    assert isinstance(out.exception, ForagerError)
    assert re.search(wrong, str(out.exception))


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        (["apprentice"], "--web"),
        (["lexical"], "--web"),
        (["paths", "--web", "web"], "--courses"),
        (["paths", "--courses", "web"], "--web"),
    ],
)
def test_webs_must_be_named(words: list[str], missing: str) -> None:
    out = CliRunner().invoke(app, words)
    assert out.exit_code == 2
    assert f"Missing option '{missing}'" in out.output


def test_wrong_input_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["studies", "lexical", "--web", "nowhere", "--runs", "0"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("studies: --side-runs must be at least 1")
