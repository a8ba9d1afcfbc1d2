"""Shark-Search with cosines worked out by hand: every word weighs 1, the query is "bird nest"."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

from forager.errors import ForagerError
from forager.learn.tfidf import Query
from forager.strategies.shark import SharkSearch, words_around
from forager.types import NEVER, Inlinks, Page
from forager.web.text import term, words
from tests.visits import inlinks, page_of, visit_of

QUERY = Query.of(["bird nest"])  # a vector of two words, 1/sqrt(2) each


def page() -> Page:
    """bird twice, nest twice, 12 words once. The second link has no query word near it, the third has one."""
    return page_of(
        "http://a.test/",
        """<p>bird song</p><p>one two three <a href="/1">bird nest</a> four five <a href="/2">stone</a>
        six seven eight nest <a href="/3">slate</a> granite</p>""",
    )


SIMILAR = sqrt(2) * (1 + log(2)) / sqrt(2 * (1 + log(2)) ** 2 + 12)  # of the page
NEAR = 1 / sqrt(2) / sqrt(4)  # of "eight nest slate granite"


def shark(**options: float) -> SharkSearch:
    return SharkSearch(query=QUERY, context=2, **options)  # type: ignore[arg-type]


def test_potential_is_inherited_and_neighbourhood() -> None:
    scored = shark().score(visit_of(page()))
    inherited = 0.5 * SIMILAR
    anchor_says_it = 0.5 * 1 + 0.5 * 1  # "bird nest" is the query itself; then the context counts as 1
    expected = [
        0.8 * inherited + 0.2 * anchor_says_it,
        0.8 * inherited,
        0.8 * inherited + 0.2 * 0.5 * NEAR,
    ]
    assert scored.scores.tolist() == pytest.approx(expected, rel=1e-5)
    assert scored.state is not None
    assert scored.state[1].tolist() == pytest.approx([inherited, 3], rel=1e-5)


def test_other_settings() -> None:
    scores = shark(delta=1, gamma=0.5, beta=0.25).score(visit_of(page())).scores
    expected = [0.5 * SIMILAR + 0.5, 0.5 * SIMILAR, 0.5 * SIMILAR + 0.5 * 0.75 * NEAR]
    assert scores.tolist() == pytest.approx(expected, rel=1e-5)


def stones(parents: Inlinks) -> list[float]:
    """Score, inherited score and depth of the only link of a page without query words."""
    scored = shark().score(visit_of(page_of("http://a.test/", '<a href="/1">stone</a> slate'), parents=parents))
    assert scored.state is not None
    return [*scored.scores.tolist(), *scored.state[0].tolist()]


def test_a_page_without_the_query_hands_on_half_of_what_it_inherited() -> None:
    assert stones(inlinks([[0.3, 2]])) == pytest.approx([0.8 * 0.15, 0.15, 1])
    assert stones(inlinks()) == [0, 0, 2]  # a seed inherits nothing and has depth 3
    assert stones(inlinks([[0.3, 1]])) == pytest.approx([0.8 * 0.15, 0.15, 0])


def test_a_page_at_depth_0_is_not_expanded() -> None:
    assert stones(inlinks([[0.3, 0]]))[0] == NEVER
    assert set(shark().score(visit_of(page(), parents=inlinks([[0.3, 0]]))).scores.tolist()) == {NEVER}


@pytest.mark.parametrize(("threshold", "relevant"), [(SIMILAR - 0.01, True), (SIMILAR + 0.01, False)])
def test_the_threshold_decides_what_is_inherited_and_how_deep(threshold: float, relevant: bool) -> None:
    state = shark(threshold=threshold).score(visit_of(page(), parents=inlinks([[0.4, 2]]))).state
    assert state is not None
    assert state[0].tolist() == pytest.approx([0.5 * SIMILAR, 3] if relevant else [0.5 * 0.4, 1], rel=1e-5)


def test_around_is_the_anchor_and_its_neighbours_within_the_page() -> None:
    here = page()
    everything = words("bird song one two three bird nest four five stone six seven eight nest slate granite")
    for width, spans in ((0, [(5, 7), (9, 10), (14, 15)]), (3, [(2, 10), (6, 13), (11, 16)]), (99, [(0, 16)] * 3)):
        found = words_around(here, here.links, width)
        assert [row.tolist() for row in (found[0], found[1], found[2])] == [
            [term(word) for word in everything[start:end]] for start, end in spans
        ]


def test_an_empty_anchor_has_a_context() -> None:
    empty = page_of("http://a.test/", '<p>song bird</p><a href="/1"></a><p>nest</p>')
    scores = shark().score(visit_of(empty)).scores
    similar = 2 / sqrt(2) / sqrt(3)
    assert scores.tolist() == pytest.approx([0.8 * 0.5 * similar + 0.2 * 0.5 * similar], rel=1e-5)


def test_no_links_and_no_words() -> None:
    scored = shark().score(visit_of(page_of("http://a.test/", "<body></body>")))
    assert scored.scores.shape == (0,)
    assert scored.state is not None
    assert scored.state.shape == (0, 2)


def test_the_larger_depth_is_kept_beside_the_better_score() -> None:
    assert SharkSearch.combine.largest == (1,)
    assert np.array_equal(shark().score(visit_of(page())).scores, shark().score(visit_of(page())).scores)


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(ForagerError, match="between 0 and 1"):
        shark(gamma=1.5)
    with pytest.raises(ForagerError, match="depth must be at least 1"):
        SharkSearch(query=QUERY, depth=0)
