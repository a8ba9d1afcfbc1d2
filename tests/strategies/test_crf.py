"""The path forager: the state that travels with links is the chain of the whole path; it finds its way on an unseen
site; wrong paths give clear errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forager.errors import ForagerError
from forager.learn.chains.paths import LINK, PAGE, Paths
from forager.learn.chains.rows import LEAST, Reals
from forager.learn.chains.vocabulary import Vocabulary
from forager.paths import NO_STATE, PathOutcome, visit_with
from forager.store import models
from forager.strategies.crf import PathForager
from forager.strategies.crf.examples import CrfExamples
from forager.strategies.crf.features import CrfFeatures
from forager.strategies.crf.model import CrfModel
from forager.strategies.crf.training import States
from forager.strategies.link_features import Codes, FeatureCodes
from forager.types import Floats, Page, ScoredLinks
from tests.learn.chains import drawn
from tests.visits import page_of

from .grounds import ground_of, markup, shown
from .grounds import url as small_url
from .schools import (
    LESSON,
    NAMES,
    NEW,
    STATES,
    TO_LIST,
    both,
    forager,
    known,
    page_at,
    schools,
    scores,
    taught,
    to_course,
    to_nobody,
    way,
)

# ---- what travels with links ----------------------------------------------------------------------------------------

SMALL = {
    "a": markup("home of a", {"b": "to the list", "c": "CS 412"}),
    "b": markup("a list", {"c": "CS 412 course", "a": "home"}),
    "c": markup("course notes", {"a": "back home", "b": "list"}),
}
GROUND = ground_of(SMALL, "c")
WAY = "a b c a b"

ENDS = ("goal", "fail")


def unlearned(names: str, states: States, seed: int, *, labels: int = 2, scale: float = 1.0) -> tuple[CrfModel, Paths]:
    """A model with random weights for all features of a path, and the path as a chain."""
    lessons = CrfExamples.of(GROUND, [shown(names)], CrfFeatures())
    pages, links = (
        Vocabulary(np.unique(lessons.features.values[lessons.of_pages[lessons.features.rows] == kind]))
        for kind in (True, False)
    )
    chance, dual = np.random.default_rng(seed), states == "dual"
    kinds, width = [PAGE] * labels + [LINK] * labels * dual, max(len(pages), len(links)) if dual else len(pages)
    crf = drawn.crf(chance, kinds, width, steps=0 if dual else len(links), scale=scale)
    names_of = ("goal", "fail", "prefix(goal)", "x")[:labels]
    model = CrfModel(crf, chance.random(len(kinds)), names_of, pages, links)
    return model, model.paths(lessons)


def crawled(
    strategy: PathForager, pages: Sequence[Page], state: Floats = NO_STATE
) -> Iterator[tuple[ScoredLinks, int]]:
    """For each page but the last: its scored links, and the link that is followed. The state travels with it."""
    for page, following in pairwise(pages):
        scored = strategy.score(visit_with(page, state))
        taken = page.links.targets.index(following.url)
        yield scored, taken
        assert scored.state is not None
        state = scored.state[taken : taken + 1]


def along(names: str) -> list[Page]:
    return [page_of(small_url(name), SMALL[name]) for name in names.split()]


def scaled(rows: Reals, *, best: bool) -> Reals:
    moved: Reals = rows - (rows.max() if best else np.logaddexp.reduce(rows))
    return moved


@given(st.integers(0, 1000), st.sampled_from(STATES))
@settings(max_examples=8, deadline=None)
def test_rows_labels_and_scores_are_sums_over_all_state_sequences(seed: int, states: States) -> None:
    model, paths = unlearned("a b c", states, seed, labels=2 if states == "dual" else 3)
    c, single = len(model.labels), states == "single"
    ways = list(crawled(PathForager(states=states)._with(model), along("a b c")))
    assert len(ways) == 2
    for at, (scored, taken) in enumerate(ways):
        here = at if single else 2 * at
        page = drawn.enumerate_crf(model.crf, paths, 0, until=here + 1).sums(model.crf.states, here, best=True)
        assert scored.label == model.labels[int(page.argmax())]
        unseen = paths.observations.copy().tolil()
        if single:
            unseen[here + 1] = 0  # the page that the link leads to is not yet seen
        ahead = drawn.enumerate_crf(model.crf, replace(paths, observations=unseen.tocsr()), 0, until=here + 2)
        alpha, delta = (
            scaled(ahead.sums(model.crf.states, here + 1, best=best)[-c:], best=best) for best in (False, True)
        )
        assert scored.state is not None
        np.testing.assert_allclose(scored.state[taken], [*alpha, *delta], atol=1e-4)
        assert scored.scores[taken] == pytest.approx(np.exp(alpha) @ model.reward[-c:], abs=1e-5)


@both
def test_along_a_path_of_100_pages(states: States) -> None:
    """Also with large weights nothing overflows, and the last link has the rows of the whole path."""
    names = " ".join("abc"[at % 3] for at in range(100))
    model, paths = unlearned(names, states, 3, labels=4, scale=10)
    strategy, c = PathForager(states=states)._with(model), len(model.labels)
    ways = list(crawled(strategy, along(names)))
    assert len(ways) == 99
    for scored, _ in ways:
        assert scored.state is not None
        assert np.isfinite(scored.state).all()
        assert np.isfinite(scored.scores).all()
    scored, taken = ways[-1]
    assert scored.state is not None
    lattice = model.crf.lattice(paths)
    ahead = lattice.alpha[-1] - lattice.unary[-1] if states == "single" else lattice.alpha[-2][c:]
    expected = np.maximum(scaled(ahead, best=False), np.log(LEAST))  # smaller values are kept as LEAST
    np.testing.assert_allclose(scored.state[taken, :c], expected, rtol=1e-4, atol=1e-3)
    names_of = [model.labels[state % c] for state in lattice.viterbi()]
    last = strategy.score(visit_with(along(names)[-1], scored.state[taken : taken + 1]))
    assert last.label == names_of[-1]


@both
def test_a_batch_gives_what_its_links_give_one_by_one(states: States) -> None:
    model, _ = unlearned("a b", states, 1)
    strategy, visit = PathForager(states=states)._with(model), visit_with(along("a")[0], NO_STATE)
    together = strategy.score(visit)
    for link in range(len(visit.links)):
        alone = strategy.score(visit.take([link]))
        assert together.state is not None
        assert alone.state is not None
        np.testing.assert_allclose(together.state[link], alone.state[0], rtol=1e-6)
        assert alone.scores[0] == pytest.approx(together.scores[link])
    nothing = strategy.score(visit.take([]))
    assert nothing.state is not None
    assert nothing.state.shape == (0, 4)
    assert nothing.label == together.label


def test_labels_come_from_delta_and_scores_from_alpha() -> None:
    """Two rows that travelled together and disagree by more than any page can change."""
    model, _ = unlearned("a b", "single", 1)
    strategy, page, sure = PathForager(states="single")._with(model), along("a")[0], [0.0, -300.0]
    for alpha, delta in ((sure, sure[::-1]), (sure[::-1], sure)):
        scored = strategy.score(visit_with(page, np.array([[*alpha, *delta]], np.float32)))
        assert scored.label == model.labels[int(np.argmax(delta))]
        agreed = strategy.score(visit_with(page, np.array([[*alpha, *alpha]], np.float32)))
        assert scored.scores.tolist() == agreed.scores.tolist()


@both
def test_a_state_that_cannot_be_of_the_model_is_told(states: States) -> None:
    strategy = PathForager(states=states)._with(unlearned("a b", states, 1)[0])
    page = along("a")[0]
    with pytest.raises(ForagerError, match="model has 2 states, this path carries 3: retrain or start again from the"):
        strategy.score(visit_with(page, np.zeros((1, 6), np.float32)))
    with pytest.raises(ForagerError, match="a row in which no state is possible: retrain or start again"):
        strategy.score(visit_with(page, np.full((1, 4), np.nan, np.float32)))
    untravelled = strategy.score(visit_with(page, np.zeros((1, 0), np.float32)))
    assert untravelled.scores.tolist() == strategy.score(visit_with(page, NO_STATE)).scores.tolist()


# ---- a site never seen ----------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("by_ways", [True, False])
@pytest.mark.parametrize("features", ["ours", "thesis"])
def test_the_way_is_known_on_a_site_never_seen(states: States, by_ways: bool, features: str) -> None:
    ground = schools(NAMES[:-1])
    strategy = forager(states=states, features=features).taught(ground, LESSON if by_ways else ())
    home, people = scores(strategy, "/"), scores(strategy, "/people")
    assert home[TO_LIST] > home["People"] + 0.1  # drawn paths give no larger difference: people lead back home
    assert min(scores(strategy, "/teaching").values()) > max(people.values()) + 0.1


@both
def test_pages_are_labelled_as_the_path_goes_on(states: States) -> None:
    pages = [page_at(path) for path in ("/", "/teaching", "/courses/cs2", "/")]
    labels = [scored.label for scored, _ in crawled(taught(states), pages)]
    assert labels == ["prefix(list)", "list", "goal"]
    assert taught(states).score(visit_with(page_at("/people/3"), NO_STATE)).label == "fail"


@both
def test_whole_paths_on_a_site_never_seen(states: States) -> None:
    ways = [to_course(NEW), to_nobody(NEW), way(NEW, "/teaching", "/courses/cs3"), way(NEW, "/people/2")]
    labels = taught(states).labelled(schools(NEW), ways)
    assert labels == [("prefix(list)", "list", "goal"), ("fail", "fail", "fail"), ("list", "goal"), ("fail",)]
    chances = taught(states).goal_chances(schools(NEW), ways)
    assert ((chances > 0.8) | (chances < 0.2)).all()
    assert (chances > 0.5).tolist() == [True, False, True, False]
    lattice = known(taught(states)).crf.lattice(
        known(taught(states)).paths(CrfExamples.of(schools(NEW), ways, CrfFeatures()))
    )
    goal, fail = (lattice.marginals()[lattice.paths.last, known(taught(states)).labels.index(end)] for end in ENDS)
    np.testing.assert_allclose(chances, goal / (goal + fail))
    assert (goal + fail < 0.999).any()


def test_a_path_with_a_page_that_cannot_be_read() -> None:
    ground, ways = schools(NEW, unread="/people"), [to_nobody(NEW), to_course(NEW)]
    labels, chances = taught().labelled(ground, ways), taught().goal_chances(ground, ways)
    assert [len(each) for each in labels] == [0, 3]
    assert np.isnan(chances).tolist() == [True, False]
    assert taught().labelled(ground, ways[:1]) == [()]
    assert np.isnan(taught().goal_chances(ground, ways[:1])).tolist() == [True]
    assert taught().labelled(schools(NEW), []) == []


# ---- explanations ---------------------------------------------------------------------------------------------------


@both
def test_an_explanation_adds_what_each_feature_does(states: States) -> None:
    """The weight of a feature is the score less the score without the feature."""
    strategy, link = taught(states), 1
    home = page_at("/")
    first = strategy.score(visit_with(home, NO_STATE))
    assert first.state is not None
    for page, state in ((home, NO_STATE), (page_at("/teaching"), first.state[1:])):
        visit = visit_with(page, state)
        (told, start), *rest = strategy.explain(visit, link)
        scored = strategy.score(visit)
        assert told == f"on a page taken for {scored.label}"
        codes, rows = strategy.features(page, page.links).once()
        own = codes[rows == link]
        names = strategy.features.in_words(page, page.links, own)
        expected = {
            name: float(scored.scores[link]) - score_with(strategy, state, page, own[own != left])
            for name, left in zip(names, own, strict=True)
        }
        assert start == pytest.approx(score_with(strategy, state, page, own[:0]), abs=1e-6)
        told_of = {name: figure for name, figure in rest if abs(figure) > 1e-5}
        assert told_of == pytest.approx(
            {name: figure for name, figure in expected.items() if name in told_of or abs(figure) > 2e-5}, abs=1e-5
        )
        assert len(told_of) > 3
        assert [abs(figure) for _, figure in rest] == sorted((abs(figure) for _, figure in rest), reverse=True)


def score_with(strategy: PathForager, state: Floats, page: Page, codes: Codes) -> float:
    """The score of a link with these features."""
    seen = FeatureCodes(codes[:, None], strategy.features(page, page.links).page)
    model = known(strategy)
    return float(model.follow(state[0] if state.size else None, *model.potentials(seen)).scores[0])


def test_an_explanation_names_what_speaks_for_a_link() -> None:
    told = dict(taught().explain(visit_with(page_at("/"), NO_STATE), 1))
    assert told["every"] > 0
    assert told["teaching in URL"] > 0
    against = dict(taught().explain(visit_with(page_at("/"), NO_STATE), 0))
    assert against["people in URL"] < 0


# ---- what is kept ---------------------------------------------------------------------------------------------------


@both
def test_it_is_kept_whole(states: States, tmp_path: Path) -> None:
    models.save(tmp_path / "m", taught(states).parts(), kind="crf", version=1)
    again = forager(states=states).from_parts(models.load(tmp_path / "m", kind="crf", version=1))
    for path in ("/", "/teaching", "/people/1"):
        one, other = (strategy.score(visit_with(page_at(path), NO_STATE)) for strategy in (taught(states), again))
        assert one.scores.tolist() == other.scores.tolist()
        assert one.state is not None
        assert other.state is not None
        assert one.state.tolist() == other.state.tolist()
        assert one.label == other.label
    assert taught().merge([taught().parts()] * 2).keys() == taught().parts().keys()


def test_nothing_learnt() -> None:
    strategy, visit = forager(), visit_with(page_at("/"), NO_STATE)
    scored = strategy.from_parts(strategy.parts()).score(visit)
    assert scored.scores.tolist() == [0, 0]
    assert scored.state is None
    assert scored.label is None
    assert strategy.explain(visit, 0) == []
    for whole in (strategy.labelled, strategy.goal_chances):
        with pytest.raises(ForagerError, match="nothing was learnt yet: teach it with paths first"):
            whole(schools(NEW), [to_course(NEW)])
    taught()
    assert forager().model is None
    before = forager()
    assert before.taught(schools("ab"), [to_course("a"), to_nobody("b")]).model is not None
    assert before.model is None, "the strategy itself stays as it was"


@pytest.mark.parametrize("other", [{"features": "thesis"}, {"states": "single"}, {"headings": ("exams",)}])
def test_what_was_taught_otherwise_is_refused(other: dict[str, Any]) -> None:
    with pytest.raises(ForagerError, match=r"crf: this was taught with dual states, features ours .* use the same, or"):
        forager(**other).from_parts(taught().parts())
    forager(gamma=0.5, headings=PathForager().features.headings).from_parts(taught().parts())


def test_features_of_another_version_are_refused() -> None:
    model = known(taught())
    with pytest.raises(ForagerError, match="version 5, pages are described by version 7: train it again"):
        CrfModel.from_parts(model.parts(), version=7)
    assert CrfModel.from_parts(model.parts(), version=5).labels == model.labels


@both
@pytest.mark.parametrize("name", ["reward", "pages", "links", "labels", "no goal"])
def test_parts_that_do_not_fit_together_are_refused(states: States, name: str) -> None:
    parts = dict(taught(states).parts())
    if name == "no goal":
        parts["labels"] = [label.replace("goal", "end") for label in parts["labels"]]
    elif name in ("pages", "links"):  # more than there are weights for
        parts[name] = np.arange(len(parts["weights"]) + len(parts["steps"]) + 1, dtype=np.uint32)
    else:
        parts[name] = parts[name][:-1]
    with pytest.raises(ForagerError, match="do not fit together: train it again"):
        forager(states=states).from_parts(parts)


# ---- wrong paths and options ----------------------------------------------------------------------------------------


def test_wrong_paths_are_told() -> None:
    ground = schools("ab")
    with pytest.raises(ForagerError, match="none of 2 paths ends in a goal: show at least one that arrives"):
        forager().taught(ground, [to_nobody("a"), to_nobody("b")])
    unconnected = way("a", "/", "/courses/cs1")
    with pytest.raises(ForagerError, match=r"'a / /courses/cs1', step 2: http://www.a.edu/ has no link to .*cs1: show"):
        forager().taught(ground, [unconnected, to_nobody("a")])
    with pytest.raises(
        ForagerError, match=r"step 1: http://www.c.edu/ is not in the ground: add the page, or take the"
    ):
        forager().taught(ground, [to_course("a"), to_course("c")])
    with pytest.raises(ForagerError, match="none of the 1 paths that can be read ends in a goal: show others"):
        forager().taught(schools("ab", unread="/teaching"), [to_course("a"), to_nobody("b")])
    with pytest.raises(ForagerError, match="none of the 0 paths that can be read"):
        forager().taught(schools("ab", unread="/"), [to_course("a"), to_nobody("b")])
    with pytest.raises(ForagerError, match="none of the 60 paths that can be read ends in a goal"):
        forager(goals=0).taught(ground)


def test_a_label_used_once_is_told() -> None:
    ways = [
        to_course("a", label="list"),
        to_course("b", label="lists"),
        to_course("a", 2, label="list"),
        to_nobody("a"),
    ]
    with pytest.warns(UserWarning, match="label 'lists' is used once .*: is it spelt as elsewhere?"):
        forager().taught(schools("ab"), ways)


@pytest.mark.parametrize("wrong", [{"gamma": -0.1}, {"gamma": 1.1}, {"least": 0}])
def test_wrong_options_are_told(wrong: dict[str, Any]) -> None:
    with pytest.raises(ForagerError, match="give a gamma up to 1, or 0 to have it chosen, and 1 site or more"):
        PathForager(**wrong)


def test_paths_are_drawn_as_the_options_say() -> None:
    drawn_paths = forager(goals=5, fails=3, longest=2, seed=4).draw(schools("a"))
    assert [path.outcome for path in drawn_paths] == [PathOutcome.GOAL] * 5 + [PathOutcome.FAIL] * 3
    assert {len(path.steps) for path in drawn_paths} == {2}
    lists = forager(goals=5, fails=0, lists=4).draw(schools("a"))
    assert {step.label for path in lists for step in path.steps if "/teaching" in step.url} == {"goal list"}
    begun = forager(goals=5, fails=0, starts=("staff",)).draw(schools("a"))
    assert all("/people/" in path.steps[0].url for path in begun)
