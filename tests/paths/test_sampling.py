"""Paths drawn from a ground: what must be true of every path, and examples by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forager.errors import ForagerError
from forager.paths import Ground, PathOutcome, ShownPath
from forager.paths.sampling import depths, milestones, sample_paths
from forager.types import Page, Url
from tests.visits import page_of

from .webs import Edge, distances, mask, web, webs

GOALS, FAILS = 7, 9


def url(number: int) -> Url:
    return Url(f"http://a.test/{number}")


def ground_of(
    pages: int,
    edges: Sequence[Edge],
    targets: Sequence[int],
    labels: Mapping[int, str] | None = None,
    markup: Mapping[int, str] | None = None,
) -> Ground:
    """A ground of numbered pages. Only pages with markup can be read: paths need only their anchors."""

    def reading(urls: Sequence[Url]) -> Iterator[Page | None]:
        read = {url(number): page_of(url(number), text) for number, text in (markup or {}).items()}
        return (read.get(each) for each in urls)

    linked = [(url(u), [url(v) for source, v in edges if source == u]) for u in range(pages)]
    named = {url(number): label for number, label in (labels or {}).items()}
    return Ground.of(linked, [url(number) for number in targets], reading, labels=named)


def walk(path: ShownPath) -> list[int]:
    return [int(step.url.rpartition("/")[2]) for step in path.steps]


def walks(paths: Sequence[ShownPath], outcome: PathOutcome) -> list[list[int]]:
    return [walk(path) for path in paths if path.outcome is outcome]


@st.composite
def labelled_webs(draw: st.DrawFn) -> tuple[int, list[Edge], list[int], dict[int, str]]:
    pages, edges, targets = draw(webs())
    return pages, edges, targets, draw(st.dictionaries(st.integers(0, pages - 1), st.sampled_from("xyz"), max_size=4))


any_web = given(labelled_webs(), st.integers(2, 5), st.integers(0, 5))


def drawn(ground: Ground, longest: int, seed: int, starts: Sequence[str] = ()) -> tuple[ShownPath, ...]:
    """The paths; none if no target can be reached, which another test checks."""
    try:
        return sample_paths(ground, goals=GOALS, fails=FAILS, longest=longest, starts=starts, seed=seed)
    except ForagerError:
        return ()


def check(ground: Ground, paths: Sequence[ShownPath], edges: Sequence[Edge], longest: int) -> None:
    """What is true of all paths, wherever they begin."""
    targets = np.flatnonzero(ground.targets).tolist()
    assert len(walks(paths, PathOutcome.GOAL)) == (GOALS if paths else 0)
    assert len(walks(paths, PathOutcome.FAIL)) <= FAILS
    assert len({path.id for path in paths}) == len(paths)
    for path in paths:
        way = walk(path)
        assert set(pairwise(way)) <= set(edges)
        assert 2 <= len(way) <= longest
        assert len(set(way)) == len(way)
        assert not set(targets) & set(way[1:-1]), "a target that is met ends the path"
        assert [step.label for step in path.steps[:-1]] == [
            None if page in targets else ground.labels[page] for page in way[:-1]
        ]
        near = {v for u, v in edges if u == way[-1] and v in targets}
        if path.outcome is PathOutcome.GOAL:
            assert way[-1] in targets
        else:
            assert way[-1] not in targets
            assert ground.labels[way[-1]] is None
            assert near <= set(way)


@any_web
@settings(max_examples=200, deadline=None)
def test_paths_from_anywhere(web: tuple[int, list[Edge], list[int], dict[int, str]], longest: int, seed: int) -> None:
    pages, edges, targets, _ = web
    ground = ground_of(*web)
    paths = drawn(ground, longest, seed)
    check(ground, paths, edges, longest)
    before: dict[int, set[int]] = {v: {u for u, end in edges if end == v and u != v} for v in range(pages)}
    for way in (walk(path) for path in paths):  # they go back as far as they can
        assert len(way) == longest or way[0] in targets or before[way[0]] <= set(way)
    arrivals = {
        (u, t) for u, t in edges if t in targets and u != t and (u in targets or before[u] != {t})
    }  # what only t leads to is on no way to t
    assert bool(paths) == bool(arrivals)
    assert {tuple(way[-2:]) for way in walks(paths, PathOutcome.GOAL)} <= arrivals
    counts = Counter(tuple(way[-2:]) for way in walks(paths, PathOutcome.GOAL))
    if paths:  # none again before all others
        assert max(counts.values()) - min(counts.get(end, 0) for end in arrivals) <= 1


@any_web
@settings(max_examples=200, deadline=None)
def test_paths_from_starts_are_shortest_ways_past_no_target(
    web: tuple[int, list[Edge], list[int], dict[int, str]], longest: int, seed: int
) -> None:
    pages, edges, targets, labels = web
    ground, starts = ground_of(*web), ("x", "y")
    begin = [page for page, label in labels.items() if label in starts]
    paths = drawn(ground, longest, seed, starts)
    check(ground, paths, edges, longest)
    far = distances(pages, [(u, v) for u, v in edges if u not in targets])
    nearest = [min((far[page][v] for page in begin if page not in targets), default=np.inf) for v in range(pages)]
    for path in paths:
        way = walk(path)
        assert way[0] in begin
        way = way[:-1] if path.outcome is PathOutcome.GOAL else way  # the last link is drawn first
        assert len(way) - 1 == nearest[way[-1]]
    wanted = {(u, t) for u, t in edges if t in targets and u != t and u not in targets and nearest[u] + 2 <= longest}
    assert bool(paths) == bool(wanted)
    assert {tuple(way[-2:]) for way in walks(paths, PathOutcome.GOAL)} <= wanted


@any_web
@settings(max_examples=30, deadline=None)
def test_chance_comes_from_the_seed_alone(
    web: tuple[int, list[Edge], list[int], dict[int, str]], longest: int, seed: int
) -> None:
    assert drawn(ground_of(*web), longest, seed) == drawn(ground_of(*web), longest, seed)


def test_another_seed_draws_others() -> None:
    ground = ground_of(8, [(u, v) for u in range(8) for v in range(8) if u != v], [7])
    assert sample_paths(ground, goals=5, fails=0, seed=1) != sample_paths(ground, goals=5, fails=0, seed=2)


def test_ends_are_drawn_evenly() -> None:
    """Target 9 has one link, target 8 seven: each of the links is the end of every eighth path."""
    edges = [(0, u) for u in range(1, 8)] + [(u, 8) for u in range(1, 8)] + [(7, 9)]
    ends = Counter(
        tuple(way[-2:])
        for way in walks(sample_paths(ground_of(10, edges, [8, 9]), goals=80, fails=0), PathOutcome.GOAL)
    )
    assert set(ends.values()) == {10}
    assert len(ends) == 8


def test_few_ends_of_many_are_drawn_by_chance() -> None:
    """Ten pages link to the target, ten are ends of fail paths, and one path of each outcome is wanted."""
    edges = [(0, u) for u in range(1, 21)] + [(u, 21) for u in range(1, 11)]
    pairs = [sample_paths(ground_of(22, edges, [21]), goals=1, fails=1, seed=seed) for seed in range(20)]
    assert len({walk(goal)[-2] for goal, _ in pairs}) > 3
    assert len({walk(fail)[-1] for _, fail in pairs}) > 3


def test_what_only_a_target_leads_to_is_on_no_way_to_it() -> None:
    """0 -> 1 (target) -> 2 -> 1: page 2 is an exercise of the course."""
    ways = [walk(path) for path in sample_paths(ground_of(3, [(0, 1), (1, 2), (2, 1)], [1]), goals=6, fails=3)]
    assert {tuple(way) for way in ways[:6]} == {(0, 1)}
    assert {tuple(way) for way in ways[6:]} == {(1, 2)}  # the target that it links to is on the way


@pytest.mark.parametrize("longest", [2, 3])
def test_short_paths(longest: int) -> None:
    """0 -> 1 -> 2 (target): page 0 links to page 1, but a path of two pages has no room for it."""
    paths = sample_paths(ground_of(3, [(0, 1), (1, 2)], [2]), goals=2, fails=0, longest=longest)
    assert [walk(path) for path in paths] == [[0, 1, 2][-longest:]] * 2


def test_no_fail_paths_where_there_are_none() -> None:
    """All other pages link to the target, or are milestones."""
    near = ground_of(4, [(0, 1), (1, 2), (0, 2), (0, 3), (3, 2)], [2])
    assert not walks(sample_paths(near, goals=3, fails=5), PathOutcome.FAIL)
    named = ground_of(4, [(0, 1), (1, 2), (0, 2), (0, 3)], [2], {3: "x"})
    assert not walks(sample_paths(named, goals=3, fails=5), PathOutcome.FAIL)
    plain = ground_of(4, [(0, 1), (1, 2), (0, 2), (0, 3)], [2])
    assert walks(sample_paths(plain, goals=3, fails=2), PathOutcome.FAIL) == [[0, 3], [0, 3]]


def test_a_target_out_of_reach_is_told() -> None:
    with pytest.raises(ForagerError, match="no target can be reached"):
        sample_paths(ground_of(3, [(0, 1)], [2]), goals=1)
    far = ground_of(4, [(0, 1), (1, 2), (2, 3)], [3], {0: "home"})
    assert [walk(path) for path in sample_paths(far, goals=1, fails=0, longest=4, starts=["home"])] == [[0, 1, 2, 3]]
    with pytest.raises(ForagerError, match="name other first pages, or longer paths"):
        sample_paths(far, goals=1, longest=3, starts=["home"])
    with pytest.raises(
        ForagerError, match=r"no page of the ground is labelled hall or inn, to start from: .* are home"
    ):
        sample_paths(far, starts=["hall", "inn"])
    with pytest.raises(ForagerError, match="it has no labels"):
        sample_paths(ground_of(2, [(0, 1)], [1]), starts=["home"])


@pytest.mark.parametrize("wrong", [{"longest": 1}, {"goals": -1}, {"fails": -1}, {"lists": -1}])
def test_impossible_wishes_are_told(wrong: dict[str, int]) -> None:
    with pytest.raises(ForagerError, match="there are no such paths"):
        sample_paths(ground_of(2, [(0, 1)], [1]), **wrong)  # type: ignore[arg-type]


# ---- milestones and depths ------------------------------------------------------------------------------------------


def test_lists_are_milestones() -> None:
    """0 links to students 2 to 4 and seven more pages, 1 to the same and eight more; 5 to the targets 6 to 8."""
    students, targets = [2, 3, 4], [6, 7, 8]
    edges = [(0, v) for v in [*students, *range(9, 16)]] + [(1, v) for v in [*students, *range(9, 17)]]
    edges += [(5, v) for v in targets] + [(2, v) for v in targets] + [(6, v) for v in students]
    ground = ground_of(17, edges, targets, {**dict.fromkeys(students, "student"), 8: "course"})
    plain = [None, None, *["student"] * 3, *[None] * 12]
    assert milestones(ground) == plain  # a target is goal, whatever its label
    assert milestones(ground, 3) == ["student list", None, *["student"] * 3, "goal list", *[None] * 11]
    assert milestones(ground, 4) == plain
    shown = sample_paths(ground, goals=20, fails=0, lists=3)
    said = {walk(path)[at]: step.label for path in shown for at, step in enumerate(path.steps[:-1])}
    assert said[5] == "goal list"


def test_depths_pass_no_target() -> None:
    """0 -> 1 -> 2 -> 3, and 0 -> 4 (target) -> 3. Page 5 is a start too, but also a target."""
    graph = web(7, [(0, 1), (1, 2), (2, 3), (0, 4), (4, 3), (5, 6)])
    found = depths(graph, mask(7, 0, 5), mask(7, 4, 5), 3)
    assert found.tolist() == [0, 1, 2, 3, -1, -1, -1]
    assert depths(graph, mask(7, 0, 5), mask(7, 4, 5), 2).tolist() == [0, 1, 2, -1, -1, -1, -1]


def test_a_path_says_what_was_clicked() -> None:
    """Of several links to the same page the first with a text counts; None if the page cannot be read."""
    markup = {0: '<a href="/1"></a> <a href="/2">other</a> <a href="/1">first</a> <a href="/1">second</a>'}
    ground = ground_of(3, [(0, 1), (1, 2)], [2], {0: "home"}, markup)
    (path,) = sample_paths(ground, goals=1, fails=0)
    assert [(step.anchor, step.label) for step in path.steps] == [(None, "home"), ("first", None), (None, None)]
    assert path.id == "goal-1"
