"""From a page to its parts."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.collection.courses import FoundBy, PartType, parts_of
from forager.collection.courses.headings import headings
from forager.collection.courses.parts import LINKS, MOST, TEXT, anchor_parts, heading_parts
from tests.collection.courses.pages import HOME, MANY_PAGES, ONE_PAGE, page


def found(html: str) -> list[tuple[str, str]]:
    """Name and type of the parts under headings."""
    return [(part.name, part.type.value) for part in heading_parts(page(html))]


def written(html: str) -> list[str]:
    return [title.text for title in headings(page(html))]


# ---- all on one page


def test_everything_under_a_heading_has_its_type() -> None:
    parts = list(heading_parts(page(ONE_PAGE)))
    assert [(part.type, part.name, part.text) for part in parts] == [
        (PartType.STAFF, "Instructor:", "Ada Byron"),
        (PartType.STAFF, "Office:", "Main 7"),
        (PartType.SYLLABUS, "Syllabus", "Processes, virtual memory and file systems."),
        (PartType.SYLLABUS, "Prerequisites", "CS 201."),
        (PartType.SYLLABUS, "In depth", "Scheduling."),  # names nothing: that of the heading above
        (PartType.ASSIGNMENTS, "Homework", "#1 due in May #2"),
        (PartType.READINGS, "Textbook", "Tanenbaum, Modern Operating Systems"),
        (PartType.EXAMS, "Old exams:", "1995"),
    ]
    assert {(part.found, part.source, part.target) for part in parts} == {(FoundBy.HEADING, HOME, None)}


def test_links_stand_with_the_part_they_are_in() -> None:
    parts = {part.name: part.links for part in heading_parts(page(ONE_PAGE))}
    folder = HOME.removesuffix("index.html")
    assert [(link.anchor, link.url) for link in parts["Homework"]] == [
        ("#1", f"{folder}hw1.html"),
        ("#2", f"{folder}hw2.html"),
    ]
    assert [link.anchor for link in parts["Instructor:"]] == ["Ada Byron"]
    assert parts["Syllabus"] == ()


def test_a_heading_ends_those_of_its_level_and_below() -> None:
    html = "<h1>Lectures</h1>a<h3>Sorting</h3>b<h2>Exams</h2>c<h3>Old</h3>d<h1>Hobbies</h1>e"
    assert found(html) == [("Lectures", "lectures"), ("Sorting", "lectures"), ("Exams", "exams"), ("Old", "exams")]


def test_what_is_named_none_is_not_taken_for_what_is_above() -> None:
    assert found("<h1>Syllabus</h1>a<h2>Grading</h2>b<h3>Curve</h3>c<h2>Scope</h2>d") == [
        ("Syllabus", "syllabus"),
        ("Scope", "syllabus"),
    ]


def test_an_untyped_bold_line_ends_a_bold_part_but_does_not_cut_a_real_one() -> None:
    assert [part.text for part in heading_parts(page("<h2>Exams</h2>a<br><b>Hints</b><br>b"))] == ["a Hints b"]
    assert [part.text for part in heading_parts(page("<b>Exams</b><br>a<br><b>Hobbies</b><br>b"))] == ["a"]


# ---- what stands for headings


@pytest.mark.parametrize(
    "html",
    [
        "<p>Intro.</p><b>Homework</b><p>One.</p>",
        "<p>Intro.<br><strong>Homework</strong><br>One.",
        "<b>Homework:</b> one",
        "<b>Homework</b>: one",
        "<ul><li>more to read</ul><b>Homework:</b> one",
        "<dl><dt>Homework<dd>one</dl>",
        "<dl><dt><b>Homework</b> One</dl>",
        "<hr><font size=4>Homework</font><br>one",
        "<p>Homework<ul><li><a href=1.html>one</a></ul>",
        "<p>Homework:</p> one",
        "<table><tr><td>Homework:<td>one</table>",
        "<h2>Homework</h2>one",
        "<h2>Homework<ul><li><a href=1>1</a><li><a href=2>2</a><li><a href=3>3</a></ul>",  # never closed
    ],
)
def test_headings(html: str) -> None:
    assert [text.strip(":") for text in written(html)] == ["Homework"]
    assert [kind for _, kind in found(html)] == ["assignments"]


@pytest.mark.parametrize(
    "html",
    [
        "<p>Do the <b>homework</b> now.",
        "<p>Do the <b>Homework</b> now.",
        "<p>Your <i>Homework</i> One",
        "<p>Do the <b>Homework</b><br>",
        "<p>Homework is due on Monday.</p>x",
        "<br><b>No homework will be accepted late</b><br>",
        "<table><tr><td><b>Date</b><td><b>Homework</b><td><b>Exam</b><tr><td>1<td>2<td>3</table>",
        "<table><tr><td>Homework<td>Exam<tr><td>1<td>2</table>",
        "<ul><li>Homework<li>Exams</ul>",
        "<dd>Homework 20%<dd>Exams 80%",
        "<p>Homework: ten of them</p>",  # a sentence that runs on
        "<h4><a href=1>Homework</a> | <a href=2>Exams</a> | <a href=3>Notes</a></h4>",  # a menu
        "<br><b><a href=hw.html>Homework</a></b><br>",  # a link: its anchor says so
        f"<h2>{'Homework and more ' * 20}</h2>",  # a paragraph in large letters
        "<h2></h2>",
    ],
)
def test_no_headings(html: str) -> None:
    assert found(html) == []


def test_references_in_a_list_of_terms_belong_to_the_bold_line_above() -> None:
    html = "<b>Readings</b><br><dl><dt>Tanenbaum 92<dd>Modern.<dt>Knuth 68<dd>Art.</dl><b>Hobbies</b><br>Kites."
    assert [part.text for part in heading_parts(page(html))] == ["", "Modern.", "Art."]


def test_a_colon_behind_the_mark_is_no_text() -> None:
    assert [part.text for part in heading_parts(page("<b>Office hours</b>: noon"))] == ["noon"]


# ---- a page for each part


def test_a_linked_page_has_the_type_that_its_anchor_names() -> None:
    parts = list(anchor_parts(page(MANY_PAGES)))
    assert [(part.type, part.name) for part in parts] == [
        (PartType.SYLLABUS, "Syllabus"),
        (PartType.ASSIGNMENTS, "Homework assignments"),
        (PartType.STAFF, "TAs and office hours"),
        (PartType.TUTORIALS, "Unix tutorial"),
        (PartType.LECTURES, "Lecture 1"),  # once
    ]
    assert parts[3].target == "http://www.elsewhere.test/unix.html"
    assert {(part.found, part.source, part.text) for part in parts} == {(FoundBy.ANCHOR, HOME, "")}


def test_parts_of_a_page_are_those_of_headings_and_of_anchors() -> None:
    both = page('<h2>Exams</h2><a href="f.html">Final</a>')
    assert [(part.found, part.name) for part in parts_of(both)] == [
        (FoundBy.HEADING, "Exams"),
        (FoundBy.ANCHOR, "Final"),
    ]


# ---- bounds


@pytest.mark.parametrize(
    "html",
    [
        "<h2>Homework 1</h2>x" * 5_000,
        "<b>Homework:</b> x<br>" * 5_000,
        "<b>Homework</b>" * 5_000,
        "<div>" * 3_000 + "<h2>Homework" * 300,
        "".join(f"<a href={i}.html>Homework {i}</a> " for i in range(5_000)),
        "<h2>Lectures</h2>" + "".join(f"<a href={i}.html>{i}</a>" for i in range(5_000)),
        "<h2>Lectures</h2>" + "words " * 100_000,
        "<h2>" + "x" * 1_000_000 + "</h2>",
        "<a href=x.html>" + "<b>Homework</b><br>" * 5_000,
        "",
        "<p>" * 5_000,
    ],
)
def test_hostile_pages(html: str) -> None:
    parts = parts_of(page(html))
    assert len(parts) <= 2 * MOST
    assert all(len(part.text) <= TEXT and len(part.links) <= LINKS and len(part.name) <= 200 for part in parts)


TAGS = ("b", "h1", "h2", "h3", "p", "dt", "dd", "li", "td", "i", "br", "hr", "a href=x.html", "div", "font")
WORD = st.sampled_from(["Homework", "Exams:", "here", "Grading", "Ada Byron", "notes", ".", "", "One two."])


@given(st.lists(st.tuples(st.sampled_from(TAGS), WORD, st.booleans()), max_size=30))
def test_headings_are_in_order_and_apart(pieces: list[tuple[str, str, bool]]) -> None:
    html = "".join(f"<{tag}>{word}" + (f"</{tag.split()[0]}>" if ends else "") for tag, word, ends in pieces)
    made = page(html)
    titles = headings(made)
    assert all(one.last < other.first for one, other in pairwise(titles))
    assert all(title.text and title.first <= title.last < len(made.leaves) for title in titles)
    for part in parts_of(made):
        assert part.type is not PartType.NONE
