"""What headings and anchors name."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.collection.courses.naming import LONGEST, named_type, singular
from forager.collection.courses.part_types import PLAIN, WORDS, PartType


def phrases() -> list[tuple[str, PartType]]:
    return [
        (" ".join(phrase.split()), kind)
        for kind, words in WORDS.items()
        for listed in (words.always, words.head, words.alone, words.first)
        for phrase in listed.split(",")
        if phrase.strip()
    ]


@pytest.mark.parametrize(("phrase", "kind"), phrases())
def test_every_phrase_of_the_table_names_its_type(phrase: str, kind: PartType) -> None:
    assert named_type(phrase.replace("#", "3")) is kind
    assert named_type(f"{phrase.replace('#', '3').title()}:") is kind


def test_no_phrase_stands_twice_or_is_a_plain_word() -> None:
    assert [phrase for phrase, times in Counter(phrase for phrase, _ in phrases()).items() if times > 1] == []
    assert not set(PLAIN.split()) & {phrase for phrase, _ in phrases()}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Homeworks", PartType.ASSIGNMENTS),
        ("HW3", PartType.ASSIGNMENTS),
        ("hw #4 (due May 3)", PartType.ASSIGNMENTS),
        ("PS1", PartType.ASSIGNMENTS),
        ("PS", None),  # PostScript
        ("Problem Set 2 Solutions", PartType.ASSIGNMENTS),
        ("Term Project", PartType.ASSIGNMENTS),
        ("Lecture Notes", PartType.LECTURES),
        ("Handouts", PartType.LECTURES),
        ("Notes on Resolution", PartType.LECTURES),
        ("Lecture slides", PartType.SLIDES),
        ("Mid-term", PartType.EXAMS),
        ("1996 Final", PartType.EXAMS),
        ("Final version", None),
        ("Quizzes", PartType.QUIZZES),
        ("Questions", PartType.QUIZZES),
        ("Questions?", PartType.NONE),
        ("Unix Tutorial", PartType.TUTORIALS),
        ("A Beginner's Guide to HTML", PartType.TUTORIALS),
        ("Required texts", PartType.READINGS),
        ("Lecture videos", PartType.VIDEOS),
        ("Computer Animation", None),  # a subject
        ("Course Description", PartType.SYLLABUS),
        ("Topics", PartType.SYLLABUS),
        ("Topics in Computer Vision", None),  # a course
        ("TA's", PartType.STAFF),
        ("Office Hours: MTWTF 10-11:15 a.m.", PartType.STAFF),
        ("Prof. Knuth", PartType.STAFF),
        ("Algorithms, Prof. Knuth", None),
        ("Time & Place", PartType.SCHEDULE),
        ("Week 3", PartType.SCHEDULE),
        ("Late policy", PartType.NONE),
        ("CS 302", None),
        ("here", None),
        ("", None),
        ("http://www.u.test/syllabus.html", None),
    ],
)
def test_words(text: str, kind: PartType | None) -> None:
    assert named_type(text) is kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Reading assignment", PartType.READINGS),  # 1. the longest phrase
        ("Lecture schedule", PartType.SCHEDULE),  # 2. the last of a noun phrase
        ("Homework grades", PartType.NONE),
        ("Group projects", PartType.ASSIGNMENTS),
        ("Student solutions", PartType.ASSIGNMENTS),
        ("Midterm solutions", PartType.EXAMS),
        ("Lectures and assignments", PartType.LECTURES),  # 3. the first of several
        ("Lecture schedule and notes", PartType.SCHEDULE),
        ("Handouts and assignments", PartType.LECTURES),
        ("Announcements, assignments", PartType.ASSIGNMENTS),  # a type goes before none
        ("Solutions to the midterm", PartType.EXAMS),  # 4. what counts always, hanging on what counts in its place
        ("Handout 5: Problem Set 2", PartType.ASSIGNMENTS),
        ("Policy on late homework", PartType.NONE),  # 5. what hangs on something without a type
        ("Grading: exams 40 %, homework 60 %", PartType.NONE),
    ],
)
def test_precedence(text: str, kind: PartType) -> None:
    assert named_type(text) is kind


def test_the_number_of_the_course_says_nothing() -> None:
    assert named_type("CS 101 course syllabus") is PartType.SYLLABUS
    assert named_type("CS 101 Final") is PartType.EXAMS


@pytest.mark.parametrize(
    ("plural", "one"),
    [("quizzes", "quiz"), ("policies", "policy"), ("classes", "class"), ("notes", "note"), ("syllabus", "syllabus")],
)
def test_singular(plural: str, one: str) -> None:
    assert singular(plural) == one


@given(st.text(max_size=400))
def test_any_text_has_an_answer_that_case_does_not_change(text: str) -> None:
    assert named_type(text) in {None, *PartType}
    if text.isascii() and not any(map(str.isdecimal, text)):  # codes of courses are capitals before a number
        assert named_type(text.upper()) is named_type(text.lower())


def test_what_lies_beyond_the_bound_does_not_count() -> None:
    assert named_type("x " * LONGEST + "homework") is None
    assert named_type("homework " + "x " * 10**6) is PartType.ASSIGNMENTS
