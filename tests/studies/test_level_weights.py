"""The search for weights finds what trying each of them finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from studies.lexical.weights import FollowedLinkLevels, all_weights, order_scores, search

from forager.errors import ForagerError
from forager.types import Visit
from tests.visits import inlinks, page_of, visit_of

level = st.integers(1, 4)
links = st.lists(st.tuples(level, level, level, level), min_size=2, max_size=12)


def followed(rows: list[tuple[int, int, int, int]]) -> FollowedLinkLevels:
    table = np.array(rows, np.int32)
    return FollowedLinkLevels(table[:, :3], table[:, 3])


def by_hand(rows: list[tuple[int, int, int, int]], a: int, b: int, c: int) -> float:
    """The sum for one set of weights: a stable sort, then one link after the other."""
    queue = sorted(rows, key=lambda row: a * row[0] + b * row[1] + c * row[2])
    return sum(row[3] / k for k, row in enumerate(queue, 1))


@given(links, st.sampled_from([2, 7, 20]))
def test_the_best_weights_are_those_of_the_double_loop(rows: list[tuple[int, int, int, int]], steps: int) -> None:
    tried = {
        (a, b, steps - a - b): by_hand(rows, a, b, steps - a - b)
        for a in range(1, steps + 1)
        for b in range(1, steps - a + 1)
    }
    least = min(tried.values())
    best = [weights for weights, total in tried.items() if total <= least + 1e-9]
    found = search(followed(rows), steps)
    assert found.order_score == pytest.approx(least)
    assert found.equals == len(best)
    chosen = tuple(round(weight * steps) for weight in (found.a, found.b, found.c))
    assert chosen in best
    mean = np.mean(best, axis=0)
    assert np.sum((chosen - mean) ** 2) == pytest.approx(min(np.sum((np.array(one) - mean) ** 2) for one in best))


@given(links)
def test_each_sum_is_that_of_its_queue(rows: list[tuple[int, int, int, int]]) -> None:
    weights = all_weights(9)
    expected = [by_hand(rows, *one) for one in weights.tolist()]
    assert order_scores(followed(rows), weights).tolist() == pytest.approx(expected)


def test_weights_are_those_of_the_thesis() -> None:
    """a and b from one step on, c what is left, which may be nothing."""
    assert all_weights(3).tolist() == [[1, 1, 1], [1, 2, 0], [2, 1, 0]]
    assert len(all_weights(1000)) == 999 * 1000 // 2


def test_the_feature_that_tells_gets_the_weight() -> None:
    """The level reached is that of the context; content and page say the contrary."""
    found = search(followed([(2, 1, 1, 2), (1, 2, 2, 1), (2, 1, 1, 2), (1, 2, 2, 1)]))
    assert found.a > found.b + found.c
    assert found.order_score == pytest.approx(1 + 1 / 2 + 2 / 3 + 2 / 4)
    assert found.equals == sum(999 - a + 1 for a in range(501, 1000))  # all with a > 1/2


def test_many_queues_are_sorted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    queue = FollowedLinkLevels(rng.integers(1, 5, (50, 3)).astype(np.int32), rng.integers(1, 5, 50).astype(np.int32))
    whole = search(queue, 60)
    monkeypatch.setattr("studies.lexical.weights.CHUNK", 100)
    assert search(queue, 60) == whole


def visited(asked: int, text: str, *state: float) -> Visit:
    page = page_of(f"http://a.test/{asked}", f"<p>{text}</p>")
    return visit_of(page, parents=inlinks([list(state)] if state else []), id=asked)


def test_followed_links_are_those_of_a_crawl_in_order_of_discovery() -> None:
    visits = [visited(0, "seed"), visited(7, "far", 3, 2, 1, 6.0), visited(4, "near", 1, 2, 3, 6.0)]
    found = FollowedLinkLevels.of(visits, lambda page: sum(map(len, page.leaves)))
    assert found.levels.tolist() == [[1, 2, 3], [3, 2, 1]]
    assert found.reached.tolist() == [4, 3]
    both = FollowedLinkLevels.together([found, followed([(4, 4, 4, 1)])])
    assert both.levels.tolist() == [[1, 2, 3], [3, 2, 1], [4, 4, 4]]
    assert both.reached.tolist() == [4, 3, 1]


def test_what_teaches_nothing_is_refused() -> None:
    with pytest.raises(ForagerError, match="crawl further"):
        search(FollowedLinkLevels.of([], lambda page: 1))
    with pytest.raises(ForagerError, match="not looked at"):
        search(followed([(1, 0, 1, 1), (1, 0, 2, 1)]))
    with pytest.raises(ForagerError, match="2 or more"):
        search(followed([(1, 1, 1, 1), (1, 1, 2, 1)]), 1)
