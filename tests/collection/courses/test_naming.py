"""What headings and anchors name."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.collection.courses.kinds import PLAIN, WORDS, Kind
from forager.collection.courses.naming import LONGEST, named, singular


def phrases() -> list[tuple[str, Kind]]:
    return [
        (" ".join(phrase.split()), kind)
        for kind, words in WORDS.items()
        for listed in (words.always, words.head, words.alone, words.first)
        for phrase in listed.split(",")
        if phrase.strip()
    ]


@pytest.mark.parametrize(("phrase", "kind"), phrases())
def test_every_phrase_of_the_table_names_its_type(phrase: str, kind: Kind) -> None:
    assert named(phrase.replace("#", "3")) is kind
    assert named(f"{phrase.replace('#', '3').title()}:") is kind


def test_no_phrase_stands_twice_or_is_a_plain_word() -> None:
    assert [phrase for phrase, times in Counter(phrase for phrase, _ in phrases()).items() if times > 1] == []
    assert not set(PLAIN.split()) & {phrase for phrase, _ in phrases()}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Homeworks", Kind.ASSIGNMENTS),
        ("HW3", Kind.ASSIGNMENTS),
        ("hw #4 (due May 3)", Kind.ASSIGNMENTS),
        ("PS1", Kind.ASSIGNMENTS),
        ("PS", None),  # PostScript
        ("Problem Set 2 Solutions", Kind.ASSIGNMENTS),
        ("Term Project", Kind.ASSIGNMENTS),
        ("Lecture Notes", Kind.LECTURES),
        ("Handouts", Kind.LECTURES),
        ("Notes on Resolution", Kind.LECTURES),
        ("Lecture slides", Kind.SLIDES),
        ("Mid-term", Kind.EXAMS),
        ("1996 Final", Kind.EXAMS),
        ("Final version", None),
        ("Quizzes", Kind.QUIZZES),
        ("Questions", Kind.QUIZZES),
        ("Questions?", Kind.NONE),
        ("Unix Tutorial", Kind.TUTORIALS),
        ("A Beginner's Guide to HTML", Kind.TUTORIALS),
        ("Required texts", Kind.READINGS),
        ("Lecture videos", Kind.VIDEOS),
        ("Computer Animation", None),  # a subject
        ("Course Description", Kind.SYLLABUS),
        ("Topics", Kind.SYLLABUS),
        ("Topics in Computer Vision", None),  # a course
        ("TA's", Kind.STAFF),
        ("Office Hours: MTWTF 10-11:15 a.m.", Kind.STAFF),
        ("Prof. Knuth", Kind.STAFF),
        ("Algorithms, Prof. Knuth", None),
        ("Time & Place", Kind.SCHEDULE),
        ("Week 3", Kind.SCHEDULE),
        ("Late policy", Kind.NONE),
        ("CS 302", None),
        ("here", None),
        ("", None),
        ("http://www.u.test/syllabus.html", None),
    ],
)
def test_words(text: str, kind: Kind | None) -> None:
    assert named(text) is kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Reading assignment", Kind.READINGS),  # 1. the longest phrase
        ("Lecture schedule", Kind.SCHEDULE),  # 2. the last of a noun phrase
        ("Homework grades", Kind.NONE),
        ("Group projects", Kind.ASSIGNMENTS),
        ("Student solutions", Kind.ASSIGNMENTS),
        ("Midterm solutions", Kind.EXAMS),
        ("Lectures and assignments", Kind.LECTURES),  # 3. the first of several
        ("Lecture schedule and notes", Kind.SCHEDULE),
        ("Handouts and assignments", Kind.LECTURES),
        ("Announcements, assignments", Kind.ASSIGNMENTS),  # a type goes before none
        ("Solutions to the midterm", Kind.EXAMS),  # 4. what counts always, hanging on what counts in its place
        ("Handout 5: Problem Set 2", Kind.ASSIGNMENTS),
        ("Policy on late homework", Kind.NONE),  # 5. what hangs on something without a type
        ("Grading: exams 40 %, homework 60 %", Kind.NONE),
    ],
)
def test_precedence(text: str, kind: Kind) -> None:
    assert named(text) is kind


def test_the_number_of_the_course_says_nothing() -> None:
    assert named("CS 101 course syllabus") is Kind.SYLLABUS
    assert named("CS 101 Final") is Kind.EXAMS


@pytest.mark.parametrize(
    ("plural", "one"),
    [("quizzes", "quiz"), ("policies", "policy"), ("classes", "class"), ("notes", "note"), ("syllabus", "syllabus")],
)
def test_singular(plural: str, one: str) -> None:
    assert singular(plural) == one


@given(st.text(max_size=400))
def test_any_text_has_an_answer_that_case_does_not_change(text: str) -> None:
    assert named(text) in {None, *Kind}
    if text.isascii() and not any(map(str.isdecimal, text)):  # codes of courses are capitals before a number
        assert named(text.upper()) is named(text.lower())


def test_what_lies_beyond_the_bound_does_not_count() -> None:
    assert named("x " * LONGEST + "homework") is None
    assert named("homework " + "x " * 10**6) is Kind.ASSIGNMENTS
