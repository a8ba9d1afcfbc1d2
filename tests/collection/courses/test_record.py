"""One record a course: which pages belong to it, and which course a page belongs to."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pytest

from forager.collection.courses import Course, FoundBy, PartType, course_of, courses
from forager.collection.courses.record import DEEPEST, MOST_PAGES, MOST_PARTS, TEXT
from forager.types import Page, Url
from tests.collection.courses.pages import MANY_PAGES, page

U = "http://www.u.test/"
HOME = f"{U}cs302/"


class Web:
    """A crawl: pages by URL, and the URLs asked for."""

    def __init__(self, pages: dict[str, str], redirects: dict[str, str] | None = None) -> None:
        self.pages = {Url(url): page(html, url) for url, html in pages.items()}
        self.redirects = redirects or {}
        self.asked: list[str] = []

    def __call__(self, url: Url) -> Page | None:
        self.asked.append(url)
        return self.pages.get(Url(self.redirects.get(url, url)))

    def course(self, url: str = HOME, others: Iterable[str] = ()) -> Course:
        return course_of(self.pages[Url(url)], self, {Url(other) for other in others})


def told(course: Course) -> list[tuple[str, str, str, str]]:
    return [(part.type.value, part.found.value, part.name, part.text) for part in course.parts]


def test_the_record_of_a_course_of_many_pages() -> None:
    web = Web({HOME: MANY_PAGES, f"{HOME}syllabus.html": "<title>Syllabus</title>Processes and <a href=x>files</a>"})
    course = web.course()
    assert (course.url, course.title, course.name) == (HOME, "CS 302 - Operating Systems", "Operating Systems")
    assert (course.number, course.site) == ("CS 302", "u.test")
    assert course.pages == (HOME, f"{HOME}syllabus.html")
    assert told(course)[0] == ("syllabus", "anchor", "Syllabus", "Processes and files")
    assert [(link.anchor, link.url) for link in course.parts[0].links] == [("files", f"{HOME}x")]
    assert (course.parts[0].source, course.parts[0].target) == (HOME, f"{HOME}syllabus.html")
    # what was not fetched is known by its anchor alone
    assert [(part.type, part.text, part.links[0].url) for part in course.parts[1:]] == [
        (PartType.ASSIGNMENTS, "", f"{HOME}assignments.html"),
        (PartType.STAFF, "", f"{HOME}staff.html"),
        (PartType.TUTORIALS, "", "http://www.elsewhere.test/unix.html"),
        (PartType.LECTURES, "", f"{HOME}lectures/1.ps"),
    ]


def test_a_linked_page_may_lie_elsewhere_if_the_course_names_it() -> None:
    html = {HOME: "<a href=/~ada/notes.html>Lecture notes</a>", f"{U}~ada/notes.html": "<a href=1>Lecture 1</a>"}
    course = Web({**html, f"{U}~ada/1": "Sorting."}).course()
    assert told(course) == [("lectures", "anchor", "Lecture notes", "Lecture 1")]  # but not what that one links to


def test_a_link_under_a_heading_has_its_type_if_it_lies_below_the_folder() -> None:
    html = {
        HOME: "<h2>Lectures</h2><a href=a>Sorting</a> <a href=/b>Trees</a> <a href=c>Final</a>",
        **{f"{HOME}a": "Quicksort.", f"{U}b": "Red and black.", f"{HOME}c": "Good luck."},
    }
    assert told(Web(html).course()) == [
        ("lectures", "heading", "Lectures", "Sorting Trees Final"),
        ("exams", "anchor", "Final", "Good luck."),  # its anchor goes first
        ("lectures", "heading", "Sorting", "Quicksort."),
    ]


def test_pages_of_pages_below_the_folder() -> None:
    steps = [HOME, *(f"{HOME}{i}" for i in range(1, DEEPEST + 3))]
    html = {url: f"<a href={i}>Homework {i}</a>" for i, url in enumerate(steps, 1)}
    course = Web(html).course()
    assert course.pages == tuple(steps[: DEEPEST + 1])
    assert course.parts[-1].source == steps[DEEPEST - 1]


def test_frames_are_the_page_of_the_course() -> None:
    html = {HOME: "<frameset><frame src=menu><frame src=main></frameset>", f"{HOME}main": "<h2>Exams</h2>In May."}
    course = Web({**html, f"{HOME}menu": "<a href=hw>Homework</a>"}).course()
    assert course.pages == (HOME, f"{HOME}menu", f"{HOME}main")
    assert [name for _, _, name, _ in told(course)] == ["Exams", "Homework"]


def test_a_redirect_to_the_course_itself_is_no_part() -> None:
    web = Web({HOME: "<a href=old.html>Syllabus</a>"}, {f"{HOME}old.html": HOME})
    assert web.course().parts == ()


def test_a_heading_that_is_only_a_link_is_left_to_the_link() -> None:
    course = Web({HOME: "<h2><a href=s>Syllabus</a></h2><h2>Exams</h2>In May."}).course()
    assert [(part.found, part.name) for part in course.parts] == [
        (FoundBy.HEADING, "Exams"),
        (FoundBy.ANCHOR, "Syllabus"),
    ]


def test_pages_that_link_in_a_circle() -> None:
    a, b = f"{HOME}a", f"{HOME}b"
    html = {
        HOME: "<a href=a>Lectures</a>",
        a: "<a href=b>Lecture 2</a> <a href=.>Syllabus</a>",
        b: "<a href=a>Notes</a>",
    }
    course = Web(html).course()
    assert course.pages == (HOME, a, b)
    assert len(course.parts) == 2


# ---- several pages that are courses


def test_a_page_below_a_course_is_part_of_it() -> None:
    html = {HOME: "<title>CS 302</title><a href=s.html>Syllabus</a>", f"{HOME}s.html": "<title>CS 302</title>Much."}
    found = list(courses([Url(f"{HOME}s.html"), Url(HOME)], Web(html)))
    assert [course.url for course in found] == [HOME]
    assert found[0].pages == (HOME, f"{HOME}s.html")


@pytest.mark.parametrize("other", [f"{HOME}303.html", f"{U}cs303/"])
def test_another_course_is_none_of_its_parts(other: str) -> None:
    html = {HOME: f"<title>CS 302</title><a href={other}>Syllabus</a>", other: "<title>CS 303</title>Much."}
    found = list(courses([Url(HOME), Url(other)], Web(html)))
    assert [course.url for course in found] == [HOME, other]
    assert found[0].pages == (HOME,)


def test_two_courses_that_link_to_each_other_are_not_both_lost() -> None:
    a, b = f"{U}x/a.html", f"{U}x/b.html"
    found = list(courses([Url(b), Url(a)], Web({a: "<a href=b.html>Notes</a>", b: "<a href=a.html>Syllabus</a>"})))
    assert [course.pages for course in found] == [(b, a)]


def test_a_page_that_cannot_be_read_is_passed_over() -> None:
    assert list(courses([Url(HOME)], Web({}))) == []


# ---- bounds, and a record as a line


def test_a_course_has_bounds() -> None:
    many = "".join(f"<a href={i}>Homework {i}</a> " for i in range(5_000))
    web = Web({HOME: many, **{f"{HOME}{i}": many + "x " * TEXT for i in range(300)}})
    course = web.course()
    assert len(course.pages) == MOST_PAGES
    assert len(course.parts) <= MOST_PARTS
    assert max(len(part.text) for part in course.parts) <= TEXT
    assert len(web.asked) <= MOST_PARTS


def test_a_record_is_the_same_after_json() -> None:
    course = Web({HOME: MANY_PAGES}).course()
    line = msgspec.json.encode(course)
    assert msgspec.json.decode(line, type=Course) == course
    assert set(msgspec.json.decode(line)["parts"][0]) == {"type", "name", "found", "source", "target", "text", "links"}
