"""PageRank compared with figures worked out on paper and with plain loops."""

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
from forager.strategies.pagerank import PageRank, page_pairs, page_rank
from forager.types import FIRST_OF_ALL, LATEST, Graph
from tests.contracts.test_strategies import crawl, many_pages, same, visit
from tests.crawl.test_sweep import Unhurried
from tests.small_web import WordCritic, url
from tests.strategies.graphs import graph_of, waiting_of
from tests.visits import page_of, visit_of

Link = tuple[int, int]
QUERY = Query.of(["bird"])
STAR = ((0, 1), (0, 2), (1, 0), (2, 0))  # P0 = 28/57, P1 = P2 = 29/114, see below
STAR_RANKS = [28 / 57, 29 / 114, 29 / 114]


def ranks(graph: Graph, damping: float = 0.9) -> list[float]:
    return list(map(float, page_rank(page_pairs(graph), len(graph.relevance), damping)))


def by_loops(count: int, links: Sequence[Link], a: float) -> list[float]:
    """The definition, page by page."""
    out: dict[int, set[int]] = {page: set() for page in range(count)}
    for source, target in links:
        out[source].add(target)
    rank = [1 / count] * count
    for _ in range(300):
        new = [(1 - a) / count] * count
        for page in range(count):
            reached = out[page] or set(range(count))  # a page without links: to all
            for target in reached:
                new[target] += a * rank[page] / len(reached)
        rank = new
    return rank


# ---- ranks


def test_a_star_by_hand() -> None:
    """P0 = 1/30 + .9 (P1 + P2) and P1 = P2 = 1/30 + .45 P0, so .19 P0 = 28/300."""
    assert ranks(graph_of(3, STAR)) == pytest.approx(STAR_RANKS, abs=1e-7)


def test_rank_that_hangs_is_spread_over_all() -> None:
    """0 -> 1, and 1 links nowhere: P0 = .05 + .45 P1 with P0 + P1 = 1, so 1.45 P0 = .5."""
    assert ranks(graph_of(2, [(0, 1)])) == pytest.approx([10 / 29, 19 / 29], abs=1e-7)


def test_several_links_to_one_page_are_one() -> None:
    assert ranks(graph_of(3, [*STAR, (0, 1), (0, 1)])) == ranks(graph_of(3, STAR))


def test_pairs_are_distinct_and_keep_the_largest_weight() -> None:
    found = page_pairs(graph_of(4, [(2, 1), (0, 3), (2, 0), (0, 1), (0, 3), (2, 1)], weights=[1, 2, 3, 4, 5, 0.5]))
    assert found.sources.tolist() == [0, 0, 2, 2]
    assert found.targets.tolist() == [1, 3, 0, 1]
    assert found.weights.tolist() == [4, 5, 3, 1]


@pytest.mark.parametrize("count", [0, 1, 4])
def test_without_links_all_are_equal(count: int) -> None:
    assert ranks(graph_of(count, [])) == [1 / max(1, count)] * count


@st.composite
def webs(draw: st.DrawFn) -> tuple[int, list[Link]]:
    count = draw(st.integers(1, 9))
    page = st.integers(0, count - 1)
    return count, draw(st.lists(st.tuples(page, page), max_size=30))


@given(webs(), st.sampled_from([0.0, 0.5, 0.9]))
def test_any_graph_as_by_loops(web: tuple[int, list[Link]], damping: float) -> None:
    found = ranks(graph_of(*web), damping)
    assert found == pytest.approx(by_loops(*web, damping), abs=1e-6)
    assert sum(found) == pytest.approx(1)


# ---- scores


def test_before_a_sweep_all_ranks_are_1() -> None:
    """r^ = .1 + .9 (1/2 + n/2): three links to two pages."""
    page = page_of("http://a.test/", '<a href="/x">x</a><a href="/y">y</a><a href="/x">x</a>')
    scored = PageRank().score(visit_of(page, seen_on=[0, 3, 0], id=7))
    assert scored.scores.tolist() == pytest.approx([0.55, 1.9, 0.55])


def test_between_sweeps_the_last_ranks_are_used() -> None:
    """Ranks of the star times 3: r0 = 28/19, r1 = r2 = 29/38; m = (r0 + r1 + r2)/4 = 3/4."""
    strategy = PageRank()
    list(strategy.rescore([], graph_of(3, STAR)))
    page = page_of("http://a.test/", '<a href="/x">x</a><a href="/y">y</a>')
    known = strategy.score(visit_of(page, seen_on=[0, 2], id=1)).scores.tolist()
    assert known == pytest.approx([0.1 + 0.9 * 29 / 76, 0.1 + 0.9 * (29 / 76 + 1.5)])
    unknown = strategy.score(visit_of(page, seen_on=[0, 2], id=3)).scores.tolist()
    assert unknown == pytest.approx([0.1 + 0.9 / 2, 0.1 + 0.9 * 2])


def test_a_sweep_gives_the_rank_of_each_target_and_leaves_seeds_alone() -> None:
    batches = [waiting_of([1, 0]), waiting_of([2], sources=[-1], scores=[FIRST_OF_ALL]), waiting_of([])]
    swept = list(PageRank().rescore(batches, graph_of(3, STAR)))
    assert [scores.dtype for scores in swept] == [np.float32] * 3
    assert swept[0].tolist() == pytest.approx([29 / 38, 28 / 19], abs=1e-6)
    assert swept[1].tolist() == [FIRST_OF_ALL]
    assert swept[2].tolist() == []


def test_a_sweep_keeps_hot_links_before_the_others() -> None:
    """State is (near, own words): either makes a link hot."""
    strategy = PageRank(query=QUERY, hot=True)
    batch = waiting_of([0, 1, 2], state=[[0, 0], [2, 0], [0, 1]])
    (scores,) = strategy.rescore([batch], graph_of(3, STAR))
    wanted = np.array([0, 1, 1]) + np.log2(1 + 3 * np.array(STAR_RANKS)) / 32
    assert scores.tolist() == pytest.approx(wanted.tolist())
    (scores,) = strategy.rescore([waiting_of([0, 1], sources=[-1, -1], scores=[7, 8])], graph_of(3, STAR))
    assert scores.tolist() == [7, 8]


def test_hot_links_of_a_visit_come_first() -> None:
    page = page_of("http://a.test/", '<a href="/x">x</a><a href="/bird">y</a>')
    scored = PageRank(query=QUERY, hot=True).score(visit_of(page, seen_on=[9, 0]))
    assert scored.scores.tolist() == pytest.approx([np.log2(1 + 4.6 + 0.0) / 32, 1 + np.log2(1 + 0.55) / 32])
    assert scored.state is not None
    assert scored.state.tolist() == [[0, 0], [0, 1]]


def test_score_is_pure_before_and_after_a_sweep() -> None:
    for strategy in (PageRank(), PageRank(query=QUERY, hot=True)):
        assert same(strategy.score(visit()), strategy.score(visit()))
        list(strategy.rescore([], graph_of(3, STAR)))
        assert same(strategy.score(visit()), strategy.score(visit()))
    assert PageRank().combine is LATEST


@pytest.mark.parametrize("hot", [False, True])
def test_a_crawl_with_sweeps_reaches_every_page(hot: bool) -> None:
    made, visits = crawl(PageRank(query=QUERY, every=7, hot=hot))
    assert made.stats.sweeps == 60 // 7
    assert {v.page.url for v in visits} == set(many_pages())


@pytest.mark.parametrize("hot", [False, True])
def test_sweeps_beside_the_loop(hot: bool) -> None:
    """With the real clock sweeps run in their own thread."""
    config = CrawlConfig(seeds=(url("/bird-0"), url("/stone-1")), frontier=FrontierConfig(delay=0))
    strategy = PageRank(query=QUERY, every=7, hot=hot)
    made = Crawl(config, critic=WordCritic(), strategy=strategy, fetcher=Unhurried())
    assert {v.page.url for v in made} == set(many_pages())
    assert made.stats.sweeps >= 1


@pytest.mark.parametrize(
    ("params", "told"),
    [({"damping": 1.0}, "damping is 1.0"), ({"damping": -0.1}, "damping"), ({"every": 0}, "every is 0")],
)
def test_wrong_parameters_are_refused(params: dict[str, float], told: str) -> None:
    with pytest.raises(ForagerError, match=told):
        PageRank(**params)  # type: ignore[arg-type]


def test_hot_without_words_is_refused() -> None:
    with pytest.raises(ForagerError, match="pagerank: `hot` needs query words"):
        PageRank(hot=True)
