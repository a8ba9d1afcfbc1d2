"""Grounds: page numbers, links that leave, pages left out. Then: would a strategy have gone the same way?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from forager.paths import (
    Ground,
    PathOutcome,
    PathStep,
    ShownPath,
    folds,
    ground_of_paths,
    hop_layers,
    preference,
    visit_with,
)
from forager.types import BEST, Floats, Page, ScoredLinks, Url, Visit
from tests.visits import page_of

HOME, LIST, COURSE, NEWS, OLD = (Url(f"http://u.test/{name}") for name in ("", "list", "course", "news", "old"))
MARKUP = {
    HOME: '<a href="/news">News</a> <a href="/list">Courses</a> <a href="http://else.test/">Else</a>',
    LIST: '<a href="/">Home</a> <a href="/old">CS 1</a>',
    COURSE: '<a href="/">Home</a>',
    NEWS: '<a href="/">Home</a>',
}


def read(urls: Sequence[Url]) -> Iterator[Page | None]:
    return (page_of(url, MARKUP[url]) if url in MARKUP else None for url in urls)


def final(url: Url) -> Url:
    return COURSE if url == OLD else url


def ground() -> Ground:
    pages = ((url, page.links.targets) for url, page in zip(MARKUP, read(list(MARKUP)), strict=True) if page)
    return Ground.of(pages, {COURSE}, read, labels={LIST: "course list"}, final=final)


def path(name: str, *urls: Url, outcome: PathOutcome = PathOutcome.GOAL) -> ShownPath:
    return ShownPath(name, tuple(PathStep(url) for url in urls), outcome)


def test_links_lead_where_redirects_lead_and_those_that_leave_lead_nowhere() -> None:
    made = ground()
    home, listed = (page for page in made.pages([0, 1]) if page)
    assert made.ends(home).tolist() == [3, 1, -1]
    assert made.ends(listed).tolist() == [0, 2]  # by the old name
    assert hop_layers(made.graph, made.targets).tolist() == [2, 1, 0, 3]
    assert made.labels == (None, "course list", None, None)


def test_what_is_left_out_was_never_met() -> None:
    rest = ground().without({COURSE})
    assert rest.urls == (HOME, LIST, NEWS)
    assert not rest.targets.any()
    assert rest.number(COURSE) == rest.number(OLD) == -1
    assert rest.labels == (None, "course list", None)
    assert len(rest.graph.targets) == 4  # home -> news, list; list -> home; news -> home


def test_the_pages_of_shown_paths_are_a_ground() -> None:
    shown = [path("a", HOME, LIST, OLD), path("b", HOME, NEWS, outcome=PathOutcome.FAIL)]
    made = ground_of_paths(shown, read, final=final)
    assert made.urls == (HOME, LIST, COURSE, NEWS)
    assert made.targets.tolist() == [False, False, True, False]
    assert made.number(OLD) == 2


class ByRow:
    """Gives the scores it was made with. Its state counts the links that led to a page."""

    combine = BEST

    def __init__(self, *scores: float) -> None:
        self._scores = scores
        self.states: list[float] = []

    def score(self, visit: Visit) -> ScoredLinks:
        before = visit.trace.inlinks.state
        self.states.append(float(before[0, 0]) if len(before) else -1.0)
        scores: Floats = np.array(self._scores[: len(visit.links)], np.float32)
        return ScoredLinks(scores, state=np.arange(len(scores), dtype=np.float32)[:, None])


@pytest.mark.parametrize(
    ("scores", "share", "first"),
    [
        # taken to the goal: row 1 of home, row 1 of the list; not: rows 0 and 2 of home (twice), row 1 (on the way that
        # failed), row 0 of the list
        ((1.0, 2.0, 3.0), (3 + 0.5 * 1) / 6, 0.5),
        ((0.0, 0.0, 0.0), 0.5, 0.0),
        ((2.0, 3.0, 1.0), (5 + 0.5 * 1) / 6, 1.0),
    ],
)
def test_preference_is_how_often_a_link_taken_scores_more(
    scores: tuple[float, ...], share: float, first: float
) -> None:
    strategy = ByRow(*scores)
    failed = path("b", HOME, LIST, outcome=PathOutcome.FAIL)
    found = preference(strategy, ground(), [path("a", HOME, LIST, OLD), failed])
    assert found.share == pytest.approx(share)
    assert (found.first, found.steps) == (first, 2)
    assert strategy.states == [-1.0, 1.0, -1.0]  # a seed; what travelled with row 1 of the home page; a seed


def test_a_path_is_followed_as_far_as_it_is_connected() -> None:
    found = preference(
        ByRow(1.0, 2.0, 3.0), ground(), [path("a", HOME, NEWS, COURSE), path("b", Url("http://x.test/"))]
    )
    assert found.steps == 1
    assert np.isnan(preference(ByRow(1.0), ground(), []).share)


def test_a_visit_without_state_is_a_seed() -> None:
    page = page_of(HOME, MARKUP[HOME])
    assert not len(visit_with(page, np.empty((0, 0), np.float32)).trace.inlinks.sources)
    assert visit_with(page, np.ones((1, 2), np.float32)).trace.inlinks.state.tolist() == [[1.0, 1.0]]


def test_folds_test_each_path_once_and_keep_those_of_one_start_together() -> None:
    paths = [path(f"{start}-{i}", Url(f"http://{start}.test/"), COURSE) for start in "abcd" for i in range(3)]
    parts = list(folds(paths, 2, lambda each: each.steps[0].url))
    assert sorted(each.id for _, test in parts for each in test) == sorted(each.id for each in paths)
    for rest, test in parts:
        assert not {each.steps[0].url for each in rest} & {each.steps[0].url for each in test}
        assert len(rest) + len(test) == len(paths)


def test_folds_learn_only_where_something_arrives() -> None:
    paths = [path("a", HOME, COURSE), path("b", LIST, NEWS, outcome=PathOutcome.FAIL)]
    assert [[each.id for each in rest] for rest, _ in folds(paths, 2, lambda each: each.id)] == [["a"]]
