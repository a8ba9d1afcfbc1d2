"""The features of links, compared with a loop over leaves and words; and their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.strategies.apprentice.features import ContextWindow, LinkContext, WordFeature, tree_steps
from forager.strategies.apprentice.windows import near
from forager.strategies.link_features import side_by_side
from forager.types import Judgement, Links, Ragged, Url, Visit
from forager.web.page import leaf_offsets
from forager.web.text import mix, term, terms
from tests.visits import page_of, visit_of

FIGURE_3 = (
    "<ul><li>two before</li><li><em>one before</em></li>"
    "<li><a href=v>HREF <font>in the anchor</font></a> <tt>one after</tt></li><li>two after</li><li>three</li></ul>"
)


def visit_with(
    leaves: Sequence[str],
    spans: Sequence[tuple[int, int]],
    known: Sequence[float] | None = None,
    leads: Sequence[int] | None = None,
) -> Visit:
    """A page of these leaves, with a link over each span of them. `leads`: the number of each link's target."""
    count = len(spans)
    first, last = (np.array([span[end] for span in spans], np.int32) for end in (0, 1))
    targets = tuple(Url(f"http://example.org/{i}") for i in (range(count) if leads is None else leads))
    links = Links(targets, ("",) * count, first, last, ("html body a",) * count, ("",) * count)
    page = page_of("http://example.org/", "x")
    page = replace(page, leaves=tuple(leaves), terms=terms(leaves), links=links)
    return visit_of(page, known=known, seen_on=leads)


@st.composite
def layouts(draw: st.DrawFn) -> tuple[list[str], list[tuple[int, int]]]:
    """Leaves of a few words or none, and links that do not overlap."""
    leaves = draw(st.lists(st.sampled_from(["", "a", "b a", "c d e", "b b b b"]), min_size=1, max_size=14))
    cuts = sorted(draw(st.sets(st.integers(0, len(leaves)), max_size=8)))
    spans = [(start, end - 1) for start, end in pairwise(cuts)]
    return leaves, [span for span in spans if draw(st.booleans())]


def by_loop(visit: Visit, kind: WordFeature, d_max: int, most: int) -> list[list[int]]:
    """The features word by word, as in the definition."""
    rows = []
    bounds = visit.page.terms.offsets.tolist()
    for first, last in zip(visit.links.first_leaf.tolist(), visit.links.last_leaf.tolist(), strict=True):
        offsets = leaf_offsets(first, last, len(visit.page.leaves)).tolist()
        start, stop, row, place = bounds[first], bounds[last + 1], [], -1
        for leaf, d in enumerate(offsets):
            for word in visit.page.terms[leaf].tolist():
                place += 1
                x = place - start if place < start else place - stop + 1 if place >= stop else 0
                near = start - most <= place < min(stop, start + most) + most
                if abs(d) <= d_max and near:
                    salt = {"offset": d, "distance": x}.get(kind)
                    row.append(word if salt is None else int(mix(np.array([word], np.uint32), salt)[0]))
        rows.append(row)
    return rows


@given(layouts(), st.sampled_from(["offset", "words", "distance"]), st.integers(0, 4), st.sampled_from([1, 3, 100]))
def test_features_are_those_of_a_loop(layout: Any, kind: WordFeature, d_max: int, most: int) -> None:
    visit = visit_with(*layout)
    found = LinkContext(kind, d_max, most)(visit)
    assert [row.tolist() for row in map(found.__getitem__, range(len(found)))] == by_loop(visit, kind, d_max, most)


def test_figure_3_in_words() -> None:
    visit = visit_of(page_of("http://example.org/", FIGURE_3))
    told = LinkContext().names(visit, 0)
    assert told == [
        *("two at -2", "before at -2", "one at -1", "before at -1"),
        *("href at 0", "in at 0", "the at 0", "anchor at 0"),
        *("one at 1", "after at 1", "two at 2", "after at 2", "three at 3"),
    ]
    expected = [mix(np.array([term(word)], np.uint32), int(d))[0] for word, d in (name.split(" at ") for name in told)]
    assert LinkContext()(visit)[0].tolist() == expected
    assert LinkContext(d_max=1).names(visit, 0) == told[2:10]
    assert LinkContext("words", 1).names(visit, 0)[:3] == ["one", "before", "href"]
    assert LinkContext("distance", 1).names(visit, 0)[:3] == ["one at -2", "before at -1", "href at 0"]


def test_a_long_leaf_beside_a_link_is_cut_to_the_words_nearest_to_it() -> None:
    numbered = " ".join(f"w{i}" for i in range(10_000))
    visit = visit_with([numbered, "anchor", numbered], [(1, 1), (2, 2)])
    around = LinkContext(most=100)
    found = around(visit)
    assert found.lengths.tolist() == [201, 300]
    told = around.names(visit, 0)
    assert (told[0], told[99], told[100], told[101], told[-1]) == (
        *("w9900 at -1", "w9999 at -1", "anchor at 0"),
        *("w0 at 1", "w99 at 1"),
    )
    assert around.names(visit, 1)[98:101] == ["w9999 at -2", "anchor at -1", "w0 at 0"]


def test_topics_are_the_best_classes_with_all_above_them() -> None:
    visit = visit_with(["a"], [(0, 0)])
    classes = ("Arts.Music", "Science.Biology.Birds", "Science.Physics")
    judged = replace(visit, judgement=Judgement(0.6, 0.6, np.array([0.1, 0.6, 0.3], np.float32), ""))
    around = LinkContext(classes=classes, topics=2)
    assert around.names(judged, 0) == [
        *("a at 0", "topic Science", "topic Science.Biology"),
        *("topic Science.Biology.Birds", "topic Science.Physics"),
    ]
    assert len(set(around(judged)[0].tolist())) == 5
    shared = set(around(judged)[0].tolist()) & set(replace(around, topics=1)(judged)[0].tolist())
    assert len(shared) == 4


def test_topics_may_come_without_what_is_above_them() -> None:
    visit = visit_with(["a"], [(0, 0)])
    around = LinkContext(classes=("Arts.Music", "Science.Birds"), topics=1)
    judged = replace(visit, judgement=Judgement(0.6, 0.6, np.array([0.1, 0.6], np.float32), ""))
    alone = replace(around, prefixes=False)
    assert alone.names(judged, 0) == ["a at 0", "topic Science.Birds"]
    assert alone(judged)[0].tolist() == around(judged)[0][[0, 2]].tolist()


def test_the_whole_class_vector_with_levels() -> None:
    visit = visit_with(["a"], [(0, 0)])
    around = LinkContext(classes=("Arts.Music", "Science.Birds", "Science.Physics"), vector=True)
    told = []
    for chances in ([0.005, 0.6, 0.395], [0.2, 0.6, 0.2], [0.6, 0.2, 0.2]):
        judged = replace(visit, judgement=Judgement(0.6, 0.6, np.array(chances, np.float32), ""))
        told.append(dict(zip(around.names(judged, 0), around(judged)[0].tolist(), strict=True)))
    assert [*told[0]] == ["a at 0", "topic Science.Birds at 0.5 or more", "topic Science.Physics at 0.1 or more"]
    assert len(set(told[1].values()) & set(told[0].values())) == 3  # the same class at the same level is the same
    assert len(set(told[2].values()) & set(told[1].values())) == 2  # the word and Physics


def test_offsets_of_a_word_may_stand_side_by_side() -> None:
    visit = visit_with(["owl", "owl", "owl"], [(1, 1)])
    before, at, after = LinkContext(rows=True)(visit)[0].astype(np.int64).tolist()
    assert (before - at, after - at) == (-1, 1)


@given(layouts(), st.integers(0, 4), st.integers(0, 4), st.sampled_from(["offset", "words", "path"]))
def test_a_narrower_window_is_that_of_another_context(layout: Any, wide: int, narrow: int, kind: WordFeature) -> None:
    visit, narrow = visit_with(*layout), min(narrow, wide)
    found = near(LinkContext(kind, wide, places=True)(visit), narrow)
    expected = LinkContext(kind, narrow, places=True)(visit)
    assert found.offsets.tolist() == expected.offsets.tolist()
    assert found.values.tolist() == expected.values.tolist()


@given(layouts(), st.data())
def test_judged_neighbours_are_those_of_a_loop(layout: Any, data: st.DataObject) -> None:
    leaves, spans = layout
    leads = data.draw(st.lists(st.integers(0, 5), min_size=len(spans), max_size=len(spans)))
    judged = data.draw(st.lists(st.sampled_from([np.nan, 0.1, 0.9]), min_size=6, max_size=6))
    known = [judged[target] for target in leads]
    visit, around = visit_with([""] * len(leaves), spans, known, leads), LinkContext(d_max=2, cocitation=True)
    found = around(visit)
    for row, (first, last) in enumerate(spans):
        expected = []
        for other, (start, end) in enumerate(spans):
            d = end - first if end < first else start - last if start > last else 0
            if leads[other] != leads[row] and not np.isnan(known[other]) and abs(d) <= 2:
                expected.append(f"{'relevant' if known[other] > 0.5 else 'irrelevant'} link at {d}")
        assert around.names(visit, row) == expected
        assert len(found[row]) == len(expected) == len(set(expected)) == len(set(found[row].tolist()))


def test_a_twin_does_not_tell_the_relevance_of_its_own_target() -> None:
    """Two links to the same judged page, and one to another: what the twins see of each other is left out."""
    visit = visit_with(["a", "b", "c"], [(0, 0), (1, 1), (2, 2)], known=[0.9, 0.9, 0.1], leads=[7, 7, 8])
    around = LinkContext(d_max=2, cocitation=True)
    told = [[name for name in around.names(visit, row) if "link" in name] for row in range(3)]
    assert told == [["irrelevant link at 2"], ["irrelevant link at 1"], ["relevant link at -2", "relevant link at -1"]]


def test_a_redirect_to_its_own_target_does_not_tell_either() -> None:
    """Of a redirect the crawl knows what it knows of the page it leads to. The third page was judged alike by chance,
    but more pages link to it."""
    visit = visit_with(["a", "b", "c"], [(0, 0), (1, 1), (2, 2)], known=[0.9, 0.9, 0.9], leads=[1, 2, 3])
    visit = replace(visit, known=replace(visit.known, inlinks=np.array([4, 4, 5], np.int32)))
    around = LinkContext(d_max=2, cocitation=True)
    told = [[name for name in around.names(visit, row) if "link" in name] for row in range(3)]
    assert told == [["relevant link at 2"], ["relevant link at 1"], ["relevant link at -2", "relevant link at -1"]]


def test_steps_along_the_tree_by_the_paths_of_links() -> None:
    markup = "<div id=menu><ul><li>m <a href=1>one</a></ul></div><div id=main><p>p <a href=2>two</a></div>"
    page = page_of("http://example.org/", markup)
    assert page.links.tag_paths == ("html body div#menu ul li a", "html body div#main p a")
    window = ContextWindow.of(page.terms, page.links, 9, 9)
    assert tree_steps(page.links, window)[window.rows == 0].tolist() == [0, 0, 7, 7]  # m one | p two: 4 up and 3 down
    assert tree_steps(page.links, window)[window.rows == 1].tolist() == [7, 7, 0, 0]
    visit = visit_of(page)
    assert len(LinkContext("path")(visit).values) == 8
    assert not set(LinkContext("path")(visit).values.tolist()) & set(LinkContext("offset")(visit).values.tolist())


def test_rows_side_by_side() -> None:
    joined = side_by_side([Ragged.of([[1, 2], [], [3]]), Ragged.of([[], [4], [5, 6]])])
    assert [joined[i].tolist() for i in range(3)] == [[1, 2], [4], [3, 5, 6]]


@pytest.mark.parametrize("kind", ["offset", "words", "distance", "path"])
def test_a_page_without_links(kind: WordFeature) -> None:
    visit = visit_with(["a b"], [])
    assert len(LinkContext(kind, topics=1, classes=("a", "b"), cocitation=True)(visit)) == 0
