from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from forager.errors import ForagerError
from forager.paths import PageSequences, backward_tree, halves, hop_layers, hop_states, leaks, read_edges, walks
from forager.types import Url
from tests.paths.webs import Edge, distances, mask, web, webs
from tests.shared import WEBS, needs

CHAIN = [(5, 4), (4, 3), (3, 2), (2, 1), (1, 0)]  # 5 is five links away from the target 0


def listed(sequences: PageSequences) -> list[tuple[list[int], list[int]]]:
    return [(pages.tolist(), states.tolist()) for pages, states in sequences]


# ---- layers ---------------------------------------------------------------------------------------------------------


def test_layers_by_hand() -> None:
    """Page 6 links to a target and to page 4. Only the target links to page 7."""
    layer = hop_layers(web(8, [*CHAIN, (6, 0), (6, 4), (0, 7)]), mask(8, 0))
    assert layer.tolist() == [0, 1, 2, 3, 4, -1, 1, -1]
    assert hop_states(layer).tolist() == [0, 1, 2, 3, 4, 4, 1, 4]


@given(webs(), st.integers(0, 5))
def test_layers_are_the_distances_to_the_nearest_target(drawn: tuple[int, list[Edge], list[int]], deepest: int) -> None:
    pages, edges, targets = drawn
    nearest = [min(row[t] for t in targets) for row in distances(pages, edges)]
    layer = hop_layers(web(pages, edges), mask(pages, *targets), deepest)
    assert layer.tolist() == [hops if hops <= deepest else -1 for hops in nearest]


@given(webs())
def test_the_backward_tree_goes_down_a_layer_at_each_link(drawn: tuple[int, list[Edge], list[int]]) -> None:
    pages, edges, targets = drawn
    graph = web(pages, edges)
    layer = hop_layers(graph, mask(pages, *targets))
    tree = backward_tree(graph, layer)
    assert [sorted(np.flatnonzero(layer == i)) for i in range(5)] == [part.tolist() for part in tree.layers]
    for page in np.flatnonzero(layer >= 0).tolist():
        way = tree.way(page)
        assert layer[way].tolist() == list(range(layer[page], -1, -1))
        assert all(link in edges for link in pairwise(way))
    assert (tree.towards[layer <= 0] == -1).all()


def test_the_backward_tree_takes_the_smallest_number() -> None:
    graph = web(4, [(3, 2), (3, 1), (2, 0), (1, 0)])
    tree = backward_tree(graph, hop_layers(graph, mask(4, 0)))
    assert tree.towards.tolist() == [-1, 0, 0, 1]
    assert tree.way(3) == [3, 1, 0]


# ---- sequences ------------------------------------------------------------------------------------------------------


def test_the_only_walk_of_a_chain() -> None:
    graph = web(6, CHAIN)
    layer = hop_layers(graph, mask(6, 0))
    found = walks(graph, layer, count=200, seed=1)
    assert all(pages == states == list(range(4, 4 - len(pages), -1)) for pages, states in listed(found))
    lengths = np.bincount(np.diff(found.offsets), minlength=11)
    assert (lengths[[2, 3, 4, 5]] > 0).all()
    assert lengths[[0, 1, 6, 7, 8, 9, 10]].sum() == 0  # longer ones end early, at the target
    assert lengths[5] > 2 * lengths[2]  # six of the nine lengths


def test_children_are_drawn_evenly_from_those_permitted() -> None:
    """Of the children of page 4, pages 1 and 2 are allowed, 5 is in a higher layer, and 6 is in no layer. Pages 1 and 2
    lead to the target only, or to each other in the same layer."""
    graph = web(7, [(4, 1), (4, 2), (4, 5), (4, 6), (5, 4), (1, 0), (2, 0), (1, 2)])
    layer = hop_layers(graph, mask(7, 0))
    assert layer.tolist() == [0, 1, 1, -1, 2, 3, -1]
    found = listed(walks(graph, layer, count=900, seed=2, shortest=3, start=2))
    ways = {tuple(pages) for pages, _ in found}
    assert ways == {(4, 1, 0), (4, 2, 0), (4, 1, 2), (4, 1, 2, 0)}
    first = sum(pages[1] == 1 for pages, _ in found)
    assert 400 < first < 500
    assert 0.4 < sum(pages[2] == 2 for pages, _ in found) / first < 0.6


@given(webs(), st.integers(0, 3), st.integers(2, 4), st.integers(4, 10))
def test_every_walk_keeps_the_rules(
    drawn: tuple[int, list[Edge], list[int]], seed: int, shortest: int, longest: int
) -> None:
    pages, edges, targets = drawn
    graph = web(pages, edges)
    layer = hop_layers(graph, mask(pages, *targets))
    assume(layer.max() > 0)
    found = walks(graph, layer, count=20, seed=seed, shortest=shortest, longest=longest)
    assert len(found) == 20
    for walk, state in listed(found):
        assert layer[walk[0]] == layer.max()
        assert 2 <= len(walk) <= longest
        assert len(set(walk)) == len(walk)
        assert all(link in edges for link in pairwise(walk))
        assert state == layer[walk].tolist() == sorted(state, reverse=True)
        assert min(state) >= 0
        if len(walk) < shortest:
            ways_on = {v for u, v in edges if u == walk[-1] and 0 <= layer[v] <= state[-1]}
            assert ways_on <= set(walk)


def test_the_same_seed_gives_the_same_walks_and_more_than_a_batch_can_be_had() -> None:
    rng = np.random.default_rng(5)
    graph = web(60, [(int(u), int(v)) for u, v in rng.integers(0, 60, (150, 2))])
    layer = hop_layers(graph, mask(60, 0, 1))
    one, same, other = (walks(graph, layer, count=2500, seed=seed) for seed in (7, 7, 8))
    assert len(one) == 2500
    assert listed(one) == listed(same) != listed(other)
    assert len(walks(graph, layer, count=0, seed=7)) == 0


def test_walks_that_cannot_be() -> None:
    graph = web(6, CHAIN)
    layer = hop_layers(graph, mask(6, 0))
    with pytest.raises(ForagerError, match="no page is in layer 5: start from layer 4 or lower"):
        walks(graph, layer, count=1, seed=0, start=5)
    with pytest.raises(ForagerError, match="walks of 1 to 10 pages"):
        walks(graph, layer, count=1, seed=0, shortest=1)
    with pytest.raises(ForagerError, match="no page leads to a target"):
        walks(graph, hop_layers(graph, mask(6, 5)), count=1, seed=0)


# ---- halves ---------------------------------------------------------------------------------------------------------


@given(st.lists(st.booleans(), min_size=2).filter(lambda marks: sum(marks) > 1), st.integers(0, 9))
def test_halves_part_the_targets(marks: list[bool], seed: int) -> None:
    targets = np.array(marks)
    first, second = halves(targets, seed)
    assert (first | second == targets).all()
    assert not (first & second).any()
    assert first.sum() - second.sum() in (0, 1)
    assert (halves(targets, seed)[0] == first).all()


def test_halves_depend_on_the_seed_and_need_two_targets() -> None:
    assert len({tuple(halves(mask(40, *range(20)), seed)[0]) for seed in range(5)}) == 5
    with pytest.raises(ForagerError, match="1 target cannot be halved"):
        halves(mask(4, 2), 0)


def test_a_leak_is_found_and_leaving_the_other_half_out_prevents_it() -> None:
    """Page 3 links to both targets. If walks to 0 may pass 1, some of them end in 1."""
    graph = web(4, [(3, 0), (3, 1), (1, 3), (2, 1), (1, 0)])
    a, b = mask(4, 0), mask(4, 1)
    careless = walks(graph, hop_layers(graph, a), count=100, seed=0)
    ends = leaks(careless, b)
    assert 0 < len(ends) < 100
    assert (careless.last_pages[ends] == 1).all()
    apart = graph.without(b)
    found = walks(apart, hop_layers(apart, a), count=100, seed=0)
    assert not len(leaks(found, b))
    assert not b[found.pages].any()


@needs("webkb")
def test_a_recorded_web_has_sequences_through_all_layers() -> None:
    folder = WEBS / "webkb"
    edges = read_edges(folder / "edges.tsv.gz")
    with (folder / "labels.tsv").open(encoding="utf-8") as lines:
        rows = [line.split("\t") for line in lines]
    courses = edges.mask([Url(url) for url, label, *_ in rows if label == "course"])
    a, b = halves(courses, 1)
    graph = edges.graph.without(b)
    found = walks(graph, hop_layers(graph, a), count=2000, seed=1)
    assert set(found.states.tolist()) == {0, 1, 2, 3, 4}
    assert a[found.last_pages].any()
    assert not len(leaks(found, b))
