"""The words of a subject out of courses."""

from __future__ import annotations

from math import log2

import pytest

from forager.collection.courses import Course, CoursePart, FoundBy, PartType, keywords
from forager.types import Url

HOME = Url("http://u.test/")


def course(name: str, *parts: tuple[PartType, str, str]) -> Course:
    made = tuple(CoursePart(kind, said, FoundBy.HEADING, HOME, None, text, ()) for kind, said, text in parts)
    return Course(HOME, name, name, "", "u.test", made, (HOME,))


COURSES = [
    course(
        "Operating Systems",
        (PartType.SYLLABUS, "Syllabus", "Processes, virtual memory and deadlock. Operating systems."),
        (PartType.LECTURES, "Lecture 3: Virtual memory", "the text of a lecture does not count: paging, paging"),
        (PartType.STAFF, "Paging Dr. Byron", "paging"),
    ),
    course("Advanced Operating Systems", (PartType.SYLLABUS, "Topics", "deadlock; distributed operating systems")),
    course("Databases", (PartType.ASSIGNMENTS, "Homework 2: virtual memory", ""), (PartType.SYLLABUS, "", "paging")),
]


def test_scores_on_paper() -> None:
    found = {keyword.term: (round(keyword.score, 6), keyword.courses) for keyword in keywords(COURSES)}
    assert found == {
        # "advanced" is a stop word, so both names are just "operating systems", and both syllabuses have it: 3 + 3
        "operating systems": (round(log2(3) * 6, 6), 2),
        # syllabus and heading of the first, heading of the third
        "virtual memory": (round(log2(3) * 3, 6), 2),
        "deadlock": (2.0, 2),
    }  # the others stand in one course each


def test_a_longer_term_takes_from_those_inside_it() -> None:
    support = course("Support vector machines")
    found = {keyword.term: keyword.score for keyword in keywords([support, support, course("Vector machines")])}
    assert found["support vector machines"] == pytest.approx(log2(4) * 4)
    assert found["vector machines"] == pytest.approx(log2(3) * (6 - 4))
    assert "support vector" not in found  # 4 - 4
    assert "machines" not in found  # never stands alone


def test_addresses_are_no_terms() -> None:
    text = "mail ada@cs.u.test, read http://cs.u.test/sorting.html and comp.lang.scheme"
    assert {keyword.term for keyword in keywords([course("", (PartType.SYLLABUS, "", text))])} == {"mail"}


def test_best_first_and_no_more_than_asked_for() -> None:
    assert [keyword.term for keyword in keywords(COURSES, 2)] == ["operating systems", "virtual memory"]


def test_a_single_course_has_all_its_terms() -> None:
    assert {keyword.term for keyword in keywords(COURSES[2:])} == {"databases", "virtual memory", "paging"}


def test_no_courses_no_keywords() -> None:
    assert keywords([]) == []
    assert keywords([course("Introduction to the course")]) == []


def test_a_course_without_end_has_bounds() -> None:
    endless = course("", (PartType.SYLLABUS, "", " ".join(f"word{i} x" for i in range(10**5))))
    assert len(keywords([endless], 10**6)) < 5_000
