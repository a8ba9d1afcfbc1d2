"""Training of the path forager: examples from paths, the reward of states, and the choice of gamma."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from forager.learn.chains.crf import Crf, discounted_reward, train
from forager.learn.chains.paths import LINK, PAGE, Paths
from forager.learn.chains.vocabulary import Vocabulary
from forager.paths import Ground, PathOutcome, PathStep, ShownPath
from forager.strategies.crf import training as crf_teaching
from forager.strategies.crf.examples import CrfExamples
from forager.strategies.crf.features import CrfFeatures
from forager.strategies.crf.training import GAMMAS, States, above, label_order, links_ahead, visited_reward
from forager.types import Url
from forager.web.text import mixed
from tests.learn.chains import drawn
from tests.learn.chains.test_crf import reward_by_definition
from tests.visits import page_of

from .grounds import ground_of, markup
from .grounds import url as small_url
from .schools import (
    LESSON,
    NAMES,
    body,
    both,
    forager,
    known,
    page_at,
    schools,
    to_course,
    to_nobody,
    way,
)

# ---- what states are worth ------------------------------------------------------------------------------------------


@given(drawn.seeds, drawn.lengths, st.floats(0.05, 1), st.booleans())
@settings(max_examples=30, deadline=None)
def test_the_reward_of_what_was_visited_is_as_defined(seed: int, cut: list[int], gamma: float, dual: bool) -> None:
    chance = np.random.default_rng(seed)
    model = drawn.crf(chance, drawn.kinds_of(chance, dual=dual), 3)
    paths, goals = drawn.paths(chance, cut, 3, dual=dual), [0]
    got, whole = np.zeros(model.states), np.zeros(model.states)
    for path, n in enumerate(cut):
        every, worth = drawn.enumerate_crf(model, paths, path), reward_by_definition(model, paths, path, goals)
        for i in range(n):
            likely = np.exp(every.sums(model.states, i) - every.log_z)
            got += np.nan_to_num(likely * gamma ** (n - 1 - i) * worth[i])
            whole += likely
    expected = np.divide(got, whole, out=np.zeros_like(got), where=whole > 0)
    np.testing.assert_allclose(visited_reward(model, paths, goals, gamma), expected, atol=1e-9)


def test_a_worked_reward() -> None:
    """Pages 0 goal, 1 other; links 2, 3; link 2 leads to the goal with 3 : 1. Path P L P, Z = 12: the last page is a
    goal with 8/12, the link is 2 with 8/12. R_3 = (1, 0), R_2 = (3/4, 1/2), R_1 = 5/8 for both. With gamma 1/2

        goal   (2/3 + 1/2 5/32) / (2/3 + 1/2)      other  (0 + 1/2 5/32) / (1/3 + 1/2)      links  3/8 and 1/4
    """
    edges = np.zeros((4, 4))
    edges[2, 0] = np.log(3)
    kinds = np.array([PAGE, PAGE, LINK, LINK], np.int32)
    model = Crf(kinds, np.zeros((1, 4)), edges, np.empty((0, 2), np.int32), np.empty((0, 0)), version=1)
    paths = Paths(csr_matrix((3, 1)), np.array([0, 3]), np.array([PAGE, LINK, PAGE], np.int32))
    goal, other = (2 / 3 + 5 / 64) / (2 / 3 + 1 / 2), (5 / 64) / (1 / 3 + 1 / 2)
    assert visited_reward(model, paths, [0], 0.5) == pytest.approx([goal, other, 3 / 8, 1 / 4])
    rows, owner = links_ahead(model, paths)
    assert rows == pytest.approx(np.array([[0, 0, 0.5, 0.5]]))
    assert owner.tolist() == [0]


def test_how_often_a_good_one_is_above() -> None:
    assert above(np.array([3.0, 1.0, 2.0, 1.0]), np.array([True, True, False, False])) == (2 + 0.5) / 4
    assert above(np.array([1.0, 2.0]), np.array([True, True])) == 0
    assert above(np.array([1.0, 2.0]), np.array([False, False])) == 0


def test_labels_in_order() -> None:
    said = ["prefix(goal)", "fail", "goal", "prefix(y)", "y", "a", "prefix(a)", "fail"]
    assert label_order(said) == ("a", "y", "goal", "fail", "prefix(a)", "prefix(y)", "prefix(goal)")
    assert label_order(["goal"]) == ("goal",)


# ---- lessons --------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("gamma", [0.4, 1.0])
def test_each_reward_is_the_one_asked_for(states: States, gamma: float) -> None:
    ground = schools(NAMES[:-1])
    for reward, worth in (("visited", visited_reward), ("thesis", discounted_reward)):
        model = known(forager(states=states, reward=reward, gamma=gamma).taught(ground, LESSON))
        paths, goal = model.paths(CrfExamples.of(ground, LESSON, CrfFeatures())), model.labels.index("goal")
        np.testing.assert_allclose(model.reward, worth(model.crf, paths, [goal], gamma))
        assert (model.reward >= 0).all()


def test_the_thesis_reward_tells_states_less_apart() -> None:
    """Half of the paths arrive, so the reward of every state is about a half."""
    spread = {
        reward: np.ptp(known(forager(reward=reward).taught(schools(NAMES[:-1]), LESSON)).reward)
        for reward in ("visited", "thesis")
    }
    assert spread["thesis"] < 0.5 < spread["visited"]


def test_a_target_on_the_way_is_a_goal() -> None:
    ways = [to_course("a"), way("a", "/courses/cs1", "/", "/people", "/people/1", goal=False)]
    lessons = CrfExamples.of(schools("a"), ways, CrfFeatures())
    pages = [label for label, kind in zip(lessons.labels, lessons.kinds, strict=True) if kind == PAGE]
    assert pages == ["prefix(goal)", "prefix(goal)", "goal", "goal", "fail", "fail", "fail"]
    assert lessons.labels[:5] == ("prefix(goal)", "prefix(goal)", "prefix(goal)", "goal", "goal")
    assert lessons.arrived.tolist() == [True, False]


def test_some_of_the_lessons() -> None:
    ground, features = schools(NAMES[:-1]), CrfFeatures()
    some, alone = CrfExamples.of(ground, LESSON, features).take(np.array([3, 0])), [LESSON[3], LESSON[0]]
    again = CrfExamples.of(ground, alone, features)
    assert some.labels == again.labels
    assert some.kinds.tolist() == again.kinds.tolist()
    everything = [
        Vocabulary(np.unique(again.features.values[again.of_pages[again.features.rows] == kind]))
        for kind in (True, False)
    ]
    for chain in (CrfExamples.dual, CrfExamples.single):
        one, other = chain(some, *everything), chain(again, *everything)
        assert (one.observations != other.observations).nnz == 0
        assert (one.step != other.step).nnz == 0
        assert one.offsets.tolist() == other.offsets.tolist()


def test_of_several_links_to_a_page_the_one_that_was_clicked() -> None:
    ground = ground_of({"a": markup("x", {"b": "one"}) + markup("", {"b": "two"}), "b": markup("y", {})}, "b")
    for anchor, clicked in (("two", 1), ("one", 0), (None, 0), ("three", 0)):
        path = ShownPath("p", (PathStep(small_url("a")), PathStep(small_url("b"), anchor)), PathOutcome.GOAL)
        seen, page = CrfExamples.of(ground, [path], CrfFeatures()), next(iter(ground.pages([0])))
        assert page is not None
        codes, rows = CrfFeatures()(page, page.links.take([clicked])).once()
        assert set(seen.features.values[seen.features.rows == 0]) == set(mixed(codes[rows == 0]))


def test_features_count_by_sites_or_by_pages() -> None:
    """A feature must be on three sites if there are six; with five sites it must be on two pages."""
    ground = schools(NAMES[:-1])
    words = {  # a feature of the home page of each
        name: set(mixed(CrfFeatures()(page_at("/", name), page_at("/", name).links.take([])).page).tolist())
        for name in "ab"
    }
    pages, _ = CrfExamples.of(ground, LESSON, CrfFeatures()).vocabularies(3)
    assert words["a"] & words["b"] <= set(pages.terms.tolist())
    assert not (words["a"] - words["b"]) & set(pages.terms.tolist())
    twice = [to_course("a"), way("a", "/", "/teaching", "/courses/cs2")]
    few, _ = CrfExamples.of(ground, twice, CrfFeatures()).vocabularies(3)
    assert not words["a"] <= set(few.terms.tolist())  # on one page, however many paths it is on
    one, _ = CrfExamples.of(ground, [way("a", "/")], CrfFeatures()).vocabularies(3)
    assert words["a"] == set(one.terms.tolist())  # there is no other page


# ---- gamma by cross-validation --------------------------------------------------------------------------------------

LOTTERY = {
    "/": body("home", "welcome", {"/long": "alpha", "/lottery": "lottery"}),
    "/long": body("long", "first", {"/longer": "beta"}),
    "/longer": body("longer", "second", {"/won": "gamma"}),
    "/lottery": body("lottery", "draw", {"/won": "ticket", "/lost": "ticket"}),
    "/won": body("prize", "won", {}),
    "/lost": body("nothing", "lost", {}),
}


def lotteries(sites: str) -> tuple[Ground, list[ShownPath]]:
    """The long way always arrives; the lottery ticket, one link from the prize, wins half of the time."""
    read = {Url(f"http://www.{name}.edu{path}"): text for name in sites for path, text in LOTTERY.items()}
    pages = {url: page_of(url, text) for url, text in read.items()}
    linked = ((url, page.links.targets) for url, page in pages.items())
    ground = Ground.of(linked, {url for url in pages if url.endswith("/won")}, lambda urls: map(pages.get, urls))
    good = [
        way(name, *paths) for name in sites for paths in (("/", "/long", "/longer", "/won"), ("/", "/lottery", "/won"))
    ]
    return ground, good + [way(name, "/", "/lottery", "/lost", goal=False) for name in sites]


def chosen_gamma(ground: Ground, ways: Sequence[ShownPath], **options: Any) -> list[float]:
    """Paths that give the same reward."""
    found = known(forager(gamma=0, **options).taught(ground, ways)).reward
    each = {gamma: known(forager(gamma=gamma, **options).taught(ground, ways)).reward for gamma in GAMMAS}
    return [gamma for gamma, reward in each.items() if np.allclose(reward, found)]


@both
def test_a_gamma_is_chosen_by_sites_that_were_not_taught(states: States) -> None:
    """A small gamma would prefer half a chance of a goal now to a sure goal later."""
    (gamma,) = chosen_gamma(*lotteries("abcdef"), states=states)
    assert 0.3 < gamma < 1


def test_a_third_of_the_sites_is_left_out_to_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    """18 paths of 6 sites: the model is trained once on all of them, then three times on those of 4 sites."""
    taught_by: list[int] = []

    def counting(paths: Paths, *given: Any, **options: Any) -> Crf:
        taught_by.append(len(paths))
        return train(paths, *given, **options)

    monkeypatch.setattr(crf_teaching, "train", counting)
    forager(gamma=0, iterations=2).taught(*lotteries("abcdef"))
    assert taught_by == [18, 12, 12, 12]


def test_the_smallest_gamma_of_equally_good_ones() -> None:
    assert chosen_gamma(schools(NAMES[:-1]), LESSON) == [GAMMAS[0]]


def test_no_discount_where_there_is_nothing_to_choose_by() -> None:
    """With one site there is nothing left to learn from."""
    assert chosen_gamma(schools("a"), [to_course("a"), to_nobody("a")]) == [1.0]
