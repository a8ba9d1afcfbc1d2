"""The reinforcement spider: values, words and predictions of a web of four pages, worked out by hand."""

from __future__ import annotations

from math import log
from pathlib import Path

import numpy as np
import pytest

from forager.errors import ForagerError
from forager.paths import Teachable
from forager.store import models
from forager.strategies.q_value import ADDRESS, ANCHOR, HEAD, NEAR, QValue
from forager.types import Visit
from forager.web.text import mix, term
from tests.strategies.grounds import ground_of, shown
from tests.visits import page_of, visit_of

# Q: home -> list 1/2, home -> sport 0, list -> one 1; a bin each, with means 0, 1/2, 1
WEB: dict[str, str | None] = {
    "home": '<a href="list">courses</a><a href="sport">games</a>',
    "list": '<a href="one">exam</a>',
    "sport": "",
    "one": "",
}


def taught(web: dict[str, str | None] | None = None, **settings: float) -> QValue:
    return QValue(**{"near": 0, **settings}).taught(ground_of(web or WEB, "one"))  # type: ignore[arg-type]


def link(anchor: str, target: str = "unheard") -> Visit:
    return visit_of(page_of("http://b.test/", f'<a href="/{target}">{anchor}</a>'))


def value(strategy: QValue, anchor: str, target: str = "unheard") -> float:
    return float(strategy.score(link(anchor, target)).scores[0])


def test_values_are_weighed_with_the_chances_of_their_bins() -> None:
    """Each bin has one link of two words, anchor and URL: |T| = 6, theta 2/8 for these and 1/8 for others."""
    strategy = taught()
    assert value(strategy, "courses") == pytest.approx(1 / 4 * 0 + 1 / 2 * 1 / 2 + 1 / 4 * 1)
    assert value(strategy, "exam") == pytest.approx(1 / 4 * 0 + 1 / 4 * 1 / 2 + 1 / 2 * 1)
    assert value(strategy, "exam exam") == pytest.approx(1 / 6 * 1 / 2 + 4 / 6)
    assert value(strategy, "games", "sport") == pytest.approx(1 / 6 * 1 / 2 + 1 / 6)
    assert value(strategy, "unheard") == pytest.approx(1 / 2)


def test_the_discount_is_gamma_for_each_link() -> None:
    assert value(taught(gamma=0.25), "courses") == pytest.approx(1 / 2 * 1 / 4 + 1 / 4)


def test_a_word_counts_where_it_stands() -> None:
    strategy = taught()
    assert value(strategy, "exam") == pytest.approx(5 / 8)
    assert value(strategy, "unheard", "exam") == pytest.approx(1 / 2)  # a word of anchors, here in a URL
    assert value(strategy, "unheard", "one") == pytest.approx(5 / 8)


def test_links_that_leave_the_ground_or_lead_to_their_own_page_teach_nothing() -> None:
    more = WEB | {"sport": '<a href="http://c.test/">exam</a>', "one": '<a href="/one">exam</a>'}
    for anchor in ("exam", "courses", "games"):
        assert value(taught(more), anchor) == value(taught(), anchor)


def test_a_link_counts_as_often_as_it_stands_on_a_page() -> None:
    """The highest bin has two links of the four, with three words: theta of exam is 2/9 there."""
    twice = taught(WEB | {"list": '<a href="one">exam</a><a href="one"></a>'})
    assert value(twice, "unheard") == pytest.approx(1 / 4 * 1 / 2 + 2 / 4)
    chances = np.array([1 / 4 * 1 / 8, 1 / 4 * 1 / 8, 2 / 4 * 2 / 9])
    assert value(twice, "exam") == pytest.approx(float(chances @ [0, 1 / 2, 1] / chances.sum()))


def test_what_a_link_is_described_by() -> None:
    page = page_of(
        "http://b.test/",
        '<title>Fall</title><h2>All <b>courses</b></h2><p>one two <a href="/cs/a_b%20c.html">three</a> four five</p>',
    )
    own, head = QValue(near=1).described(page, page.links)

    def placed(place: int, *words: str) -> list[int]:
        return [int(mix(np.array([term(word)], np.uint32), place)[0]) for word in words]

    assert head.tolist() == placed(HEAD, "fall", "all", "courses")
    expected = [placed(ANCHOR, "three"), placed(NEAR, "two", "four"), placed(ADDRESS, "cs", "a", "b", "c", "html")]
    assert own[0].tolist() == [feature for place in expected for feature in place]


def test_title_and_headings_speak_for_all_links_of_a_page() -> None:
    strategy = taught(WEB | {"list": f"<h1>index</h1>{WEB['list']}"})
    page = page_of("http://b.test/", '<h1>index</h1><a href="/x">x</a><a href="/y">exam</a>')
    none, exam = strategy.score(visit_of(page)).scores.tolist()
    # |T| = 7, theta of index: 1/9, 1/9, 2/10; of exam the same
    assert none == pytest.approx((1 / 9 * 1 / 2 + 1 / 5) / (2 / 9 + 1 / 5))
    assert exam == pytest.approx((1 / 81 * 1 / 2 + 1 / 25) / (2 / 81 + 1 / 25))


def test_shown_paths_say_which_pages_teach_and_what_their_links_are_worth() -> None:
    """`far` is on no path. The step from `form` to `list` has no link: it is a way, but no words describe it."""
    more = WEB | {"far": '<a href="one">exam</a>', "form": '<a href="sport">games</a>'}
    strategy = QValue(near=0).taught(ground_of(more), [shown("home list one"), shown("form list", goal=False)])
    # two links of value 0, one of 1/2, one of 1; theta of exam: 1/10, 1/8, 2/8
    chances = np.array([2 / 4 * 1 / 10, 1 / 4 * 1 / 8, 1 / 4 * 2 / 8])
    assert value(strategy, "exam") == pytest.approx(float(chances @ [0, 1 / 2, 1] / chances.sum()))


def test_pages_that_cannot_be_read_are_passed_over() -> None:
    assert value(taught(WEB | {"broken": None}), "exam") == value(taught(), "exam")


def test_a_ground_without_a_way_is_refused() -> None:
    with pytest.raises(ForagerError, match="no link of the web to learn on leads to a target"):
        QValue().taught(ground_of(WEB, "home"))


def test_teaching_makes_another_strategy() -> None:
    untaught = QValue()
    assert isinstance(untaught, Teachable)
    untaught.taught(ground_of(WEB, "one"))
    assert value(untaught, "exam") == 0
    assert untaught.explain(link("exam"), 0) == []


def test_it_explains_a_value_by_words_and_places() -> None:
    told = dict(taught().explain(link("exam games", "one"), 0))
    assert told == pytest.approx({"exam (anchor)": log(2), "games (anchor)": -log(2), "one (URL)": log(2)})


def test_what_it_knows_can_be_kept(tmp_path: Path) -> None:
    strategy, file = taught(), tmp_path / "model"
    models.save(file, strategy.parts(), kind="q-value", version=1)
    again = QValue(near=0).from_parts(models.load(file, kind="q-value", version=1))
    assert [value(again, anchor) for anchor in ("exam", "courses")] == [
        value(strategy, anchor) for anchor in ("exam", "courses")
    ]
    assert strategy.merge([strategy.parts(), strategy.parts()])["taught"]
    with pytest.raises(ForagerError, match=r"0 words near a link, the settings ask for .* 10 words"):
        QValue().from_parts(strategy.parts())


@pytest.mark.parametrize("wrong", [{"gamma": 1.0}, {"gamma": 0.0}, {"values": 1}, {"near": -1}, {"deepest": -1}])
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ForagerError, match="q-value"):
        QValue(**wrong)  # type: ignore[arg-type]
