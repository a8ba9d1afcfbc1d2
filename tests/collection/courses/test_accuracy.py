"""How often the parts have the type that a person gave them."""

from __future__ import annotations

import pytest

from forager.collection.courses import Found, Kind, Label, accuracy, parts_of, read_labels
from forager.collection.courses.accuracy import Tally
from forager.errors import ForagerError
from forager.types import Url
from tests.collection.courses.pages import HOME, page

HTML = """<h2>Home&nbsp;Work</h2>a<h2>Exams</h2>b<h2>Papers of note</h2>c<h2>Final</h2>d<h2>Final</h2>e
<a href=x>Exams!</a> <a href=y>Videos</a>"""


def label(text: str, kind: Kind, found: Found = Found.HEADING, url: str = HOME) -> Label:
    return Label(Url(url), found, text, kind)


def test_figures_on_paper() -> None:
    labels = [
        label("home work", Kind.ASSIGNMENTS),
        label("EXAMS:", Kind.EXAMS),
        label("Papers of note", Kind.READINGS),  # overlooked
        label("Office hours", Kind.STAFF),  # not there
        label("Grading", Kind.NONE),  # rightly no part
        label("Exams", Kind.QUIZZES, Found.ANCHOR),  # another type
        label("Videos", Kind.VIDEOS, Found.ANCHOR),
        label("Exams", Kind.EXAMS, url="http://elsewhere.test/"),  # another page
    ]
    figures = accuracy(parts_of(page(HTML)), labels)
    assert figures.share() == 4 / 8
    assert figures.share(Found.HEADING) == 3 / 6
    assert figures.share(Found.ANCHOR) == 1 / 2
    assert figures.share(typed=True) == 3 / 7
    assert figures.by_type[Kind.EXAMS] == Tally(hits=1, given=2, labelled=2)
    assert (figures.by_type[Kind.EXAMS].precision, figures.by_type[Kind.EXAMS].recall) == (1 / 2, 1 / 2)
    assert figures.by_type[Kind.NONE] == Tally(hits=1, given=4, labelled=1)
    assert figures.by_type[Kind.STAFF].precision is None
    assert [outcome.label.text for outcome in figures.wrong] == ["Papers of note", "Office hours", "Exams", "Exams"]


def test_each_part_answers_one_label() -> None:
    twice = accuracy(parts_of(page(HTML)), [label("Final", Kind.EXAMS)] * 3)
    assert [outcome.given for outcome in twice.outcomes] == [Kind.EXAMS, Kind.EXAMS, Kind.NONE]


def test_nothing_labelled_has_no_share() -> None:
    assert accuracy([], []).share() is None


def test_labels_are_read_from_a_table() -> None:
    lines = ["url\tkind\ttext\ttype\tby\n", f"{HOME}#top\theading\t Old  exams \texams\tann\r\n", "\n"]
    assert list(read_labels(lines)) == [label("Old  exams", Kind.EXAMS)]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([], "line 1: no column url, kind, text, type"),
        (["url\tkind\ttext\n"], "line 1: no column type"),
        (["url\tkind\ttext\ttype", "http://a.test/\theading"], "line 2: no text"),
        (["url\tkind\ttext\ttype", "a.test\theading\tx\texams"], "line 2: 'a.test' is not an http"),
        (
            ["url\tkind\ttext\ttype", "http://a.test/\tlink\tx\texams"],
            "line 2: kind is 'link': write heading or anchor",
        ),
        (["url\tkind\ttext\ttype", "http://a.test/\tanchor\tx\ttests"], "line 2: type is 'tests': write one of assign"),
    ],
)
def test_wrong_tables(lines: list[str], told: str) -> None:
    with pytest.raises(ForagerError, match=told):
        list(read_labels(lines))
