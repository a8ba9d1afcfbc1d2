"""Course records out of a crawl that lies on disk, and a topic out of the records."""

from __future__ import annotations

import asyncio
import json
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from forager.cli.topics import from_courses
from forager.collection.courses.export import export_courses, project_courses, read_courses
from forager.config import read_config
from forager.errors import ForagerError
from forager.project import Project
from forager.strategies import STRATEGIES
from forager.types import FIRST, ScoredLinks, Visit
from tests.collection.courses.pages import MANY_PAGES, ONE_PAGE
from tests.lab.warc import write_web

ONE, MANY, OTHER = "http://www.u.test/one/", "http://www.u.test/many/", "http://www.u.test/hobbies/"
PAGES = {
    "http://www.u.test/": ("", f"<a href={ONE}>one</a> <a href={MANY}>many</a> <a href={OTHER}>hobbies</a>"),
    ONE: ("", ONE_PAGE),
    MANY: ("", MANY_PAGES.replace("syllabus.html", "old-syllabus.html")),
    f"{MANY}syllabus.html": ("", "<title>CS 302</title>Virtual memory. Deadlock."),
    f"{MANY}assignments.html": ("", "<title>CS 302 homework</title><a href=1.html>Assignment 1</a>"),
    f"{MANY}1.html": ("", "Write a scheduler."),
    OTHER: ("", "Kites."),
}
ALIASES = f"linked\tpage\n{MANY}old-syllabus.html\t{MANY}syllabus.html\n"
TOML = '[critic]\nname = "predicate"\noptions.regex = "{}"\n[fetch]\nreplay = "{}"\n[strategy]\nname = "{}"\n'


class Labels:
    """Breadth first; says what a page is by its URL."""

    combine = FIRST

    def score(self, visit: Visit) -> ScoredLinks:
        label = {ONE: "course-page", MANY: "goal", OTHER: ""}.get(visit.page.url, "other")
        return ScoredLinks(np.zeros(len(visit.links), np.float32), label=label)


def crawled(folder: Path, regex: str, strategy: str = "breadth-first") -> Project:
    web = write_web(folder / "web", PAGES, aliases=ALIASES)
    project = Project.create(folder / "project", TOML.format(regex, web, strategy), ["http://www.u.test/"])
    asyncio.run(project.crawl())
    return project


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The critic keeps every page about CS 302."""
    return crawled(tmp_path_factory.mktemp("judged"), "CS 302")


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The critic keeps nothing, but the strategy has labelled what it found."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(STRATEGIES, "labels", Labels)
        return crawled(tmp_path_factory.mktemp("labelled"), "nothing at all", "labels")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The strategy calls hobbies a goal too, but the critic keeps only pages about CS 302."""

    class TooMany(Labels):
        def score(self, visit: Visit) -> ScoredLinks:
            return replace(super().score(visit), label="goal" if visit.page.url in (MANY, OTHER) else "other")

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(STRATEGIES, "labels", TooMany)
        return crawled(tmp_path_factory.mktemp("both"), "CS 302", "labels")


def urls(project: Project, label: str | None = None, least: float | None = None) -> list[str]:
    return [course.url for course in project_courses(project, label=label, min_relevance=least)]


# ---- which pages are courses


def test_without_labels_relevant_pages_are_courses_but_not_their_parts(judged: Project) -> None:
    assert urls(judged) == [ONE, MANY]


def test_pages_labelled_goal_are_courses_if_the_critic_agrees(both: Project, labelled: Project) -> None:
    assert urls(both) == [MANY]
    assert set(urls(both, "goal")) == {MANY, OTHER}
    assert urls(both, "goal", 0.5) == [MANY]
    with pytest.raises(ForagerError, match=r"1 pages in .* labelled goal, but none of them is relevant by the critic"):
        urls(labelled)
    assert urls(labelled, "goal") == [MANY]
    assert urls(labelled, "course-page") == [ONE]


def test_a_least_relevance_goes_before_the_goal(labelled: Project) -> None:
    assert set(urls(labelled, least=0.0)) >= {ONE, MANY, OTHER}


def test_an_unknown_label_is_told_with_the_nearest(labelled: Project, judged: Project) -> None:
    with pytest.raises(ForagerError, match="no label named 'gaol'; nearest: goal"):
        urls(labelled, "gaol")
    with pytest.raises(ForagerError, match=r"no page of .* has a label: leave out --label"):
        urls(judged, "goal")


def test_a_project_without_a_course_says_what_to_do(judged: Project, labelled: Project, tmp_path: Path) -> None:
    with pytest.raises(ForagerError, match=r"none of the 7 pages .* has a relevance of 1.5 or more: crawl more"):
        urls(judged, least=1.5)
    with pytest.raises(ForagerError, match=r"with --label: course-page, goal, other$"):
        urls(labelled, least=0.9)
    no_course = crawled(tmp_path, "nothing at all")
    with pytest.raises(
        ForagerError, match=r"none of the 7 pages .* is labelled goal or has a relevance of 0.5 or more: crawl more"
    ):
        export_courses(no_course, tmp_path / "out.jsonl")
    assert not list(tmp_path.glob("out*"))  # nothing is left behind


# ---- the records


def test_export_writes_one_record_a_course(judged: Project, tmp_path: Path) -> None:
    target = tmp_path / "courses.jsonl"
    assert export_courses(judged, target) == 2
    one, many = map(json.loads, target.read_text(encoding="utf-8").splitlines())
    assert (one["url"], one["name"], one["number"]) == (ONE, "Operating Systems", "CS 302")
    assert [part["type"] for part in one["parts"]][:4] == ["staff", "staff", "syllabus", "syllabus"]
    assert many["pages"] == [MANY, f"{MANY}syllabus.html", f"{MANY}assignments.html", f"{MANY}1.html"]
    texts = {part["name"]: part["text"] for part in many["parts"]}
    assert texts["Syllabus"] == "Virtual memory. Deadlock."  # by a redirect
    assert texts["Assignment 1"] == "Write a scheduler."  # two links away


def test_a_file_of_records_is_read_back(judged: Project, tmp_path: Path) -> None:
    export_courses(judged, tmp_path / "courses.jsonl")
    assert list(read_courses(tmp_path / "courses.jsonl")) == list(project_courses(judged))
    assert list(read_courses(judged.folder)) == list(project_courses(judged))


def test_what_is_no_file_of_records(tmp_path: Path) -> None:
    with pytest.raises(ForagerError, match=r"missing.jsonl cannot be read .* give a project or a file"):
        list(read_courses(tmp_path / "missing.jsonl"))
    for number, line in enumerate([b'{"url": 1}', b"text", b"\xff"]):
        (tmp_path / f"{number}.jsonl").write_bytes(b"\n" + line)
        with pytest.raises(ForagerError, match="line 2 is not a course record"):
            list(read_courses(tmp_path / f"{number}.jsonl"))


# ---- the topic


def run(*words: object) -> str:
    app = typer.Typer()
    app.command()(from_courses)
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False).stdout


def test_a_topic_from_courses(judged: Project, tmp_path: Path) -> None:
    shown = run(judged.folder, "--out", tmp_path / "forager.toml")
    assert shown.splitlines()[0].split(None, 2)[1:] == ["2", "operating systems"]
    topic = read_config(tmp_path / "forager.toml").topic
    assert topic is not None
    assert topic.keywords == tuple(line.split(None, 2)[2] for line in shown.splitlines())
    assert set(tomllib.loads((tmp_path / "forager.toml").read_text())) == {"topic"}
    with pytest.raises(ForagerError, match=r"forager.toml exists: name another file"):
        run(judged.folder, "--out", tmp_path / "forager.toml")


def test_a_topic_for_programs(judged: Project) -> None:
    rows = [json.loads(line) for line in run(judged.folder, "--json", "--most", 1).splitlines()]
    assert [(row["term"], row["courses"]) for row in rows] == [("operating systems", 2)]


def test_a_topic_from_labelled_pages(labelled: Project) -> None:
    assert "virtual memory" in run(labelled.folder, "--label", "course-page")


def test_courses_that_share_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_bytes(b"")
    with pytest.raises(ForagerError, match="have no term in common: give more courses"):
        run(tmp_path / "empty.jsonl")
