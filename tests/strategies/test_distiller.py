"""The distiller: HITS weighted by relevance, compared with figures worked out on paper and plain loops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.config import CrawlConfig, FrontierConfig
from forager.crawl.loop import Crawl
from forager.errors import ForagerError
from forager.learn.tfidf import Query
from forager.strategies.distiller import ROUNDS, TOLERANCE, Distiller, arc_weights, hits
from forager.strategies.pagerank import page_pairs
from forager.types import BEST, FIRST_OF_ALL, Graph
from tests.contracts.test_strategies import crawl, many_pages, same, visit
from tests.crawl.test_sweep import Unhurried
from tests.small_web import WordCritic, url
from tests.strategies.graphs import graph_of, waiting_of
from tests.visits import page_of, visit_of

Link = tuple[int, int]
QUERY = Query.of(["bird nest"])
GOLDEN = (1 + 5**0.5) / 2
NAN = float("nan")
# Two hubs, 0 and 1, two authorities, 2 and 3; 4, 5 and 6 are not fetched yet.
LINKS = ((0, 2), (0, 3), (1, 2), (0, 4), (1, 4), (1, 5), (2, 6))
RELEVANCE = (1.0, 1.0, 1.0, 1.0, NAN, NAN, NAN)


def hubs_and_authorities(graph: Graph, rho: float = 0.0) -> tuple[list[float], list[float]]:
    hub, authority = hits(page_pairs(graph), np.nan_to_num(graph.relevance).astype(np.float64), rho)
    return list(map(float, hub)), list(map(float, authority))


def swept(strategy: Distiller, graph: Graph, ids: Sequence[int]) -> list[float]:
    (scores,) = strategy.rescore([waiting_of(ids)], graph)
    return list(map(float, scores))


# ---- hubs and authorities


def test_hubs_and_authorities_by_hand() -> None:
    """h is the eigenvector of [[2, 1], [1, 1]]: h0/h1 is the golden ratio, as is a2/a3 = (h0 + h1)/h0."""
    hub, authority = hubs_and_authorities(graph_of(7, LINKS, relevance=RELEVANCE))
    assert hub == pytest.approx([1 / GOLDEN, 1 - 1 / GOLDEN, 0, 0, 0, 0, 0], abs=1e-6)
    assert authority == pytest.approx([0, 0, 1 / GOLDEN, 1 - 1 / GOLDEN, 0, 0, 0], abs=1e-6)


def test_relevance_weighs_both_ends() -> None:
    """0 and 1 link to 2 and 3: a2 : a3 = R2 : R3 = 4 : 3, h0 : h1 = R0 : R1 = 1 : 3."""
    graph = graph_of(4, [(0, 2), (0, 3), (1, 2), (1, 3)], relevance=[0.25, 0.75, 0.8, 0.6])
    hub, authority = hubs_and_authorities(graph)
    assert hub == pytest.approx([1 / 4, 3 / 4, 0, 0])
    assert authority == pytest.approx([0, 0, 4 / 7, 3 / 7])


def test_a_page_not_above_rho_is_no_authority() -> None:
    graph = graph_of(4, [(0, 2), (0, 3), (1, 3)], relevance=[1, 1, 0.75, 0.5])
    assert hubs_and_authorities(graph, rho=0.5) == ([1, 0, 0, 0], [0, 0, 1, 0])
    assert hubs_and_authorities(graph, rho=0.75) == ([0] * 4, [0] * 4)


def test_weights_of_links_count() -> None:
    """0 links to 2 with weight 3 and to 3 with weight 1."""
    graph = graph_of(4, [(0, 2), (0, 3)], relevance=[1, 1, 1, 1], weights=[3, 1])
    assert hubs_and_authorities(graph)[1] == pytest.approx([0, 0, 3 / 4, 1 / 4])


def by_loops(count: int, links: Sequence[Link], relevance: Sequence[float], rho: float) -> list[float]:
    """The definition of h, link by link."""
    distinct = sorted(set(links))
    hub = [1.0] * count
    for _ in range(ROUNDS):
        authority, new = [0.0] * count, [0.0] * count
        for source, target in distinct:
            if relevance[target] > rho:
                authority[target] += relevance[target] * hub[source]
        authority = [a / (sum(authority) or 1) for a in authority]
        for source, target in distinct:
            new[source] += relevance[source] * authority[target]
        new = [h / (sum(new) or 1) for h in new]
        change, hub = sum(abs(a - b) for a, b in zip(new, hub, strict=True)), new
        if change <= TOLERANCE:
            break
    return hub


@st.composite
def webs(draw: st.DrawFn) -> tuple[int, list[Link], list[float]]:
    count = draw(st.integers(1, 9))
    page = st.integers(0, count - 1)
    links = draw(st.lists(st.tuples(page, page), max_size=30))
    return count, links, draw(st.lists(st.sampled_from([0, 0.25, 0.5, 1.0]), min_size=count, max_size=count))


@given(webs(), st.sampled_from([0.0, 0.25, 0.5]))
def test_any_graph_as_by_loops(web: tuple[int, list[Link], list[float]], rho: float) -> None:
    count, links, relevance = web
    hub, authority = hubs_and_authorities(graph_of(count, links, relevance=relevance), rho)
    assert hub == pytest.approx(by_loops(count, links, relevance, rho), abs=2 * TOLERANCE)
    for shares in (hub, authority):
        assert sum(shares) == pytest.approx(1) or not any(shares)


# ---- what rises


def test_a_visit_is_scored_as_by_best_first() -> None:
    scored = Distiller().score(visit_of(visit().page, 0.25))
    assert scored.scores.tolist() == [0.25] * 3
    assert scored.edge_weight is None
    assert Distiller.combine is BEST


def test_links_of_the_best_hub_rise_above_all_others() -> None:
    """The best hub is page 0. It links to 4, which waits, and to 2, which is fetched. 5 and 6 keep R(u)."""
    relevance = (1.0, 0.75, 1.0, 1.0, NAN, NAN, NAN)
    assert swept(Distiller(hubs=0.5), graph_of(7, LINKS, relevance=relevance), [4, 5, 6]) == [2, 0.75, 1]


def test_among_risen_links_the_hubs_behind_them_decide() -> None:
    """A4 = h0 + h1 = 1 is the largest, A5 = h1 = 1 - 1/golden ratio."""
    found = swept(Distiller(hubs=1), graph_of(7, LINKS, relevance=RELEVANCE), [4, 5, 6])
    assert found == pytest.approx([2, 2 - 1 / GOLDEN, 1], abs=1e-6)


def test_what_does_not_rise_has_the_best_relevance_of_the_pages_that_link_to_it() -> None:
    graph = graph_of(5, [(0, 3), (1, 3), (2, 3)], relevance=[0.25, 0.5, 0.375, NAN, NAN])
    assert swept(Distiller(), graph, [3, 4]) == [0.5, 0]


def test_links_inside_a_host_count_only_where_there_is_no_other_host() -> None:
    inside = ((0, 1), (0, 3), (2, 3))
    apart = graph_of(4, inside, relevance=[0.5, 1, 0.25, NAN], hosts=[0, 0, 1, 1])
    assert swept(Distiller(), apart, [3]) == [0.5]  # 0 links to 1, which is on its own host
    assert swept(Distiller(within_hosts=True), apart, [3]) == [2]
    alone = graph_of(4, inside[:2], relevance=[0.5, 1, NAN, NAN], hosts=[0, 0, 0, 1])
    assert swept(Distiller(), alone, [3]) == [2]  # a host without fetched pages does not count
    across = graph_of(4, inside, relevance=[0.5, 1, 0.25, NAN], hosts=[0, 1, 1, 2])
    assert swept(Distiller(), across, [3]) == [2]


def test_a_sweep_of_nothing_and_of_seeds() -> None:
    assert list(Distiller().rescore([], graph_of(0, []))) == []
    seeds = waiting_of([0, 1], sources=[-1, -1], scores=[FIRST_OF_ALL, FIRST_OF_ALL])
    (scores,) = Distiller().rescore([seeds], graph_of(2, []))
    assert scores.tolist() == [FIRST_OF_ALL] * 2
    assert scores.dtype == np.float32


def test_a_sweep_sees_the_relevance_of_when_it_was_called() -> None:
    graph = graph_of(7, LINKS, relevance=RELEVANCE)
    scores = Distiller(hubs=1).rescore([waiting_of([4, 5, 6])], graph)
    graph.relevance[:] = 0  # like pages judged in the meantime
    assert next(scores).tolist() == pytest.approx([2, 2 - 1 / GOLDEN, 1], abs=1e-6)


# ---- arc


def test_query_words_near_an_anchor_weigh() -> None:
    """With the blank after it the first leaf has 58 characters and 10 words, the third 53 and 9."""
    far, mid = "bird aaaa " + "stone " * 8, "stone " * 8 + "nest"
    page = page_of("http://a.test/", f'<p>{far}</p><a href="/x">bird</a><p>{mid}</p><p>bird</p><a href="/y">y</a>')
    weights = arc_weights(visit_of(page), QUERY)
    assert weights.dtype == np.float32
    # /x: its own bird; the first one is 58 - 58/20 = 55.1 characters before it, nest 53 * 17/18 = 50.06 behind.
    # /y: bird, 2.5 characters before it, and nest, 5 + 53/18 = 7.9.
    assert weights.tolist() == [2, 3]


def test_words_are_counted_up_to_50_characters_away() -> None:
    def weight(before: int) -> float:
        """A query word, then that many characters of one other word, then the link."""
        page = page_of("http://a.test/", f'<p>bird</p><p>{"x" * before}</p><a href="/x">go</a>')
        return float(arc_weights(visit_of(page), QUERY)[0])

    assert [weight(before) for before in (1, 40, 46, 47, 60)] == [2, 2, 2, 1, 1]


def test_arc_on_pages_without_words_or_links() -> None:
    assert arc_weights(visit_of(page_of("http://a.test/", "")), QUERY).tolist() == []
    assert arc_weights(visit_of(page_of("http://a.test/", '<a href="/x"></a>')), QUERY).tolist() == [1]


def test_arc_gives_weights_to_the_graph_and_needs_words() -> None:
    scored = Distiller(query=Query.of(["bird"]), arc=True).score(visit())
    assert scored.edge_weight is not None
    assert (scored.edge_weight > 1).all()
    with pytest.raises(ForagerError, match="`arc` needs query words"):
        Distiller(arc=True)
    with pytest.raises(ForagerError, match="`arc` needs query words"):
        Distiller(query=Query.of([]), arc=True)


# ---- in a crawl


@pytest.mark.parametrize("arc", [False, True])
def test_score_is_pure_before_and_after_a_sweep(arc: bool) -> None:
    strategy = Distiller(query=QUERY, arc=arc)
    assert same(strategy.score(visit()), strategy.score(visit()))
    swept(strategy, graph_of(7, LINKS, relevance=RELEVANCE), [4])
    assert same(strategy.score(visit()), strategy.score(visit()))


@pytest.mark.parametrize("arc", [False, True])
def test_a_crawl_with_sweeps_reaches_every_page_and_follows_hubs(arc: bool) -> None:
    made, visits = crawl(Distiller(query=QUERY, rho=0.1, every=7, arc=arc))
    assert made.stats.sweeps == 60 // 7
    assert {v.page.url for v in visits} == set(many_pages())
    assert any(1 < v.trace.score <= 2 for v in visits)


def test_sweeps_beside_the_loop() -> None:
    """With the real clock sweeps run in their own thread."""
    config = CrawlConfig(seeds=(url("/bird-0"), url("/stone-1")), frontier=FrontierConfig(delay=0))
    made = Crawl(config, critic=WordCritic(), strategy=Distiller(rho=0.1, every=7), fetcher=Unhurried())
    assert {v.page.url for v in made} == set(many_pages())
    assert made.stats.sweeps >= 1


@pytest.mark.parametrize(
    ("params", "told"), [({"hubs": 0.0}, "hubs is 0.0"), ({"hubs": 1.5}, "hubs is 1.5"), ({"every": 0}, "every is 0")]
)
def test_wrong_parameters_are_refused(params: dict[str, float], told: str) -> None:
    with pytest.raises(ForagerError, match=told):
        Distiller(**params)  # type: ignore[arg-type]
