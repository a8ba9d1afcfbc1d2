"""The MEMM crawler: its observations and the state that travels with a link are those of the chain model."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.errors import ForagerError
from forager.learn.chains import memm
from forager.learn.chains.paths import Paths
from forager.learn.chains.rows import Reals, Sparse, shares
from forager.learn.chains.vocabulary import Vocabulary
from forager.learn.tfidf import Idf, Query
from forager.paths import Ground, PathOutcome, PathStep, ShownPath, visit_with
from forager.store import models
from forager.strategies.memm import MemmCrawler
from forager.strategies.memm.observations import (
    ABOVE,
    AFTER,
    ANCHOR,
    BEFORE,
    DEPTH,
    HEADING,
    KEYWORD_LINKS,
    KEYWORD_URL,
    KINDS,
    LAST,
    LIKE_DESCRIPTION,
    LIKE_TARGET,
    NEAR_ANCHOR,
    OFTEN,
    ON_PAGE,
    PAGE_URL,
    PLACE,
    SECOND_LAST,
    SIZE,
    TITLE,
    URL,
    VERSION,
    ObservationSet,
    Observer,
    description,
)
from forager.strategies.memm.training import by_rows
from forager.types import NEVER, Floats, Page, Ragged, Terms, Url
from forager.web.text import mix, term
from tests.visits import inlinks, page_of, visit_of

INFERENCES = ("discounted", "marginal", "viterbi")
SEED = np.empty((0, 0), np.float32)  # state of a page that no link led to
AHEAD = len(KINDS)  # added to a kind that counts for the page that a link leads to
NAMES = ("a", "b", "c", "d", "e", "f")
COURSES, PEOPLE = 4, 6
TEACHING = "Every course, every year"


def markup(title: str, text: str, links: dict[str, str]) -> str:
    items = "".join(f'<li><a href="{target}">{anchor}</a> one two three four</li>' for target, anchor in links.items())
    return f"<title>{title}</title><h1>{title}</h1><p>{text}</p><ul>{items}</ul>"


def school(name: str) -> dict[Url, str]:
    root = f"http://www.{name}.edu"
    courses = {f"/courses/cs{i}": f"CS {i} lectures" for i in range(COURSES)}
    people = {f"/people/{i}": f"Doctor {i}" for i in range(PEOPLE)}
    pages = {
        "/": markup(f"{name} university", "welcome", {"/people": "People", "/teaching": TEACHING}),
        "/teaching": markup("Teaching", "courses of this year", courses),
        "/people": markup("People", "staff of the department", people),
    }
    pages |= {
        f"/courses/cs{i}": markup(f"CS {i} course", "homework exam syllabus", {"/": "Home"}) for i in range(COURSES)
    }
    pages |= {f"/people/{i}": markup(f"Doctor {i}", "research papers", {"/": "Home"}) for i in range(PEOPLE)}
    return {Url(root + path): text for path, text in pages.items()}


PAGES = {url: page_of(url, text) for name in NAMES for url, text in school(name).items()}


def read(urls: Sequence[Url]) -> Iterator[Page | None]:
    return (PAGES.get(url) for url in urls)


def ground(*names: str) -> Ground:
    chosen = {url: page for url, page in PAGES.items() if url.split(".")[1] in names}
    pages = ((url, page.links.targets) for url, page in chosen.items())
    return Ground.of(pages, {url for url in chosen if "/courses/" in url}, read)


def crawler(**options: object) -> MemmCrawler:
    return MemmCrawler(query=Query.of(["course"]), **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def taught() -> MemmCrawler:
    return crawler().taught(ground(*NAMES[:-1]))


def scores(strategy: MemmCrawler, path: str) -> dict[str, float]:
    page = PAGES[Url(f"http://www.f.edu{path}")]
    scored = strategy.score(visit_with(page, SEED))
    return dict(zip(page.links.anchors, scored.scores.tolist(), strict=True))


def travelling(strategy: MemmCrawler, page: Page, state: Floats = SEED) -> Floats:
    travels = strategy.score(visit_with(page, state)).state
    assert travels is not None
    return travels


@pytest.mark.parametrize("inference", INFERENCES)
def test_the_way_learnt_on_some_sites_is_known_on_another(inference: str) -> None:
    strategy = crawler(inference=inference).taught(ground(*NAMES[:-1]))
    home = scores(strategy, "/")
    assert home[TEACHING] > home["People"]
    assert min(scores(strategy, "/teaching").values()) > max(home.values())


def test_walks_down_the_layers_teach_how_near_a_page_is() -> None:
    """All walks begin far away and have no link that leads nowhere. They teach how a path goes on."""
    strategy = crawler(drawn="walks", states=5, count=300).taught(ground(*NAMES[:-1]))
    state, hops = SEED, []
    for path, anchor in (("/people/1", "Home"), ("/", TEACHING), ("/teaching", "CS 1 lectures")):
        page = PAGES[Url(f"http://www.f.edu{path}")]
        row = page.links.anchors.index(anchor)
        state = travelling(strategy, page, state)[row : row + 1]
        hops.append(float(shares(state[:, :5])[0] @ np.arange(5)))
    assert hops[0] > hops[1] > hops[2]


@pytest.mark.parametrize("features", ["all", "text", "words"])
def test_each_set_of_features_can_be_taught(features: str) -> None:
    strategy = crawler(features=features).taught(ground(*NAMES[:-1]))
    home = scores(strategy, "/")
    same = home[TEACHING] == home["People"]
    assert same == (features == "words"), "words of the page alone cannot tell its links apart"


def shown_on(names: Sequence[str]) -> list[ShownPath]:
    """Two paths on each site, one that arrived and one that did not."""
    ways = {PathOutcome.GOAL: ("/", "/teaching", "/courses/cs1"), PathOutcome.FAIL: ("/", "/people", "/people/1")}
    return [
        ShownPath(f"{name} {end}", tuple(PathStep(Url(f"http://www.{name}.edu{path}")) for path in way), end)
        for name in names
        for end, way in ways.items()
    ]


def test_few_shown_paths_teach_too() -> None:
    home = scores(crawler().taught(ground(*NAMES[:3]), shown_on(NAMES[:3])), "/")
    assert home[TEACHING] > home["People"]


def along(model: memm.Memm, rows: Sparse, *, best: bool) -> list[Reals]:
    """The rows of the chain model, from the first page on."""
    found: list[Reals] = []
    for at in range(rows.shape[0]):
        found.append(model.forward(found[-1] if found else None, rows[at], best=best))
    return found


def valued(strategy: MemmCrawler, row: Reals) -> float:
    """The score of a link from the row that is expected for its target."""
    if strategy.inference == "viterbi":
        return float(memm.viterbi_priority(row)[0])
    if strategy.inference == "marginal":
        return float(memm.marginal_priority(row)[0])
    near = strategy.states - 1
    return float(shares(row)[0, :near] @ strategy.gamma ** np.arange(near))


@pytest.mark.parametrize("inference", INFERENCES)
@pytest.mark.parametrize("features", ["ours", "all", "text", "words"])
@pytest.mark.parametrize("drawn", ["links", "walks"])
def test_a_crawl_sees_a_path_as_training_described_it(
    drawn: str, features: str, inference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The crawler follows the rows that the model was trained on, one by one. The last page of a walk is seen whole."""
    described, train = [], memm.train

    def heard(paths: Paths, *args: object, **options: object) -> memm.Memm:
        described.append(paths)
        return train(paths, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(memm, "train", heard)
    strategy, way = crawler(drawn=drawn, features=features, inference=inference), shown_on(["a"])[0]
    strategy = strategy.taught(ground("a", "b"), [way, *shown_on(["b"])])
    assert strategy._model is not None
    (paths,) = described
    begin, end = paths.offsets[1:3] if drawn == "links" else paths.offsets[:2]
    expected = along(strategy._model.memm, paths.observations[begin:end], best=inference == "viterbi")
    state, pages = SEED, [PAGES[step.url] for step in way.steps]
    assert len(expected) == len(pages) == 3
    for page, after, row in zip(pages[:-1], pages[1:], expected[:-1], strict=True):
        scored, link = strategy.score(visit_with(page, state)), page.links.targets.index(after.url)
        assert scored.state is not None
        state = scored.state[link : link + 1]
        np.testing.assert_allclose(state[:, : strategy.states], row, rtol=1e-4, atol=1e-5)
    if drawn == "links":
        assert scored.scores[link] == pytest.approx(valued(strategy, expected[-1]), rel=1e-4)


@pytest.mark.parametrize("inference", INFERENCES)
def test_what_travels_is_the_chain_of_the_model(taught: MemmCrawler, inference: str) -> None:
    """Two pages in a row. The expected rows are made here from the features, position by position."""
    strategy, best = crawler(inference=inference).from_parts(taught.parts()), inference == "viterbi"
    known = taught._model
    assert known is not None
    home, listed = PAGES[Url("http://www.f.edu/")], PAGES[Url("http://www.f.edu/teaching")]
    first = strategy.score(visit_with(home, SEED))
    assert first.state is not None
    row = home.links.anchors.index(TEACHING)
    second = strategy.score(visit_with(listed, first.state[row : row + 1]))

    def features(*parts: Terms) -> Sparse:
        return known.vocabulary.rows(Ragged.of([np.concatenate(parts)]))

    page, leaving, arriving, common = seen(known.observer, home)
    alpha = known.memm.forward(None, features(page, leaving[row]), best=best)
    ahead = known.memm.forward(alpha, features(arriving[row], common), best=best)
    assert first.scores[row] == pytest.approx(valued(strategy, ahead), rel=1e-4)
    page, out, into, shared = seen(known.observer, listed)
    for link in range(len(listed.links)):
        here = known.memm.forward(alpha, features(page, arriving[row], common, out[link]), best=best)
        ahead = known.memm.forward(here, features(into[link], shared), best=best)
        assert second.scores[link] == pytest.approx(valued(strategy, ahead), rel=1e-4)


def followed(model: memm.Memm, before: list[float] | None, columns: Sequence[int], *, best: bool) -> list[float]:
    """One step of the paper, number by number: alpha'(j) = sum over i of alpha(i) e^u(i,j,o) / z(i,o); delta by max."""
    rows, states = [*columns, model.features], range(model.states)
    pairs = {(i, j): column for column, (i, j) in enumerate(model.pairs.tolist())}

    def chances(i: int | None) -> list[float]:
        def between(row: int, j: int) -> float:
            return float(model.between[row, pairs[i, j]]) if i is not None and (i, j) in pairs else 0.0

        powers = [math.exp(sum(float(model.first[row, j]) + between(row, j) for row in rows)) for j in states]
        return [power / sum(powers) for power in powers]

    if before is None:
        after = chances(None)
    else:
        each = [[before[i] * chance for chance in chances(i)] for i in states]
        after = [(max if best else sum)(row[j] for row in each) for j in states]
    return [value / sum(after) for value in after]


@pytest.mark.parametrize("inference", INFERENCES)
@pytest.mark.parametrize("drawn", ["links", "walks"])
@pytest.mark.parametrize("reading", ["published", "step"])
def test_links_of_a_path_are_scored_as_written(reading: str, drawn: str, inference: str) -> None:
    """Two pages, each link for itself and each number for itself: what the formulas of the docstring say."""
    options = {"reading": reading, "drawn": drawn, "inference": inference, "count": 200, "states": 5}
    strategy, best = crawler(features="all", **options).taught(ground(*NAMES[:-1])), inference == "viterbi"
    known = strategy._model
    assert known is not None

    def columns(*parts: Terms) -> list[int]:
        found: list[int] = known.vocabulary.rows(Ragged.of([np.concatenate(parts)])).indices.tolist()
        return found

    before: list[float] | None = None
    state, led = SEED, np.empty(0, np.uint32)
    for path, chosen in (("/", TEACHING), ("/teaching", "CS 1 lectures")):
        page = PAGES[Url(f"http://www.f.edu{path}")]
        scored = strategy.score(visit_with(page, state))
        own, leaving, arriving, common = seen(known.observer, page)
        rows = [followed(known.memm, before, columns(own, led, link), best=best) for link in leaving]
        for link, row in enumerate(rows):
            if reading == "step":
                row = followed(known.memm, row, columns(arriving[link], common), best=best)
            assert scored.scores[link] == pytest.approx(valued(strategy, np.log([row])), rel=1e-4, abs=1e-6)
        at = page.links.anchors.index(chosen)
        assert scored.state is not None
        state, before, led = scored.state[at : at + 1], rows[at], np.concatenate((arriving[at], common))
        assert shares(state[:, :5])[0] == pytest.approx(before, rel=1e-3, abs=1e-6)


def test_the_fitting_reading_is_the_one_that_was_taught(taught: MemmCrawler) -> None:
    """Links teach the step. They do not teach what O6 says of u, because any link of u may be drawn."""
    walked = crawler(drawn="walks", states=5, count=300).taught(ground(*NAMES[:-1]))
    published = crawler(drawn="walks", states=5, count=300, reading="published").from_parts(walked.parts())
    step = crawler(reading="step").from_parts(taught.parts())
    wrong = scores(crawler(reading="published").from_parts(taught.parts()), "/")
    assert scores(walked, "/teaching") == scores(published, "/teaching")
    assert scores(taught, "/") == scores(step, "/")
    assert scores(taught, "/")[TEACHING] > scores(taught, "/")["People"]
    assert wrong[TEACHING] < wrong["People"]


@pytest.mark.parametrize("inference", INFERENCES)
def test_links_to_pages_that_were_judged_are_not_scored(taught: MemmCrawler, inference: str) -> None:
    strategy, page = crawler(inference=inference).from_parts(taught.parts()), PAGES[Url("http://www.f.edu/teaching")]
    parents = inlinks(travelling(strategy, PAGES[Url("http://www.f.edu/")])[:1].tolist())
    whole = strategy.score(visit_of(page, parents=parents))
    some = strategy.score(visit_of(page, parents=parents, known=[np.nan, 0.9, 0.0, np.nan]))
    assert whole.state is not None
    assert some.state is not None
    assert some.scores[[1, 2]].tolist() == [NEVER, NEVER]
    assert not some.state[[1, 2]].any()
    np.testing.assert_allclose(some.scores[[0, 3]], whole.scores[[0, 3]], rtol=1e-5)
    np.testing.assert_allclose(some.state[[0, 3]], whole.state[[0, 3]], rtol=1e-4, atol=1e-5)
    assert np.isfinite(whole.scores).all()


def test_where_nothing_is_left_to_score_nothing_is(taught: MemmCrawler) -> None:
    page = PAGES[Url("http://www.f.edu/")]
    scored = taught.score(visit_of(page, known=[0.5, 0.5]))
    assert scored.scores.tolist() == [NEVER, NEVER]
    assert scored.state is not None
    assert scored.state.tolist() == np.zeros((2, 4 + 4 * 4)).tolist()


def without(strategy: MemmCrawler, *features: int) -> MemmCrawler:
    """The same crawler without what it has learnt of some features."""
    known = strategy._model
    assert known is not None
    kept = ~np.isin(known.vocabulary.terms, features)
    assert kept.sum() == len(kept) - len(features)
    rows = np.append(kept, True)
    model = memm.Memm(known.memm.first[rows], known.memm.pairs, known.memm.between[rows], known.memm.version)
    new = copy(strategy)
    new._model = replace(known, vocabulary=Vocabulary(known.vocabulary.terms[kept]), memm=model)
    return new


@pytest.mark.parametrize("inference", INFERENCES)
@pytest.mark.parametrize("seed", [True, False])
def test_a_score_is_explained_by_what_it_were_without_each_word(
    taught: MemmCrawler, inference: str, seed: bool
) -> None:
    strategy, home = crawler(inference=inference).from_parts(taught.parts()), PAGES[Url("http://www.f.edu/")]
    visit = visit_with(home, SEED if seed else travelling(strategy, home)[1:])
    link = home.links.anchors.index(TEACHING)
    told = strategy.explain(visit, link)
    figures, scored = dict(told), strategy.score(visit)
    for words, features in {
        "every in the anchor": (one("every", ANCHOR), one("every", ANCHOR + AHEAD)),
        "four before the anchor": (one("four", BEFORE), one("four", BEFORE + AHEAD)),
        "teaching last in the URL": (one("teaching", LAST), one("teaching", LAST + AHEAD)),
        "university in the title of the page": (one("university", TITLE), one("university", TITLE + AHEAD)),
        "page with links from 2 on": (one("links from 2 on", SIZE), one("links from 2 on", SIZE + AHEAD)),
        "URL in the folder, +1 words": (one("in the folder, +1 words", PLACE + AHEAD),),
    }.items():
        less = without(strategy, *features).score(visit).scores[link]
        assert figures[words] == pytest.approx(scored.scores[link] - less, abs=1e-6), words
    chances = told[: strategy.states]
    assert scored.state is not None
    assert [figure for _, figure in chances] == pytest.approx(shares(scored.state[:, : strategy.states])[link])
    assert chances[0][0] == "0 links to go from the page"
    assert chances[-1][0] == "3 links to go from the page, or more"
    moved = [abs(figure) for _, figure in told[strategy.states :]]
    assert moved == sorted(moved, reverse=True)
    assert not any("…" in words for words, _ in told)


def test_numbers_are_explained_as_they_are_seen(taught: MemmCrawler) -> None:
    told = dict(taught.explain(visit_with(PAGES[Url("http://www.f.edu/teaching")], SEED), 3))
    assert told.keys() >= {"0 in the anchor", "cs0 in the URL", "cs0 last in the URL", "3 on the page"}


def test_the_papers_observations_are_explained_too() -> None:
    strategy = crawler(features="all").taught(ground(*NAMES[:-1]))
    page = PAGES[Url("http://www.f.edu/teaching")]
    told = dict(strategy.explain(visit_with(page, SEED), 0))
    assert told.keys() >= {"cs in the anchor or near it", "cs on the page", "the page like a target by .1 or more"}
    assert min(told["cs in the anchor or near it"], told["cs on the page"]) > 0


def test_what_has_learnt_nothing_explains_nothing() -> None:
    assert crawler().explain(visit_with(PAGES[Url("http://www.f.edu/")], SEED), 0) == []


def test_a_marginal_score_is_minus_the_expected_hops() -> None:
    """Only observations move this model: its second step leads to the same row from each state."""
    model = memm.Memm(np.zeros((1, 4)), np.zeros((0, 2), np.int32), np.zeros((1, 0)), VERSION)
    row = np.log([0.7, 0.2, 0.1, 1e-30])
    seen = np.concatenate((np.zeros(4), *[row] * 4)).astype(np.float32)[None]
    for inference, value in {
        "discounted": 0.7 + 0.3 * 0.2 + 0.09 * 0.1,
        "marginal": -0.4,
        "viterbi": 0.7,
    }.items():
        assert crawler(inference=inference)._steps(model, None, seen)[1] == pytest.approx([value]), inference


def test_a_long_path_neither_overflows_nor_vanishes(taught: MemmCrawler) -> None:
    state, home = SEED, PAGES[Url("http://www.f.edu/")]
    for _ in range(100):
        state = travelling(taught, home, state)[:1]
        assert np.isfinite(state).all()
        assert np.exp(state[0, :4]).sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("features", ["ours", "all"])
def test_it_is_kept_whole(features: str, tmp_path: Path) -> None:
    strategy = crawler(features=features).taught(ground(*NAMES[:3]))
    models.save(tmp_path / "m", strategy.parts(), kind="memm", version=1)
    again = crawler(features=features).from_parts(models.load(tmp_path / "m", kind="memm", version=1))
    for path in ("/", "/teaching"):
        visit = visit_with(PAGES[Url(f"http://www.f.edu{path}")], SEED)
        before, after = strategy.score(visit), again.score(visit)
        np.testing.assert_array_equal(before.scores, after.scores)
        np.testing.assert_array_equal(before.state, after.state)
        assert strategy.explain(visit, 0) == again.explain(visit, 0)


def test_what_has_learnt_nothing_is_kept_too() -> None:
    again = crawler().from_parts(crawler().parts())
    assert scores(again, "/") == {"People": 0, TEACHING: 0}


def test_what_was_learnt_otherwise_is_refused(taught: MemmCrawler) -> None:
    parts = taught.parts()
    with pytest.raises(
        ForagerError, match=r"4 states, the settings ask for .* 5 states: use the same, or teach it again"
    ):
        crawler(states=5).from_parts(parts)
    with pytest.raises(
        ForagerError, match=r"features ours .* the settings ask for features all .*: use the same, or teach it"
    ):
        crawler(features="all").from_parts(parts)
    older = {**parts, "made": parts["made"].replace(f"version {VERSION}", "version 1")}
    with pytest.raises(
        ForagerError, match=r"version 1, 4 states, the settings ask for .* version 3, 4 states: .* teach it again"
    ):
        crawler().from_parts(older)
    with pytest.raises(ForagerError, match="features of version 1, pages are described by version 3: train it again"):
        crawler().from_parts({**parts, "model.feature_version": 1})


def test_a_path_of_another_model_is_refused(taught: MemmCrawler) -> None:
    visit = visit_with(PAGES[Url("http://www.f.edu/")], np.zeros((1, 5 + 5 * 5), np.float32))
    for ask in (taught.score, lambda visit: taught.explain(visit, 0)):
        with pytest.raises(ForagerError, match="4 states, this path carries 30 numbers: retrain or start again"):
            ask(visit)


def test_a_path_without_a_possible_state_is_refused(taught: MemmCrawler) -> None:
    for wrong in (np.nan, -np.inf):
        with pytest.raises(ForagerError, match="a row in which no state is possible: retrain or start again"):
            taught.score(visit_with(PAGES[Url("http://www.f.edu/")], np.full((1, 20), wrong, np.float32)))


def test_a_path_from_before_anything_was_learnt_says_nothing(taught: MemmCrawler) -> None:
    """Its row is all 0: every state is equally likely."""
    page = PAGES[Url("http://www.f.edu/teaching")]
    untaught, even = np.zeros((1, 20), np.float32), np.zeros((1, 20), np.float32)
    even[0, :4] = np.log(1 / 4)
    assert taught.score(visit_with(page, untaught)).scores == pytest.approx(
        taught.score(visit_with(page, even)).scores, rel=1e-5
    )


def test_wrong_options_and_grounds_are_told() -> None:
    with pytest.raises(ForagerError, match="states must be at least 2"):
        crawler(states=1)
    unlinked = Ground.of([(Url("http://x.edu/"), ()), (Url("http://y.edu/"), ())], {Url("http://x.edu/")}, read)
    with pytest.raises(ForagerError, match="give targets that are linked"):
        crawler().taught(unlinked)


# ---- observations ---------------------------------------------------------------------------------------------------


def observer(sets: ObservationSet) -> Observer:
    said = '<title>Course syllabus</title><meta name="description" content="course syllabus"><p>homework exam</p>'
    return Observer.of(sets, ["teaching"], [page_of("http://a.test/t", said)], Idf.of([]), 10, 0)


def seen(see: Observer, page: Page) -> tuple[Terms, list[Terms], list[Terms], Terms]:
    """Features of a page; of each link, here and ahead; and those that all links have in common."""
    n = len(page.links)
    here, ahead = by_rows(*see(page, page.links).once(), n + 1)
    return here[n], [here[row] for row in range(n)], [ahead[row] for row in range(n)], ahead[n]


def one(word: str, kind: int) -> int:
    return int(mix(np.array([term(word)], np.uint32), kind)[0])


def step(number: int, kind: int) -> int:
    """The feature of a tenth that is reached."""
    return int(mix(np.array([number], np.uint32), kind)[0])


PAPER = """<meta name="description" content="course of one"><p>exam teaching</p> one two three four five
<a href="/syllabus">the course</a> six <a href="/x">seven eight nine ten</a> teaching"""
NEAR = ("course", "teaching")  # keywords within four words of the second link


def test_the_papers_observations_by_hand() -> None:
    """Keywords are teaching, course and syllabus; "exam" is only in the text of the target."""
    own, leaving, arriving, common = seen(observer(ObservationSet.PAPER), page_of("http://b.test/", PAPER))
    like = 2 / np.sqrt(4 * (13 + (1 + np.log(2)) ** 2))  # 14 words and "teaching" twice; exam, course of the target's 4
    described = 1 / np.sqrt(3 * 3)  # course, of 3 words (the topic's among them) and of 3 words
    tenths = {step(tenth, LIKE_TARGET) for tenth in range(1, 1 + int(10 * like))}
    tenths |= {step(tenth, LIKE_DESCRIPTION) for tenth in range(1, 1 + int(10 * described))}
    assert len(tenths) == 2 + 3
    assert set(own.tolist()) == {*tenths, one("teaching", ON_PAGE), one("course", ON_PAGE), step(1, KEYWORD_LINKS)}
    assert [set(each.tolist()) for each in leaving] == [
        {one("course", NEAR_ANCHOR)},
        {one(w, NEAR_ANCHOR) for w in NEAR},
    ]
    assert [set(each.tolist()) for each in arriving] == [
        {one("course", NEAR_ANCHOR + AHEAD), step(1, KEYWORD_URL + AHEAD)},
        {one(word, NEAR_ANCHOR + AHEAD) for word in NEAR},
    ]
    assert not len(common)


def test_a_first_paragraph_stands_for_a_missing_description() -> None:
    """Pages of an encyclopaedia have no description. Without a paragraph and a topic nothing is like a target's."""
    long = "<h1>Owl</h1><p>An owl</p><p>Owls are birds of prey that <a href='/n'>hunt</a> by night</p>" + "<p>more" * 60
    page, bare = page_of("http://a.test/t", long), page_of("http://a.test/b", "<h1>Owl</h1><div>owls are birds</div>")
    told = [term(word) for word in ["owls", "are", "birds", "of", "prey", "that", "hunt", "by", "night"]]
    assert description(page).tolist() == [*told, *[term("more")] * (50 - len(told))]
    assert not len(description(bare))
    alike = {step(tenth, LIKE_DESCRIPTION) for tenth in range(1, 10)}
    for topic, target, reached in ((["owls"], page, 9), ([], page, 9), ([], bare, 0)):
        see = Observer.of(ObservationSet.PAPER, topic, [target], Idf.of([]), 10, 0)
        assert len(alike.intersection(seen(see, page)[0].tolist())) == reached


@pytest.mark.parametrize("sets", [ObservationSet.OURS, ObservationSet.WORDS])
def test_words_may_be_counted(sets: ObservationSet) -> None:
    page = page_of("http://b.test/", "<p>" + "teaching " * 5 + "course " * 2 + "syllabus")
    see = replace(observer(sets), counted=True)
    counted = set(seen(see, page)[0].tolist()) - set(seen(observer(sets), page)[0].tolist())
    assert counted == {one("teaching", OFTEN[0]), one("teaching", OFTEN[1]), one("course", OFTEN[0])}
    assert Observer.from_parts(see.parts()).counted


def test_counted_words_can_be_taught_and_are_another_model(taught: MemmCrawler) -> None:
    strategy = crawler(words="counts").taught(ground(*NAMES[:-1]))
    home = scores(strategy, "/")
    assert home[TEACHING] > home["People"]
    with pytest.raises(ForagerError, match=r"version 3, 4 states, the settings ask for .* words counted, 4 states"):
        crawler(words="counts").from_parts(taught.parts())


def test_all_but_the_words_of_the_page() -> None:
    page = page_of("http://b.test/", PAPER)
    whole, text = (seen(observer(sets), page) for sets in (ObservationSet.PAPER, ObservationSet.TEXT))
    assert set(whole[0].tolist()) - set(text[0].tolist()) == {one("teaching", ON_PAGE), one("course", ON_PAGE)}
    assert not set(text[0].tolist()) - set(whole[0].tolist())
    assert [each.tolist() for each in (*text[1], *text[2])] == [each.tolist() for each in (*whole[1], *whole[2])]


def test_words_alone_see_nothing_of_links() -> None:
    own, leaving, arriving, common = seen(observer(ObservationSet.WORDS), page_of("http://b.test/", PAPER))
    assert set(own.tolist()) == {one("teaching", ON_PAGE), one("course", ON_PAGE)}
    assert [*map(len, leaving), *map(len, arriving), len(common)] == [0] * 5


def test_ours_takes_numbers_alike() -> None:
    """Numbers with the same number of digits are the same in anchors, URLs and titles."""
    markup = '<title>CS {0}</title> one two three four five six seven eight <a href="/cs{0}.html">CS {0}</a>'
    pages = [page_of(f"http://b.test/{number}", markup.format(number)) for number in (101, 234, 2)]
    each = [seen(observer(ObservationSet.OURS), page) for page in pages]
    said = [[set(row.tolist()) for row in (own, *out, *into, shared)] for own, out, into, shared in each]
    assert said[0] == said[1]
    assert all(short != long for short, long in zip(said[2], said[0], strict=True))


LISTED = """<title>Teaching 1996</title><p>before the first heading <a href="//c.test/~ann/cv.PDF?x=1">Ann ２３</a> gap
<h2>Courses of 1996 and later</h2><ul><li><a href="/a/cs_101/notes%20x%C3%A9.html">CS101 a a b c d e</a>
<li><a href="/a/b/page1/">two 22</a></ul> one two three four five
<h2>Else</h2><p><a href="/">home</a> after <a href="/a/b/see?u=http://d.test/e_f/7">see</a>
<a href="/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16?u=http://b.test/z"></a>"""
URLS = (  # six words of each count
    "http c test _ _ann cv pdf x 0",
    "a cs 000 notes xé html",
    "a b page0",
    "",
    "a b see u http d test e f 0",
    "0 0 0 0 0 0 0 0 0 00 00 00 00 00 00 00 u z",
)
LYING = (
    ("elsewhere", "elsewhere, +4 words", "9 words"),
    ("on the site", "on the site, +2 words", "6 words"),
    ("in the folder", "in the folder, -1 words", "3 words"),
    ("on the site", "on the site, -3 words", "0 words"),
    ("in the folder", "in the folder, +4 words", "10 words"),
    ("on the site", "on the site, +4 words", "15 words or more"),
)


def test_ours_by_hand() -> None:
    """All features of a page and its links, word by word and text by text."""
    page = page_of("http://b.test/a/b/index.html", LISTED)
    words = [word for leaf in page.leaves for word in re.findall(r"\w+", leaf.lower())]
    assert [term(word) for word in words] == page.terms.values.tolist()
    anchors = ("ann ２３", "cs000 a a b c d", "two 00", "home", "see", "")
    above = ("", *["courses of 1996 and"] * 2, *["else"] * 3)
    own, leaving, arriving, common = seen(observer(ObservationSet.OURS), page)

    def features(said: dict[int, list[str]], side: int) -> list[int]:
        return sorted({one(word, kind + side) for kind, each in said.items() for word in each})

    for link, (place, lies, depth) in enumerate(LYING):
        first, last = page.terms.offsets[[page.links.first_leaf[link], page.links.last_leaf[link] + 1]]
        url = URLS[link].split()
        said = {
            ANCHOR: anchors[link].split(),
            BEFORE: words[max(first - 8, 0) : first],
            AFTER: words[last : last + 8],
            ABOVE: above[link].split(),
            URL: url[-6:],
            LAST: url[-1:],
            SECOND_LAST: url[-2:-1],
            DEPTH: [depth],
        }
        assert sorted(leaving[link].tolist()) == features(said, 0), link
        assert sorted(arriving[link].tolist()) == features({**said, PLACE: [place, lies]}, AHEAD), link
    about = {
        TITLE: ["teaching", "0000"],
        HEADING: ["courses", "of", "1996", "and", "later", "else"],
        PAGE_URL: ["a", "b", "index", "html"],
        SIZE: ["links from 4 on", "words from 32 on"],
    }
    assert 32 <= len(words) < 64
    assert sorted(common.tolist()) == features(about, AHEAD)
    assert sorted(own.tolist()) == features({**about, ON_PAGE: ["teaching"]}, 0)


PARTS = st.sampled_from(["a", "b_c", "x.y", "%41b", "%C3%A9", "%1E", "%20", "~d", "71", "?u=", "http:", "/b.test", ""])
HOSTS = st.sampled_from(["http://b.test", "http://c.test"])
ADDRESSES = st.builds("{}/{}".format, HOSTS, st.lists(PARTS).map("/".join))


@given(st.lists(ADDRESSES, min_size=1, max_size=4))
def test_words_of_urls_one_by_one(urls: list[str]) -> None:
    """URLs by hand: the own host removed, escapes undone, digits zeroed."""
    page = page_of("http://b.test/a/x", "".join(f'<a href="{url}">one</a> ' for url in urls))
    _, leaving, arriving, _ = seen(observer(ObservationSet.OURS), page)
    assert len(page.links) == len(urls)
    for link, target in enumerate(page.links.targets):
        text = re.sub("[0-9]", "0", unquote(target.replace("http://b.test/", "/")))
        words = re.findall(r"\w+", text.replace("_", " ").replace("~", " _ _").lower())
        place = ("elsewhere", "on the site", "in the folder")[
            target.startswith("http://b.test/") + target.startswith("http://b.test/a/")
        ]
        said = {
            *((word, URL) for word in words[-6:]),
            *((word, LAST) for word in words[-1:]),
            *((word, SECOND_LAST) for word in words[-2:-1]),
            *(("one", kind) for kind in (ANCHOR, *[BEFORE] * (link > 0), *[AFTER] * (link + 1 < len(urls)))),
            (f"{len(words)} words" if len(words) < 15 else "15 words or more", DEPTH),
        }
        lies = {(place, PLACE), (f"{place}, {min(max(len(words) - 2, -3), 4):+d} words", PLACE)}
        assert set(leaving[link].tolist()) == {one(*each) for each in said}
        assert set(arriving[link].tolist()) == {one(word, kind + AHEAD) for word, kind in said | lies}


def test_what_ends_a_row_is_a_gap_within_a_text() -> None:
    """The words of title and meta data do not move the words of anchors and URLs."""
    page = page_of("http://b.test/", '<title>two words</title><a href="/c">one</a> <a href="/d">other</a>')
    broken = replace(page, title="two\x1ewords", keywords="\x1e", description="\x1e")
    both = [seen(observer(ObservationSet.OURS), each) for each in (page, broken)]
    for own, other in zip(*([part, *out, *into, shared] for part, out, into, shared in both), strict=True):
        assert own.tolist() == other.tolist()


@pytest.mark.parametrize("sets", ObservationSet)
def test_a_page_of_nothing_has_a_size_at_most(sets: ObservationSet) -> None:
    own, leaving, arriving, common = seen(observer(sets), page_of("http://b.test/", "<p>"))
    sizes = ("links from 0 on", "words from 0 on") if sets is ObservationSet.OURS else ()
    assert set(own.tolist()) == {one(size, SIZE) for size in sizes}
    assert set(common.tolist()) == {one(size, SIZE + AHEAD) for size in sizes}
    assert leaving == arriving == []
