"""Numbers and names of courses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.collection.courses.numbers import number_in_url, number_of, same_course, without_number
from forager.collection.courses.record import course_name, course_number
from tests.collection.courses.pages import page


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("CS 302", "CS 302"),
        ("CS302: Operating Systems", "CS 302"),
        ("cs-105a", "CS 105A"),
        ("C S 453 Databases", "CS 453"),
        ("EECS 498-2: Games", "EECS 498"),
        ("Computer Science 50", "Computer Science 50"),
        ("COS 226, Spring 1996", "COS 226"),
        ("ME564 - Homepage", "ME 564"),
        ("6.001 Structure and Interpretation", "6.001"),
        ("15-411 Compilers", "15-411"),
        ("G22.2233 Computer System Design", "G22.2233"),
        ("22C:18 Assembly", "22C:18"),
        ("Fall 1996", ""),
        ("FALL 1996", ""),
        ("SIGCHI 1996", ""),  # a year
        ("Room 101", ""),
        ("Homework 12", ""),
        ("HW 12", ""),
        ("", ""),
    ],
)
def test_numbers(text: str, number: str) -> None:
    assert number_of(text) == number


def test_numbers_are_cut_out_whole() -> None:
    assert without_number("CPSC 420/620 - Analysis").strip() == "- Analysis"
    assert without_number("CS-101(B1): Introduction").strip() == ": Introduction"
    assert without_number("Fall 1996") == "Fall 1996"


def test_the_number_in_a_url_is_that_of_the_innermost_folder() -> None:
    assert number_in_url("http://www.u.test/cs/cs302/home.html") == "CS 302"
    assert number_in_url("http://cs101.u.test/~ada/") == ""


def test_departments_are_written_in_many_ways() -> None:
    assert same_course("CS 302", "Computer Science 302")
    assert same_course("CS 302", "")
    assert not same_course("CS 302", "CS 303")


@pytest.mark.parametrize(
    ("title", "heading", "name"),
    [
        ("CS 302: Operating Systems", "", "Operating Systems"),
        ("CS 302 Home Page", "CS 302 - Operating Systems - Fall 1996", "Operating Systems"),
        ("CS 302 Home Page", "Welcome to Graphics (Honors)", "Graphics (Honors)"),
        ("Graph Theory Course Home Page", "", "Graph Theory"),
        ("CS 302 Syllabus", "Department of Computer Science", "CS 302 Syllabus"),  # nothing better
        ("", "Instructor: Ada Byron", ""),
        ("Databases (Spring 1996)", "", "Databases"),
    ],
)
def test_names(title: str, heading: str, name: str) -> None:
    assert course_name(page(f"<title>{title}</title><h1>{heading}</h1>text")) == name


def test_the_number_comes_from_title_heading_or_url() -> None:
    assert course_number(page("<title>CS 1</title><h1>CS 2</h1>", "http://u.test/cs3/")) == "CS 1"
    assert course_number(page("<h1>CS 2</h1>", "http://u.test/cs3/")) == "CS 2"
    assert course_number(page("text", "http://u.test/cs3/")) == "CS 3"
    assert course_number(page("<h1>A</h1><h2>B</h2><h3>MAIN 302</h3>", "http://u.test/")) == ""  # a room


@given(st.text(max_size=500))
def test_any_title_will_do(text: str) -> None:
    assert len(without_number(text)) <= len(text)
    assert isinstance(number_of(text), str)
