"""Backlink, and the rule for hot links, on pages made by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from forager.errors import ForagerError
from forager.learn.tfidf import Query
from forager.strategies.backlink import Backlink, hot_first
from forager.types import LATEST, Visit
from tests.contracts.test_strategies import crawl, many_pages, same
from tests.visits import inlinks, page_of, visit_of

QUERY = Query.of(["bird nest"])
PLAIN = '<a href="/one">one</a> <p>bird</p> <a href="/two">two</a> <a href="/one">again</a>'


def hot() -> Backlink:
    return Backlink(query=QUERY, hot=True)


def visited(markup: str, parents: Sequence[Sequence[float]] = (), seen_on: Sequence[int] | None = None) -> Visit:
    return visit_of(page_of("http://a.test/", markup), parents=inlinks(parents), seen_on=seen_on)


def near(markup: str, parents: Sequence[Sequence[float]] = ()) -> float:
    state = hot().score(visited(markup, parents)).state
    assert state is not None
    return float(state[0, 0])


def by_words(markup: str) -> list[bool]:
    state = hot().score(visited(markup)).state
    assert state is not None
    return [flag > 0 for flag in state[:, 1].tolist()]


def test_the_score_is_the_number_of_pages_that_link_there() -> None:
    scored = Backlink().score(visited(PLAIN, seen_on=[4, 0, 4]))
    assert scored.scores.tolist() == [5, 1, 5]
    assert scored.state is None
    assert Backlink().combine is LATEST


@pytest.mark.parametrize(
    ("markup", "is_hot"),
    [
        ("<title>On birds and a Nest</title>", True),
        ("<title>On birds</title>", False),  # another word
        ("<p>" + "bird " * 10, True),
        ("<p>" + "bird " * 9 + "<p>" + "nest " * 9, False),  # neither of them ten times
        ("<p>" + "bird " * 5 + "<p>" + "bird " * 5, True),
        ("", False),
    ],
)
def test_a_page_is_hot_by_its_title_or_by_one_word_ten_times(markup: str, is_hot: bool) -> None:
    assert near(markup + '<a href="/x">x</a>') == (4 if is_hot else 0)


def test_near_fades_over_three_links_and_the_nearest_hot_page_counts() -> None:
    assert [near(PLAIN, [[carried, 0]]) for carried in (4, 3, 2, 1, 0)] == [3, 2, 1, 0, 0]
    assert near(PLAIN, [[1, 1], [4, 0]]) == 3
    assert near("<title>bird</title>" + PLAIN, [[1, 0]]) == 4


def test_links_are_hot_three_links_behind_a_hot_page_and_no_further() -> None:
    state: list[list[float]] = []
    queue = []
    for markup in ("<title>bird</title>" + PLAIN, *[PLAIN] * 5):
        scored = hot().score(visited(markup, state))
        assert scored.state is not None
        queue.append(scored.scores[0] >= 1)
        state = [scored.state[0].tolist()]
    assert queue == [True, True, True, True, False, False]


def test_a_link_is_hot_by_its_anchor_or_url_and_not_by_what_stands_beside_it() -> None:
    assert by_words(PLAIN) == [False, False, False]
    assert by_words('<a href="/x">a <b>bird</b> here</a> bird <a href="/y">none</a>') == [True, False]
    assert by_words('<a href="/x">bird</a> <a href="/y"><b>a</b> bird</a> <a href="/z"></a>') == [True, True, False]
    assert by_words('<a href="/my_nest%2Ejpg">x</a><a href="/nests">x</a><a href="http://bird.test/"></a>') == [
        *(True, False, True)
    ]


def test_hot_links_come_before_all_others_and_counts_order_each_queue() -> None:
    markup = '<a href="/bird">x</a><a href="/a">x</a><a href="/nest">x</a><a href="/b">x</a>'
    scores = hot().score(visited(markup, seen_on=[0, 10**6, 5, 2])).scores
    assert scores.argsort().tolist() == [3, 1, 0, 2]
    assert scores[0] == pytest.approx(1 + 1 / 32)  # log2(1 + 1)
    assert scores[3] == pytest.approx(2 / 32)  # log2(1 + 3)


def test_counts_stay_apart_in_both_queues() -> None:
    counts = np.array([0, 1, 2, 1_000, 1_001, 100_000, 100_001, 2**31 - 1], np.float64)
    for state in (np.zeros((8, 2), np.float32), np.ones((8, 2), np.float32), np.zeros((8, 0), np.float32)):
        scores = hot_first(state, counts.astype(np.float32))
        assert (np.diff(scores) > 0).all()
        assert (np.floor(scores) == (1 if state.any() else 0)).all()


@pytest.mark.parametrize("query", [None, Query.of([])])
def test_hot_without_words_is_refused(query: Query | None) -> None:
    with pytest.raises(ForagerError, match="backlink: `hot` needs query words"):
        Backlink(query=query, hot=True)
    Backlink(query=query)


def test_score_is_pure() -> None:
    for strategy in (Backlink(), hot()):
        visit = visited(PLAIN, [[2, 1]], [1, 2, 1])
        assert same(strategy.score(visit), strategy.score(visit))


@pytest.mark.parametrize("strategy", [Backlink(), Backlink(query=QUERY, hot=True)], ids=["plain", "hot"])
def test_a_crawl_reaches_every_page(strategy: Backlink) -> None:
    _, visits = crawl(strategy)
    assert {v.page.url for v in visits} == set(many_pages())


def test_a_crawl_takes_what_most_pages_link_to() -> None:
    """The crawl is replayed: after the two seeds no waiting page has more backlinks than the page taken."""
    _, visits = crawl(Backlink())
    linked: dict[str, int] = {}
    done: set[str] = set()
    for number, visit in enumerate(visits):
        waiting = {target: count for target, count in linked.items() if target not in done and "dead" not in target}
        if number >= 2:
            assert linked[visit.page.url] == max(waiting.values()) == visit.trace.score
        done.add(visit.page.url)
        for target in set(visit.links.targets):
            linked[target] = linked.get(target, 0) + 1
