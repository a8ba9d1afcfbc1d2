"""How often the parts have the type that a person gave them."""

from __future__ import annotations

import pytest

from forager.collection.courses import FoundBy, PartLabel, PartType, accuracy, parts_of, read_labels
from forager.collection.courses.accuracy import TypeCounts
from forager.errors import ForagerError
from forager.types import Url
from tests.collection.courses.pages import HOME, page

HTML = """<h2>Home&nbsp;Work</h2>a<h2>Exams</h2>b<h2>Papers of note</h2>c<h2>Final</h2>d<h2>Final</h2>e
<a href=x>Exams!</a> <a href=y>Videos</a>"""


def label(text: str, kind: PartType, found: FoundBy = FoundBy.HEADING, url: str = HOME) -> PartLabel:
    return PartLabel(Url(url), found, text, kind)


def test_figures_on_paper() -> None:
    labels = [
        label("home work", PartType.ASSIGNMENTS),
        label("EXAMS:", PartType.EXAMS),
        label("Papers of note", PartType.READINGS),  # overlooked
        label("Office hours", PartType.STAFF),  # not there
        label("Grading", PartType.NONE),  # rightly no part
        label("Exams", PartType.QUIZZES, FoundBy.ANCHOR),  # another type
        label("Videos", PartType.VIDEOS, FoundBy.ANCHOR),
        label("Exams", PartType.EXAMS, url="http://elsewhere.test/"),  # another page
    ]
    figures = accuracy(parts_of(page(HTML)), labels)
    assert figures.share() == 4 / 8
    assert figures.share(FoundBy.HEADING) == 3 / 6
    assert figures.share(FoundBy.ANCHOR) == 1 / 2
    assert figures.share(typed=True) == 3 / 7
    assert figures.by_type[PartType.EXAMS] == TypeCounts(hits=1, given=2, labelled=2)
    assert (figures.by_type[PartType.EXAMS].precision, figures.by_type[PartType.EXAMS].recall) == (1 / 2, 1 / 2)
    assert figures.by_type[PartType.NONE] == TypeCounts(hits=1, given=4, labelled=1)
    assert figures.by_type[PartType.STAFF].precision is None
    assert [outcome.label.text for outcome in figures.wrong] == ["Papers of note", "Office hours", "Exams", "Exams"]


def test_each_part_answers_one_label() -> None:
    twice = accuracy(parts_of(page(HTML)), [label("Final", PartType.EXAMS)] * 3)
    assert [outcome.given for outcome in twice.outcomes] == [PartType.EXAMS, PartType.EXAMS, PartType.NONE]


def test_nothing_labelled_has_no_share() -> None:
    assert accuracy([], []).share() is None


def test_labels_are_read_from_a_table() -> None:
    lines = ["url\tkind\ttext\ttype\tby\n", f"{HOME}#top\theading\t Old  exams \texams\tann\r\n", "\n"]
    assert list(read_labels(lines)) == [label("Old  exams", PartType.EXAMS)]


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
