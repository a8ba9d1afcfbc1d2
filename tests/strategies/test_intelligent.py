"""Intelligent crawling: interest ratios from a few pages, counted by hand."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
import pytest

from forager.errors import ForagerError
from forager.strategies.intelligent import SIZE, TOKEN, WORD, Intelligent, InterestRatio, neighbours
from forager.types import Evidence, Graph, Inlinks, Miss, Page, Ragged, Reason, ScoredLinks, Url, Visit, WaitingBatch
from forager.web.text import mix, term
from tests.visits import page_of, visit_of

NO_EVIDENCE = Evidence(Ragged.of([]), np.zeros(0, np.float32), np.zeros(0, np.float32))
GOOD, BAD = 0.9, 0.1


def hub() -> Page:
    """The seed: a page about feathers with links to two owls and a rock."""
    return page_of(
        "http://a.test/", '<p>feather</p><a href="/owl/x">m</a><a href="/owl/y">m</a><a href="/rock/z">m</a>'
    )


def leaf(name: str, *links: str) -> Page:
    return page_of(f"http://a.test{name}", "".join(f'<a href="{link}">m</a>' for link in links) or "nothing")


def bucket(word: str, kind: int) -> int:
    return int(mix(np.array([term(word)], np.uint32), kind)[0]) % SIZE


def found_on(source: int, scored: ScoredLinks, row: int) -> Inlinks:
    assert scored.clues is not None
    assert scored.state is not None
    sources, at = np.array([source], np.int32), np.array([row])
    return Inlinks(sources, scored.scores[at], scored.state[at], scored.clues.take(at))


def told(strategy: Intelligent, rows: Sequence[int] = (0, 1, 2)) -> Intelligent:
    """The strategy observes the seed, then its targets: owls satisfy the predicate, the rock does not."""
    seed = visit_of(hub(), GOOD, id=0)
    strategy.observe(seed, NO_EVIDENCE)
    scored = strategy.score(seed)
    for row, name, relevance in ((0, "/owl/x", GOOD), (1, "/owl/y", GOOD), (2, "/rock/z", BAD)):
        if row in rows:
            parents = found_on(0, scored, row)
            strategy.observe(visit_of(leaf(name), relevance, parents=parents, id=row + 1), NO_EVIDENCE)
    return strategy


def one_link(target: str, *, known: Sequence[float] = (np.nan,), relevance: float = GOOD) -> Visit:
    page = leaf("/other", target, *(f"/{i}" for i in range(len(known) - 1)))
    return visit_of(page, relevance, known=known, id=9)


P = 2.5 / 4  # two of three satisfy it


def test_counts_are_those_of_the_pages_reached() -> None:
    strategy = told(Intelligent())
    assert strategy.pages.tolist() == [3, 2]
    for word, kind, expected in (
        ("owl", TOKEN, [2, 2]),
        ("rock", TOKEN, [1, 0]),
        ("test", TOKEN, [3, 2]),
        ("feather", WORD, [3, 2]),
        ("feather", TOKEN, [0, 0]),
        ("nothing", WORD, [0, 0]),
    ):
        assert strategy.events[:, bucket(word, kind)].tolist() == expected, word
    assert strategy.pairs.tolist() == [[0, 3], [0, 2]]  # all three are linked from a page that satisfies it


def test_interest_and_significance() -> None:
    interest = InterestRatio(0.25, doubt=1, significance=2)
    n, n_c = np.array([0, 1, 3, 12, 12, 12]), np.array([0, 1, 1, 6, 5, 0])
    ratio = log((6 + 0.25) / (13 * 0.25))  # (6 - 3) / sqrt(12 x 3/16) = 2 deviations; with 5 it is 1.33
    assert interest(n, n_c).tolist() == pytest.approx([0, 0, 0, ratio, 0, log(1 / 13)])
    assert InterestRatio(0.25, 1, 0)(n, n_c)[2] == pytest.approx(log(1.25 / (4 * 0.25)))


def test_tokens_of_the_url_count_if_they_are_significant() -> None:
    """owl: |2 - 2p| / sqrt(2p(1-p)) = 1.10 deviations, rock: 1.29, all others below 0.2."""
    owl, rock = log((2 + P) / (3 * P)), log(P / (2 * P))
    for significance, expected in ((1.0, [owl, rock]), (1.2, [0, rock]), (2.0, [0, 0])):
        strategy = told(Intelligent(significance=significance))
        scores = [float(strategy.score(one_link(name)).scores[0]) for name in ("/owl/new", "/rock/new")]
        assert scores == pytest.approx(expected)


def test_words_of_the_page_count_for_all_its_links() -> None:
    strategy = told(Intelligent(significance=0, url=0, links=0))
    scores = strategy.score(visit_of(hub(), GOOD)).scores
    words = 2 * log((2 + P) / (4 * P))  # feather and m
    assert scores.tolist() == pytest.approx([words] * 3)
    assert Intelligent().score(visit_of(hub(), GOOD)).scores.tolist() == [0, 0, 0]


def test_siblings_that_satisfy_it_more_often_than_others_raise_a_link() -> None:
    strategy = told(Intelligent())
    scores = strategy.score(one_link("/new", known=[np.nan, GOOD, GOOD, BAD, np.nan])).scores
    assert scores[0] == pytest.approx(log((2 + P) / (4 * P)))


def test_the_share_of_pages_that_refer_to_it() -> None:
    strategy = Intelligent(significance=0)
    strategy.pages[:], strategy.pairs[:] = (9, 4), [[6, 5], [1, 4]]
    p = 4.5 / 10
    without, with_ = log((1 + p) / (7 * p)), log((4 + p) / (6 * p))
    page = leaf("/other", "/new", "/newer")
    for relevance, share in ((GOOD, [2 / 4, 1]), (BAD, [1 / 4, 0])):  # of the first, 1 of 3 others satisfies it
        scores = strategy.score(visit_of(page, relevance, seen_on=[3, 0], seen_on_relevant=[1, 0])).scores
        assert scores.tolist() == pytest.approx([s * with_ + (1 - s) * without for s in share])


def test_weights_are_those_of_the_factors_and_explanations_add_up() -> None:
    strategy = told(Intelligent(significance=0, content=2, url=0.5, links=3, siblings=0.25))
    visit = visit_of(hub(), GOOD, known=[np.nan, GOOD, BAD])
    words, share = log((2 + P) / (4 * P)), log((2 + P) / (4 * P))
    tokens = [log((2 + P) / (3 * P)), log((1 + P) / (2 * P)), *[log((2 + P) / (4 * P))] * 2]  # owl, x, a, test
    expected = 2 * 2 * words + 0.5 * sum(tokens) + 3 * share + 0.25 * log((1 + P) / (3 * P))
    assert strategy.score(visit).scores[0] == pytest.approx(expected)
    told_why = strategy.explain(visit, 0)
    assert sum(weight for _, weight in told_why) == pytest.approx(expected)
    assert dict(told_why)["words of the page"] == pytest.approx(4 * words)
    assert [abs(weight) for _, weight in told_why] == sorted((abs(weight) for _, weight in told_why), reverse=True)


def test_neighbours_of_a_graph() -> None:
    """0 (good) -> 2, 3, 4; 1 (bad) -> 3, 4; 2 is good, 4 is bad, 3 waits."""
    relevance = np.array([GOOD, BAD, GOOD, np.nan, BAD], np.float32)
    graph = Graph(
        np.array([0, 3, 5, 5, 5, 5]),
        np.array([2, 3, 4, 3, 4], np.int32),
        np.ones(5, np.float32),
        relevance,
        np.zeros(5, np.int32),
    )
    share, judged, good = neighbours(graph, relevance >= 0.5)
    assert (share[3], judged[3], good[3]) == (0.5, 2 + 1, 1 + 0)


def test_a_sweep_gives_what_score_would_give_now() -> None:
    strategy = told(Intelligent(significance=0))
    visit = visit_of(hub(), GOOD, known=[np.nan, GOOD, BAD])
    scored = strategy.score(visit)
    assert scored.clues is not None
    assert scored.common is not None
    relevance = np.array([GOOD, np.nan, GOOD, BAD], np.float32)
    graph = Graph(
        np.array([0, 3, 3, 3, 3]), np.array([1, 2, 3], np.int32), np.ones(3, np.float32), relevance, np.zeros(4, int)
    )
    one = np.array([1], np.int32)
    batch = WaitingBatch(
        *(one, np.zeros(1, np.int32), one, np.zeros(1, np.float32), np.ones((1, 1), np.float32)),
        scored.clues.take(np.array([0])),
        Ragged.of([scored.common]),
    )
    swept = strategy.rescore([batch], graph)
    told(strategy)  # learnt after the sweep began: the sweep does not use it
    assert next(swept).tolist() == pytest.approx([scored.scores[0]])


def test_misses_teach_nothing_and_scoring_changes_nothing() -> None:
    strategy = told(Intelligent())
    before = {name: np.array(part) for name, part in strategy.parts().items()}
    strategy.observe(Miss(Url("http://a.test/x"), one_link("/x").trace, Reason.NOT_FOUND), NO_EVIDENCE)
    strategy.score(visit_of(hub(), GOOD))
    assert all(np.array_equal(before[name], part) for name, part in strategy.parts().items())


def test_parts_bring_everything_back() -> None:
    strategy = told(Intelligent(significance=0), rows=[0])
    again = strategy.from_parts(strategy.parts())
    told(strategy, rows=[1, 2])
    told(again, rows=[1, 2])
    assert all(np.array_equal(again.parts()[name], part) for name, part in strategy.parts().items())


def test_halves_merge_to_the_whole_and_each_keeps_its_own_memory() -> None:
    whole, one, other = (told(Intelligent(), rows) for rows in ([0, 1, 2], [0, 2], [1]))
    merged = one.from_parts(one.merge([one.parts(), other.parts()]))
    for name in ("pages", "events", "pairs"):
        assert np.array_equal(merged.parts()[name], whole.parts()[name]), name
    assert np.array_equal(merged.owners, one.owners)
    assert merged.score(one_link("/owl/new")).scores.tolist() == whole.score(one_link("/owl/new")).scores.tolist()


def test_memory_is_bounded_and_what_is_forgotten_is_not_counted() -> None:
    strategy = Intelligent(remember=4, words=2)
    size = sum(np.asarray(part).nbytes for part in strategy.parts().values())
    seed = visit_of(hub(), GOOD, id=0)
    scored = strategy.score(seed)
    strategy.observe(seed, NO_EVIDENCE)
    for id in range(1, 9):
        strategy.observe(visit_of(leaf("/owl/x"), GOOD, parents=found_on(0, scored, 0), id=id), NO_EVIDENCE)
    assert strategy.events[0, bucket("feather", WORD)] == 4  # then four others are remembered
    assert strategy.events[0, bucket("owl", TOKEN)] == 8
    assert sum(np.asarray(part).nbytes for part in strategy.parts().values()) == size
    assert scored.common is not None
    assert len(scored.common) == 2


def test_wrong_settings_and_parts_are_refused() -> None:
    with pytest.raises(ForagerError, match="doubt must be above 0"):
        Intelligent(doubt=0)
    with pytest.raises(ForagerError, match="set `words` and `remember` as they were"):
        Intelligent(words=7).from_parts(Intelligent(words=8).parts())
