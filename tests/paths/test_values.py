from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.errors import ForagerError
from forager.paths import bins, link_values, page_values
from tests.paths.webs import Edge, distances, mask, web, webs


def test_values_by_hand() -> None:
    """3 -> 2 -> 1 -> 0 and 3 -> 0, targets 0 and 2: V(3) = 1/2 for each, V(2) = 1 + 1/4, V(1) = 1/2."""
    graph = web(5, [(3, 2), (2, 1), (1, 0), (3, 0), (4, 3)])
    assert page_values(graph, mask(5, 0, 2)).tolist() == [1.0, 0.5, 1.25, 1.0, 0.5]
    assert link_values(graph, mask(5, 0, 2)).tolist() == [1.0, 0.5, 1.0, 1.25, 1.0]  # 1->0 2->1 3->0 3->2 4->3


@given(webs(), st.sampled_from([0.25, 0.5, 0.9]), st.integers(0, 6))
def test_values_are_the_discounted_sum_over_shortest_ways(
    drawn: tuple[int, list[Edge], list[int]], gamma: float, deepest: int
) -> None:
    pages, edges, targets = drawn
    expected = [sum(gamma ** row[t] for t in targets if row[t] <= deepest) for row in distances(pages, edges)]
    graph = web(pages, edges)
    assert page_values(graph, mask(pages, *targets), gamma, deepest) == pytest.approx(expected)
    assert link_values(graph, mask(pages, *targets), gamma, deepest) == pytest.approx(
        [expected[v] for _, v in sorted(set(edges))]
    )


def test_more_targets_than_bits_of_a_word() -> None:
    """A hub of 150 targets, and a page in front of it."""
    graph = web(152, [(150, t) for t in range(150)] + [(151, 150)])
    value = page_values(graph, mask(152, *range(150)))
    assert value[[0, 149, 150, 151]].tolist() == [1.0, 1.0, 75.0, 37.5]


def test_a_web_without_links_or_targets() -> None:
    assert page_values(web(3, []), mask(3, 1)).tolist() == [0.0, 1.0, 0.0]
    assert page_values(web(3, [(0, 1)]), mask(3)).tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(ForagerError, match=r"gamma = 1\.5: a discount lies between 0 and 1"):
        page_values(web(1, []), mask(1, 0), 1.5)


# ---- bins -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "members", "means"),
    [
        ([1, 2, 3, 4, 5, 6], [0, 0, 1, 1, 2, 2], [1.5, 3.5, 5.5]),
        ([0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6], [0] * 6 + [1, 1, 1, 2, 2, 2], [0, 2, 5]),  # zeros take one bin
        ([1, 2, 5, 5, 5, 5, 5, 5], [0, 1, 2, 2, 2, 2, 2, 2], [1, 2, 5]),
        ([3, 1, 3, 1], [1, 0, 1, 0], [1, 3]),
        ([7, 7], [0, 0], [7]),
    ],
)
def test_bins_by_hand(values: list[float], members: list[int], means: list[float]) -> None:
    found = bins(np.array(values, float))
    assert found.members.tolist() == members
    assert found.means.tolist() == means


@given(st.lists(st.integers(0, 6), min_size=1), st.integers(1, 4))
def test_bins_are_in_order_and_not_empty(values: list[int], most: int) -> None:
    found = bins(np.array(values, float), most)
    assert set(found.members.tolist()) == set(range(min(most, len(set(values)))))
    pairs = sorted(zip(values, found.members.tolist(), strict=True))
    assert [member for _, member in pairs] == sorted(member for _, member in pairs)
    assert len(set(pairs)) == len(set(values))  # equal values share a bin
    assert (np.diff(found.means) > 0).all()


def test_nothing_to_put_in_bins() -> None:
    with pytest.raises(ForagerError, match="no links to put in bins"):
        bins(np.empty(0))
