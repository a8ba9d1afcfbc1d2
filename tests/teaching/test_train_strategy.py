"""Taught on some universities, sent to another one: `forager train`, `forager new --taught`, `forager crawl`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from forager.cli import app
from forager.errors import ForagerError
from forager.paths import Preference, load_paths
from forager.store import Catalogue
from forager.strategies import STRATEGIES
from forager.teaching.train_strategy import paths_in_words, quality_in_words
from forager.teaching.training_webs import project_ground
from forager.types import Visit
from tests.lab.warc import write_web

MODELS = [name for name, maker in STRATEGIES.items() if hasattr(maker, "taught")]
every_model = pytest.mark.parametrize("model", MODELS)
COURSES, STAFF = 6, 12
EARLY = 12  # pages after which breadth-first has seen nothing but staff
SCHOOLS = ("north", "east", "south", "west")


def page(title: str, text: str, **links: str) -> str:
    items = "".join(f"<li><a href='{target}'>{anchor.replace('_', ' ')}</a></li>" for anchor, target in links.items())
    return f"<title>{title}</title><h1>{title}</h1><p>{text}</p><ul>{items}</ul>"


def school(name: str) -> dict[str, tuple[str, str]]:
    """Home -> people and academics -> courses; each of the staff has a page about research, with nothing beyond."""
    people = {f"Professor_{i}": f"/staff/{i}" for i in range(STAFF)}
    courses = {f"CS_{100 + i}_lecture": f"/courses/cs{100 + i}" for i in range(COURSES)}
    pages = {
        "": ("department", page(f"{name} university", "welcome", People="/people", Academics="/academics")),
        "people": ("list", page("People", "faculty and students of the department", **people)),
        "academics": ("list", page("Academics", "degrees and courses", Courses_offered="/courses", Home="/")),
        "courses": ("list", page("Courses", "all courses of this year", **courses)),
    }
    for i in range(STAFF):
        pages[f"staff/{i}"] = ("person", page(f"Professor {i}", "research interests and publications", Home="/"))
    for i in range(COURSES):
        text = "homework exam syllabus lecture grading textbook instructor " * 3
        pages[f"courses/cs{100 + i}"] = ("course", page(f"CS {100 + i}", text, Home="/"))
    return {f"http://{name}.test/{path}": said for path, said in pages.items()}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pages = {url: said for name in SCHOOLS[:-1] for url, said in school(name).items()}
    return write_web(tmp_path_factory.mktemp("known") / "web", pages)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_web(tmp_path_factory.mktemp("new") / "web", school(SCHOOLS[-1]))


def steps(name: str, *paths: str, labels: tuple[str | None, ...] = ()) -> list[dict[str, str]]:
    told = [{"url": f"http://{name}.test/{path}"} for path in paths]
    for step, label in zip(told, labels, strict=False):
        if label:
            step["label"] = label
    return told


def shown(file: Path) -> Path:
    """Two courses shown at each school, and a professor who led nowhere."""
    lines = []
    for name in SCHOOLS[:-1]:
        for i in range(2):
            way = steps(name, "", "academics", "courses", f"courses/cs{100 + i}", labels=("home", None, "course list"))
            lines.append({"path": f"{name}-{i}", "outcome": "goal", "steps": way})
        lines.append({"path": f"{name}-x", "outcome": "fail", "steps": steps(name, "", "people", "staff/3")})
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def run(*words: str, wrong: str = "") -> str:
    done = CliRunner().invoke(app, list(words))
    if wrong:
        assert isinstance(done.exception, ForagerError), done.output
        assert wrong in str(done.exception)
        assert "\n" not in str(done.exception)
    else:
        assert done.exception is None, done.output
    return done.output


def check_found(project: Path, model: str) -> None:
    """All courses are found; early by models that tell the links of a page apart, which some do not."""
    with Catalogue(project) as catalogue:
        courses = ["/courses/cs" in entry.url for entry in catalogue.pages()]
    assert sum(courses) == COURSES
    if model not in ("context-graph", "hmm"):
        assert sum(courses[:EARLY]) >= 5


@every_model
def test_what_was_learnt_on_three_sites_finds_the_way_on_a_fourth(
    model: str, web: Path, elsewhere: Path, tmp_path: Path
) -> None:
    said = run("train", model, "--web", str(web), "--target", "course", "--out", str(tmp_path / "taught"))
    assert "preferred the way shown" in said
    report = json.loads((tmp_path / "taught/report.json").read_text())
    assert report["targets"] == 3 * COURSES
    assert 0 <= report["preferred_to"] <= 1
    assert report["steps"] > 0
    assert model != "q-value" or report["preferred_to"] > 0.55  # .5 is chance
    check_found(crawled(tmp_path, elsewhere), model)


def crawled(tmp_path: Path, web: Path, *more: str) -> Path:
    home, project = f"http://{SCHOOLS[-1]}.test/", tmp_path / "project"
    run("new", str(project), "--taught", str(tmp_path / "taught"), "--seed", home, "--pages-per-site", "40", *more)
    toml = project / "forager.toml"
    toml.write_text(toml.read_text().replace("[fetch]\n", f"[fetch]\nreplay = {json.dumps(str(web))}\n"))
    assert 'within = "site"' in toml.read_text()
    run("crawl", str(project))
    return project


@every_model
def test_a_few_shown_paths_are_enough(model: str, web: Path, elsewhere: Path, tmp_path: Path) -> None:
    paths = shown(tmp_path / "paths.jsonl")
    run("train", model, "--paths", str(paths), "--pages", str(web), "--out", str(tmp_path / "taught"), "--folds", "3")
    report = json.loads((tmp_path / "taught/report.json").read_text())
    assert report["paths"] == {"goal": 6, "fail": 3}
    check_found(crawled(tmp_path, elsewhere), model)


def test_a_project_can_teach(web: Path, elsewhere: Path, tmp_path: Path) -> None:
    project = tmp_path / "earlier"
    run("new", str(project), "--keywords", "syllabus", "--seed", "http://north.test/")
    toml = project / "forager.toml"
    toml.write_text(toml.read_text().replace("[fetch]\n", f"[fetch]\nreplay = {json.dumps(str(web))}\n"))
    run("crawl", str(project))
    run("train", "q-value", "--project", str(project), "--out", str(tmp_path / "taught"), "--folds", "0")
    assert json.loads((tmp_path / "taught/report.json").read_text())["targets"] == COURSES
    check_found(crawled(tmp_path, elsewhere), "q-value")
    with pytest.raises(ForagerError, match="crawl more"):
        project_ground(project, 1.1)


def test_a_file_of_links_can_teach(web: Path, tmp_path: Path) -> None:
    edges, targets = tmp_path / "edges.tsv", tmp_path / "targets.txt"
    ways = [("", "academics"), ("academics", "courses"), ("courses", "courses/cs100")]
    edges.write_text("".join(f"http://north.test/{u}\thttp://north.test/{v}\n" for u, v in ways))
    targets.write_text("http://north.test/courses/cs100\n")
    given = ("--edges", str(edges), "--targets", str(targets), "--pages", str(web), "--out", str(tmp_path / "taught"))
    said = run("train", MODELS[0], *given, "--folds", "0")
    assert "too few targets to train a critic" in said
    assert json.loads((tmp_path / "taught/report.json").read_text())["critic"] is None
    targets.write_text("http://north.test/courses/cs999\n")
    run("train", MODELS[0], *given, wrong="compare the spelling")


def test_wrong_inputs_are_told_in_a_line(web: Path, tmp_path: Path) -> None:
    out = ("--out", str(tmp_path / "taught"))
    paths = shown(tmp_path / "paths.jsonl")
    run("train", "best-first", "--web", str(web), "--target", "course", *out, wrong="no model named 'best-first'")
    run("train", MODELS[0], *out, wrong="give exactly one of --paths")
    run("train", MODELS[0], "--web", str(web), *out, wrong="--target LABEL")
    run("train", MODELS[0], "--web", str(web), "--target", "cuorse", *out, wrong="course")
    run("train", MODELS[0], "--paths", str(paths), "--pages", str(tmp_path), *out, wrong="WARC")
    text = paths.read_text()
    paths.write_text(text.replace("/academics", "/people"))
    run("train", MODELS[0], "--paths", str(paths), "--pages", str(web), *out, wrong="not connected")
    paths.write_text(text.replace('"goal"', '"done"'))
    run("train", MODELS[0], "--paths", str(paths), "--pages", str(web), *out, wrong="write goal or fail")
    paths.write_text("\n".join(line for line in text.splitlines() if '"fail"' in line))
    run("train", MODELS[0], "--paths", str(paths), "--pages", str(web), *out, wrong="outcome goal")
    run("new", str(tmp_path / "p"), "--taught", str(tmp_path), "--seed", "http://x.test/", wrong="forager train")


def test_pages_have_the_labels_that_were_taught(web: Path, elsewhere: Path, tmp_path: Path) -> None:
    run("train", "crf", "--web", str(web), "--target", "course", "--folds", "0", "--out", str(tmp_path / "taught"))
    project = crawled(tmp_path, elsewhere)
    rows = [json.loads(line) for line in run("pages", str(project), "--json").splitlines()]
    courses = [row["label"] == "goal" for row in rows if "/courses/cs" in row["url"]]
    assert sum(courses) == len(courses) == COURSES
    assert sum(row["label"] == "goal" for row in rows) < len(rows) / 2
    assert "/courses/cs100  [goal]  CS 100" in run("pages", str(project))


def test_a_taught_project_learns_from_labels(web: Path, tmp_path: Path) -> None:
    """Seminars are new to the critic. Somebody wants them, and labels some; the next crawl judges by the same."""
    run("train", "crf", "--web", str(web), "--target", "course", "--folds", "0", "--out", str(tmp_path / "taught"))
    pages, name = school(SCHOOLS[-1]), f"http://{SCHOOLS[-1]}.test/"
    listed = {f"Seminar_{i}": f"/seminars/{i}" for i in range(6)}
    pages[f"{name}people"] = ("list", page("People", "faculty", **listed))
    for i in range(6):
        pages[f"{name}seminars/{i}"] = ("seminar", page(f"Seminar {i}", "speaker abstract talk room " * 5, Home="/"))
    project = crawled(tmp_path, write_web(tmp_path / "web", pages))
    before = relevances(project)
    for i in range(4):
        run("label", str(project), f"{name}seminars/{i}", "relevant")
    assert "pages judged again by svm-" in run("retrain", str(project))
    after = relevances(project)
    assert before[f"{name}seminars/5"] < 0.5 < after[f"{name}seminars/5"]
    assert min(after[url] for url in after if "/courses/cs" in url) > 0.5
    run("crawl", str(project))
    assert relevances(project) == after


def relevances(project: Path) -> dict[str, float]:
    with Catalogue(project) as catalogue:
        return {entry.url: entry.relevance for entry in catalogue.pages()}


@pytest.mark.parametrize("model", ["crf", "memm"])
def test_why_knows_what_travelled_to_the_page(model: str, web: Path, elsewhere: Path, tmp_path: Path) -> None:
    """The pages of the way are scored again, from the seed on, and so is the last link."""
    scored: list[float] = []
    made: Any = STRATEGIES[model]
    run("train", model, "--web", str(web), "--target", "course", "--folds", "0", "--out", str(tmp_path / "taught"))
    project = crawled(tmp_path, elsewhere)
    url = f"http://{SCHOOLS[-1]}.test/courses/cs100"
    with pytest.MonkeyPatch.context() as patch:
        explain = made.explain

        def spy(self: Any, visit: Visit, link: int) -> Any:
            scored.append(float(self.score(visit).scores[link]))
            return explain(self, visit, link)

        patch.setattr(made, "explain", spy)
        run("why", str(project), url)
    with Catalogue(project) as catalogue:
        way = catalogue.why(url)
    assert len(way) == 4
    assert scored == [pytest.approx(way[-1].score, rel=1e-5)]


def test_a_teacher_is_told_how_many_paths_there_are_and_what_the_test_means(tmp_path: Path) -> None:
    ways = load_paths(shown(tmp_path / "paths.jsonl")).paths
    assert paths_in_words(ways) == [
        "6 paths that arrive and 3 that fail, on 3 sites",
        "to be surer, show 14 more that arrive and 7 more that fail: 20 and 10 are usually enough",
    ]
    assert paths_in_words(4 * ways) == ["24 paths that arrive and 12 that fail, on 3 sites"]
    assert "begin on one site" in paths_in_words(ways[:3])[-1]
    for share, steps, told in (
        (0.9, 100, "90% of the choices (± 6%; chance is 50 %): it knows the way well"),
        (0.7, 400, "it knows the way better than chance"),
        (0.58, 18, "18 choices are too few to be sure: show more paths"),
        (0.3, 400, "it hardly knows the way: show more paths"),
    ):
        assert told in quality_in_words(Preference(share, 0.41, steps))


def test_a_label_used_once_is_told(web: Path, tmp_path: Path) -> None:
    paths = shown(tmp_path / "paths.jsonl")
    paths.write_text(paths.read_text().replace('"course list"', '"curse list"', 1))
    said = run(
        "train", MODELS[0], "--paths", str(paths), "--pages", str(web), "--out", str(tmp_path / "t"), "--folds", "0"
    )
    assert "'curse list' is used once" in said


@every_model
def test_a_model_of_other_features_is_refused(model: str, web: Path, elsewhere: Path, tmp_path: Path) -> None:
    given = ("--web", str(web), "--target", "course", "--folds", "0")
    run("train", model, *given, "--out", str(tmp_path / "taught"))
    file = tmp_path / "taught/strategy.npz"
    from forager.crawl.build import STRATEGY_VERSION
    from forager.store import models

    parts = dict(models.load(file, kind=model, version=STRATEGY_VERSION))
    name = next(key for key in ("feature_version", "made", "features", "version") if key in parts)
    parts[name] = "features of another version" if isinstance(parts[name], str) else np.int64(99).item()
    models.save(file, parts, kind=model, version=STRATEGY_VERSION)
    project = tmp_path / "project"
    run("new", str(project), "--taught", str(tmp_path / "taught"), "--seed", f"http://{SCHOOLS[-1]}.test/")
    toml = project / "forager.toml"
    toml.write_text(toml.read_text().replace("[fetch]\n", f"[fetch]\nreplay = {json.dumps(str(elsewhere))}\n"))
    run("crawl", str(project), wrong="again")
